"""Decisions: what each kind does, and that they are chosen fairly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

from polyrule.ensemble.decisions import KINDS, Decision, Evidence, choose, membership, seen_label_sets, tune
from polyrule.ensemble.measures import MEASURES
from polyrule.errors import OptionError


def evidence(seed: int = 0, rows: int = 300, labels: int = 4, noise: float = 1.0) -> Evidence:
    rng = np.random.default_rng(seed)
    scores = rng.normal(-0.5, 1.5, (rows, labels))
    truth = (rng.random(scores.shape) < expit(noise * scores)).astype(np.uint8)
    return Evidence(scores, truth, np.ones(rows), np.arange(rows) % 4)


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


@pytest.mark.parametrize("optimize", MEASURES)
def test_tuning_is_worth_it(optimize: str) -> None:
    known = evidence(rows=600)
    plain = MEASURES[optimize](known.truth, (known.scores >= 0).astype(np.uint8), known.weights)
    decision, merits = choose(known, "auto", optimize)
    reached = MEASURES[optimize](known.truth, decision.labels(known.scores), known.weights)
    assert reached >= plain - 0.01
    assert set(merits) == set(KINDS)


def test_kinds_are_judged_on_examples_they_were_not_tuned_on() -> None:
    # Pure noise: a threshold per label would win on the examples it was tuned on.
    rng = np.random.default_rng(5)
    noise = Evidence(
        rng.normal(size=(60, 10)), rng.integers(0, 2, (60, 10)).astype(np.uint8), np.ones(60), np.arange(60) % 4
    )
    tuned = MEASURES["hamming"](noise.truth, tune(noise, "per-label", "hamming").labels(noise.scores), noise.weights)
    _, merits = choose(noise, "auto", "hamming")
    assert tuned > 0.53
    assert merits["per-label"] < tuned


def test_a_label_never_seen_gets_the_shared_cut() -> None:
    known = evidence()
    known.truth[:, 2] = 0
    decision = tune(known, "per-label", "macro-f1")
    assert decision.cuts[2] == tune(known, "threshold", "macro-f1").cuts[0]


def test_whole_points_get_whole_cuts() -> None:
    scores = np.arange(-4, 5)[:, None] * 1.0
    decision = Decision("threshold", (0.7,))
    assert decision.in_points(0.5).cuts == (2.0,)
    assert np.array_equal(decision.in_points(0.5).labels(scores), decision.labels(scores * 0.5))


@pytest.mark.parametrize(("kind", "optimize"), [("maybe", "micro-f1"), ("auto", "luck")])
def test_unknown_choices_are_refused(kind: str, optimize: str) -> None:
    with pytest.raises(OptionError, match="must be"):
        choose(evidence(), kind, optimize)
