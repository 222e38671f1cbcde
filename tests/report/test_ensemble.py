"""Rule ensembles in a report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.report.test_interpreter import FLIP
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule import RuleEnsembleClassifier
from polyrule.data import Table
from polyrule.errors import OptionError
from polyrule.model.counterfactual import counterfactual
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


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_change_is_as_small_as_the_one_the_library_finds(visit, kind):
    model = random_ensemble(10, kind, rules=9, labels=3)
    data = random_data(model, 4, 1)
    page = visit(build(model, data))
    dense = np.asarray(data.X)
    flipped = 0
    for row in range(4):
        for label in range(3):
            expected = counterfactual(model, dense[row], label, limit=3000)
            found = page.evaluate(FLIP, [row, label])
            assert (found["was"], found["exact"], found["steps"]) == (expected.was, expected.exact, expected.steps)
            if expected.changes is None:
                assert found["changes"] is None
                continue
            assert len(found["changes"]) == len(expected.changes)
            changed = dense[row].copy()
            for column, value in (pair for change in found["changes"] for pair in change):
                changed[column] = value
            assert model.predict(Table.from_array(changed[None, :], model.features))[0, label] != expected.was
            flipped += 1
    assert flipped


def test_a_label_of_an_ensemble_is_flipped_at_a_click(visit):
    model = random_ensemble(5)
    page = visit(build(model, random_data(model, 20, 1)))
    page.get_by_role("link", name="What if").click()
    flips = page.get_by_role("button", name="Smallest change that flips")
    for place in range(flips.count()):
        flips.nth(place).click()
        heading = page.locator(".flip h4")
        heading.wait_for()
        if "Smallest change" in heading.inner_text():
            page.get_by_role("button", name="Apply").click()
            assert page.locator(".label-list li.flipped").count() >= 1
            return
        page.get_by_role("button", name="Dismiss").click()
    pytest.fail("no label of the first example can be flipped")


def test_the_card_adds_up_to_the_sums(visit):
    model = random_ensemble(3, "per-label")
    data = random_data(model, 20, 1)
    page = visit(build(model, data))
    page.get_by_role("link", name="Rules").click()
    rows = page.locator(".sheet tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.querySelectorAll('td.number')].map((cell) => cell.textContent))"
    )
    start, *rules = rows[: 1 + len(model)]
    needs = rows[-1]

    def number(text: str) -> float:
        return float(text.replace("−", "-") or 0)

    sums = np.array([list(map(number, start))] * len(data.X))
    sums += model.fired(data.X) @ np.array([list(map(number, row)) for row in rules])
    assert np.allclose(sums, model.scores(data.X), atol=0.01 * (1 + len(model)))  # weights are shown with two decimals
    assert np.allclose(list(map(number, needs)), model.decision.cuts, atol=0.01)
    assert page.locator(".sheet tbody th").first.inner_text() == "start"


def test_points_may_be_worth_different_amounts(visit):
    plain = random_ensemble(3, "per-label")
    model = replace(plain, unit=tuple(0.1 * (k + 1) for k in range(len(plain.label_names))))
    data = random_data(model, 20, 1)
    page = visit(build(model, data))
    page.get_by_role("link", name="What if").click()
    shown = page.locator("details.sum summary .soft").all_inner_texts()
    told = model.explain(data.X[0]).labels
    found = sorted(float(text.split("·")[1].split("%")[0]) for text in shown)
    assert found == pytest.approx(sorted(100 * label.probability for label in told), abs=0.51)


def test_the_overview_of_a_scorecard_speaks_of_whole_points(visit):
    X = np.random.default_rng(0).random((80, 3))
    card = RuleEnsembleClassifier(points=5, max_rules=4, teacher=None).fit(X, (X > 0.6).astype(int)).rules_
    overview = visit(build(card)).locator("#section-overview").inner_text()
    assert "points against a label" in overview
    assert "+1.20" not in overview
