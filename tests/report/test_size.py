"""A page about a large model stays small and alive."""

from dataclasses import replace
from typing import Any

import pytest
from tests.report.worlds import random_data, random_model

from polyrule.evaluation.importance import Importances, importances
from polyrule.report import build


@pytest.fixture
def measured_on_few_rules(monkeypatch):
    """What a rule is worth takes a model without it, each as long as this one; here all get what some are worth."""

    def measured(model: Any, *data: Any) -> Importances:
        found = importances(replace(model, rules=model.rules[:50]), *data)
        rules = [replace(found.rules[k % 50], name=f"rule {k + 1}", index=k) for k in range(len(model.rules))]
        return replace(found, rules=tuple(rules))

    monkeypatch.setattr("polyrule.report.summary.importances", measured)


@pytest.mark.usefixtures("measured_on_few_rules")
def test_a_thousand_rules_two_hundred_labels_five_thousand_examples(visit):
    model = random_model(1, rules=1000, features=300, labels=200, largest=6, least=1)
    report = build(model, random_data(model, 3000, 1), random_data(model, 2000, 2))
    assert len(report.html().encode()) < 5_000_000
    shown = [part["shown"] for part in report.summary["parts"]]
    assert sum(shown) < 5000
    assert len([note for note in report.summary["notes"] if "to keep the file small" in note]) == 2
    page = visit(report, "rules")
    assert page.locator("article.rule").count() == 40  # not all at once
    page.get_by_label("Search").fill("rule 999")
    assert page.locator("article.rule h3").all_text_contents() == ["Rule 999"]
    page.get_by_role("button", name="Rule 999").click()
    assert page.get_by_role("dialog").is_visible()
