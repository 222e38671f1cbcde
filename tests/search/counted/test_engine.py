"""Rules from counts against the reference engine: same rules, same counts, same ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.counted.worlds import code_table, counted, learn_both, local, packed_of
from tests.search.strategies import Problem, problems

from polyrule.data.table import Table
from polyrule.errors import DataError, OptionError
from polyrule.measures import Lift, Objective, get
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.store import pack_table

OBJECTIVES = [
    Objective(get("precision")),
    Objective(get("f0.5")),
    Objective(get("recall")),
    Objective(get("hamming")),
    Objective(get("laplace")),
    Objective(get("subset")),
    Objective(get("subset"), max_head_size=2),
    Objective(get("f1"), averaging="label"),
    Objective(get("precision"), scope="all"),
    Objective(get("hamming"), scope="full"),
    Objective(get("wracc"), averaging="macro"),
    Objective(get("matthews")),
    Objective(get("f1"), lift=Lift.kln(0.3)),
    Objective(get("precision"), max_head_size=2),
    Objective(get("f0.5"), negative=False),
    Objective(get("wracc"), averaging="label"),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@settings(max_examples=5, deadline=None)
@given(
    problem=problems(max_rows=14, max_features=4, max_labels=4),
    blocks=st.sampled_from([1, 2, 5]),
    threads=st.sampled_from([1, 3]),
    compiled=st.booleans(),
)
def test_every_objective(objective: Objective, problem: Problem, blocks: int, threads: int, compiled: bool) -> None:
    packed, options = packed_of(problem, blocks), GrowOptions()
    mine = counted(packed, local(packed, threads), objective, options, compiled=compiled)
    reference = ReferenceEngine(problem.table, problem.truth, problem.weights, objective, options)
    learn_both(mine, reference, problem.seed)


@settings(max_examples=12, deadline=None)
@given(
    problem=problems(max_rows=14, max_features=4, max_labels=4),
    width=st.integers(1, 3),
    coverage=st.integers(0, 3),
    longest=st.sampled_from([None, 0, 1, 2]),
    label_conditions=st.booleans(),
)
def test_every_option(problem, width, coverage, longest, label_conditions) -> None:
    options = GrowOptions(width, label_conditions, coverage, longest)
    packed, objective = packed_of(problem, 2), Objective(get("f0.5"))
    reference = ReferenceEngine(problem.table, problem.truth, problem.weights, objective, options)
    learn_both(counted(packed, local(packed), objective, options), reference, problem.seed)


@settings(max_examples=15, deadline=None)
@given(problem=problems(max_rows=30, max_features=3, max_labels=3), most=st.integers(2, 5))
def test_bins_are_learned_like_values(problem: Problem, most: int) -> None:
    """With fewer bins than values the engine learns what the reference learns from the codes."""
    packed, objective, options = packed_of(problem, 2, most), Objective(get("f0.5")), GrowOptions()
    reference = ReferenceEngine(code_table(packed), problem.truth, problem.weights, objective, options)
    learn_both(counted(packed, local(packed), objective, options), reference, problem.seed, same_body=False)


def test_seventy_labels_take_two_words() -> None:
    rng = np.random.default_rng(0)
    table = Table.from_array(rng.integers(0, 5, (60, 3)).astype(float))
    problem = Problem(table, (rng.random((60, 70)) < 0.1).astype(np.uint8), np.ones(60, dtype=np.int64), 1)
    for name in ("f0.5", "precision", "subset"):
        packed, objective, options = packed_of(problem, 3), Objective(get(name)), GrowOptions()
        reference = ReferenceEngine(table, problem.truth, problem.weights, objective, options)
        assert learn_both(counted(packed, local(packed, 2), objective, options), reference, 0, rounds=3) > 1


@settings(max_examples=60, deadline=None)
@given(
    problem=problems(max_rows=14, max_features=5, max_labels=4),
    objective=st.sampled_from([Objective(get("f0.5")), Objective(get("precision"), lift=Lift.kln(0.3))]),
    width=st.integers(1, 3),
    compiled=st.booleans(),
    bytes_=st.sampled_from([1, 600, 2000]),
)
def test_columns_are_searched_in_ranges_where_their_table_is_too_large(
    problem, objective, width, compiled, bytes_
) -> None:
    options = GrowOptions(width)
    packed = packed_of(problem, 2)
    reference = ReferenceEngine(problem.table, problem.truth, problem.weights, objective, options)
    widest = max(len(bins) for bins in packed.bins) + 1
    labels = problem.truth.shape[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyrule.search.counted.engine.LARGEST_TABLE", max(bytes_, max(widest, 3) * labels * 32))
        learn_both(counted(packed, local(packed, 2), objective, options, compiled=compiled), reference, problem.seed)


def test_a_column_that_is_too_large_is_refused(monkeypatch) -> None:
    packed = pack_table(Table.from_array(np.arange(3.0)[:, None]), np.eye(3, dtype=np.uint8), None, ("a", "b", "c"))
    monkeypatch.setattr("polyrule.search.counted.engine.LARGEST_TABLE", 300)
    with pytest.raises(OptionError, match=r"counts of one column by 3 labels would take .* use fewer bins"):
        counted(packed, local(packed), Objective("f1"), GrowOptions())


def test_what_counts_cannot_tell_is_refused() -> None:
    packed = pack_table(Table.from_array(np.zeros((3, 1))), np.eye(3, dtype=np.uint8), None, ("a", "b", "c"))
    with pytest.raises(OptionError, match="averaging='example' needs whole examples"):
        counted(packed, local(packed), Objective("f1", averaging="example"), GrowOptions())
    with pytest.raises(OptionError, match="scope='head'"):
        counted(packed, local(packed), Objective("subset", scope="all"), GrowOptions())


def test_weights_beyond_the_range_are_refused() -> None:
    table, truth = Table.from_array([[1.0], [2.0]]), np.array([[1], [0]])
    for heavy, fine in ((2**53 - 2, True), (2**53 - 1, False)):
        store = pack_table(table, truth, np.array([heavy, 1]), ("a",))
        if fine:
            assert counted(store, local(store), Objective("f1"), GrowOptions()).grow() is not None
        else:
            with pytest.raises(DataError, match=r"the weights sum to 2\*\*53 or more; divide them"):
                counted(store, local(store), Objective("f1"), GrowOptions())
