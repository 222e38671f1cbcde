"""Bounds may let a hopeless head pass, never stop a good one; against trying every head."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.heads import search
from polyrule.heads.correlations import Branches, ceilings, lifted_may_beat
from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import MicroValuation, valuation
from polyrule.measures import Lift, Objective

FORMULAS = ("wracc", "rate_difference", "matthews")
SEEDS = st.integers(0, 2**32 - 1)


def counts_of(world, objective):
    """Return TP, FP, TN, FN as arrays (labels, 2) and which literals may be used."""
    c = world.counts
    shape = c.tp.shape
    tn, fn = (np.broadcast_to(x[:, None], shape) for x in (c.tn, c.fn))
    usable = np.zeros(shape, bool)
    for literal in HeadSpace.of(world, objective).literals:
        usable[literal] = True
    return (c.tp, c.fp, tn, fn), usable


def every_head(space):
    heads = [()]
    for label in space.labels:
        heads += [(*head, literal) for head in heads for literal in space.choices[label]]
    return heads[1:]


@given(SEEDS, st.sampled_from(FORMULAS), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_head_is_above_the_ceiling(random_world, seed, formula, set_labels):
    world, objective = random_world(seed, max_labels=5, set_labels=set_labels), Objective(formula)
    best = search(world, objective, "exhaustive")
    if best is None:
        return
    counts, usable = counts_of(world, objective)
    ceiling = float(ceilings(*(x[None] for x in counts), usable[None], formula)[0])
    assert max(float(best.value), 0.0) <= ceiling + 1e-9
    if world.nothing_set and best.value > 0 and formula != "rate_difference":
        assert ceiling == pytest.approx(float(best.value))  # equal margins: the best literal is the ceiling


@given(SEEDS, st.sampled_from(FORMULAS))
@settings(max_examples=100, deadline=None)
def test_no_branch_with_a_good_head_is_cut(random_world, seed, formula):
    world, objective = random_world(seed, max_labels=4, set_labels=True), Objective(formula)
    space = HeadSpace.of(world, objective)
    if len(space.labels) < 2:
        return
    values = valuation(world, objective)
    counts, usable = counts_of(world, objective)
    branches = Branches(formula, *counts, usable)
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


@given(SEEDS, st.sampled_from(["f1", "laplace", "precision", "m2:0.3"]), st.sampled_from(["kln:0.3", "root:3"]))
@settings(max_examples=80, deadline=None)
def test_lifted_sizes_are_ruled_out_exactly(random_world, seed, measure, lift):
    world, objective = random_world(seed, max_labels=5), Objective(measure, lift=lift)
    space = HeadSpace.of(world, objective)
    if not space.labels:
        return
    values = valuation(world, objective)
    assert isinstance(values, MicroValuation)
    numerator, denominator = (np.array(row, dtype=float) for row in objective.measure.rows)
    counts, usable = counts_of(world, objective)
    a, b = (sum(row[i + 1] * counts[i] for i in range(4)) for row in (numerator, denominator))
    rho = np.array([float(Lift.parse(lift).rho(k, world.n_labels)) for k in range(1, world.n_labels + 1)])
    best = {}
    for head in every_head(space):
        best[len(head)] = max(best.get(len(head), 0.0), float(values.value(head)))
    level = max(best.values())
    reached = lifted_may_beat(a, b, usable, numerator[0], denominator[0], rho, level)
    above = lifted_may_beat(a, b, usable, numerator[0], denominator[0], rho, level + 1e-3)
    assert {k for k, v in best.items() if v >= level - 1e-12} <= {k + 1 for k in np.flatnonzero(reached)}
    assert not above.any()
