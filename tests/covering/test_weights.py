"""A weight is a number of examples: a row of weight 2 is two rows, for every measure and on every engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from polyrule import BinaryRelevanceRuleClassifier, RuleListClassifier, config_context
from polyrule.data.dataset import Dataset
from polyrule.data.examples import LARGEST_TOTAL, integer_weights
from polyrule.data.table import Feature, Table
from polyrule.errors import OptionError
from polyrule.measures import Objective, available
from polyrule.search.native import make_engine
from polyrule.search.protocol import GrowOptions
from polyrule.utils.compute import Compute, native
from polyrule.verification import verify

needs_native = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


def laplace(tp, fp, tn, fn):
    return (tp + 1) / (tp + fp + 2)


def logarithms(tp, fp, tn, fn):
    return np.log2(1 + tp) - np.log2(1 + fp)


MEASURES: list[Any] = [
    *available(), "m0.5", "m22", "m3:0.25", "tp - fp", "(1+tp)/(tp+fp+2*fn+1)", "tp/(tp+fp+0.5*fn)", "tp*tn + tp",
    "sqrt(tp/(tp+fp) * tp/(tp+fn))", "log(1 + tp) - fp", "sqrt(1 + tp) - fp/10", laplace, logarithms,
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"measure": "laplace", "lift": "kln:0.3"},
    {"measure": "laplace", "scope": "all"},
    {"measure": "tp - 2*fp", "lift": "root:3"},
    {"measure": "m2", "averaging": "label"},
    {"measure": "laplace", "averaging": "label"},
    {"measure": "laplace", "heads": "single"},
    {"measure": "laplace", "averaging": "example"},
    {"measure": "hamming", "averaging": "example"},
    {"measure": "laplace", "averaging": "macro"},
    {"measure": "laplace", "min_coverage": 3},
]
WAYS: dict[str, dict[str, Any]] = {
    "native": {},
    "reference": {},
    "counted": {"max_bins": 255},
}


@pytest.fixture(autouse=True)
def _kernels_of_the_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Learn with the NumPy kernels if the way of the test is "reference"."""
    way = getattr(request.node, "callspec", None) and request.node.callspec.params.get("way")
    with config_context(kernels="reference" if way == "reference" else None):
        yield


def named(options: dict[str, Any]) -> str:
    """Name a case without the address of a function, which differs between the processes that run the tests."""
    return " ".join(getattr(value, "__name__", str(value)) for value in options.values())


def world(seed: int) -> tuple[Table, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(0, 4, 9), rng.integers(0, 3, 9)], axis=1)
    table = Table.from_array(values, [Feature("a"), Feature("b", "nominal", tuple("xyz"))])
    return table, (rng.random((9, 3)) < 0.4).astype(np.uint8), rng.integers(1, 4, 9)


def learned(table: Table, truth: np.ndarray, weights: Any, options: dict[str, Any]) -> Any:
    estimator = RuleListClassifier.paper(**{"remaining": 0.0, "max_rules": 3, **options})
    model = estimator.fit(table, truth, weights).rules_
    return model.rules, model.default_counts


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [*({"measure": m} for m in MEASURES), *OPTIONS], ids=named)
def test_weights_are_repeated_rows(options: dict[str, Any], way: str) -> None:
    if way == "counted" and options.get("averaging") == "example":
        pytest.skip("whole examples are not counted")
    options = options | WAYS[way]
    table, truth, times = world(1)
    for weights, of_each in ((times, 1), (2, 1), (1, 0.2)):  # parts of an example add up to it
        rows = np.repeat(np.arange(len(table)), np.rint(np.divide(weights, of_each)).astype(int))
        repeated = learned(table[rows], truth[rows], of_each, options)
        assert learned(table, truth, weights, options) == repeated


def test_short_lists_without_a_teacher_count_examples_too() -> None:
    """Also where they ask whether there are enough examples to expect anything of new ones: 30 rows of weight 2 are."""
    table, truth, _ = world(1)
    rows = np.arange(30) % len(table)
    weighted, repeated = (
        RuleListClassifier(teacher=None).fit(table[some], truth[some], weights).model_
        for some, weights in ((rows, np.full(30, 2)), (np.repeat(rows, 2), None))
    )
    assert weighted.info["pruning"]["margin"] < 0
    for what in ("expected", "constant", "margin"):
        assert weighted.info["pruning"][what] == repeated.info["pruning"][what]
    assert (weighted.rules, weighted.default_counts) == (repeated.rules, repeated.default_counts)


def test_sets_are_made_of_categories_that_enough_examples_have() -> None:
    """Three rows of weight 2 are six examples; where all are light, the mean weight is one."""
    table = Table.from_array(np.repeat(np.arange(4.0), 3)[:, None], [Feature("hue", "nominal", tuple("abcd"))])
    truth = np.isin(table.column(0), [1, 3])[:, None].astype(np.uint8)
    once = np.arange(12)
    twice = np.repeat(once, 2)
    for some, weights, found in (
        (once, np.full(12, 2), True),
        (once, None, False),
        (twice, None, True),
        (twice, [0.1] * 24, True),
    ):
        model = RuleListClassifier(teacher=None, max_alternatives=0).fit(table[some], truth[some], weights).model_
        assert ("hue in {b, d}" in str(model)) == found


@pytest.mark.parametrize("way", WAYS)
def test_binary_relevance_counts_examples_too(way: str) -> None:
    table, truth, times = world(3)
    rows = np.repeat(np.arange(len(table)), times)
    weighted, repeated = (
        BinaryRelevanceRuleClassifier("laplace", **WAYS[way]).fit(*data).rules_
        for data in ((table, truth, times), (table[rows], truth[rows]))
    )
    assert (weighted.rules, weighted.default_counts) == (repeated.rules, repeated.default_counts)


def test_the_unit_of_weights_is_checked_by_verify() -> None:
    table, truth, times = world(4)
    model = RuleListClassifier.paper("laplace", remaining=0.0).fit(table, truth, times / 10).rules_
    data = Dataset(table, truth, model.label_names, "data", None, times / 10)
    assert verify(model, data).findings == ()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("weight", "rows", "least"), [(0.3, 7, 2.1), (0.1, 3, 0.3), (0.07, 11, 0.77), (1.1, 3, 3.3)])
def test_the_least_coverage_is_the_decimal_it_is_written_as(way: str, weight: float, rows: int, least: float) -> None:
    X = np.r_[np.zeros(rows), np.ones(rows)][:, None]
    Y = 1 - X.astype(int)
    weights = np.full(2 * rows, weight) * np.r_[np.ones(2 * rows - 1), 2]

    def coverage(of: float) -> float:
        estimator = RuleListClassifier.paper("precision", min_coverage=of, negative=False, **WAYS[way])
        return estimator.fit(X, Y, weights).rules_.rules[0].coverage

    assert coverage(least) == least
    assert coverage(np.float32(least)) == least
    assert coverage(float(np.nextafter(least, 9))) > least  # only the rule for all examples is left


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "much"])
def test_no_least_coverage(wrong: Any) -> None:
    with pytest.raises(OptionError, match="min_coverage must be a finite number of at least 0, got"):
        GrowOptions(min_coverage=wrong)


@pytest.mark.parametrize("way", WAYS)
def test_a_stop_threshold_of_many_digits(way: str) -> None:
    """One open example of 7000 is just as many as the threshold allows, and more than the next smaller one does."""
    X = np.r_[np.zeros(7000), 1.0][:, None]
    Y = np.stack([X[:, 0] == 0, np.arange(7001) == 5], axis=1).astype(int)
    weights = np.r_[np.ones(7000), 1e-3]
    for threshold, stops in ((1 / 7000, True), (float(np.nextafter(1 / 7000, 0)), False)):
        estimator = RuleListClassifier.paper("precision", stop_threshold=threshold, negative=False, **WAYS[way])
        assert estimator.fit(X, Y, weights).rules_.rules[0].stop == stops


_ENDS = """
from polyrule import SeCoClassifier, config_context
for heavy, labels in ((2**30 - 1, 2), (2**30, 2), (2**31 - 2, 2), (2**31 - 2, 1), (2**29, 4), (2**20, 2048)):
    for kernels in ("native", "reference"):
        with config_context(kernels=kernels):
            estimator = SeCoClassifier("precision", n_jobs=1)
            print(heavy, labels, estimator.fit([[0.0], [8.0]], [[1] * labels, [0] * labels], [heavy, 1]).rules_.rules)
"""


@needs_native
def test_weights_at_the_end_of_the_range() -> None:
    """In a program of its own, because a kernel that shifts too far never ends."""
    done = subprocess.run([sys.executable, "-c", _ENDS], capture_output=True, text=True, timeout=600, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 12
    assert lines[::2] == lines[1::2]


@needs_native
def test_the_range_is_said_once() -> None:
    assert native is not None
    assert native.MOST_WEIGHT == LARGEST_TOTAL
    assert int(integer_weights([LARGEST_TOTAL - 1, 1], 2)[0].sum()) == LARGEST_TOTAL
    assert int(integer_weights([LARGEST_TOTAL, 1], 2)[0].sum()) < LARGEST_TOTAL


@needs_native
def test_what_is_out_of_range_is_not_left_to_the_compiled_kernels() -> None:
    table, truth = Table.from_array([[0.0], [1.0]]), np.array([[1, 0], [0, 1]], dtype=np.uint8)
    for measure, weights in (("f1", [LARGEST_TOTAL, 1]), ("matthews", [2**30, 1]), ("1e12*tp - fp", [2**30, 1])):
        arguments = (table, truth, np.array(weights), Objective(measure), GrowOptions())
        assert make_engine(*arguments).name == "reference"
        with pytest.raises(OptionError, match="the compiled kernels cannot optimise"):
            make_engine(*arguments, Compute(kernels="native"))
