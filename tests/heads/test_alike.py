"""Correlations with a positive best value: only literals with equal counts go together (fact H)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.errors import UnsoundSearchError
from polyrule.heads import HeadProblem, certify, search, verify_certificate
from polyrule.measures import Objective

SEEDS = st.integers(0, 2**32 - 1)
CORRELATIONS = ("matthews", "rate_difference")


@given(SEEDS, st.sampled_from(CORRELATIONS), st.booleans(), st.sampled_from([None, 2]))
@settings(max_examples=120, deadline=None)
def test_it_finds_the_best_head_wherever_it_applies(random_world, seed, measure, negative, limit):
    world = random_world(seed, max_labels=5, negative=negative, set_labels=False)
    objective = Objective(measure, negative=negative, max_head_size=limit)
    expected, found = search(world, objective, "exhaustive"), search(world, objective)
    if expected is None:
        assert found is None
        return
    assert (found.head, found.value, found.counts) == (expected.head, expected.value, expected.counts)
    assert (found.strategy == "alike") == (expected.value > 0)


@pytest.mark.parametrize("measure", CORRELATIONS)
def test_every_part_of_a_best_head_is_as_good(random_world, measure):
    seen = 0
    for seed in range(300):
        world = random_world(seed, max_labels=4, set_labels=False)
        best = search(world, Objective(measure), "exhaustive")
        if best is None or best.value <= 0 or len(best.head) < 2:
            continue
        seen += 1
        assert len(set(best.counts)) == 1
        for literal in best.head:
            assert search(world, Objective(measure, max_head_size=1), "exhaustive").value == best.value
            assert literal in best.head
    assert seen > 5


def test_equal_margins_are_enough():
    """Labels that are set make no difference as long as the usable literals cover the same weight."""
    world = HeadProblem.make([[1, 1], [1, 1], [0, 0], [1, 0]], [1, 1, 0, 0], [[0, -1], [-1, 0], [-1, -1], [-1, -1]])
    found = search(world, Objective("matthews"))
    expected = search(world, Objective("matthews"), "exhaustive")
    assert (found.strategy, found.head) == ("alike", expected.head)


def test_a_proof_for_both_signs_needs_both_signs():
    """tp²/(tp+fp) is anti-monotone because the opposite of a bad literal is a good one, if it is allowed."""
    truth = [[1, 1, 1]] * 4 + [[1, 0, 1]] * 5 + [[1, 0, 1]] * 111 + [[1, 0, 0]] * 80
    assigned = [[-1, -1, -1]] * 9 + [[-1, 0, -1]] * 11 + [[0, 0, -1]] * 180
    objective = Objective("tp**2 / (tp + fp)")
    both = HeadProblem.make(truth, assigned=assigned, negative=True)
    assert search(both, objective, "antimonotone").head == search(both, objective, "exhaustive").head
    positive = [[False, True]] * 3
    lopsided = HeadProblem.make(
        truth, assigned=assigned, allowed=[[True, True], [False, True], [True, True]], negative=True
    )
    assert (
        search(lopsided, objective).head == search(lopsided, objective, "exhaustive").head == ((0, 1), (1, 1), (2, 1))
    )
    with pytest.raises(UnsoundSearchError, match="both literals of a label"):
        search(lopsided, objective, "antimonotone")
    only = HeadProblem.make(truth, assigned=assigned, allowed=positive)
    with pytest.raises(UnsoundSearchError):
        search(only, objective, "antimonotone")


def test_it_is_refused_where_it_may_be_wrong():
    negative = HeadProblem.from_text(covered="111 011 000 000", uncovered="111 111 111 111 111 100")
    assert search(negative, Objective("matthews")).strategy == "bound"
    with pytest.raises(UnsoundSearchError, match="positive"):
        search(negative, Objective("matthews"), "alike")
    with pytest.raises(UnsoundSearchError, match="'alike'"):
        search(negative, Objective("f1"), "alike")


@pytest.mark.parametrize("measure", CORRELATIONS)
def test_its_certificates_are_checked(random_world, measure):
    objective, kinds = Objective(measure), set()
    for seed in range(60):
        world = random_world(seed, max_labels=4, set_labels=False)
        certificate = certify(world, objective)
        if certificate is None:
            continue
        kinds.add(certificate["kind"])
        head = [tuple(literal) for literal in certificate["head"]]
        assert verify_certificate(world, objective, head, certificate) == []
        if certificate["kind"] == "alike" and len(head) > 1:
            smaller = {**certificate, "head": certificate["head"][:1]}
            assert verify_certificate(world, objective, head[:1], smaller) != []
    assert "alike" in kinds
