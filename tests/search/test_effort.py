"""With a limit on the heads that are tried, every engine finds the same rules and states the same bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.counted.worlds import counted, local, packed_of
from tests.search.strategies import Problem, problems

from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.measures import Objective
from polyrule.measures.association import SPECS
from polyrule.search.native import NativeEngine, make_engine
from polyrule.search.protocol import Candidate, GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native

FORMULAS = ("m2", *SPECS)
needs_native = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


def same(found: Candidate | None, expected: Candidate | None) -> bool:
    if found is None or expected is None:
        return found is expected
    mine, theirs = ((rule.value, rule.head, rule.body, rule.bound) for rule in (found, expected))
    return mine == theirs


def wide(seed: int, labels: int = 24) -> Problem:
    """Labels of many shares, so that heads of several are worth most once some of them are set."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((40, labels)) < rng.random(labels)).astype(np.uint8)
    return Problem(Table.from_array(rng.normal(size=(40, 2)).round(1)), truth, np.ones(40, dtype=np.int64), seed)


@needs_native
@pytest.mark.parametrize("measure", FORMULAS)
@settings(max_examples=4, deadline=None)
@given(
    problem=problems(max_rows=14, max_features=3, max_labels=5),
    effort=st.sampled_from([1, 8, 15, 40, 10**6]),
    limit=st.sampled_from([None, None, 2]),
    negative=st.booleans(),
)
def test_engines_agree(measure: str, problem: Problem, effort: int, limit: int | None, negative: bool) -> None:
    objective = Objective(measure, effort=effort, max_head_size=limit, negative=negative)
    options, packed = GrowOptions(max_conditions=2), packed_of(problem, 2)
    args = (problem.table, problem.truth, problem.weights, objective, options)
    engines = NativeEngine(*args), ReferenceEngine(*args), counted(packed, local(packed), objective, options)
    for _ in range(4):
        rules = [engine.grow() for engine in engines]
        assert same(rules[0], rules[1])
        assert same(rules[2], rules[1])
        if rules[1] is None:
            break
        outcomes = [engine.commit(rule, 0.0, True) for engine, rule in zip(engines, rules, strict=True) if rule]
        assert outcomes.count(outcomes[0]) == 3


@needs_native
@pytest.mark.parametrize("measure", ["wracc", "kappa", "m2", "matthews"])
def test_many_labels_and_threads(measure: str) -> None:
    problem, bounds = wide(3), []
    objective, options = Objective(measure, effort=200), GrowOptions(max_conditions=1)
    args = (problem.table, problem.truth, problem.weights, objective, options)
    compiled = [NativeEngine(*args, n_jobs=threads, limits={"threaded_work": 0}) for threads in (1, 3)]
    reference = ReferenceEngine(*args)
    for _ in range(4):
        expected = reference.grow()
        assert expected is not None
        bounds.append(expected.bound)
        outcome = reference.commit(expected, 0.0, True)
        for engine in compiled:
            found = engine.grow()
            assert found is not None
            assert same(found, expected)
            assert engine.commit(found, 0.0, True) == outcome
    assert any(bound is not None for bound in bounds)


@pytest.mark.parametrize("measure", ["f0.5", "precision", "laplace", "subset"])
def test_what_is_found_directly_is_not_limited(measure: str) -> None:
    problem = wide(1)
    args = (problem.table, problem.truth, problem.weights)
    engines = [make_engine(*args, Objective(measure, effort=effort), GrowOptions()) for effort in (None, 1)]
    rules = [engine.grow() for engine in engines]
    assert same(*rules)
    assert rules[0] is not None
    assert rules[0].bound is None


@needs_native
def test_the_compiled_kernels_say_what_they_cannot_limit() -> None:
    problem = wide(1, 3)
    objective = Objective("hamming", averaging="example", effort=5)
    assert make_engine(problem.table, problem.truth, problem.weights, objective, GrowOptions()).name == "reference"
    with pytest.raises(OptionError, match=r"the compiled kernels cannot optimise hamming, example.* 5 heads tried"):
        NativeEngine(problem.table, problem.truth, problem.weights, objective, GrowOptions())
