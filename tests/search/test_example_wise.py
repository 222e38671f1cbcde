"""Example-wise averages in the compiled core: the same rules as the reference, whatever is set."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.strategies import Problem, problems

from polyrule.data.table import Table
from polyrule.measures import Objective
from polyrule.search.native import NativeEngine
from polyrule.search.protocol import Candidate, GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")

EXAMPLES = int(os.environ.get("HYPOTHESIS_MAX_EXAMPLES", "40"))
SOME = settings(max_examples=EXAMPLES, deadline=None)
MEASURES = ["hamming", "hamming", "precision", "jaccard", "f0.5", "f1", "f2", "3*tp/(4*tp+2*fp+fn)"]


def _shown(rule: Candidate | None) -> Any:
    return None if rule is None else (rule.body, rule.head, rule.value, rule.covered.tolist())


def _set_some(engines: list[Any], problem: Problem, rng: np.random.Generator) -> None:
    """Set a label on some examples, as a rule of another measure would."""
    label, value = int(rng.integers(problem.truth.shape[1])), int(rng.integers(2))
    rows = np.flatnonzero(rng.random(len(problem.weights)) < 0.5)
    other = Candidate((), ((label, value, 0, 0),), None, rows)  # type: ignore[arg-type]
    for engine in engines:
        engine.commit(other, 0.01, True)


def compare(problem: Problem, objective: Objective, options: GrowOptions, partly: bool) -> None:
    """Grow rules with both engines, with other labels set in between if wanted."""
    arguments = problem.table, problem.truth, problem.weights, objective, options
    engines = [ReferenceEngine(*arguments), NativeEngine(*arguments)]
    rng = np.random.default_rng(problem.seed)
    for _ in range(5):
        if partly:
            _set_some(engines, problem, rng)
        assert engines[0].remaining == engines[1].remaining
        if not engines[0].has_unset or not engines[0].remaining:
            break
        expected, found = (engine.grow() for engine in engines)
        assert _shown(found) == _shown(expected)
        if rng.random() < 0.3:
            literal = int(rng.integers(problem.truth.shape[1])), int(rng.integers(2))
            assert _shown(engines[1].grow(*literal)) == _shown(engines[0].grow(*literal))
        if expected is None or found is None:
            break
        for engine, rule in zip(engines, (expected, found), strict=True):
            engine.commit(rule, 0.01, True)


@given(
    problem=problems(max_labels=6),
    measure=st.sampled_from(MEASURES),
    negative=st.booleans(),
    size=st.sampled_from([None, None, 1, 2, 3]),
    beam=st.integers(1, 2),
    partly=st.booleans(),
)
@SOME
def test_the_same_rules(
    problem: Problem, measure: str, negative: bool, size: int | None, beam: int, partly: bool
) -> None:
    objective = Objective(measure, averaging="example", negative=negative, max_head_size=size)
    compare(problem, objective, GrowOptions(beam_width=beam, label_conditions=not partly), partly)


@pytest.mark.parametrize("measure", ["f0.5", "f1", "f3"])
def test_heads_of_many_labels(measure: str) -> None:
    """Labels that are nearly alike: values lie close together, and bounds must be tight."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = (rng.random((30, 9)) < rng.choice([0.1, 0.3, 0.45], 9)).astype(np.uint8)
        table, weights = Table.from_array(rng.normal(size=(30, 1))), rng.integers(1, 3, 30).astype(np.int64)
        arguments = table, truth, weights, Objective(measure, averaging="example"), GrowOptions()
        reference, compiled = ReferenceEngine(*arguments), NativeEngine(*arguments)
        for _ in range(2):
            expected, found = reference.grow(), compiled.grow()
            assert _shown(found) == _shown(expected)
            if expected is None or found is None:
                break
            reference.commit(expected, 0.01, True)
            compiled.commit(found, 0.01, True)


@pytest.mark.parametrize(("labels", "size"), [(4, None), (8, None), (36, 2)])
@pytest.mark.parametrize("weighted", [True, False])
def test_hamming_heads_of_labels_that_are_partly_set(labels: int, size: int | None, weighted: bool) -> None:
    """All heads are lanes, or those of a few labels speak for larger ones, or there are too many even of pairs.

    Rows are searched in stretches of every length at once: the reference takes nearly all the time.
    """
    rng = np.random.default_rng([labels, weighted])
    rows = 12
    values = np.stack([rng.normal(size=rows), rng.integers(0, 4, rows)], axis=1)
    truth = (rng.random((rows, labels)) < rng.choice([0.2, 0.5, 0.8], labels)).astype(np.uint8)
    weights = rng.integers(1, 4, rows).astype(np.int64) if weighted else np.ones(rows, np.int64)
    objective = Objective("hamming", averaging="example", max_head_size=size)
    arguments = Table.from_array(values), truth, weights, objective, GrowOptions(max_conditions=2)
    engines: list[Any] = [ReferenceEngine(*arguments)]
    engines += [NativeEngine(*arguments, limits={"stretch_rows": stretch}) for stretch in (1, 4, 16)]
    for label in range(3):
        covered = np.flatnonzero(rng.random(rows) < 0.6)
        other = Candidate((), ((label, int(rng.integers(2)), 0, 0),), None, covered)  # type: ignore[arg-type]
        for engine in engines:
            engine.commit(other, 0.01, True)
    for _ in range(2):
        expected, *found = (engine.grow() for engine in engines)
        assert [_shown(rule) for rule in found] == [_shown(expected)] * 3
        for engine in engines:
            engine.commit(expected, 0.01, True)


@pytest.mark.parametrize("measure", ["f0.5", "f1", "f2"])
@pytest.mark.parametrize(("labels", "size"), [(40, 30), (90, 60)])
def test_more_ties_than_could_be_tried(measure: str, labels: int, size: int) -> None:
    """Each label is wrong for one example of its own, so all heads of a size tie, and the first labels must win.

    Sums of that many different fractions exceed 128 bits.
    """
    objective = Objective(measure, averaging="example", max_head_size=size)
    table, weights = Table.from_array(np.zeros((labels, 1))), np.ones(labels, dtype=np.int64)
    engine = NativeEngine(table, np.eye(labels, dtype=np.uint8), weights, objective, GrowOptions())
    found = engine.grow()
    assert found is not None
    assert found.head == tuple((label, 0, labels - 1, 1) for label in range(size))
    right, almost = (objective.measure.value(size - wrong, wrong, 0, 0) for wrong in (0, 1))
    assert found.value == (right * (labels - size) + almost * size) / labels


@given(st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(1, 2**32 - 1)), max_size=12), st.booleans())
@SOME
def test_signs_of_sums_of_fractions(terms: list[tuple[int, int]], ends_at_zero: bool) -> None:
    assert native is not None
    if ends_at_zero:  # what is left of the sum is taken away again, term by term
        terms = terms + [(-num, den) for num, den in reversed(terms)]
        terms = [*terms[:1], (0, 7), *terms[1:]]
    total = sum((Fraction(num, den) for num, den in terms), Fraction(0))
    assert native.sign_of_sum(terms) == (total > 0) - (total < 0)
