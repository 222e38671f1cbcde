"""Tuning decisions: kinds are compared fairly, near-ties go to the other measures, rare labels get sober cuts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from polyrule.ensemble import decision
from polyrule.ensemble.decision import (
    MEASURES,
    OutOfFoldScores,
    best_sets,
    check_decision,
    choose,
    macro_f1,
    rare_label_cutoffs,
    tune,
)
from polyrule.errors import OptionError
from polyrule.model.decisions import KINDS


def evidence(seed: int = 0, rows: int = 300, labels: int = 4, noise: float = 1.0) -> OutOfFoldScores:
    rng = np.random.default_rng(seed)
    scores = rng.normal(-0.5, 1.5, (rows, labels))
    truth = (rng.random(scores.shape) < expit(noise * scores)).astype(np.uint8)
    return OutOfFoldScores(scores, truth, np.ones(rows), np.arange(rows) % 4)


@pytest.mark.parametrize("optimize", MEASURES)
def test_tuning_is_worth_it(optimize: str) -> None:
    known = evidence(rows=600)
    plain = MEASURES[optimize](known.truth, (known.scores >= 0).astype(np.uint8), known.weights)
    decision, merits = choose(known, "auto", optimize)
    reached = MEASURES[optimize](known.truth, decision.labels(known.scores), known.weights)
    assert reached >= plain - 0.01
    assert list(merits) == [decision.kind]


def test_kinds_are_judged_on_examples_they_were_not_tuned_on() -> None:
    # Pure noise: a threshold per label would win on the examples it was tuned on.
    rng = np.random.default_rng(5)
    noise = OutOfFoldScores(
        rng.normal(size=(60, 10)), rng.integers(0, 2, (60, 10)).astype(np.uint8), np.ones(60), np.arange(60) % 4
    )
    tuned = MEASURES["hamming"](noise.truth, tune(noise, "per-label", "hamming").labels(noise.scores), noise.weights)
    _, merits = choose(noise, "per-label", "hamming")
    assert tuned > 0.53
    assert merits["per-label"] < tuned


def test_a_label_never_seen_gets_the_shared_cut() -> None:
    known = evidence()
    known.truth[:, 2] = 0
    decision = tune(known, "per-label", "macro-f1")
    assert decision.cuts[2] == tune(known, "threshold", "macro-f1").cuts[0]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_label_sets_are_those_of_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    totals, sizes = rng.integers(-4, 5, (30, 12)).astype(float), rng.integers(0, 4, 12).astype(float)  # many ties
    cuts = np.array([-1.0, 0.0, 0.5, 2.0])
    for cut, found in zip(cuts, best_sets(totals, sizes, cuts), strict=True):
        assert np.array_equal(found, np.argmax(totals - cut * sizes, axis=1))


@pytest.mark.parametrize("optimize", ["micro-f1", "example-f1", "hamming"])
def test_the_cutoff_has_the_largest_mean_value_of_five_neighbors(optimize: str) -> None:
    known = evidence(rows=500)
    grid = [float(np.round(np.log(p / (100 - p)), 9)) for p in range(5, 81)]
    values = [known.value((known.scores >= cutoff).astype(np.uint8), optimize) for cutoff in grid]
    padded = [values[0]] * 2 + values + [values[-1]] * 2
    means = [sum(padded[k : k + 5]) / 5 for k in range(len(grid))]
    best = [cutoff for cutoff, mean in zip(grid, means, strict=True) if mean >= max(means) - 1e-12]
    assert tune(known, "threshold", optimize).cuts == (min(best, key=abs),) * known.truth.shape[1]


@pytest.mark.parametrize(
    ("optimize", "kind"), [("micro-f1", "threshold"), ("macro-f1", "per-label"), ("subset", "subset")]
)
def test_each_measure_has_the_kind_that_suits_it(optimize: str, kind: str) -> None:
    assert choose(evidence(), "auto", optimize)[0].kind == kind
    assert choose(evidence(), "auto", optimize, by_label=True)[0].kind in ("threshold", "per-label")
    assert choose(evidence(), "expected-f1", optimize, by_label=True)[0].kind == "expected-f1"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("optimize", MEASURES)
def test_unknown_labels_change_no_decision(kind: str, optimize: str) -> None:
    """Cells that are unknown have any score; where a whole label is known or not, the other examples decide alone."""
    known = evidence(rows=120)
    scores, truth = np.vstack([known.scores, known.scores[:40] + 9]), np.vstack([known.truth, known.truth[:40] * 0 + 2])
    more = OutOfFoldScores(scores, truth, np.ones(160), np.append(known.fold, np.arange(40) % 4))
    (decision, cv_scores), (expected, expected_scores) = (choose(some, kind, optimize) for some in (more, known))
    assert decision == expected
    assert cv_scores == pytest.approx(expected_scores)


@pytest.mark.parametrize("optimize", MEASURES)
def test_measures_leave_out_what_is_unknown(optimize: str) -> None:
    """The slow twin goes through cells one by one."""
    rng = np.random.default_rng(4)
    truth, predicted = rng.integers(0, 3, (60, 3)).astype(np.uint8), rng.integers(0, 2, (60, 3)).astype(np.uint8)
    weights = rng.integers(1, 4, 60).astype(float)
    cells = [(r, c) for r in range(60) for c in range(3) if truth[r, c] != 2]

    def f1(some: list[tuple[int, int]], empty: float = 0.0) -> float:
        right = sum(weights[r] for r, c in some if truth[r, c] == predicted[r, c] == 1)
        total = sum(weights[r] * (int(truth[r, c]) + int(predicted[r, c])) for r, c in some)
        return 2 * right / total if total else empty

    rows = [r for r in range(60) if any(cell[0] == r for cell in cells)]
    total = sum(weights[r] for r in rows)
    expected = {
        "micro-f1": f1(cells),
        "macro-f1": np.mean([f1([cell for cell in cells if cell[1] == c]) for c in range(3)]),
        "example-f1": sum(weights[r] * f1([cell for cell in cells if cell[0] == r], 1.0) for r in rows) / total,
        "subset": sum(weights[r] * all(truth[q] == predicted[q] for q in cells if q[0] == r) for r in rows) / total,
        "hamming": sum(weights[q[0]] * (truth[q] == predicted[q]) for q in cells) / sum(weights[r] for r, _ in cells),
    }
    assert MEASURES[optimize](truth, predicted, weights) == pytest.approx(expected[optimize])


def uneven(seed: int, rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Twenty calibrated labels from common to very rare."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(np.linspace(0, -4, 20), 1.5, (rows, 20))
    return scores, (rng.random(scores.shape) < expit(scores)).astype(np.uint8)


def test_cuts_for_rare_labels_do_better_on_new_examples_than_one_for_all_or_each_for_itself() -> None:
    sober, alone, shared = [], [], []
    for seed in range(8):
        scores, truth = uneven(seed)
        fresh, outcome = uneven(100 + seed, 4000)
        known = OutOfFoldScores(scores, truth, np.ones(400), np.arange(400) % 4)
        one = tune(known, "threshold", "macro-f1").cuts
        each = decision._label_cutoffs(known, "micro-f1")
        for results, cuts in ((sober, rare_label_cutoffs(known)), (alone, each), (shared, one)):
            results.append(macro_f1(outcome, (fresh >= np.asarray(cuts)).astype(np.uint8), np.ones(4000)))
    assert np.mean(sober) > np.mean(alone) + 0.005
    assert np.mean(sober) > np.mean(shared) + 0.002


def test_weights_count_as_repetitions_for_rare_label_cutoffs() -> None:
    scores, truth = uneven(3, 120)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    known = OutOfFoldScores(scores, truth, weights.astype(float), np.arange(120) % 4)
    repeated = replace(known.of(np.repeat(np.arange(120), weights)), weights=np.ones(weights.sum()))
    assert rare_label_cutoffs(known) == pytest.approx(rare_label_cutoffs(repeated))


@pytest.mark.parametrize(("kind", "optimize"), [("maybe", "micro-f1"), ("auto", "luck")])
def test_unknown_choices_are_refused(kind: str, optimize: str) -> None:
    with pytest.raises(OptionError, match="must be"):
        check_decision(kind, optimize, None)


def test_deciding_for_macro_f1_does_not_predict_wildly() -> None:
    """Labels that the scores know nothing about are called everywhere by whoever maximises their own F1."""
    rng = np.random.default_rng(0)
    scores = np.column_stack([rng.normal(0, 3, (400, 2)), rng.normal(-1, 0.1, (400, 10))])
    truth = (rng.random(scores.shape) < expit(scores)).astype(np.uint8)
    known = OutOfFoldScores(scores, truth, np.ones(400), np.arange(400) % 4)
    micro = MEASURES["micro-f1"]
    best = micro(truth, tune(known, "threshold", "micro-f1").labels(scores), known.weights)
    for kind in ("threshold", "per-label", "subset"):
        reached = micro(truth, tune(known, kind, "macro-f1").labels(scores), known.weights)
        assert reached >= best - 0.05
