"""Groups of alternatives: what a step finds is what its cover gains, and ensembles with groups keep every promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.test_gain import needs_native, world

from polyrule import RuleEnsembleClassifier, config_context
from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.code_tests import (
    ABOVE,
    AT_MOST,
    CATEGORY,
    AnyTest,
    BinGroup,
    BinTest,
    canonical_key,
    direction_key,
    holds,
    simplify,
)
from polyrule.conditions import GroupCondition, flatten, n_conditions
from polyrule.data import Dataset, Table
from polyrule.ensemble.gain import best_conditions, reference_best_conditions
from polyrule.ensemble.growth import GrownBody, GrowthOptions, Search, Step, grow
from polyrule.errors import OptionError
from polyrule.utils.compute import Compute

pytestmark = pytest.mark.usefixtures("few_trees")


def covered(table: BinnedTable, tests: tuple[AnyTest, ...]) -> np.ndarray:
    """Rows of a body, counted one by one."""

    def satisfies(row: int, test: BinTest) -> bool:
        code = table.column(test.feature)[row : row + 1]
        return bool(holds(test, code, int(table.count[test.feature]))[0])

    def fulfils(row: int, test: AnyTest) -> bool:
        if isinstance(test, BinTest):
            return satisfies(row, test)
        return sum(satisfies(row, member) for member in test.members) >= test.least

    return np.array([row for row in range(table.rows) if all(fulfils(row, t) for t in tests)], dtype=np.int32)


def any_test(rng: np.random.Generator, table: BinnedTable) -> BinTest:
    feature = int(rng.integers(len(table.count)))
    count = int(table.count[feature])
    if table.nominal[feature]:
        return BinTest(feature, CATEGORY, int(rng.integers(count)))
    return BinTest(feature, int(rng.choice([AT_MOST, ABOVE])), int(rng.integers(max(1, count - 1))))


def any_body(rng: np.random.Generator, table: BinnedTable) -> tuple[AnyTest, ...]:
    """Up to two plain tests, and perhaps a group."""
    tests: list[AnyTest] = [any_test(rng, table) for _ in range(rng.integers(0, 3))]
    members = tuple(dict.fromkeys(any_test(rng, table) for _ in range(4)))
    if len(members) > 1 and rng.random() < 0.6:
        tests.append(BinGroup(members, int(rng.integers(1, len(members)))))
    return tuple(tests)


@needs_native
@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_native_equals_reference_with_an_offset(seed: int, threads: int) -> None:
    table, slopes, rows = world(seed, labels=1 + seed % 40, cost=(seed % 3) / 5)
    offset = slopes.sums(np.setdiff1d(np.arange(table.rows, dtype=np.int32), rows))
    labels = slopes.labels
    some = np.append(0, np.flatnonzero(np.random.default_rng(seed).random(labels) < 0.5))
    judges = np.unique(some) if seed % 2 else None
    reference = reference_best_conditions(table, rows, slopes, offset=offset, judges=judges)
    compiled = replace(slopes, compute=Compute(threads, "native"))
    found = best_conditions(table, rows, compiled, offset=offset, judges=judges)
    for name in ("gain", "bin", "kind"):
        assert np.array_equal(getattr(found, name), getattr(reference, name)), name


@needs_native
def test_an_offset_has_a_gradient_and_a_curvature_per_label() -> None:
    table, slopes, rows = world(1)
    compiled = replace(slopes, compute=Compute(kernels="native"))
    with pytest.raises(ValueError, match="offset needs a gradient and a hessian per column"):
        best_conditions(table, rows, compiled, offset=np.zeros((2, 7), dtype=np.int64))


@given(st.integers(0, 10**6), st.sampled_from(["native", "reference"]), st.sampled_from([0.0, 0.3]), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_every_step_gains_what_its_cover_gains(seed: int, kernels: str, cost: float, few: int) -> None:
    table, slopes, _ = world(seed, labels=1 + seed % 4, cost=cost)
    tests = any_body(np.random.default_rng(seed), table)
    rows = covered(table, tests)
    body = GrownBody(tests, rows, slopes.sums(rows), slopes.gain(slopes.sums(rows)) if tests else 0.0)
    options = GrowthOptions(
        max_conditions=9,
        max_members=9,
        min_improvement=0.0,
        chance=0.0,
        judges=few,
    )
    search = Search(table, replace(slopes, compute=Compute(kernels=kernels)), options)
    for step in search.steps(body):
        sure, border = search.rows(step)
        for feature in range(len(table.count)):
            for found in {any_test(np.random.default_rng([seed, feature, k]), table) for k in range(4)}:
                expected = covered(table, step.tests(found))
                together = np.sort(np.concatenate([sure, table.covered(found, border)]))
                assert np.array_equal(together, expected)
        for offer in filter(None, [search.extended(step)]):
            assert np.array_equal(offer.rows, covered(table, offer.tests))
            assert np.isclose(offer.gain, slopes.gain(slopes.sums(offer.rows)))
            assert offer.gain > body.gain
            for group in (test for test in offer.tests if isinstance(test, BinGroup) and step.members):
                told = direction_key(group.members[-1])
                assert group.least == 1 or told not in [direction_key(member) for member in group.members[:-1]]


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_best_member_is_found(seed: int) -> None:
    table, slopes, _ = world(seed)
    rng = np.random.default_rng(seed)
    tests = tuple(dict.fromkeys(any_test(rng, table) for _ in range(4)))
    rows = covered(table, tests)
    step = Step(GrownBody(tests, rows, slopes.sums(rows), 0.0), tests[2:3], tests[:2], 2)
    search = Search(table, slopes, GrowthOptions(9, 9, min_improvement=0.0, chance=0.0))
    offer = search.extended(step)
    best = 0.0 if offer is None else slopes.gain(slopes.sums(offer.rows))
    border = search.rows(step)[1]
    for feature, count in enumerate(table.count.tolist()):
        kinds = [CATEGORY] if table.nominal[feature] else [AT_MOST, ABOVE]
        for found in (BinTest(feature, kind, b) for kind in kinds for b in range(count - (kinds != [CATEGORY]))):
            offered = feature not in {
                member.feature for member in step.members
            }  # of others, one test each is looked at
            enough = slopes.hessian[covered(table, step.tests(found)), 0].sum() >= 1
            if enough and offered and 0 < len(table.covered(found, border)) < len(border):
                assert slopes.gain(slopes.sums(covered(table, step.tests(found)))) <= best + 1e-9


def test_words_for_different_labels_are_no_alternatives() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((300, 60)) < 0.1).astype(float)
    learner = RuleEnsembleClassifier(1, teacher=None).fit(X, X[:, :2].astype(int))
    assert not groups_of(learner)


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_simpler_tests_cover_the_same(seed: int) -> None:
    table, _, _ = world(seed)
    tests = any_body(np.random.default_rng(seed), table)
    assert np.array_equal(covered(table, simplify(tests)), covered(table, tests))
    assert canonical_key(tests) == canonical_key(tests[::-1])


@given(st.integers(0, 10**6), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_a_grown_body_is_as_short_as_asked_for_and_gains_more_than_any_before(seed: int, most: int) -> None:
    table, slopes, _ = world(seed)
    options = GrowthOptions(max_conditions=2, max_members=most, min_improvement=0.01, chance=0.0)
    body = grow(table, slopes, options)
    if body is None:
        return
    groups = [test for test in body.tests if isinstance(test, BinGroup)]
    assert len(body.tests) <= 2
    assert len(groups) <= 1
    assert all(1 <= group.least < len(group.members) <= most for group in groups)
    assert np.array_equal(body.rows, covered(table, body.tests))
    assert np.isclose(body.gain, slopes.gain(slopes.sums(body.rows)))
    alone = grow(table, slopes, GrowthOptions(max_conditions=1, min_improvement=0.01))
    assert alone is not None
    assert body.gain >= alone.gain - 1e-9


def signs(rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two of three signs make the first label, either of two others the second."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 6))
    Y = np.column_stack([(X[:, :3] > 0.6).sum(axis=1) >= 2, (X[:, 3:5] > 0.7).any(axis=1)])
    return X, Y.astype(int)


def groups_of(learner: RuleEnsembleClassifier) -> list[GroupCondition]:
    return [c for rule in learner.model_.rules for c in rule.body if isinstance(c, GroupCondition)]


def test_at_least_two_of_three_signs_are_found() -> None:
    X, Y = signs()
    learner = RuleEnsembleClassifier(2, teacher=None).fit(X, Y)
    assert any(g.least == 2 and {m.feature for m in g.members} == {0, 1, 2} for g in groups_of(learner))
    assert (learner.predict(X) == Y).mean() > 0.95
    alone = RuleEnsembleClassifier(2, teacher=None, max_alternatives=0).fit(X, Y)
    assert not groups_of(alone)
    assert (alone.predict(X) == Y).mean() < (learner.predict(X) == Y).mean()


@pytest.mark.parametrize("options", [{}, {"points": 5, "cv": 0}, {"cv": 0}])
def test_groups_do_not_depend_on_threads_rows_storage_or_kernels(options) -> None:
    X, Y = signs(150)
    X[::7, 0] = np.nan
    X[:, 5] = np.round(X[:, 5] * 3)
    weights = 1 + np.arange(150) % 3
    first = RuleEnsembleClassifier(5, n_jobs=1, **options).fit(X, Y, weights)
    assert groups_of(first)
    order = np.random.default_rng(1).permutation(150)
    again = RuleEnsembleClassifier(5, n_jobs=3, **options).fit(sp.csr_array(X[order]), Y[order], weights[order])
    assert again.model_.rules == first.model_.rules
    with config_context(kernels="reference"):
        slow = RuleEnsembleClassifier(5, **options).fit(X, Y, weights)
    assert slow.model_.rules == first.model_.rules


def test_scores_follow_a_monotone_feature_inside_a_group() -> None:
    X, Y = signs()
    learner = RuleEnsembleClassifier(6, teacher=None, constraints={"monotone": {"x0": "up", "x3": "up"}}).fit(X, Y)
    assert any(member.feature in (0, 3) for group in groups_of(learner) for member in group.members)
    for feature in (0, 3):
        before = learner.predict_proba(X)
        higher = X.copy()
        higher[:, feature] += 0.3
        assert (learner.predict_proba(higher) >= before - 1e-12).all()


def test_rules_with_groups_can_be_gone_on_from_refitted_and_verified() -> None:
    X, Y = signs()
    data = Dataset(Table.from_array(X), Y.astype(np.uint8), ("a", "b"))
    learner = RuleEnsembleClassifier(3, teacher=None).fit(data)
    assert groups_of(learner)
    assert learner.model_.verify(data).ok
    further = RuleEnsembleClassifier(5, teacher=None).fit(data, start=learner.model_)
    bodies = [rule.body for rule in further.model_.rules]
    assert all(rule.body in bodies for rule in learner.model_.rules)
    fitted = learner.model_.remove(0).refit(data)
    assert fitted.verify(data, learn=False).ok
    explained = [learner.model_.explain(data.X, row) for row in range(20)]
    assert any(" of (" in str(one) for one in explained)


def test_features_that_a_label_may_not_use_are_in_none_of_its_groups() -> None:
    X, Y = signs()
    learner = RuleEnsembleClassifier(6, teacher=None, constraints={"features": {"y0": ["x0", "x1", "x2"]}}).fit(X, Y)
    assert groups_of(learner)
    for rule in learner.model_.rules:
        if any(entry.label == 0 for entry in rule.head):
            assert {condition.feature for condition in flatten(rule.body)} <= {0, 1, 2}


def test_groups_have_at_most_so_many_members() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((300, 60)) < 0.08).astype(float)
    Y = X[:, :6].any(axis=1, keepdims=True).astype(int)
    for most in (2, 4):
        learner = RuleEnsembleClassifier(4, teacher=None, max_alternatives=most).fit(X, Y)
        assert max(len(group.members) for group in groups_of(learner)) == most
        assert all(n_conditions(rule.body) <= 3 + most for rule in learner.model_.rules)


def test_wrong_values_are_named() -> None:
    with pytest.raises(OptionError, match="max_alternatives must be a whole number of at least 0, got -1"):
        RuleEnsembleClassifier(max_alternatives=-1).fit(*signs(20))
