"""The reference engine against growing a rule by the book."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.oracle import Oracle
from tests.search.strategies import Problem, problems

from polyrule.data.table import Table
from polyrule.measures import FunctionMeasure, Lift, Objective, get
from polyrule.search.candidates import midpoint
from polyrule.search.protocol import Candidate, GrowOptions, OutOfTime
from polyrule.search.reference import ReferenceEngine

OBJECTIVES = [
    Objective(get("precision")),
    Objective(get("f0.5")),
    Objective(get("recall")),
    Objective(get("hamming")),
    Objective(get("jaccard")),
    Objective(get("laplace")),
    Objective(get("subset")),
    Objective(get("f1"), averaging="label"),
    Objective(get("f1"), averaging="example"),
    Objective(get("precision"), scope="all"),
    Objective(get("hamming"), scope="full"),
    Objective(get("f1"), scope="all"),
    Objective(get("wracc"), averaging="macro"),
    Objective(get("matthews")),
    Objective(get("f1"), lift=Lift.kln(0.3)),
    Objective(get("precision"), max_head_size=2),
    Objective(get("f0.5"), negative=False),
    Objective(get("wracc"), averaging="label"),
    Objective(get("matthews"), averaging="label"),
    Objective(FunctionMeasure("root", lambda tp, fp, tn, fn: np.sqrt(tp) - np.sqrt(fp)), averaging="label"),
    Objective(get("rate-difference"), max_head_size=1),
]


def steps(engine: ReferenceEngine, oracle: Oracle, rng: np.random.Generator, rounds: int = 3) -> int:
    """Learn a few rules with both and compare every one of them."""
    compared = 0
    for _ in range(rounds):
        if not engine.has_unset:
            break
        label, value = (None, None) if rng.random() < 0.7 else (int(rng.integers(engine.state.truth.shape[1])), 1)
        state = engine.state
        expected = oracle.grow(state.working, state.assigned, state.ever_set, label, value)
        found = engine.grow(label, value)
        assert (found is None) == (expected is None)
        if found is None:
            break
        assert (found.value, found.tp, found.body) == expected[:3]
        assert tuple(literal[:2] for literal in found.head) == tuple(expected[3])
        np.testing.assert_array_equal(found.covered, np.flatnonzero(expected[4]))
        compared += 1
        engine.commit(found, *[(0.01, True), (None, False), (0.3, False)][int(rng.integers(3))])
    return compared


@pytest.mark.parametrize(
    "objective", OBJECTIVES, ids=lambda o: f"{o.measure.name}-{o.averaging}-{o.scope}-{o.lift.kind}"
)
@settings(max_examples=12, deadline=None)
@given(problem=problems(max_rows=9, max_features=3, max_labels=3))
def test_grows_the_rule_the_book_grows(objective: Objective, problem: Problem) -> None:
    options = GrowOptions()
    args = (problem.table, problem.truth, problem.weights, objective, options)
    steps(ReferenceEngine(*args), Oracle(*args), np.random.default_rng(problem.seed))


@settings(max_examples=40, deadline=None)
@given(
    problem=problems(max_rows=9, max_features=3, max_labels=3),
    width=st.integers(1, 3),
    coverage=st.integers(0, 3),
    longest=st.sampled_from([None, 0, 1, 2]),
    label_conditions=st.booleans(),
)
def test_options_restrict_as_the_book_does(problem, width, coverage, longest, label_conditions) -> None:
    options = GrowOptions(width, label_conditions, coverage, longest)
    args = (problem.table, problem.truth, problem.weights, Objective(get("f0.5")), options)
    steps(ReferenceEngine(*args), Oracle(*args), np.random.default_rng(problem.seed))


def test_single_takes_the_best_of_all_literals() -> None:
    rng = np.random.default_rng(3)
    table = Table.from_array(rng.normal(size=(12, 2)))
    truth = rng.integers(0, 2, (12, 3)).astype(np.uint8)
    engine = ReferenceEngine(table, truth, np.ones(12, dtype=np.int64), Objective(get("f1")), GrowOptions())
    all_rules = [engine.grow(label, value) for label in range(3) for value in (1, 0)]
    best = engine.grow_single()
    assert best is not None
    assert max((r.value, r.tp, -len(r.body)) for r in all_rules) == (best.value, best.tp, -len(best.body))


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_midpoint_separates(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if low < high:
        assert low <= midpoint(low, high) < high


def test_subset_accuracy_of_one_literal_with_the_largest_weights() -> None:
    table = Table.from_array([[1.0], [2.0], [3.0], [4.0]])
    truth = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], dtype=np.uint8)
    for scale in (1, 2**28):
        weights = np.array([1, 3, 2, 1], dtype=np.int64) * scale
        args = (table, truth, weights, Objective(get("subset")), GrowOptions())
        engine = ReferenceEngine(*args)
        engine.commit(Candidate((), ((0, 1, 0, 0),), Fraction(0), np.array([1])), 0.0, True)  # a label set already
        expected = Oracle(*args).grow(engine.state.working, engine.state.assigned, engine.state.ever_set, 0, 1)
        found = engine.grow(0, 1)
        assert found is not None
        assert (found.value, found.tp, found.body) == expected[:3]


def test_a_deadline_ends_a_head_search() -> None:
    """The head of the empty body comes before any condition, so only its own search can notice."""
    rng = np.random.default_rng(0)
    truth = (rng.random((30, 40)) < 0.5).astype(np.uint8)
    table = Table.from_array(rng.normal(size=(30, 1)))
    engine = ReferenceEngine(
        table, truth, np.ones(30, dtype=np.int64), Objective("f1", averaging="example"), GrowOptions()
    )
    engine.deadline = time.monotonic()  # over before the first head is found
    with pytest.raises(OutOfTime):
        engine.grow()
    assert engine.remaining == 30
