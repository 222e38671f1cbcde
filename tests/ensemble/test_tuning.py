"""Tuning decisions: kinds are compared fairly, near-ties go to the other measures, rare labels get sober cuts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from polyrule.ensemble import tuning
from polyrule.ensemble.tuning import (
    MEASURES,
    Evidence,
    best_sets,
    check_decision,
    choose,
    macro_f1,
    rare_label_cuts,
    tune,
)
from polyrule.errors import OptionError
from polyrule.model.decisions import KINDS


def evidence(seed: int = 0, rows: int = 300, labels: int = 4, noise: float = 1.0) -> Evidence:
    rng = np.random.default_rng(seed)
    scores = rng.normal(-0.5, 1.5, (rows, labels))
    truth = (rng.random(scores.shape) < expit(noise * scores)).astype(np.uint8)
    return Evidence(scores, truth, np.ones(rows), np.arange(rows) % 4)


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


@pytest.mark.parametrize("seed", range(20))
def test_the_best_label_sets_are_those_of_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    totals, sizes = rng.integers(-4, 5, (30, 12)).astype(float), rng.integers(0, 4, 12).astype(float)  # many ties
    cuts = np.array([-1.0, 0.0, 0.5, 2.0])
    for cut, found in zip(cuts, best_sets(totals, sizes, cuts), strict=True):
        assert np.array_equal(found, np.argmax(totals - cut * sizes, axis=1))


def test_what_f1_hardly_misses_is_spent_on_the_other_measures(monkeypatch) -> None:
    known = evidence(rows=2000)
    thrifty = tune(known, "threshold", "micro-f1").labels(known.scores)
    monkeypatch.setattr(tuning, "_SLACK", {"micro-f1": 0.0})
    greedy = tune(known, "threshold", "micro-f1").labels(known.scores)
    of = {name: [MEASURES[name](known.truth, p, known.weights) for p in (thrifty, greedy)] for name in MEASURES}
    assert of["micro-f1"][0] > of["micro-f1"][1] - 0.01
    assert of["hamming"][0] > of["hamming"][1] + 0.005
    assert of["subset"][0] > of["subset"][1] + 0.005


def test_other_measures_decide_between_kinds_that_are_as_good() -> None:
    # Exactly one of two labels is present: thresholds often predict both or none, label sets never do.
    rng = np.random.default_rng(4)
    first = rng.integers(0, 2, 4000)
    truth = np.stack([first, 1 - first], axis=1).astype(np.uint8)
    scores = rng.normal(2.0 * truth - 1, 2.0)
    decision, _ = choose(Evidence(scores, truth, np.ones(4000), np.arange(4000) % 4), "auto", "micro-f1")
    assert decision.kind == "subset"


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
        known = Evidence(scores, truth, np.ones(400), np.arange(400) % 4)
        one = tune(known, "threshold", "macro-f1").cuts
        each = tuning._label_cuts(known, "micro-f1")
        for results, cuts in ((sober, rare_label_cuts(known)), (alone, each), (shared, one)):
            results.append(macro_f1(outcome, (fresh >= np.asarray(cuts)).astype(np.uint8), np.ones(4000)))
    assert np.mean(sober) > np.mean(alone) + 0.005
    assert np.mean(sober) > np.mean(shared) + 0.002


def test_weights_count_as_repetitions_for_rare_label_cuts() -> None:
    scores, truth = uneven(3, 120)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    known = Evidence(scores, truth, weights.astype(float), np.arange(120) % 4)
    repeated = replace(known.of(np.repeat(np.arange(120), weights)), weights=np.ones(weights.sum()))
    assert rare_label_cuts(known) == pytest.approx(rare_label_cuts(repeated))


@pytest.mark.parametrize(("kind", "optimize"), [("maybe", "micro-f1"), ("auto", "luck")])
def test_unknown_choices_are_refused(kind: str, optimize: str) -> None:
    with pytest.raises(OptionError, match="must be"):
        check_decision(kind, optimize, None)


def test_deciding_for_macro_f1_does_not_predict_wildly() -> None:
    """Labels that the scores know nothing about are called everywhere by whoever maximises their own F1."""
    rng = np.random.default_rng(0)
    scores = np.column_stack([rng.normal(0, 3, (400, 2)), rng.normal(-1, 0.1, (400, 10))])
    truth = (rng.random(scores.shape) < expit(scores)).astype(np.uint8)
    known = Evidence(scores, truth, np.ones(400), np.arange(400) % 4)
    micro = MEASURES["micro-f1"]
    best = micro(truth, tune(known, "threshold", "micro-f1").labels(scores), known.weights)
    for kind in ("threshold", "per-label", "subset"):
        reached = micro(truth, tune(known, kind, "macro-f1").labels(scores), known.weights)
        assert reached >= best - 0.05
