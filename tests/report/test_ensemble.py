"""Rule ensembles in a report."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule.errors import OptionError
from polyrule.report import build
from polyrule.report.plots import Coverage, LabelGraph, LearningCurve

KINDS = ["threshold", "per-label", "subset", "expected-f1"]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_predictions_equal_those_of_the_library(visit, kind):
    model = random_ensemble(3, kind)
    data = random_data(model, 700, 4, sparse=kind == "subset")
    page = visit(build(model, data))
    found = page.evaluate("() => polyrule.outcome(0).map((one) => [Array.from(one.labels), Array.from(one.scores)])")
    assert [labels for labels, _ in found] == model.predict(data.X).tolist()
    assert [scores for _, scores in found] == model.scores(data.X).tolist()  # to the last bit


def test_rules_count_how_often_their_sign_agrees():
    model = random_ensemble(5)
    data = random_data(model, 60, 1)
    entry = build(model, data).summary["models"][0]
    fired, truth = model.fired(data.X), np.asarray(data.Y)
    for number, rule in enumerate(model.rules):
        part = entry["rules"][number]["parts"][0]
        assert part["covers"] == fired[:, number].sum()
        for place, head in enumerate(rule.head):
            says = truth[fired[:, number], head.label] == (head.weight > 0)
            assert part["head"][place] == [says.sum(), (~says).sum()]


def test_every_section_works(visit):
    model = random_ensemble(5, "per-label")
    other = random_ensemble(5, "subset")
    page = visit(build({"one": model, "two": other}, random_data(model, 50, 1), random_data(model, 40, 2)))
    assert "adds its weights" in page.locator("#section-overview").inner_text()
    for name in ("Rules", "Labels", "What if", "Compare"):
        page.get_by_role("link", name=name).click()
        page.get_by_role("heading", name=name, exact=True).wait_for()
    page.get_by_role("link", name="Rules").click()
    card = page.locator("article.rule").first
    assert all(sign in "▲▼" for sign in card.locator(".sign").all_inner_texts())
    page.get_by_role("button", name="Rule 1", exact=True).click()
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="What if").click()
    line = page.locator(".label-list li", has_text="label 2")
    line.locator("summary").click()
    result = page.evaluate(
        "() => { const one = polyrule.outcome(0)[0]; return [one.scores[2], one.fired.map((f) => f.rule)] }"
    )
    adding = [number for number in result[1] if any(entry.label == 2 for entry in model.rules[number].head)]
    assert line.get_by_role("button", name="Rule").all_inner_texts() == [f"Rule {number + 1}" for number in adding]
    assert page.get_by_role("button", name="Flip").count() == 0


def test_without_data_the_weights_are_shown(visit):
    page = visit(build(random_ensemble(2)), "rules")
    assert "when learned" in page.locator("article.rule").first.inner_text()


def test_plots_that_need_an_order_are_refused():
    model = random_ensemble(2)
    data = random_data(model, 10, 1)
    assert len(LabelGraph.of(model).frame())
    with pytest.raises(OptionError, match="one rule list"):
        Coverage.of(model, data)
    with pytest.raises(OptionError, match="no order to follow"):
        LearningCurve.of(model, data)


def test_other_models_are_refused():
    class Other:
        rules = ()
        features = random_model(1).features
        label_names = ("a",)

    with pytest.raises(OptionError, match="only rule lists and rule ensembles"):
        build(Other())
