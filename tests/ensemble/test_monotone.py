"""Features that count in one direction only: the search keeps to it, the weights do, and so do the predictions."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.test_gain import fixed, needs_native
from tests.ensemble.worlds import random_table

from polyrule import RuleEnsembleClassifier
from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import ABOVE, AT_MOST, CATEGORY, BinTest
from polyrule.conditions import flatten
from polyrule.data import Dataset, Table
from polyrule.ensemble import scorecard
from polyrule.ensemble.gain import Gradients, best_conditions, reference_best_conditions
from polyrule.ensemble.solver import Solver
from polyrule.errors import OptionError
from polyrule.utils.compute import Compute

DIRECTIONS = st.sampled_from([(1, 0), (-1, 0), (0, 1), (1, -1), (-1, -1)])


def world(seed: int, direction: tuple[int, int], labels: int = 4) -> tuple[BinnedTable, Gradients, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = random_table(rng, 40)
    binning = Binning.of(table, 64)
    binned = BinnedTable.of(binning, binning.columns(table), np.array([*direction, 0, 0], dtype=np.int8))
    chance = rng.random((40, labels))
    slopes = fixed(chance - rng.integers(0, 2, chance.shape), chance * (1 - chance), 1.0, float(rng.random() < 0.5) / 3)
    return binned, slopes, np.flatnonzero(rng.random(40) < 0.7).astype(np.int32)


def obvious(binned: BinnedTable, rows: np.ndarray, slopes: Gradients, sign: int) -> list[float]:
    """Try every condition of every feature on its own; the sign that a test asks for is spelled out."""
    gains = []
    for feature, count in enumerate(binned.count.tolist()):
        best = -1.0
        for bin_ in range(count if binned.nominal[feature] else count - 1):
            for kind in [CATEGORY] if binned.nominal[feature] else [AT_MOST, ABOVE]:
                way = int(binned.direction[feature])
                wanted = 0 if kind == CATEGORY else way if kind == ABOVE else -way
                covered = binned.covered(BinTest(feature, kind, bin_), rows)
                if 0 < len(covered) < len(rows) and not (sign and wanted and sign != wanted):
                    g = slopes.gradient[covered].sum(axis=0, dtype=np.int64)
                    gain = np.maximum(slopes.label_gains(slopes.sums(covered)) - slopes.cost, 0)
                    best = max(best, gain[g[1:] * (sign or wanted) < 0].sum() if sign or wanted else gain.sum())
        gains.append(best)
    return gains


@given(st.integers(0, 10**6), DIRECTIONS, st.sampled_from([0, 1, -1]))
@settings(max_examples=80, deadline=None)
def test_the_search_finds_the_best_condition_that_keeps_to_the_direction(seed, direction, sign) -> None:
    binned, slopes, rows = world(seed, direction)
    found = reference_best_conditions(binned, rows, slopes, sign)
    assert found.gain == pytest.approx(obvious(binned, rows, slopes, sign), abs=1e-9)
    for feature in np.flatnonzero(found.gain > 0).tolist():
        test = BinTest(feature, int(found.kind[feature]), int(found.bin[feature]))
        wanted = sign or binned.sign([test])
        assert not (sign and binned.sign([test]) == -sign)
        assert slopes.gain(slopes.sums(binned.covered(test, rows)), wanted) == pytest.approx(found.gain[feature])


@needs_native
@given(st.integers(0, 10**6), DIRECTIONS, st.sampled_from([0, 1, -1]), st.booleans())
@settings(max_examples=80, deadline=None)
def test_native_finds_the_same(seed, direction, sign, everything) -> None:
    binned, slopes, rows = world(seed, direction)
    if everything:
        rows = np.arange(binned.rows, dtype=np.int32)
    reference = reference_best_conditions(binned, rows, slopes, sign)
    native = best_conditions(binned, rows, replace(slopes, compute=Compute(2, "native")), sign=sign)
    for name in ("gain", "bin", "kind"):
        assert np.array_equal(getattr(native, name), getattr(reference, name)), name


@pytest.mark.parametrize("seed", range(6))
def test_weights_have_the_sign_they_must_have_and_are_the_best_of_those_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, 2, (60, 3)).astype(np.float32)
    solver = Solver(targets, rng.integers(1, 3, 60).astype(float), 0.5, 8)
    for _ in range(8):
        rows = np.flatnonzero(rng.random(60) < 0.4).astype(np.int32)
        solver.add(rows, np.ones(3, dtype=bool), int(rng.integers(-1, 2)))
        solver.solve(steps=2)
    solver.remove(2)
    solver.solve(steps=50)
    assert (solver.coefficients * solver.signs[:, None] >= 0).all()
    assert 0 < solver.support[1:].sum() < solver.support[1:].size  # some went, not all
    assert solver.max_derivative() < 1e-5 * solver.weights.sum()  # what `verify` allows


def test_points_keep_the_sign() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.random((80, 2)) < 0.5
    covers = np.hstack([np.ones((80, 1)), drawn[:, [0, 0, 0, 1]]]).astype(float)
    weights = np.array([[0.0], [0.1], [0.6], [0.6], [5.0]])  # 0, 1, 1 points are too many: the first would give one
    signs = np.array([0, 1, 1, 1, 0], dtype=np.int8)
    points, _ = scorecard.to_points(weights, covers, np.ones(80), 5, signs)
    assert points[1:4, 0].sum() == 1
    assert (points * signs[:, None] >= 0).all()
    free, _ = scorecard.to_points(weights, covers, np.ones(80), 5)
    assert free[1, 0] < 0


def songs(seed: int, rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Labels that rise with the first feature, fall with it, have a hump in it, and depend on others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).round(1)
    noise = rng.normal(0, 0.4, (rows, 4))
    Y = np.column_stack([X[:, 0] + X[:, 1], -X[:, 0] + X[:, 2], 0.7 - np.abs(X[:, 0]), X[:, 2] * X[:, 3]]) + noise > 0
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, Y.astype(int)


def rises(learner: RuleEnsembleClassifier, feature: int, way: int, seed: int) -> bool:
    """Whether no sum falls, and no label is lost, as the feature goes `way`; from 300 random examples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, feature] = rng.normal(size=300).round(1)
    further = X.copy()
    further[:, feature] += way * rng.exponential(1, 300)
    model = learner.model_
    low, high = (model.scores(Table.from_array(some)) for some in (X, further))
    return bool((high >= low - 1e-12).all() and (learner.predict(further) >= learner.predict(X)).all())


@given(
    st.integers(0, 10**6),
    st.sampled_from([{}, {"points": 4}, {"optimize": "macro-f1"}, {"teacher": "forest"}]),
)
@settings(max_examples=12, deadline=None)
def test_predictions_are_monotone(seed: int, options: dict) -> None:
    X, Y = songs(seed)
    ways = {"x0": "up", "x1": "down"}
    learner = RuleEnsembleClassifier(8, **{"teacher": None, "cv": 2, **options}, constraints={"monotone": ways}).fit(
        X, Y
    )
    assert rises(learner, 0, 1, seed)
    assert rises(learner, 1, -1, seed)
    assert learner.model_.info["monotone"] == ways
    learner.tune_decision("subset")
    assert rises(learner, 0, 1, seed)


def test_without_the_limit_they_are_not_and_with_it_the_feature_is_still_used() -> None:
    X, Y = songs(0, 400)
    assert not rises(RuleEnsembleClassifier(8, teacher=None, cv=2).fit(X, Y), 0, 1, 0)
    limited = RuleEnsembleClassifier(8, teacher=None, cv=2, constraints={"monotone": {"x0": "up"}}).fit(X, Y)
    assert any(test.feature == 0 for rule in limited.model_.rules for test in flatten(rule.body))


def test_refitting_and_going_on_keep_to_it() -> None:
    X, Y = songs(1, 300)
    first = RuleEnsembleClassifier(8, teacher=None, cv=2, constraints={"monotone": {"x0": "up"}}).fit(X, Y)
    turned = Dataset(
        Table.from_array(np.where(np.arange(4) == 0, -X, X)), Y.astype(np.uint8), first.label_names_
    )  # the feature now points the other way
    refitted = first.model_.refit(turned)
    first.model_ = refitted
    assert rises(first, 0, 1, 1)
    assert refitted.verify(turned).ok
    free = RuleEnsembleClassifier(4, teacher=None, cv=2).fit(X, Y)
    on = RuleEnsembleClassifier(8, teacher=None, cv=2, constraints={"monotone": {"x0": "up"}})
    hump = [rule for rule in free.model_.rules if len({t.op for t in flatten(rule.body) if t.feature == 0}) < 2]
    on.fit(X, Y, start=dataclasses.replace(free.model_, rules=tuple(hump)))
    assert rises(on, 0, 1, 1)


def test_what_cannot_be_is_said() -> None:
    X, Y = songs(2, 60)
    for ways, words in (
        ({"x9": "up"}, "monotone: there is no feature 'x9'"),
        ({"x0": "sideways"}, "monotone: 'x0' must go 'up' or 'down'"),
    ):
        with pytest.raises(OptionError, match=words):
            RuleEnsembleClassifier(3, teacher=None, constraints={"monotone": ways}).fit(X, Y)
    with pytest.raises(OptionError, match="chooses whole label sets"):
        RuleEnsembleClassifier(3, decision="subset", constraints={"monotone": {"x0": "up"}}).fit(X, Y)
