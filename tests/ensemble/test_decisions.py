"""Decisions: what each kind does."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

from polyrule import RuleEnsembleClassifier
from polyrule.ensemble.decision import MEASURES, OutOfFoldScores, tune
from polyrule.errors import ModelError
from polyrule.model.decisions import Decision, dependence, membership, seen_label_sets


def test_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = (rng.integers(0, 2, (50, 4)).astype(np.uint8) for _ in range(2))
    weights = rng.integers(1, 4, 50).astype(float)
    expected = {
        "micro-f1": f1_score(truth, predicted, average="micro", sample_weight=weights),
        "macro-f1": f1_score(truth, predicted, average="macro", sample_weight=weights),
        "example-f1": f1_score(truth, predicted, average="samples", sample_weight=weights, zero_division=1),
        "subset": accuracy_score(truth, predicted, sample_weight=weights),
        "hamming": 1 - hamming_loss(truth, predicted, sample_weight=weights),
    }
    for name, measure in MEASURES.items():
        assert measure(truth, predicted, weights) == pytest.approx(expected[name]), name


def test_a_label_is_present_from_its_cut_on() -> None:
    scores = np.array([[0.5, 0.5], [0.49, 0.51]])
    assert Decision("per-label", (0.5, 0.51)).labels(scores).tolist() == [[1, 0], [0, 1]]


def test_subset_without_cuts_is_the_most_probable_seen_set() -> None:
    rng = np.random.default_rng(1)
    sets = ((0,), (1, 2), (0, 3), ())
    scores = rng.normal(size=(200, 4))
    chosen = Decision("subset", (0.0,) * 4, sets).labels(scores)
    members = membership(sets, 4)
    chance = expit(scores)
    joint = np.stack([np.prod(np.where(row, chance, 1 - chance), axis=1) for row in members], axis=1)
    assert np.array_equal(chosen, members[np.argmax(joint, axis=1)])


def test_bonuses_are_added_to_the_sums_of_their_sets() -> None:
    scores = np.random.default_rng(1).normal(size=(200, 3))
    sets, bonuses = ((0,), (1, 2), ()), (0.3, -0.8, 0.1)
    chosen = Decision("subset", (0.1, 0.2, 0.3), sets, bonuses).labels(scores)
    for row, labels in zip(scores - np.array([0.1, 0.2, 0.3]), chosen, strict=True):
        sums = [sum(row[label] for label in s) + bonus for s, bonus in zip(sets, bonuses, strict=True)]
        assert tuple(np.flatnonzero(labels)) == sets[int(np.argmax(sums))]
    in_points = Decision("subset", (0.1, 0.2, 0.3), sets, bonuses).in_points(0.5)
    assert np.array_equal(in_points.labels(scores / 0.5), chosen)


def test_sets_that_are_no_commoner_than_their_labels_make_them_get_equal_bonuses() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((200_000, 2)) < [0.3, 0.6]).astype(np.uint8)
    assert np.ptp(dependence(truth, seen_label_sets(truth), np.ones(len(truth)))) < 0.03
    truth[:, 1] = truth[:, 0]
    both, neither = dependence(truth, ((0, 1), ()), np.ones(len(truth)))
    assert both > neither


def test_dependent_labels_are_decided_together() -> None:
    # Two labels that always come together, and scores that know each of them badly.
    rng = np.random.default_rng(0)
    first = rng.random(2000) < 0.4
    truth = np.column_stack([first, first ^ (rng.random(2000) < 0.05)]).astype(np.uint8)
    scores = 1.5 * (2.0 * truth - 1) + rng.normal(0, 2, truth.shape)
    evidence = OutOfFoldScores(scores, truth, np.ones(2000), np.arange(2000) % 4)
    decision = tune(evidence, "subset", "subset")
    plain = Decision(decision.kind, decision.cuts, decision.label_sets)
    assert decision.bonuses
    reached, without = ((d.labels(scores) == truth).all(axis=1).mean() for d in (decision, plain))
    assert reached > without + 0.05


def test_subset_over_all_sets_is_a_threshold() -> None:
    every = tuple(s for size in range(4) for s in itertools.combinations(range(3), size))
    scores = np.random.default_rng(2).normal(size=(100, 3))
    cuts = (0.2, -0.3, 0.1)
    assert np.array_equal(Decision("subset", cuts, every).labels(scores), Decision("per-label", cuts).labels(scores))


def test_expected_f1_by_enumeration() -> None:
    sets = ((0,), (0, 1), (2,), ())
    scores = np.random.default_rng(3).normal(size=(50, 3))
    chosen = Decision("expected-f1", (), sets).labels(scores)
    for row, labels in zip(scores, chosen, strict=True):
        weight = [np.exp(sum(row[label] for label in s)) for s in sets]
        value = [
            sum(
                w * (2 * len(set(a) & set(b)) / (len(a) + len(b)) if a or b else 1.0)
                for w, b in zip(weight, sets, strict=True)
            )
            for a in sets
        ]
        assert tuple(np.flatnonzero(labels)) == sets[int(np.argmax(value))]


def test_the_commonest_set_comes_first() -> None:
    truth = np.array([[1, 1], [0, 1], [0, 1], [1, 0]], dtype=np.uint8)
    assert seen_label_sets(truth) == ((1,), (0, 1), (0,))


def test_whole_points_get_whole_cuts() -> None:
    scores = np.arange(-4, 5)[:, None] * 1.0
    decision = Decision("threshold", (0.7,))
    assert decision.in_points(0.5).cuts == (2.0,)
    assert np.array_equal(decision.in_points(0.5).labels(scores), decision.labels(scores * 0.5))


@pytest.mark.parametrize("kind", ["subset", "expected-f1"])
def test_points_of_different_worth_are_not_compared_by_label_sets(kind: str) -> None:
    """Tuning the decision of such a scorecard ended in a traceback."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] + rng.normal(size=80) > 0]).astype(int)
    learner = RuleEnsembleClassifier(points=True, teacher=None, max_rules=3, cv=2).fit(X, Y)
    assert isinstance(learner.model_.unit, tuple)
    before = learner.model_
    for tuned in (
        partial(learner.model_.tune_decision, X, Y, decision=kind),
        partial(learner.tune_decision, None, kind),
    ):
        with pytest.raises(ModelError, match=f"decision '{kind}' compares labels, but their points are worth"):
            tuned()
    assert learner.model_ is before
