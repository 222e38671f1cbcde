from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.heads import best_head
from polyrule.heads.ceilings import head_ceilings
from polyrule.measures import Objective


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["matthews", "rate_difference", "f1", "laplace", "jaccard", "hamming"]),
    st.sampled_from(["none", "kln:0.5"]),
    st.sampled_from([None, 1, 2]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_no_head_is_above_its_ceiling(random_world, seed, measure, lift, limit, negative):
    world = random_world(seed)
    objective = Objective(measure, lift=lift, max_head_size=limit, negative=negative)
    c = world.counts
    (ceiling,) = head_ceilings(objective, c.tp[None], c.fp[None], c.tn[None], c.fn[None], world.allowed)
    best = best_head(world, objective)
    if best is None:
        assert ceiling == -np.inf
    else:
        assert float(best.value) <= ceiling + 1e-9
        if len(best.head) == 1 == world.n_labels:
            assert float(best.value) == pytest.approx(ceiling)


def test_where_nothing_is_known():
    zeros = np.zeros((1, 2, 2), int), np.zeros((1, 2, 2), int), np.zeros((1, 2), int), np.zeros((1, 2), int)
    for objective in (Objective("m2"), Objective("f1", scope="all"), Objective("f1", averaging="example")):
        assert head_ceilings(objective, *zeros, np.ones((2, 2), bool)) is None
