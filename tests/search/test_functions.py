"""Monotone functions of counts in the compiled core: the same rules as the reference."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.growing import grown
from tests.search.strategies import Problem, problems
from tests.search.test_example_wise import compare

from polyrule.data.table import Table
from polyrule.errors import MeasureError
from polyrule.measures import FunctionMeasure, Objective
from polyrule.search.native import NativeEngine
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")

EXAMPLES = int(os.environ.get("HYPOTHESIS_MAX_EXAMPLES", "40"))
SOME = settings(max_examples=EXAMPLES, deadline=None)
FEW = settings(max_examples=max(5, EXAMPLES // 2), deadline=None)


def _monotone(name: str, function: Any) -> FunctionMeasure:
    return FunctionMeasure(name, function, monotone=True)


FUNCTIONS = [
    _monotone("log gain", lambda tp, fp, tn, fn: np.log2(1 + tp) - np.log2(1 + fp)),
    _monotone("steep", lambda tp, fp, tn, fn: np.sqrt(tp) / (1 + fp)),
    _monotone("all", lambda tp, fp, tn, fn: np.sqrt(tp) + 0.3 * np.log1p(tn) - 0.5 * np.sqrt(fp) - 0.4 * np.sqrt(fn)),
    _monotone("coarse", lambda tp, fp, tn, fn: np.floor((tp - fp) / 3)),
    _monotone("steps", lambda tp, fp, tn, fn: np.minimum(tp, 3) - np.maximum(fp - 1, 0) + np.minimum(tn, 2)),
    _monotone("flat", lambda tp, fp, tn, fn: np.floor(np.minimum(tp, 1) / 2)),
    _monotone("errors", lambda tp, fp, tn, fn: -np.square(fp) - fn),
]


@given(
    problem=problems(max_labels=4),
    measure=st.sampled_from(FUNCTIONS),
    negative=st.booleans(),
    size=st.sampled_from([None, None, 2, 3]),
    beam=st.integers(1, 2),
    partly=st.booleans(),
    averaging=st.sampled_from(["micro", "micro", "label"]),
)
@SOME
def test_the_same_rules(
    problem: Problem,
    measure: FunctionMeasure,
    negative: bool,
    size: int | None,
    beam: int,
    partly: bool,
    averaging: str,
) -> None:
    objective = Objective(measure, averaging=averaging, negative=negative, max_head_size=size)
    assert objective.fast_form(4).kind in ("micro", "counted")  # type: ignore[union-attr]
    compare(problem, objective, GrowOptions(beam_width=beam, max_conditions=3), partly)


EXPRESSIONS = [
    "tp**2 / (tp + fp)",
    "tp * tn / ((tp + fp) * (tn + fn))",
    "tp / (tp + fp) + tn / (tn + fn)",
    "sqrt(tp / (tp + fp) * tp / (tp + fn))",
    "(tp - fp)**3 - fn",
    "tp * fp - fn**2",  # not monotone: heads of several labels are the reference's
]


@given(
    problem=problems(max_labels=4),
    text=st.sampled_from(EXPRESSIONS),
    negative=st.booleans(),
    size=st.sampled_from([None, None, 1, 2]),
    beam=st.integers(1, 2),
    partly=st.booleans(),
    averaging=st.sampled_from(["micro", "micro", "label"]),
)
@FEW  # what is proved about an expression takes a second, for each way to ask
def test_expressions_are_asked_like_functions(
    problem: Problem, text: str, negative: bool, size: int | None, beam: int, partly: bool, averaging: str
) -> None:
    objective = Objective(text, averaging=averaging, negative=negative, max_head_size=size)
    assert objective.fast_form(4, 100).formula == "function"  # type: ignore[union-attr]
    compare(problem, objective, GrowOptions(beam_width=beam, max_conditions=3), partly)


def test_expressions_whose_doubles_would_tie_wrongly_are_left_to_the_reference() -> None:
    objective = Objective("tp**2 / (tp + fp)")
    assert objective.fast_form(20, 100) is not None
    assert objective.fast_form(20, 10**6) is None
    assert objective.fast_form(20) is None  # nobody said how large counts may get


@pytest.mark.parametrize("measure", FUNCTIONS[:3], ids=lambda measure: measure.name)
def test_more_rows_than_a_stretch(measure: FunctionMeasure) -> None:
    """Whole stretches of boundaries are ruled out, and labels tie in their counts."""
    several = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        values = np.stack([rng.normal(size=90), rng.integers(0, 40, 90)], axis=1)
        values[rng.random(90) < 0.1, 1] = np.nan
        truth = (values[:, [0]] + rng.normal(size=(90, 4)) > 0.4).astype(np.uint8)
        truth[:, 3] = truth[:, 1]
        data = Table.from_array(values), truth, rng.integers(1, 3, 90).astype(np.int64)
        objective, options = Objective(measure, negative=bool(seed % 2)), GrowOptions(max_conditions=2)
        expected = grown(ReferenceEngine(*data, objective, options), 3)
        assert grown(NativeEngine(*data, objective, options), 3) == expected
        several += sum(len(head) > 1 for _, head, _, _ in expected)
    assert several > 0


def test_an_error_of_the_function_ends_the_search() -> None:
    def fails(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
        return np.where((tp > 2) & (fp > 0), np.nan, tp - fp)

    rng = np.random.default_rng(0)
    table, truth = Table.from_array(rng.normal(size=(20, 2))), (rng.random((20, 3)) < 0.5).astype(np.uint8)
    engine = NativeEngine(table, truth, np.ones(20, np.int64), Objective(_monotone("fails", fails)), GrowOptions())
    with pytest.raises(MeasureError, match="measure 'fails': its function returned nan for tp="):
        engine.grow()
