"""Every search finds the best head where labels are unknown, and ties of rounded averages are ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule import measures
from polyrule.errors import UnsoundSearchError
from polyrule.heads import HeadProblem, search
from polyrule.measures import AVERAGINGS, SCOPES, Objective


def world(seed: int, unknown: float, negative: bool) -> HeadProblem:
    rng = np.random.default_rng(seed)
    rows, labels = rng.integers(2, 7), rng.integers(2, 4)
    truth = rng.integers(0, 2, (rows, labels))
    truth[rng.random((rows, labels)) < unknown] = 2
    chance = 0.2 * rng.integers(2)
    assigned = np.where(rng.random((rows, labels)) < chance, rng.integers(0, 2, (rows, labels)), -1)
    return HeadProblem.make(
        truth.astype(np.uint8),
        covered=rng.random(rows) < 0.5,
        assigned=assigned.astype(np.int8),
        negative=negative,
    )


@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(measures.available())),
    st.sampled_from(AVERAGINGS),
    st.sampled_from(SCOPES),
    st.sampled_from([0.0, 0.2]),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_the_best_head_is_found(seed, measure, averaging, scope, unknown, negative) -> None:
    objective, here = (
        Objective(measure, averaging=averaging, scope=scope, negative=negative),
        world(seed, unknown, negative),
    )
    found, best = search(here, objective), search(here, objective, "exhaustive")
    assert (found is None) == (best is None)
    if found is not None and best is not None:
        assert (found.head, found.value) == (best.head, best.value)


@pytest.mark.parametrize("measure", ["matthews", "rate_difference", "cosine"])
def test_literals_that_count_over_fewer_rows_are_not_alike(measure: str) -> None:
    here = HeadProblem.make(np.array([[0, 1], [1, 1], [0, 2]], dtype=np.uint8), covered=np.array([True, True, False]))
    found, best = search(here, Objective(measure)), search(here, Objective(measure), "exhaustive")
    assert (found.head, found.value) == (best.head, best.value)


def test_label_sets_say_nothing_of_unknown_labels() -> None:
    truth = [[1, 2, 2, 0], [1, 2, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [2, 0, 0, 2]]
    here, objective = HeadProblem.make(np.array(truth, dtype=np.uint8)), Objective("subset", scope="all")
    found, best = search(here, objective), search(here, objective, "exhaustive")
    assert (found.head, found.value) == (best.head, best.value)
    with pytest.raises(UnsoundSearchError, match="needs labels that are all known"):
        search(here, objective, "subset")
