"""Putting it together: folds, the choice of a setting, and that nothing leaks from a held-out example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyrule.data import Table
from polyrule.ensemble import learning
from polyrule.ensemble.building import BuildOptions
from polyrule.ensemble.control import LearnOptions
from polyrule.ensemble.learning import deal, learn, shortest_good
from polyrule.ensemble.logistic import Calibration
from polyrule.ensemble.parts import Setting
from polyrule.estimators import ensemble as estimator


def test_folds_share_out_every_label_set() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((200, 3)) < 0.3).astype(np.uint8)
    fold = deal(truth, 4, 0)
    assert np.bincount(fold).tolist() == [50, 50, 50, 50]
    for row in np.unique(truth, axis=0):
        counts = np.bincount(fold[(truth == row).all(axis=1)], minlength=4)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(("examples", "folds"), [(3, 1), (4, 2), (9, 4), (100, 4)])
def test_few_examples_make_few_folds(examples: int, folds: int) -> None:
    assert deal(np.zeros((examples, 1), dtype=np.uint8), 4, 0).max() + 1 == folds


def test_large_data_has_no_teacher_and_cross_validates_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    class Noting(learning.Part):
        def __init__(self, examples: Any, *given: Any) -> None:
            sizes.append(len(examples))
            super().__init__(examples, *given)

    monkeypatch.setattr(learning, "Part", Noting)
    rng = np.random.default_rng(0)
    X = rng.random((240, 3))
    truth = (X[:, :2] > 0.5).astype(np.uint8)
    for enough, taught, expected in ((100, 239, [240, 80, 80, 80]), (160, 240, [240, 160, 160, 160])):
        monkeypatch.setattr(learning, "_ENOUGH", enough)
        monkeypatch.setattr(estimator, "_MOST_TAUGHT", taught)
        model = estimator.RuleEnsembleClassifier(max_rules=2).fit(X, truth).model_
        assert ("teacher" in model.info) == (taught == 240)
        assert sizes == expected
        sizes.clear()


def test_shorter_heads_may_cost_next_to_nothing() -> None:
    losses = {Setting(0.1, 1.0): 1.0, Setting(0.3, 1.0): 1.019, Setting(1.0, 1.0): 1.03}
    assert shortest_good(losses) == Setting(0.3, 1.0)
    assert shortest_good({Setting(0.1, r): r for r in (3.0, 1.0)}) == Setting(0.1, 1.0)


def test_rules_that_test_the_same_are_one() -> None:
    """On little data the best body is often the one that is there already."""
    values = np.array([[0.0, 1.0], [1.0, 0.0]] * 25)
    truth = values.astype(np.uint8)
    model = learn(
        Table.from_array(values), truth, np.ones(50), ("a", "b"), LearnOptions(BuildOptions(max_rules=6))
    ).model
    bodies = [frozenset(rule.body) for rule in model.rules]
    assert bodies
    assert len(set(bodies)) == len(bodies)


def test_rules_of_a_scorecard_that_test_the_same_are_one_and_keep_within_the_points() -> None:
    values = np.array([[0.0, 1.0], [1.0, 0.0]] * 25)
    table, truth = Table.from_array(values), values.astype(np.uint8)
    options = LearnOptions(BuildOptions(max_rules=6), taught=False, points=5)
    model = learn(table, truth, np.ones(50), ("a", "b"), options).model
    bodies = [frozenset(rule.body) for rule in model.rules]
    assert bodies
    assert len(set(bodies)) == len(bodies)
    assert max(abs(entry.weight) for rule in model.rules for entry in rule.head) == 5
    assert (model.predict(table) == truth).all()


def test_labels_of_a_held_out_example_do_not_touch_its_scores(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(80, 4)).round(2)
    truth = np.stack([values[:, 0] > 0, values[:, 1] > 0], axis=1).astype(np.uint8)
    fold = np.arange(80) % 4
    monkeypatch.setattr(Calibration, "fit", classmethod(lambda cls, *_: cls()))
    options = LearnOptions(BuildOptions(max_rules=4), prices=(0.1,), ridges=(1.0,))
    table = Table.from_array(values)
    changed = truth.copy()
    changed[fold == 2] = 1 - changed[fold == 2]
    first, second = (learn(table, y, np.ones(80), ("a", "b"), options, fold=fold).evidence for y in (truth, changed))
    assert np.array_equal(first.fold, second.fold)
    assert np.array_equal(first.scores[first.fold == 2], second.scores[first.fold == 2])
    assert not np.array_equal(first.scores[first.fold == 1], second.scores[first.fold == 1])


def test_where_no_heads_are_short_enough_those_of_the_highest_price_are_taken() -> None:
    losses = {Setting(0.1, 1.0): 1.0, Setting(0.3, 1.0): 1.5, Setting(1.0, 1.0): 2.0, Setting(1.0, 3.0): 1.9}
    lengths = {0.1: 6.0, 0.3: 5.0, 1.0: 4.0}
    assert shortest_good(losses, lengths, labels_per_head=3.0) == Setting(1.0, 3.0)
    assert shortest_good(losses, lengths, labels_per_head=5.0) == Setting(0.3, 1.0)
    assert shortest_good(losses, lengths, labels_per_head=6.0) == Setting(0.1, 1.0)
