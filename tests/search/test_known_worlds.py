"""Worlds in which some engine once gave a wrong list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.search.limits import native_engine

from polyrule import SeCoClassifier, config_context
from polyrule.data.table import Feature, Table
from polyrule.measures import Objective
from polyrule.model import LabelCondition
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
nan = float("nan")
KEPT = {"kept_rows": 0, "sorted_rows": 1, "binned_rows": 1, "first_labels": 0}


@pytest.mark.parametrize("seed", [104, 169, 448])
def test_many_zeros_and_some_missing_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, features, labels = int(rng.integers(10, 40)), int(rng.integers(2, 5)), int(rng.integers(2, 5))
    X = rng.integers(1, 9, (rows, features)).astype(float)
    X[rng.random((rows, features)) < 0.5] = 0
    X[rng.random((rows, features)) < 0.12] = nan
    Y = (rng.random((rows, labels)) < rng.choice([0.2, 0.5, 0.4])).astype(int)
    Y[0], Y[1] = 0, 1
    lists = []
    for kernels in ("native", "reference"):
        with config_context(kernels=kernels):
            lists.append(str(SeCoClassifier("precision").fit(X, Y).rules_))
    assert lists[0] == lists[1]


STATES: list[dict[str, Any]] = [
    {
        "X": [
            [3.10383244, 1e308, 2, 0], [0, 0, 1, 0], [nan, 1e308, 0, 0], [0, 1.7e308, 0, 1], [0, nan, 0, 0],
            [0, 0, 1, 0], [0, 1.7e308, 0, 1], [0.372089989, 0, 0, 0], [0.335497792, 0, 0, 0],
            [-0.46868886, 1e-323, 0, 1], [0, 5e-324, 1, nan], [0, 5e-324, 0, 0], [1.22877659, 1e308, 2, nan],
            [0, 1e308, 3, 0],
        ],
        "Y": "0000 0101 0000 0000 1010 0000 0000 0001 1000 0010 0101 0000 0000 0010",
        "kinds": ["", "", "", "ab"],
        "steps": [
            ((), (0.01, True)), ((2, 1), (0.0, True)), ((), (0.01, True)), ((), (0.0, True)), ((2, 0), (None, False)),
            ((), (None, False)),
        ],
    },
    {
        "X": [
            [0, 0, 0.585087, 1], [2.5485605, 1, 0, 1], [1.5485605, 0, 1.585087, 1], [4.5485605, 1, 0, nan],
            [0.5485605, 2, 0, 0], [0, 2, 0, 0], [0.5485605, 2, 0, 0], [0, 2, nan, 0], [0, 1, 1.585087, nan],
            [6.5485605, 1, 0, nan], [0, 1, 8.585087, nan], [4.5485605, 2, 0, 1], [0, 2, 0, 0], [0, 1, 0, 0],
        ],
        "Y": "0000 0011 1110 1110 0010 0100 0110 0001 1100 0000 0000 1010 0000 0000",
        "kinds": ["", "abc", "", "ab"],
        "steps": [((1, 0), (0.0, True)), ((), (0.3, False))],
    },
]  # fmt: skip


@pytest.mark.parametrize("case", STATES, ids=["sequence", "literal first"])
def test_one_value_dominates_a_column_with_missing_values(case: dict[str, Any]) -> None:
    kinds = enumerate(case["kinds"])
    features = [Feature(f"f{j}", "nominal", tuple(kind)) if kind else Feature(f"f{j}") for j, kind in kinds]
    table = Table.from_array(np.array(case["X"], dtype=float), features)
    truth = np.array([[int(c) for c in row] for row in case["Y"].split()], dtype=np.uint8)
    arguments = table, truth, np.ones(len(truth), dtype=np.int64), Objective("precision"), GrowOptions()
    mine, reference = native_engine(*arguments), ReferenceEngine(*arguments)
    for literal, commit in case["steps"]:
        found, expected = mine.grow(*literal), reference.grow(*literal)
        assert found is not None
        assert expected is not None
        assert (found.value, found.head, found.body) == (expected.value, expected.head, expected.body)
        mine.commit(expected, *commit)
        reference.commit(expected, *commit)


def correlated_world(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows, features, labels, levels = (int(rng.integers(*r)) for r in ((100, 900), (2, 7), (2, 5), (2, 8)))
    X = np.floor(rng.random((rows, features)) * levels)
    if rng.random() < 0.5:
        X = np.round(X + rng.integers(0, 2, (rows, 1)) * X[:, [0]])
    Y = np.zeros((rows, labels), np.uint8)
    for label in range(labels):
        k = rng.integers(features)
        base = X[:, k] > np.quantile(X[:, k], rng.uniform(0.1, 0.9))
        if rng.random() < 0.5:
            k = rng.integers(features)
            base = base & (X[:, k] <= np.quantile(X[:, k], rng.uniform(0.3, 0.9)))
        Y[:, label] = base ^ (rng.random(rows) < rng.uniform(0.03, 0.45))
    return X, Y


@pytest.mark.parametrize("seed", [14, 264, 811])
def test_bits_kept_from_rule_to_rule_are_not_stale(seed: int) -> None:
    """Limits are lowered, so that what large data keeps between rules is kept here, too."""
    lists = []
    for compiled in (True, False):
        rng = np.random.default_rng(seed)
        X, Y = correlated_world(rng)
        for _ in range(5):  # the world was drawn beside limits of another engine
            rng.choice(3)
        objective = Objective(str(rng.choice(["precision"] * 4 + ["laplace"])), negative=bool(rng.random() < 0.5))
        options = GrowOptions(1, bool(rng.random() < 0.5), 0.0, None if rng.random() < 0.6 else int(rng.integers(1, 4)))
        threads = int(rng.choice([1, 2]))
        arguments = Table.from_array(X), Y, np.ones(len(X), np.int64), objective, options
        engine: Any = (
            native_engine(*arguments, limits=KEPT, n_jobs=threads) if compiled else ReferenceEngine(*arguments)
        )
        lists.append(list(rules(engine, rng)))
    assert lists[0] == lists[1]
    assert lists[0]


def rules(engine: Any, rng: np.random.Generator) -> Any:
    for _ in range(60):
        rule = engine.grow() if engine.has_unset else None
        if rule is None:
            return
        yield rule.value, rule.head, rule.body
        engine.commit(rule, *((1.0, True) if rng.random() < 0.8 else (0.3, True)))
        rng.random()


def test_a_beam_counts_set_labels_at_a_level_where_they_weigh_nothing() -> None:
    """A beam starts from the value 0, where present and absent rows of a label that is set add the same to a sum."""
    X = np.array([[nan, nan, 3, -1, nan, -2, 5, nan, 2, 3, 5, 6, 3, 3, -2, -2, nan, 3, 3, nan], [0.0] * 20]).T
    X[0, 1], X[9, 1] = 8, 6
    truth = np.zeros((20, 3), dtype=np.uint8)
    truth[[5, 15], 0] = truth[[4, 9, 14, 15, 16], 1] = truth[[1, 2, 5, 6, 12, 15, 16], 2] = 1
    table = Table.from_array(X[:, ::-1])
    arguments = table, truth, np.ones(20, dtype=np.int64), Objective("f0.5"), GrowOptions(beam_width=4)
    mine, reference = native_engine(*arguments), ReferenceEngine(*arguments)
    for _ in range(7):
        found, expected = mine.grow(), reference.grow()
        assert found is not None
        assert expected is not None
        assert (found.value, found.head, found.body) == (expected.value, expected.head, expected.body)
        mine.commit(expected, 0.0, True)
        reference.commit(expected, 0.0, True)
    assert expected.body == (LabelCondition(1, 0),)


@pytest.mark.parametrize("seed", [219, 265, 447, 630, 779])
def test_a_body_found_twice_takes_one_place_in_a_beam(seed: int) -> None:
    """The same two conditions in both orders are one body; if they took two places, another body would be lost."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (24, 5)).astype(float)
    truth = (rng.random((24, 2)) < 0.4).astype(np.uint8)
    arguments = Table.from_array(X), truth, np.ones(24, np.int64), Objective("f0.5"), GrowOptions(beam_width=2)
    found, expected = native_engine(*arguments).grow(), ReferenceEngine(*arguments).grow()
    assert found is not None
    assert expected is not None
    assert (found.value, found.head, found.body) == (expected.value, expected.head, expected.body)


def same_rules(
    arguments: tuple[Any, ...], commits: list[Any], limits: dict[str, float] | None = None, what: str = "grow"
) -> None:
    mine, reference = native_engine(*arguments, limits=limits), ReferenceEngine(*arguments)
    for commit in commits:
        found, expected = (getattr(engine, what)() for engine in (mine, reference))
        assert found is not None
        assert expected is not None
        assert (found.value, found.head, found.body) == (expected.value, expected.head, expected.body)
        mine.commit(expected, *commit)
        reference.commit(expected, *commit)


def test_ties_of_all_parts_count_where_literals_are_searched_in_parts() -> None:
    X = np.array([[5.0], [-2], [5], [6], [5], [-2]])
    rows = "11110 10000 10111 01100 01111 00111"
    truth = np.array([[int(c) for c in row] for row in rows.split()], dtype=np.uint8)
    arguments = Table.from_array(X), truth, np.ones(6, np.int64), Objective("precision"), GrowOptions()
    same_rules(arguments, [(0.3, False), (0.01, True), (0.3, False), (0.3, True)], {"table_bytes": 0})


def test_a_beam_keeps_both_conditions_that_leave_out_missing_values_only() -> None:
    objective, options = Objective("precision", negative=False), GrowOptions(beam_width=2)
    X = np.array([[9, 3], [0, 6], [5, 2], [-1, 3], [5, 6], [5, 1], [9, 3], [9, nan]])
    truth = np.zeros((8, 2), dtype=np.uint8)
    truth[6, 0] = truth[[2, 6], 1] = 1
    weights = np.array([3, 4, 2, 4, 2, 4, 4, 1])
    same_rules((Table.from_array(X), truth, weights, objective, options), [(None, False)])
    X = np.array([
        [7, 1, 6], [3, 0, 3], [nan, 0, 6], [0, 1, nan], [3, 0, 2], [3, 0, 6], [6, 1, 2], [3, 1, nan], [3, 1, nan],
        [nan, 1, 3], [3, 0, 6],
    ])  # fmt: skip
    truth = np.zeros((11, 2), dtype=np.uint8)
    truth[[0, 6, 8], 0] = truth[[0, 8, 10], 1] = 1
    table = Table.from_array(X, [Feature("a"), Feature("b", "nominal", ("x", "y")), Feature("c")])
    same_rules((table, truth, np.ones(11, np.int64), objective, options), [(0.01, True), (1.0, True), (0.01, True)])


@pytest.mark.parametrize(
    ("X", "rows", "objective", "commits"),
    [
        ([2, 4, 0, 2, nan], "010 000 000 101 101", Objective("precision", negative=False), [(0.01, True)] * 3),
        ([3, 0, 0, 2, 0, 1, 6], "101 010 000 011 010 101 010", Objective("hamming"), [(None, False)] * 5),
    ],
)
def test_a_kept_rule_gives_way_to_an_equal_one_that_comes_first(X, rows, objective, commits) -> None:
    """A condition on a label that was set meanwhile ties with a rule kept from the round before."""
    truth = np.array([[int(c) for c in row] for row in rows.split()], dtype=np.uint8)
    table = Table.from_array(np.array(X, dtype=float).reshape(-1, 1))
    arguments = table, truth, np.ones(len(X), np.int64), objective, GrowOptions()
    same_rules(arguments, commits, what="grow_single")


def test_what_is_known_of_the_empty_body_ends_with_the_working_set() -> None:
    table = Table.from_array(np.array([[2.0], [0], [3], [8], [0], [1], [3]]))
    rows = "11 11 01 00 00 00 11"
    truth = np.array([[int(c) for c in row] for row in rows.split()], dtype=np.uint8)
    arguments = table, truth, np.ones(7, np.int64), Objective("jaccard", negative=False), GrowOptions()
    same_rules(arguments, [(None, False)] * 2)


@pytest.mark.parametrize(
    ("measure", "X", "Y", "less"),
    [
        (
            "matthews",
            "200 002 202 021 001 112 210 221 022 222",
            "001 000 011 011 001 100 000 100 001 110",
            [9, 29, 54, 39, 47, 29, 16, 13, 17, 40],
        ),
        (
            "rate_difference",
            "102 111 000 010 101 122 112 120 021 100",
            "011 110 001 011 010 011 000 110 000 000",
            [55, 16, 51, 21, 43, 19, 18, 4, 10, 44],
        ),
    ],
)
def test_counts_that_singles_round(measure: str, X: str, Y: str, less: list[int]) -> None:
    """Heads whose values differ in the ninth digit."""
    values, truth = (np.array([list(map(int, row)) for row in text.split()]) for text in (X, Y))
    arguments = (Table.from_array(values.astype(float)), truth.astype(np.uint8), 71_582_788 - np.array(less))
    mine, other = (
        make(*arguments, Objective(measure), GrowOptions()).grow() for make in (native_engine, ReferenceEngine)
    )
    assert (mine.value, tuple(mine.head), mine.body) == (other.value, tuple(other.head), other.body)


def test_lift_ties_whose_quotients_singles_round_apart() -> None:
    """Two rules of value 3/2; the second is right more often."""
    table = Table.from_array(np.array([[0, 3], [nan, 0], [7, 0]]))
    arguments = table, np.array([[0], [1], [1]], dtype=np.uint8), np.ones(3, np.int64), Objective("lift"), GrowOptions()
    same_rules(arguments, [(0.01, True)])


@pytest.mark.parametrize(
    ("measure", "X", "Y", "weights"),
    [
        ("added_value", [5, 4, 4, 2], [1, 0, 1, 0], [1, 1, 1, 2_147_483_639]),
        ("yule_q", [2, 1, 0], [0, 1, 0], [2_147_483_627, 1, 1]),
        ("kappa", [1, 0], [0, 0], [1, 536_870_899]),
    ],
)
def test_small_counts_beside_large_weights(measure: str, X: list[int], Y: list[int], weights: list[int]) -> None:
    """What is left of a large weight must not be rounded with it."""
    table = Table.from_array(np.array(X, dtype=float)[:, None], [Feature("a", "nominal", tuple("abcdef"))])
    arguments = table, np.array(Y, dtype=np.uint8)[:, None], np.array(weights), Objective(measure), GrowOptions()
    for literal in ((), (0, 1), (0, 0)):
        mine, other = (make(*arguments) for make in (native_engine, ReferenceEngine))
        for _ in range(2):
            found, expected = mine.grow(*literal), other.grow(*literal)
            if expected is None:
                assert found is None
                break
            assert (found.value, tuple(found.head), found.body) == (expected.value, tuple(expected.head), expected.body)
            mine.commit(expected, None, False)
            other.commit(expected, None, False)


def test_margins_of_large_weights_that_differ_by_little() -> None:
    """Covered and positive examples are nearly all the weight; Yule's Q is at its largest value."""
    table = Table.from_array(np.array([[3.0], [0.0], [3.0], [7.0], [3.0], [0.0], [6.0]]))
    truth = np.array([[1, 1], [1, 1], [1, 0], [0, 1], [0, 1], [0, 1], [1, 1]], dtype=np.uint8)
    weights = np.array([1, 1, 1, 2_147_483_638, 1, 1, 1])
    slow = ReferenceEngine(table, truth, weights, Objective("yule_q", search="exhaustive"), GrowOptions()).grow()
    assert slow is not None
    for make in (native_engine, ReferenceEngine):
        found = make(table, truth, weights, Objective("yule_q"), GrowOptions()).grow()
        assert found is not None
        assert (found.value, tuple(found.head), found.body) == (slow.value, tuple(slow.head), slow.body)
