"""Groups in the report: as `by_group` counts them."""

from __future__ import annotations

import pytest
from tests.report.worlds import random_data, random_model

from polyrule.errors import OptionError
from polyrule.report import build


def test_groups_are_shown_as_they_are_counted(visit):
    model = random_model(3, rules=12)
    data = random_data(model, 200, 4)
    name = next(feature.name for feature in model.features if feature.has_categories)
    report = build(model, data, by_group=name)
    expected = model.by_group(data, name)
    entry = report.summary["models"][0]["groups"]
    assert entry["labels"]["all labels"]["recall"] == expected.as_dict()["labels"]["all labels"]["recall"]
    page = visit(report, "groups")
    section = page.locator("#section-groups")
    table = section.get_by_role("table").first
    assert table.locator("tbody tr").count() == len(expected.groups) + 2
    share = next(iter(expected.shares("coverage").values()))
    assert f"{share.hits:,} of {share.total:,}" in table.inner_text()
    section.get_by_label("Label", exact=True).select_option(model.label_names[1])
    share = next(iter(expected.shares("coverage", model.label_names[1]).values()))
    assert f"{share.hits:,} of {share.total:,}" in section.get_by_role("table").first.inner_text()
    assert section.get_by_role("table", name="Rules by group").locator("tbody tr").count() == 12


def test_groups_need_data_and_a_column():
    model = random_model(3, rules=2)
    with pytest.raises(OptionError, match="by_group needs data"):
        build(model, by_group="x")
    with pytest.raises(OptionError, match="no column 'no such'"):
        build(model, random_data(model, 20, 4), by_group="no such")
