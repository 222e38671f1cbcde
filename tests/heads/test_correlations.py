"""Bounds may let a hopeless head pass, never stop a good one; against trying every head."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.heads.correlations import Branches, Literals
from polyrule.heads.problem import HeadSpace
from polyrule.heads.valuation import valuation
from polyrule.measures import Objective
from polyrule.measures.association import SPECS

FORMULAS = tuple(SPECS)
SEEDS = st.integers(0, 2**32 - 1)


def every_head(space):
    heads = [()]
    for label in space.labels:
        heads += [(*head, literal) for head in heads for literal in space.choices[label]]
    return heads[1:]


@given(SEEDS, st.sampled_from(FORMULAS))
@settings(max_examples=100, deadline=None)
def test_no_branch_with_a_good_head_is_cut(random_world, seed, formula):
    world, objective = random_world(seed, max_labels=4, set_labels=True), Objective(formula)
    space = HeadSpace.of(world, objective)
    if len(space.labels) < 2:
        return
    values = valuation(world, objective)
    branches = Branches(formula, Literals(values, space))
    rng = np.random.default_rng(seed)
    heads = every_head(space)
    for index in rng.integers(0, len(heads), 5):
        head = heads[index]
        value = values.plain(head)
        if value < 0:
            continue
        keep = int(rng.integers(0, len(head)))
        others = [label for label in space.labels if label not in {x for x, _ in head[:keep]}]
        assert branches.may_reach(float(value), list(head[:keep]), others)
    if formula == "wracc":  # the others have literals without a denominator, which cannot be ruled out
        assert not branches.may_reach(1.01, [], space.labels)
