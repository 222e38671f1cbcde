"""The compiled engine against the reference: same rules, same counts, same ties."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.strategies import Problem, problems

from polyrule.data.table import Feature, Table
from polyrule.errors import MeasureError, OptionError
from polyrule.measures import FunctionMeasure, Lift, Objective, RatioMeasure, get
from polyrule.measures.association import SPECS
from polyrule.search.native import NativeEngine, make_engine
from polyrule.search.protocol import Candidate, GrowOptions, OutOfTime
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import Compute, native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")

EXAMPLES = int(os.environ.get("HYPOTHESIS_MAX_EXAMPLES", "24"))
FEW = settings(max_examples=max(5, EXAMPLES // 2), deadline=None)
FOR_EACH = settings(
    max_examples=max(5, EXAMPLES // 5), deadline=None
)  # of many objectives; the campaign draws them all
SOME = settings(max_examples=EXAMPLES, deadline=None)

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
    Objective(get("f1"), scope="full"),
    Objective(get("f1"), lift=Lift.kln(0.3)),
    Objective(get("precision"), lift=Lift.peak(1, 1.3)),
    Objective(get("precision"), max_head_size=2),
    Objective(get("subset"), max_head_size=2),
    Objective(get("f0.5"), negative=False),
    Objective(get("precision"), negative=False),
    # shapes no named measure has: a value that falls with more true positives, and one that ignores false positives
    Objective(RatioMeasure("odd", (0, 1, 0, 3, 0), (0, 2, 1, 1, 1))),
    Objective(RatioMeasure("lenient", (1, 1, 0, 0, 0), (2, 1, 0, 0, 1)), averaging="label"),
]
OBJECTIVES += [Objective(get(name), averaging="label") for name in ("wracc", "rate_difference", "m2", "matthews")]
OBJECTIVES += [Objective(get(name)) for name in ("m0.5", *SPECS)]
OBJECTIVES += [
    Objective(get("matthews"), averaging="label", max_head_size=2),
    Objective(FunctionMeasure("steep", lambda tp, fp, tn, fn: tp * np.sqrt(tp) / (1 + fp) - fn), averaging="label"),
    Objective(FunctionMeasure("coarse", lambda tp, fp, tn, fn: np.floor((tp - fp) / 2)), averaging="label"),
    Objective(FunctionMeasure("flat", lambda tp, fp, tn, fn: 0 * tp), averaging="label", max_head_size=2),
    Objective(FunctionMeasure("right", lambda tp, fp, tn, fn: tp / np.maximum(tp + fp, 1), monotone=True)),
    Objective(
        FunctionMeasure("half", lambda tp, fp, tn, fn: 1.25 * tp / (1e-9 + tp), monotone=True), averaging="label"
    ),
    Objective(FunctionMeasure("whole", lambda tp, fp, tn, fn: (tp + tn) / np.maximum(tp + fp + tn + fn, 1))),
    Objective(FunctionMeasure("below", lambda tp, fp, tn, fn: -fp / (1 + tp + tn))),
    Objective(get("f0.5"), scope="full", lift=Lift.root(3)),
    Objective(get("laplace"), scope="all", lift=Lift.kln(1)),
    Objective(get("hamming"), scope="all"),
    Objective(get("tp - fp"), lift=Lift.kln(0.2)),
]
COMMITS = [(0.01, True), (None, False), (0.3, False), (0.3, True), (0.0, True)]


def assert_same(found: Candidate | None, expected: Candidate | None) -> None:
    assert (found is None) == (expected is None)
    if found is None or expected is None:
        return
    assert (found.value, found.head, found.body) == (expected.value, expected.head, expected.body)
    np.testing.assert_array_equal(found.covered, expected.covered)


#: Lowered limits send small data down the ways of large data.
NARROW_LANES = {"lane_capacity": 400.0}
SMALL_BINS = {"sorted_rows": 0, "binned_rows": 3}
KEPT_COUNTS = {"kept_rows": 0, "threaded_work": 0, "first_labels": 0}
LISTED_MEMBERS = {"record_bytes": 0}
ALL_LOW = {**NARROW_LANES, **SMALL_BINS, **KEPT_COUNTS, **LISTED_MEMBERS}
LOWERED = [NARROW_LANES, SMALL_BINS, KEPT_COUNTS, LISTED_MEMBERS, ALL_LOW]


def learn_both(
    problem: Problem,
    objective: Objective,
    options: GrowOptions,
    threads: int = 1,
    rounds: int = 6,
    limits: dict[str, float] | None = None,
    more: Sequence[dict[str, float]] = (),
) -> None:
    """Grow and commit a few rules with both engines, of all three kinds, and compare everything they say.

    There is a compiled engine with `limits`, and one with each of `more`: the reference takes most of the time.
    """
    args = (problem.table, problem.truth, problem.weights, objective, options)
    first = {"first_labels": problem.seed % 2 * 32}  # few labels take both ways
    compiled = [NativeEngine(*args, n_jobs=threads, limits=first | some) for some in (limits or {}, *more)]
    reference = ReferenceEngine(*args)
    rng = np.random.default_rng(problem.seed)
    for _ in range(rounds):
        for mine in compiled:
            assert (mine.has_unset, mine.remaining) == (reference.has_unset, reference.remaining)
        if not reference.has_unset:
            break
        kind, literal = rng.random(), ()
        if 0.75 <= kind < 0.9 and problem.truth.shape[1] <= 20:
            literal = int(rng.integers(problem.truth.shape[1])), int(rng.integers(2))
        single = kind >= 0.9 and problem.truth.shape[1] <= 20
        expected, *found = (e.grow_single() if single else e.grow(*literal) for e in (reference, *compiled))
        for rule in found:
            assert_same(rule, expected)
        if expected is None:
            break
        commit = COMMITS[int(rng.integers(len(COMMITS)))]
        outcome = reference.commit(expected, *commit)
        for mine, rule in zip(compiled, found, strict=True):
            assert mine.commit(rule, *commit) == outcome
            np.testing.assert_array_equal(mine.leftover(), reference.leftover())


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@FOR_EACH
@given(problem=problems(max_rows=14, max_features=4, max_labels=4))
def test_every_objective(objective: Objective, problem: Problem) -> None:
    learn_both(problem, objective, GrowOptions())


@SOME
@given(
    problem=problems(max_rows=40, max_features=3, max_labels=5),
    options=st.builds(GrowOptions, st.just(1), st.booleans(), st.sampled_from([0, 3]), st.sampled_from([None, 1, 2])),
    objective=st.sampled_from(OBJECTIVES),
    mixed=st.booleans(),
)
def test_rules_kept_between_rounds(problem: Problem, options: GrowOptions, objective: Objective, mixed: bool) -> None:
    """Single literals, round after round: most rules are kept from one to the next, and must be what they would be."""
    # Labels that resemble each other, so that conditions on labels are worth something.
    noise = np.random.default_rng(problem.seed).random((len(problem.truth), 6)) < 0.1
    truth = (problem.truth[:, np.arange(6) % problem.truth.shape[1] // 2] ^ noise).astype(np.uint8)
    args = (problem.table, truth, problem.weights, objective, options)
    mine, reference = NativeEngine(*args), ReferenceEngine(*args)
    for turn in range(12):
        both = mixed and turn % 4 == 3
        found, expected = (e.grow() if both else e.grow_single() for e in (mine, reference))
        assert_same(found, expected)
        if found is None or expected is None:
            break
        commit = (0.0, True) if turn % 5 else (None, False)
        assert mine.commit(found, *commit) == reference.commit(expected, *commit)


@SOME
@given(
    problem=problems(max_rows=12, max_features=3, max_labels=3),
    options=st.builds(
        GrowOptions, st.integers(1, 3), st.booleans(), st.integers(0, 3), st.sampled_from([None, 0, 1, 2])
    ),
    objective=st.sampled_from(OBJECTIVES),
)
def test_every_option(problem: Problem, options: GrowOptions, objective: Objective) -> None:
    learn_both(problem, objective, options, rounds=4)


def many_labels(seed: int) -> Problem:
    """Up to 200 mostly rare labels, so that they are searched in several parts; more rows than one machine word."""
    rng = np.random.default_rng(seed)
    rows, labels = int(rng.integers(60, 90)), int(rng.integers(70, 200))
    numeric = rng.normal(size=(rows, 2)).round(int(rng.integers(0, 3)))
    binary = (rng.random((rows, 3)) < 0.3).astype(float)
    values = np.hstack([numeric, binary])
    if rng.random() < 0.5:
        values[rng.random(values.shape) < 0.1] = np.nan
    truth = (rng.random((rows, labels)) < 0.25 * rng.random(labels)).astype(np.uint8)
    weights = rng.integers(1, 4, rows) if rng.random() < 0.3 else np.ones(rows, dtype=np.int64)
    return Problem(Table.from_array(sp.csc_array(values) if rng.random() < 0.5 else values), truth, weights, seed)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("measure", ["f0.5", "precision", "hamming"])
def test_many_labels_and_threads(measure: str, threads: int) -> None:
    for seed in range(2):
        learn_both(many_labels(10 * threads + seed), Objective(measure), GrowOptions(), threads, rounds=3)


@pytest.mark.parametrize(("first", "lift"), enumerate(["kln:0.2", "peak:3,1.3,2", "root:4"]))
@pytest.mark.parametrize(("second", "measure"), enumerate(["f0.5", "precision", "laplace"]))
def test_lifted_heads_of_many_labels(first: int, lift: str, second: int, measure: str) -> None:
    """More labels than head sizes that are judged one by one, and values that tie all the time."""
    seed = (first + second) % 3  # each of three worlds for every lift and every measure
    problem = many_labels(seed)
    few = replace(problem, truth=np.ascontiguousarray(problem.truth[:, : 5 + 6 * seed]))
    learn_both(few, Objective(measure, lift=lift), GrowOptions(max_conditions=2), rounds=2)


@pytest.mark.parametrize("measure", ["m2", "m0", *SPECS])
@FOR_EACH
@given(seed=st.integers(0, 2**32 - 1), negative=st.booleans(), limit=st.sampled_from([None, 2]))
def test_heads_by_summed_counts(measure: str, seed: int, negative: bool, limit: int | None) -> None:
    """Several rules deep, so that labels are set on some of the covered examples and not on others."""
    rng = np.random.default_rng(seed)
    rows, labels = int(rng.integers(6, 15)), int(rng.integers(2, 6))
    truth = (rng.random((rows, labels)) < rng.random(labels)).astype(np.uint8)
    table = Table.from_array(rng.normal(size=(rows, 2)).round(1))
    problem = Problem(table, truth, np.ones(rows, dtype=np.int64), seed)
    objective = Objective(measure, negative=negative, max_head_size=limit)
    args = (problem.table, problem.truth, problem.weights, objective, GrowOptions(max_conditions=2))
    mine, reference = NativeEngine(*args), ReferenceEngine(*args)
    for _ in range(4):
        found, expected = mine.grow(), reference.grow()
        assert_same(found, expected)
        if found is None or expected is None:
            break
        assert mine.commit(found, 0.0, True) == reference.commit(expected, 0.0, True)


def test_a_function_that_fails_ends_the_search() -> None:
    def fails(tp: np.ndarray, fp: np.ndarray, tn: np.ndarray, fn: np.ndarray) -> np.ndarray:
        return np.where(tp > 2, np.nan, tp)

    problem = many_labels(1)
    objective = Objective(FunctionMeasure("fails", fails), averaging="label")
    engine = NativeEngine(problem.table, problem.truth, problem.weights, objective, GrowOptions())
    with pytest.raises(MeasureError, match="measure 'fails': its function returned nan for tp="):
        engine.grow()


def test_a_function_may_keep_and_change_its_arguments() -> None:
    kept = []

    def greedy(tp: np.ndarray, fp: np.ndarray, tn: np.ndarray, fn: np.ndarray) -> np.ndarray:
        kept.append(tp)
        fp -= tp
        return -fp

    problem = many_labels(2)
    args = (problem.table, problem.truth, problem.weights)
    found = NativeEngine(*args, Objective(FunctionMeasure("greedy", greedy), averaging="label"), GrowOptions()).grow()
    assert_same(found, NativeEngine(*args, Objective("tp - fp", averaging="label"), GrowOptions()).grow())
    assert all((array >= 0).all() for array in kept)


@SOME
@given(problem=problems(max_rows=24, max_features=4, max_labels=6), objective=st.sampled_from(OBJECTIVES))
def test_values_too_fine_for_the_lanes(problem: Problem, objective: Objective) -> None:
    learn_both(problem, objective, GrowOptions(), rounds=4, limits=NARROW_LANES)


@pytest.mark.parametrize("measure", ["f0.5", "precision", "hamming"])
def test_many_labels_and_values_too_fine(measure: str) -> None:
    for seed in range(3):
        learn_both(many_labels(50 + seed), Objective(measure), GrowOptions(), rounds=3, limits=NARROW_LANES)


def numbers_with_rare_labels(seed: int) -> Problem:
    """Sorted columns, some with few distinct values, under labels that are mostly absent and follow the columns."""
    rng = np.random.default_rng(seed)
    rows, features, labels = int(rng.integers(60, 180)), int(rng.integers(2, 6)), int(rng.integers(2, 9))
    values = rng.normal(size=(rows, features)).round(int(rng.integers(0, 4)))
    leaning = values[:, rng.integers(features, size=labels)] + rng.normal(size=(rows, labels))
    bars = [np.quantile(leaning[:, label], rng.uniform(0.8, 0.97)) for label in range(labels)]
    return Problem(Table.from_array(values), (leaning > bars).astype(np.uint8), np.ones(rows, dtype=np.int64), seed)


@pytest.mark.parametrize("measure", ["f0.5", "f2", "jaccard", "hamming", "recall"])
@pytest.mark.parametrize("threads", [1, 3])
def test_few_literals_by_their_positive_rows(measure: str, threads: int) -> None:
    for seed in range(threads // 2, 8, 2):
        learn_both(
            numbers_with_rare_labels(seed),
            Objective(measure),
            GrowOptions(),
            rounds=6,
            threads=threads,
            limits=SMALL_BINS,
        )


@SOME
@given(problem=problems(max_rows=40, max_features=4, max_labels=5), objective=st.sampled_from(OBJECTIVES))
def test_positive_rows_on_any_data(problem: Problem, objective: Objective) -> None:
    learn_both(problem, objective, GrowOptions(), rounds=5, limits=SMALL_BINS)


def nominal_with_many_labels(seed: int) -> Problem:
    """Categories, two-valued numbers and gaps under up to 200 labels, many of them alike."""
    rng = np.random.default_rng(seed)
    rows, labels = int(rng.integers(60, 150)), int(rng.integers(10, 200))
    categories = rng.integers(0, 4, (rows, 3)).astype(float)
    rare = np.where(rng.random((rows, 3)) < 0.15, rng.integers(1, 3, (rows, 3)), 0).astype(float)
    two_valued = np.where(rng.random((rows, 2)) < 0.2, -1.5, 2.0)
    if rng.random() < 0.5:
        rare[rng.random(rare.shape) < 0.1] = np.nan
    values = np.hstack([categories, rare, two_valued])
    features = [Feature(f"n{j}", "nominal", tuple("abcd")) for j in range(6)] + [Feature("x"), Feature("y")]
    base = rng.random((rows, max(1, labels // 3))) < 0.3 * rng.random(max(1, labels // 3))
    truth = (base[:, np.arange(labels) % base.shape[1]] ^ (rng.random((rows, labels)) < 0.02)).astype(np.uint8)
    matrix = sp.csc_array(values) if rng.random() < 0.5 else values
    return Problem(Table.from_array(matrix, features), truth, np.ones(rows, dtype=np.int64), seed)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("measure", ["f0.5", "precision", "laplace", "recall", "jaccard"])
def test_nominal_columns_under_many_labels(measure: str, threads: int) -> None:
    for seed in range(2):
        problem = nominal_with_many_labels(20 * threads + seed)
        learn_both(problem, Objective(measure, negative=seed % 2 == 0), GrowOptions(), threads, rounds=3)


def usual_and_rare_categories(seed: int) -> Problem:
    """Columns of so many categories that their conditions are not counted together, one of them on most rows."""
    rng = np.random.default_rng(seed)
    rows, features, labels = int(rng.integers(100, 400)), int(rng.integers(3, 7)), int(rng.integers(1, 4))
    names = tuple(f"c{code}" for code in range(rng.integers(80, 220)))
    usual = [code * len(names) // 2 for code in rng.integers(0, 2, features)]
    rare = rng.integers(0, len(names), (rows, features))
    values = np.where(rng.random((rows, features)) < 0.55, usual, rare)
    truth = (rng.random((rows, labels)) < rng.uniform(0.05, 0.6, labels)).astype(np.uint8)
    for label in range(labels):
        column = values[:, rng.integers(features)]
        truth[np.isin(column, rng.integers(0, len(names), len(names) // 8)), label] ^= 1
    table = Table.from_array(values, tuple(Feature(f"f{j}", "nominal", names) for j in range(features)))
    return Problem(table, truth, np.ones(rows, dtype=np.int64), seed)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("measure", ["f0.5", "hamming"])
def test_what_a_usual_category_covers_follows_from_all_others(measure: str, seed: int) -> None:
    # also where a search needs only some of the counts of a column's conditions
    learn_both(usual_and_rare_categories(seed), Objective(measure), GrowOptions(), limits=LISTED_MEMBERS)


@st.composite
def list_problems(draw: st.DrawFn) -> Problem:
    """Nominal and two-valued columns only, as dense or sparse tables, so that every condition is a list of rows."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows, width, labels = draw(st.integers(1, 80)), draw(st.integers(1, 6)), draw(st.integers(1, 9))
    columns, features = [], []
    for j in range(width):
        if draw(st.booleans()):
            column = np.where(rng.random(rows) < 0.4, rng.integers(0, 3, rows), 1).astype(float)
            features.append(Feature(f"n{j}", "nominal", tuple("abc")))
            if draw(st.booleans()):
                column[rng.random(rows) < 0.1] = np.nan
        else:
            column = np.where(rng.random(rows) < 0.3, *draw(st.sampled_from([(1.0, 0.0), (-1.0, 0.0), (0.0, 3.5)])))
            features.append(Feature(f"x{j}"))
        columns.append(column)
    values = np.stack(columns, axis=1)
    truth = (rng.random((rows, labels)) < rng.choice([0.05, 0.2, 0.5, 0.8], labels)).astype(np.uint8)
    truth[:, labels // 2 :] |= (np.nan_to_num(values[:, :1]) > 0) & (rng.random((rows, 1)) < 0.9)
    matrix = sp.csc_array(values) if draw(st.booleans()) else values
    return Problem(Table.from_array(matrix, features), truth, np.ones(rows, dtype=np.int64), seed)


LISTED = [Objective(get(name), negative=negative) for name in ("precision", "f0.5", "f2") for negative in (True, False)]
LISTED += [Objective(get("recall")), Objective(get("jaccard")), Objective(get("laplace"), averaging="label")]
LISTED += [Objective(RatioMeasure("odd", (0, 1, 0, 3, 0), (0, 2, 1, 1, 1)), averaging="label")]


@pytest.mark.parametrize("threads", [1, 3])
@FEW
@given(problem=list_problems(), objective=st.sampled_from(LISTED), label_conditions=st.booleans())
def test_tables_of_lists(problem: Problem, objective: Objective, label_conditions: bool, threads: int) -> None:
    options = GrowOptions(label_conditions=label_conditions)
    learn_both(problem, objective, options, threads, rounds=12, limits=KEPT_COUNTS)


@SOME
@given(problem=list_problems(), objective=st.sampled_from(LISTED))
def test_tables_of_lists_and_values_too_fine(problem: Problem, objective: Objective) -> None:
    learn_both(problem, objective, GrowOptions(), rounds=6, limits={**KEPT_COUNTS, **NARROW_LANES})


@pytest.mark.parametrize("measure", ["f0.5", "precision"])
def test_long_lists_of_rules_under_many_labels(measure: str) -> None:
    for seed in range(3):
        learn_both(
            nominal_with_many_labels(90 + seed),
            Objective(measure),
            GrowOptions(),
            seed + 1,
            rounds=8,
            limits=KEPT_COUNTS,
        )


def nominal_with_pure_labels(seed: int) -> Problem:
    """Labels that follow from two or three columns, so that every condition makes some of them pure."""
    rng = np.random.default_rng(seed)
    rows, width = 300, 9
    values = (rng.random((rows, width)) < rng.choice([0.1, 0.3, 0.6], width)).astype(float)
    values[:, 0] = rng.integers(0, 4, rows)
    parts = [values[:, rng.choice(np.arange(1, width), size, replace=False)].min(axis=1) for size in (2, 2, 2, 3, 3)]
    truth = np.stack([*parts, values[:, 0] == 2, np.zeros(rows)], axis=1).astype(np.uint8)
    truth[rng.integers(0, rows, 6), rng.integers(0, 6, 6)] ^= 1
    features = [Feature(f"n{j}", "nominal", tuple("abcd")) for j in range(width)]
    return Problem(Table.from_array(values, features), truth, np.ones(rows, dtype=np.int64), seed)


@pytest.mark.parametrize("negative", [True, False])
def test_pure_literals_in_large_and_small_covers(negative: bool) -> None:
    for seed in range(4):
        problem = nominal_with_pure_labels(seed)
        learn_both(problem, Objective(get("precision"), negative=negative), GrowOptions(), rounds=14)


@FEW
@given(problem=problems(max_rows=14, max_features=4, max_labels=4), objective=st.sampled_from(OBJECTIVES))
def test_huge_weights(problem: Problem, objective: Objective) -> None:
    """Sums that do not fit 64-bit integers."""
    largest = 2**15 if objective.averaging == "label" else (2**31 - 1) // problem.truth.shape[1]
    rooted = objective.measure.name in ("matthews", "klosgen", "cosine")
    scale = (largest if rooted else 2**31 - 1) // int(problem.weights.sum())
    learn_both(replace(problem, weights=problem.weights * scale), objective, GrowOptions(), rounds=3)


@FEW
@given(problem=problems(max_rows=14, max_features=4, max_labels=4))
def test_sparse_labels_are_the_same_labels(problem: Problem) -> None:
    args = (problem.weights, Objective("f0.5"), GrowOptions())
    dense, sparse = (
        NativeEngine(problem.table, truth, *args) for truth in (problem.truth, sp.csr_array(problem.truth))
    )
    assert_same(sparse.grow(), dense.grow())


def slow_problem() -> tuple[Table, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = (rng.random((4000, 60)) < 0.3).astype(np.uint8)
    return Table.from_array(rng.normal(size=(4000, 60))), truth, np.ones(4000, dtype=np.int64)


def test_a_deadline_ends_a_search_and_leaves_the_state() -> None:
    engine = NativeEngine(*slow_problem(), Objective("f0.5", lift="kln:0.1"), GrowOptions(beam_width=4))
    engine.deadline = time.monotonic() + 0.005
    with pytest.raises(OutOfTime):
        engine.grow()
    with pytest.raises(OutOfTime):
        engine.grow()
    assert engine.remaining == 4000


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_a_signal_ends_a_search() -> None:
    program = """
        import signal
        import numpy as np
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        from polyrule.data.table import Feature, Table
        from polyrule.search.protocol import GrowOptions
        from polyrule.search.native import NativeEngine
        from polyrule.measures import Objective
        rng = np.random.default_rng(0)
        table, truth = Table.from_array(rng.normal(size=(4000, 60))), (rng.random((4000, 60)) < 0.3).astype(np.uint8)
        weights = np.ones(4000, dtype=np.int64)
        engine = NativeEngine(table, truth, weights, Objective("matthews"), GrowOptions(beam_width=8), n_jobs=2)
        print("ready", flush=True)
        try:
            while True:
                engine.grow()
        except KeyboardInterrupt:
            print("interrupted", engine.remaining, flush=True)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "ready"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline().strip() == "interrupted 4000"
        child.wait(timeout=30)


def test_the_engine_asked_for() -> None:
    table, truth, weights = (
        Table.from_array([[1.0], [2.0]]),
        np.array([[1], [0]], dtype=np.uint8),
        np.ones(2, dtype=np.int64),
    )
    args = (table, truth, weights)
    assert make_engine(*args, Objective("f1"), GrowOptions()).name == "native"
    slow = Objective("f1", averaging="example", scope="all")
    assert make_engine(*args, slow, GrowOptions()).name == "reference"
    assert make_engine(*args, Objective("f1"), GrowOptions(), Compute(kernels="reference")).name == "reference"
    with pytest.raises(OptionError, match="f1, example"):
        make_engine(*args, slow, GrowOptions(), Compute(kernels="native"))
    with pytest.raises(OptionError, match="kernels must be"):
        make_engine(*args, Objective("f1"), GrowOptions(), Compute(kernels="fast"))


def test_commit_refuses_what_is_not_there() -> None:
    assert native is not None
    engine = NativeEngine(
        Table.from_array([[1.0], [2.0]]),
        np.ones((2, 1), np.uint8),
        np.ones(2, np.int64),
        Objective("f1"),
        GrowOptions(),
    )
    for head, rows in ((((0, 1, 1, 0),), [2]), (((1, 1, 1, 0),), [0])):
        with pytest.raises(IndexError):
            engine.commit(Candidate((), head, Fraction(1), np.array(rows)), 0.01, True)


def test_examples_without_weight_leave_nothing_over() -> None:
    truth, weights = np.array([[1], [0], [1]], np.uint8), np.array([1, 0, 0])
    problem = Table.from_array([[1.0], [2.0], [3.0]]), truth, weights, Objective("f1"), GrowOptions()
    assert NativeEngine(*problem).leftover().tolist() == ReferenceEngine(*problem).leftover().tolist() == [[1, 0]]


def test_reference_kernels_by_environment() -> None:
    program = "from polyrule.utils.compute import native; assert native is None"
    environment = {**os.environ, "POLYRULE_KERNELS": "reference"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def numeric_problem(seed: int, labels: int) -> Problem:
    """Numbers, some of them often equal or missing, under labels that depend on them: many perfect rules."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(10, 120))
    values = rng.normal(size=(rows, 5))
    values[:, 1] = np.round(values[:, 1], 1)
    values[:, 2] = np.round(values[:, 2])
    if seed % 3 == 0:
        values[rng.random(rows) < 0.1, 3] = np.nan
    sums = values[:, :3] @ rng.normal(size=(3, labels)) + 0.3 * rng.normal(size=(rows, labels))
    truth = (sums > rng.normal(size=labels)).astype(np.uint8)
    table = Table.from_array(values, [Feature(f"x{j}") for j in range(5)])
    return Problem(table, truth, np.ones(rows, dtype=np.int64), seed)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("measure", ["precision", "f0.5"])
def test_ties_remembered_between_rules(measure: str, threads: int) -> None:
    for seed in range(threads // 2, 6, 2):
        problem = numeric_problem(100 * threads + seed, (3, 20, 70)[seed % 3])
        options = GrowOptions(label_conditions=seed % 4 != 3)
        learn_both(problem, Objective(measure, negative=seed % 2 == 0), options, threads, rounds=12, limits=KEPT_COUNTS)


def test_ties_remembered_while_rows_leave() -> None:
    for seed in range(12):
        learn_both(numeric_problem(seed, 2), Objective("precision"), GrowOptions(), rounds=60, limits=KEPT_COUNTS)


@FEW
@given(problem=problems(max_rows=24, max_features=4, max_labels=6), objective=st.sampled_from(OBJECTIVES))
def test_ties_remembered_on_any_table(problem: Problem, objective: Objective) -> None:
    learn_both(problem, objective, GrowOptions(), rounds=8, limits=KEPT_COUNTS)


@FEW
@given(
    problem=problems(max_rows=24, max_features=4, max_labels=5),
    objective=st.sampled_from(OBJECTIVES),
    beam=st.sampled_from([1, 1, 2, 3]),
    min_coverage=st.sampled_from([0, 0, 2]),
)
def test_lowered_limits_change_nothing(problem: Problem, objective: Objective, beam: int, min_coverage: int) -> None:
    learn_both(problem, objective, GrowOptions(beam, True, min_coverage), rounds=5, more=LOWERED)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "pairs"}, "unknown kind of head 'pairs'"),
        ({"scope": "body"}, "unknown scope 'body'"),
        ({"formula": "tau"}, "unknown formula 'tau'"),
    ],
)
def test_a_form_the_core_does_not_know_is_refused(wrong, words, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, form = numeric_problem(1, 2), replace(Objective("f1").fast_form(2), **wrong)
    monkeypatch.setattr(Objective, "fast_form", lambda *_: form)
    with pytest.raises(ValueError, match=words):
        NativeEngine(problem.table, problem.truth, problem.weights, Objective("f1"), GrowOptions())


def test_unknown_limit() -> None:
    problem = numeric_problem(1, 2)
    with pytest.raises(ValueError, match="unknown limit 'rows'"):
        NativeEngine(problem.table, problem.truth, problem.weights, Objective("f1"), GrowOptions(), limits={"rows": 1})


def test_a_threshold_below_all_covered_values_of_a_binned_column() -> None:
    # it excludes missing values only; its number lies between values of the working set, never next to a missing one
    nan = np.nan
    values = np.array(
        [
            [-2, 0],
            [nan, 4],
            [-1, 6],
            [nan, 0],
            [3, 7],
            [1, 2],
            [-1, 6],
            [nan, 2],
            [-1, 6],
            [nan, 2],
            [3, 7],
            [1, 2],
            [5, 4],
        ],
        dtype=float,
    )
    truth = np.array([[0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0]], dtype=np.uint8).T
    args = (Table.from_array(values), truth, np.ones(13, dtype=np.int64), Objective("laplace"), GrowOptions())
    mine, reference = NativeEngine(*args, limits={"sorted_rows": 1}), ReferenceEngine(*args)
    for _ in range(3):
        found, expected = mine.grow_single(), reference.grow_single()
        assert_same(found, expected)
        assert found is not None
        assert expected is not None
        mine.commit(found, 0.01, True)
        reference.commit(expected, 0.01, True)
