"""The compiled engine against the reference: same rules, same counts, same ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.strategies import Problem, problems

from polyrule.kernels.engine import GrowOptions
from polyrule.kernels.native import NativeEngine
from polyrule.kernels.reference import ReferenceEngine
from polyrule.measures import Lift, Objective, get
from polyrule.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")

OBJECTIVES = [
    Objective(get("precision")),
    Objective(get("f0.5")),
    Objective(get("f1")),
    Objective(get("recall")),
    Objective(get("hamming")),
    Objective(get("jaccard")),
    Objective(get("laplace")),
    Objective(get("subset")),
    Objective(get("f1"), averaging="label"),
    Objective(get("laplace"), averaging="label"),
    Objective(get("precision"), scope="all"),
    Objective(get("hamming"), scope="full"),
    Objective(get("f1"), scope="all"),
    Objective(get("f1"), lift=Lift.kln(0.3)),
    Objective(get("precision"), max_head_size=2),
    Objective(get("f0.5"), negative=False),
]
COMMITS = [(0.01, True), (None, False), (0.3, False), (0.3, True), (0.0, True)]


def same(found, expected) -> None:
    assert (found is None) == (expected is None)
    if found is None:
        return
    assert found.value == expected.value
    assert found.head == expected.head
    assert found.body == expected.body
    np.testing.assert_array_equal(found.covered, expected.covered)


def compare(problem: Problem, objective: Objective, options: GrowOptions, threads: int = 1, rounds: int = 8) -> None:
    args = (problem.table, problem.truth, problem.weights, objective, options)
    mine, reference = NativeEngine(*args, n_jobs=threads), ReferenceEngine(*args)
    rng = np.random.default_rng(problem.seed)
    labels = problem.truth.shape[1]
    for _ in range(rounds):
        assert mine.has_unset == reference.has_unset
        assert mine.remaining == reference.remaining
        if not mine.has_unset:
            break
        draw = rng.random()
        if draw < 0.7:
            found, expected = mine.grow(), reference.grow()
        elif draw < 0.9:
            literal = int(rng.integers(labels)), int(rng.integers(2))
            found, expected = mine.grow(*literal), reference.grow(*literal)
        else:
            found, expected = mine.grow_single(), reference.grow_single()
        same(found, expected)
        if found is None:
            break
        commit = COMMITS[int(rng.integers(len(COMMITS)))]
        assert mine.commit(found, *commit) == reference.commit(expected, *commit)
        np.testing.assert_array_equal(mine.leftover(), reference.leftover())


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@settings(max_examples=60, deadline=None)
@given(problem=problems(max_rows=14, max_features=4, max_labels=4))
def test_small_problems(objective: Objective, problem: Problem) -> None:
    compare(problem, objective, GrowOptions())
