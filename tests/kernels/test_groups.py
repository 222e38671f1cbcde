"""Groups of alternatives: the compiled engine against the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.growing import grown
from tests.kernels.limits import LOWER, native_engine
from tests.kernels.strategies import Problem, problems
from tests.kernels.test_native import OBJECTIVES, learn_both

from polyrule.data.table import Table
from polyrule.kernels.engine import GrowOptions
from polyrule.kernels.native import NativeEngine
from polyrule.kernels.reference import ReferenceEngine
from polyrule.measures import Objective, get
from polyrule.model.rule import GroupCondition
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@settings(max_examples=3, deadline=None)
@given(problem=problems(max_rows=14, max_features=4, max_labels=4), most=st.integers(2, 5))
def test_every_objective(objective: Objective, problem: Problem, most: int) -> None:
    learn_both(problem, objective, GrowOptions(max_members=most))


@settings(max_examples=24, deadline=None)
@given(
    problem=problems(max_rows=24, max_features=4, max_labels=5),
    options=st.builds(
        GrowOptions,
        beam_width=st.integers(1, 4),
        label_conditions=st.booleans(),
        min_coverage=st.integers(0, 3),
        max_conditions=st.sampled_from([None, 0, 1, 2, 3]),
        max_members=st.integers(2, 6),
    ),
    objective=st.sampled_from(OBJECTIVES[:7]),
    limits=st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in LOWER.items()}),
    threads=st.sampled_from([1, 2]),
)
def test_every_option(problem, options, objective, limits, threads) -> None:
    learn_both(problem, objective, options, threads, limits=limits)


@settings(max_examples=15, deadline=None)
@given(problem=problems(max_rows=12, max_features=3, max_labels=3), objective=st.sampled_from(OBJECTIVES[:8]))
def test_weights_that_cannot_be_added_twice_are_left_to_the_reference(problem: Problem, objective: Objective) -> None:
    weights = problem.weights * (2**30 // int(problem.weights.sum()) + 1)
    learn_both(replace(problem, weights=weights), objective, GrowOptions(max_members=3))


@pytest.mark.parametrize("measure", ["f0.5", "precision", "wracc"])
def test_unknown_labels_and_sparse_words(measure: str) -> None:
    rng = np.random.default_rng(7)
    words = (rng.random((80, 30)) < 0.1).astype(float)
    truth = np.stack([words[:, 5 * k : 5 * k + 4].any(axis=1) for k in range(6)], axis=1).astype(np.uint8)
    truth[rng.random(truth.shape) < 0.1] = 2
    args = (Table.from_array(words), truth, np.ones(80, dtype=np.int64), Objective(get(measure), negative=False))
    options = GrowOptions(max_members=4)
    found = grown(NativeEngine(*args, options, n_jobs=2), 3)
    assert found == grown(ReferenceEngine(*args, options), 3)
    assert any(isinstance(condition, GroupCondition) for body, *_ in found for condition in body)


def test_without_room_for_groups_nothing_changes() -> None:
    rng = np.random.default_rng(0)
    table, truth = Table.from_array(rng.normal(size=(60, 4))), rng.integers(0, 2, (60, 4)).astype(np.uint8)
    args = (table, truth, np.ones(60, dtype=np.int64), Objective(get("f0.5")))
    plain = grown(native_engine(*args, GrowOptions()), 8)
    assert not any(isinstance(condition, GroupCondition) for body, *_ in plain for condition in body)
    assert plain != grown(native_engine(*args, GrowOptions(max_members=2)), 8)
