"""Fit of an ensemble: folds, large data, unknown labels, and that nothing leaks from a held-out example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyrule import RuleEnsembleClassifier, config_context
from polyrule.data import Table
from polyrule.ensemble import fit as fitting
from polyrule.ensemble.boosting import BoostingOptions
from polyrule.ensemble.fit import fit, stratified_folds
from polyrule.ensemble.logistic import Calibration
from polyrule.ensemble.options import FitOptions
from polyrule.estimators import ensemble as estimator


def test_folds_share_out_every_label_set() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((200, 3)) < 0.3).astype(np.uint8)
    fold = stratified_folds(truth, 4, 0)
    assert np.bincount(fold).tolist() == [50, 50, 50, 50]
    for row in np.unique(truth, axis=0):
        counts = np.bincount(fold[(truth == row).all(axis=1)], minlength=4)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(("examples", "folds"), [(3, 1), (4, 2), (9, 4), (100, 4)])
def test_few_examples_make_few_folds(examples: int, folds: int) -> None:
    assert stratified_folds(np.zeros((examples, 1), dtype=np.uint8), 4, 0).max() + 1 == folds


def test_large_data_has_no_teacher_and_cross_validates_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    class Noting(fitting.FoldModel):
        def __init__(self, examples: Any, *given: Any) -> None:
            sizes.append(len(examples))
            super().__init__(examples, *given)

    monkeypatch.setattr(fitting, "FoldModel", Noting)
    rng = np.random.default_rng(0)
    X = rng.random((240, 3))
    truth = (X[:, :2] > 0.5).astype(np.uint8)
    for enough, taught, expected in ((100, 239, [240, 80, 80, 80]), (160, 240, [240, 160, 160, 160])):
        monkeypatch.setattr(fitting, "_MAX_FOLD_EXAMPLES", enough)
        monkeypatch.setattr(estimator, "_MAX_FOR_TEACHER", taught)
        model = estimator.RuleEnsembleClassifier(max_rules=2).fit(X, truth).model_
        assert ("teacher" in model.info) == (taught == 240)
        assert sizes == expected
        sizes.clear()


def test_rules_that_test_the_same_are_one() -> None:
    """On little data the best body is often the one that is there already."""
    values = np.array([[0.0, 1.0], [1.0, 0.0]] * 25)
    truth = values.astype(np.uint8)
    model = fit(
        Table.from_array(values), truth, np.ones(50), ("a", "b"), FitOptions(BoostingOptions(max_rules=6))
    ).model
    bodies = [frozenset(rule.body) for rule in model.rules]
    assert bodies
    assert len(set(bodies)) == len(bodies)


def test_rules_of_a_scorecard_that_test_the_same_are_one_and_keep_within_the_points() -> None:
    values = np.array([[0.0, 1.0], [1.0, 0.0]] * 25)
    table, truth = Table.from_array(values), values.astype(np.uint8)
    options = FitOptions(BoostingOptions(max_rules=6), teacher=False, points=5)
    model = fit(table, truth, np.ones(50), ("a", "b"), options).model
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
    options = FitOptions(BoostingOptions(max_rules=4))
    table = Table.from_array(values)
    changed = truth.copy()
    changed[fold == 2] = 1 - changed[fold == 2]
    first, second = (fit(table, y, np.ones(80), ("a", "b"), options, fold=fold).scores for y in (truth, changed))
    assert np.array_equal(first.fold, second.fold)
    assert np.array_equal(first.scores[first.fold == 2], second.scores[first.fold == 2])
    assert not np.array_equal(first.scores[first.fold == 1], second.scores[first.fold == 1])


def unknown_labels(seed: int, rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).round(1)
    Y = np.stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0.5, X[:, 3] > 0.3], axis=1).astype(float)
    return X, np.where(rng.random(Y.shape) < 0.25, np.nan, Y)


@pytest.mark.parametrize("options", [{}, {"points": 5}, {"optimize": "macro-f1"}, {"optimize": "subset"}])
def test_unknown_labels_count_nowhere(options: dict[str, Any]) -> None:
    """Examples with no known label change nothing but coverage, and each kernel has the same model."""
    X, Y = unknown_labels(0)
    learner = RuleEnsembleClassifier(max_rules=5, cv=3, teacher=None, max_bins=8, **options)
    model = learner.fit(X, Y).model_
    with config_context(kernels="reference"):
        reference = RuleEnsembleClassifier(**learner.get_params()).fit(X, Y).model_
    assert (model.rules, model.intercepts, model.decision) == (
        reference.rules,
        reference.intercepts,
        reference.decision,
    )
    assert len(model) > 0
    new, truth = unknown_labels(1, 400)
    right = model.predict(Table.from_array(new)) == truth
    assert right[~np.isnan(truth)].mean() > 0.85


def test_a_label_with_unknown_cells_has_the_weights_of_a_fit_without_these_examples() -> None:
    """The slow twin refits every label to the examples where it is known."""
    X, Y = unknown_labels(3)
    model = RuleEnsembleClassifier(max_rules=5, cv=0, teacher=None).fit(X, Y).model_
    for label, name in enumerate(model.label_names):
        known = ~np.isnan(Y[:, label])
        twin = model.refit(X[known], np.where(np.isnan(Y[known]), 0, Y[known]))
        scores, expected = (m.scores(Table.from_array(X))[:, label] for m in (model, twin))
        assert scores == pytest.approx(expected, abs=1e-4), name
