"""Dates, sets and rounded numbers: what the page shows, and lets people change, is what the library does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyrule.data import Dataset, Feature, Table
from polyrule.data.dates import day_of
from polyrule.data.derive.dates import date_features
from polyrule.data.derive.registry import derivation_of
from polyrule.model import Literal, NominalCondition, NumericCondition, Rule, RuleList, SetCondition
from polyrule.report import build

DAYS = np.array([day_of(text) for text in ("2013-04-05", "2013-12-02", "2012-12-28", "2011-06-05")] + [np.nan])
CATEGORIES = (
    "Desktop Computer",
    "Desktop Computer, Network Server",
    "Network Server",
    "Other Portable Electronic Device, Other",
    "Electronic Medical Record, " + "Laptop " * 12,
)


def dated(features: tuple[Feature, ...]) -> tuple[RuleList, Dataset]:
    """Rules about a date and its parts, of which some may not be features, and a set of long names."""
    place = {feature.name: j for j, feature in enumerate(features)}
    bodies: list[Any] = [
        (NumericCondition(place["on month"], ">", 10.5),),
        (NominalCondition(place["on weekday"], 4), NumericCondition(place["on month"], ">", 2.5)),
        (SetCondition(place["where"], (0, 1, 2, 4)),),
    ]
    if "on" in place:
        bodies.append(
            (NumericCondition(place["on"], "<=", day_of("2012-06-30") + 0.5), NominalCondition(place["on weekday"], 6))
        )
    rules = tuple(Rule((Literal(k, 1),), body) for k, body in enumerate(bodies))
    model = RuleList(rules, features, ("gift", "friday", "machine", "early")[: len(rules)])
    columns = [np.arange(5.0) if (d := derivation_of(f)) is None else d.values(DAYS) for f in features]
    truth = np.zeros((5, len(rules)), dtype=np.uint8)
    truth[0] = 1
    return model, Dataset(Table.from_array(np.column_stack(columns), features), truth, model.label_names)


WHERE = Feature("where", "nominal", CATEGORIES)
WITH_DATE, ONLY_PARTS = (*date_features("on"), WHERE), (*date_features("on")[2:], WHERE)


def present(page: Any) -> list[str]:
    return page.locator("#section-whatif .label-list .chip.present .name").all_inner_texts()


@pytest.mark.parametrize("features", [WITH_DATE, ONLY_PARTS])
def test_a_date_that_is_set_brings_its_parts_along(visit, features):
    model, data = dated(features)
    page = visit(build(model, data), "whatif")
    inputs = page.locator(".feature label").all_inner_texts()
    assert sorted(inputs) == ["on", "where"]  # a part is nothing to set
    for text in ("2013-12-02", "2012-12-07", "2011-05-01", "2014-03-07", "2013-04-04"):
        page.get_by_label("on", exact=True).fill(text)
        day, derivations = np.array([day_of(text)]), map(derivation_of, features)
        row = np.array([[0.0 if one is None else one.values(day)[0] for one in derivations]])
        labels = model.predict(Table.from_array(row, features))[0]
        assert present(page) == [name for name, value in zip(model.label_names, labels, strict=True) if value]
        assert page.locator(".feature.changed").count() == 1
        assert "1 feature changed" in page.locator("#section-whatif").inner_text()
    page.get_by_label("on", exact=True).fill("")
    assert present(page) == ["machine"]


def test_a_flip_is_a_day_and_applying_it_sets_the_date(visit):
    model, data = dated(WITH_DATE)
    page = visit(build(model, data), "whatif")
    page.get_by_role("button", name="Smallest change that flips gift").click()
    asked = page.locator(".flip li").inner_text()
    assert asked == "on has a day whose month is December, such as 2012-12-28 (now 2013-04-05)"
    assert "on month = December, such as 2012-12-28 (now 2013-04-05)" in str(model.smallest_flip(data.X, "gift", row=0))
    page.get_by_role("button", name="Apply").click()
    assert page.get_by_label("on", exact=True).input_value() == "2012-12-28"
    assert "gift" in present(page)


def test_where_the_day_is_not_known_parts_are_asked_for(visit):
    model, data = dated(ONLY_PARTS)
    page = visit(build(model, data), "whatif")
    assert page.get_by_label("on", exact=True).input_value() == ""
    page.get_by_role("button", name="Smallest change that flips gift").click()
    assert page.locator(".flip li").inner_text() == "on has a day whose month is December (now April)"
    page.get_by_role("button", name="Apply").click()
    assert "gift" in present(page)


def test_every_category_of_a_set_is_a_chip_of_its_own(visit):
    page = visit(build(*dated(WITH_DATE)), "rules")
    shown = page.locator("article.rule").nth(2).locator(".words .value").all_inner_texts()
    assert shown == [CATEGORIES[code].strip() for code in (0, 1, 2, 4)]
    assert page.locator("article.rule").first.locator(".words").inner_text().strip() == "on month is December"


@pytest.mark.parametrize("view", ["cards", "lines", "table"])
def test_no_section_is_wider_than_a_phone(visit, view):
    model, data = dated(WITH_DATE)
    page = visit(build({"one": model, "two": model}, data, data), viewport={"width": 390, "height": 800})
    for section in ("overview", "rules", "matters", "labels", "whatif", "compare"):
        page.evaluate(f"() => {{ location.hash = '{section}' }}")
        place = page.locator(f"#section-{section}:not([hidden])")
        place.wait_for()
        if section == "rules":
            page.get_by_label("View").select_option(view)
        if section == "whatif":
            page.get_by_role("button", name="Smallest change that flips machine").click()
            page.locator(".flip h4").wait_for()
        assert place.evaluate("(one) => one.scrollWidth") <= 390, section
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, section


def test_a_shown_threshold_divides_all_examples_as_the_rule_does(visit):
    rng = np.random.default_rng(0)
    train, test = (rng.normal(44.5, 1e-4, size=(60, 1)) for _ in range(2))
    rules = tuple(Rule((Literal(0, 1),), (NumericCondition(0, "<=", float(t)),)) for t in train[:8, 0] + 1e-9)
    model = RuleList(rules, (Feature("age"),), ("old",))
    report = build(model, (train, np.ones((60, 1), dtype=int)), (test, np.ones((60, 1), dtype=int)))
    page = visit(report, "rules")
    for number, rule in enumerate(rules):
        text = page.locator("article.rule").nth(number).locator(".words .value").inner_text()
        for values in (train, test):
            assert ((values <= float(text)) == (values <= rule.body[0].threshold)).all()
        assert len(text) < 12
    alone = visit(build(model), "rules")  # nobody knows how far these may be moved
    texts = alone.locator("article.rule .words .value").all_inner_texts()
    assert [float(text) for text in texts] == [rule.body[0].threshold for rule in rules]
