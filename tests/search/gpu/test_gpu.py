"""The GPU's kernels and what launches them, run by the processor: same counts, same rules."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.search.counted.worlds import counted, local, packed_of
from tests.search.gpu.emulated import no_gpu
from tests.search.strategies import Problem, problems

from polyrule.data.table import Table
from polyrule.measures import Objective, get
from polyrule.search.counted import engine as counted_engine
from polyrule.search.counted.queries import RowCounts
from polyrule.search.counted.requests import CommittedRule, Layout, Range
from polyrule.search.gpu.counter import GpuCounter, decide_on_device
from polyrule.search.protocol import GrowOptions

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="kernels are compiled with g++")
COMMITS = [(0.01, True), (None, False), (0.3, False)]


@pytest.fixture(scope="module", autouse=True)
def _no_gpu(tmp_path_factory):
    with no_gpu(tmp_path_factory.mktemp("kernels")) as patch:
        patch.setattr(counted_engine, "decide", decide_on_device)
        yield


def same_counts(packed, steps, body, usual, occurring) -> None:
    labels = len(packed.label_names)
    layout = Layout.of(packed.bins, labels, tuple(range(len(packed.features) + labels)))
    host, there = local(packed), GpuCounter(packed)
    for step in steps:
        host.advance(step)
        there.advance(step)
    question = RowCounts(body, layout, usual, None, compiled=False, occurring=occurring)
    mine, its = host.run(question), there.run(question)
    np.testing.assert_array_equal(its.outcomes, mine.outcomes)
    np.testing.assert_array_equal(its.weight, mine.weight)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    problem=problems(max_rows=60, max_features=5, max_labels=6),
    most=st.sampled_from([3, 255, 300]),
    expected=st.booleans(),
    data=st.data(),
)
def test_counts(problem: Problem, most: int, expected: bool, data) -> None:
    packed = packed_of(problem, 1, most)
    labels = len(packed.label_names)
    usual = tuple(data.draw(st.lists(st.integers(0, 3), min_size=labels, max_size=labels)))
    steps = (CommittedRule((Range(0, 0, 1),), ((0, 1),), "all"),) if data.draw(st.booleans()) else ()
    body = (Range(0, 0, data.draw(st.integers(0, 3))),) if data.draw(st.booleans()) else ()
    # kinds that nobody announced are counted, too
    same_counts(packed, steps, body, usual, tuple(3 for _ in usual) if expected else None)


def test_many_labels_and_wide_codes_take_turns() -> None:
    rng = np.random.default_rng(0)
    table = Table.from_array(np.column_stack([rng.permutation(400), rng.integers(0, 3, 400), rng.normal(size=400)]))
    truth = (rng.random((400, 130)) < 0.2).astype(np.uint8)
    for weights in (np.ones(400, dtype=np.int64), rng.integers(1, 2**31 // 400, 400)):
        packed = packed_of(Problem(table, truth, weights, 0), 2, 1000)
        same_counts(packed, (CommittedRule((Range(1, 0, 0),), ((3, 1), (70, 0)), "all"),), (), (0,) * 130, None)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    problem=problems(max_rows=40, max_features=4, max_labels=4),
    measure=st.sampled_from(["f0.5", "precision", "hamming", "laplace"]),
    longest=st.sampled_from([None, 1, 2]),
    coverage=st.integers(0, 2),
)
def test_rules(problem: Problem, measure: str, longest: int | None, coverage: int) -> None:
    packed, options = packed_of(problem, 2), GrowOptions(1, True, coverage, longest)
    there = counted(packed, GpuCounter(packed), Objective(get(measure)), options)
    here = counted(packed, local(packed), Objective(get(measure)), options, compiled=False)  # judges column by column
    rng = np.random.default_rng(problem.seed)
    for _ in range(4):
        if not here.has_unset or not here.remaining:
            break
        found, expected = there.grow(), here.grow()
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            break
        assert (found.body, found.head, found.value) == (expected.body, expected.head, expected.value)
        commit = COMMITS[int(rng.integers(len(COMMITS)))]
        assert there.commit(found, *commit) == here.commit(expected, *commit)
        np.testing.assert_array_equal(there.leftover(), here.leftover())
