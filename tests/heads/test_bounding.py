"""What is stated of a head that was not searched for exactly must hold against every other head."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.errors import OptionError
from polyrule.heads import HeadProblem, certify, search, verify_certificate
from polyrule.heads.bounding import bound_heads
from polyrule.measures import Objective

MEASURES = (
    *("wracc", "rate_difference", "matthews", "m2", "m0.5", "klosgen", "added_value", "cosine", "kappa", "yule_q"),
    *("lift", "certainty"),
)


@st.composite
def worlds(draw, most_labels: int = 5) -> HeadProblem:
    """Worlds in which labels are set on some examples, so that literals differ in what they cover."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, labels = draw(st.integers(2, 14)), draw(st.integers(2, most_labels))
    truth = (rng.random((rows, labels)) < rng.choice([0.2, 0.5, 0.8], labels)).astype(np.uint8)
    truth[rng.random(truth.shape) < draw(st.sampled_from([0.0, 0.1]))] = 2
    assigned = np.where(rng.random(truth.shape) < rng.choice([0.0, 0.3, 0.7], labels), 1, -1)
    weights = rng.integers(1, draw(st.sampled_from([1, 5, 10**6])) + 1, rows)
    return HeadProblem.make(truth, rng.random(rows) < 0.6, assigned, weights)


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=10)
@given(world=worlds(), effort=st.integers(1, 60), limit=st.sampled_from([None, 1, 2, 3]))
def test_no_head_is_worth_more_than_the_bound(measure: str, world: HeadProblem, effort: int, limit: int | None) -> None:
    objective = Objective(measure, effort=effort, max_head_size=limit)
    found = search(world, objective)
    if found is None:
        return
    best = search(world, Objective(measure, max_head_size=limit), "exhaustive")
    assert best is not None
    bound = bound_heads(world, objective, found.value)
    assert found.value <= best.value
    if bound is None:
        assert found.value == best.value
    else:
        assert best.value <= bound
        assert found.value < bound


@pytest.mark.parametrize("measure", ["(tp+1)/(tp+fp+fn+3)", "tp*tn/((tp+fp+1)*(tn+fn+1))"])
@settings(max_examples=10)
@given(world=worlds(4))
def test_no_head_is_worth_more_by_an_expression(measure: str, world: HeadProblem) -> None:
    objective = Objective(measure, effort=2)
    found, best = search(world, objective), search(world, Objective(measure), "exhaustive")
    if found is None or best is None:
        return
    bound = bound_heads(world, objective, found.value)
    assert best.value <= (found.value if bound is None else bound)


@given(world=worlds(4), scope=st.sampled_from(["head", "all", "full"]))
def test_no_head_is_worth_more_by_example_wise_averages(world: HeadProblem, scope: str) -> None:
    if world.has_unknown:
        return
    objective = Objective("hamming", averaging="example", scope=scope, effort=1)
    found, best = search(world, objective), search(world, Objective("hamming", averaging="example", scope=scope))
    if found is None or best is None:
        return
    bound = bound_heads(world, objective, found.value)
    assert best.value <= (found.value if bound is None else bound)


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=10)
@given(world=worlds())
def test_more_effort_is_never_worse_and_single_literals_are_always_tried(measure: str, world: HeadProblem) -> None:
    found = [search(world, Objective(measure, effort=effort)) for effort in (1, 20, 10**6)]
    if found[0] is None:
        return
    found.insert(0, search(world, Objective(measure, max_head_size=1), "exhaustive"))
    values = [result.value for result in found if result is not None]
    assert len(values) == len(found)
    assert values == sorted(values)


def test_the_bound_is_close_on_many_labels() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((300, 60)) < 0.3).astype(np.uint8)
    assigned = np.where(rng.random(truth.shape) < rng.random(60) / 2, 1, -1)
    world = HeadProblem.make(truth, rng.random(300) < 0.5, assigned)
    for measure in ("wracc", "kappa", "klosgen", "added_value", "m2", "matthews"):
        objective = Objective(measure, effort=2000)
        found = search(world, objective)
        assert found is not None
        assert found.strategy == "climb"
        bound = bound_heads(world, objective, found.value)
        assert bound is None or bound <= found.value * Fraction(11, 10)


def test_exact_searches_need_no_bound() -> None:
    world = HeadProblem.from_text(covered="011 110", uncovered="100")
    found = search(world, Objective("f1", effort=1))
    assert found is not None
    assert found.strategy == "decomposable"
    assert bound_heads(world, Objective("f1", effort=1), Fraction(1)) is None


@pytest.mark.parametrize("effort", [0, -1, 1.5, True])
def test_an_effort_is_a_whole_number(effort: float) -> None:
    with pytest.raises(OptionError, match="effort must be None or a whole number of at least 1"):
        Objective("wracc", effort=effort)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="effort is for search='auto'"):
        Objective("wracc", effort=3, search="exhaustive")


def test_values_may_be_huge() -> None:
    world = HeadProblem.from_text(covered="0011 1100", uncovered="0000")
    objective = Objective("1e40*tp / (2*tp + fp + fn)", averaging="example", lift="root:1.5", effort=1)
    found, best = search(world, objective), search(world, objective, "exhaustive")
    bound = bound_heads(world, objective, found.value)
    assert found.value < best.value <= bound


def test_single_literals_are_all_tried_so_the_best_of_them_is_the_best() -> None:
    world = HeadProblem.from_text(covered="110 111 100 010", uncovered="001 000 010")
    objective = Objective("m2", max_head_size=1, effort=3)
    found = search(world, objective)
    assert (found.strategy, found.value) == ("climb", Fraction(29, 42))
    assert bound_heads(world, objective, found.value) is None
    certificate = certify(world, objective)
    assert (certificate["kind"], certificate["bound"]) == ("bounded", certificate["value"])
    assert verify_certificate(world, objective, found.head, certificate) == []
