"""Growing a body: what is found is what a search over all features at every step finds, and never too long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.test_gain import fixed, world

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import AT_MOST, BinTest, simplify
from polyrule.data.table import Table
from polyrule.ensemble.boosting import Booster, BoostingOptions, covers_of, plain_examples
from polyrule.ensemble.gain import Gradients, reference_best_conditions
from polyrule.ensemble.growth import GrowthOptions, grow
from polyrule.ensemble.pool import Pool
from polyrule.ensemble.pruning import RulePruner
from polyrule.utils.arrays import Ints32


def plain_greedy(
    table: BinnedTable, slopes: Gradients, options: GrowthOptions, tests: tuple[BinTest, ...] = ()
) -> tuple[BinTest, ...]:
    """Add the best allowed condition of any feature until none raises the gain enough."""
    rows = rows_of(table, tests)
    gain = slopes.gain(slopes.sums(rows)) if tests else 0.0
    while True:
        found = reference_best_conditions(table, rows, slopes)
        least = options.min_gain(gain, len(table.slot)) if tests else 0.0
        for feature in np.argsort(-found.gain, kind="stable").tolist():
            test = BinTest(feature, int(found.kind[feature]), int(found.bin[feature]))
            if found.gain[feature] <= least:
                return tests
            if len(simplify((*tests, test))) <= options.max_conditions:
                break
        else:
            return tests
        tests, rows, gain = simplify((*tests, test)), table.covered(test, rows), float(found.gain[feature])


def rows_of(table: BinnedTable, tests: tuple[BinTest, ...]) -> Ints32:
    rows: Ints32 = np.arange(table.rows, dtype=np.int32)
    for test in tests:
        rows = table.covered(test, rows)
    return rows


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_greedy_growth_is_the_plain_one(seed: int, longest: int) -> None:
    table, slopes, _ = world(seed)
    options = GrowthOptions(max_conditions=longest)
    body = grow(table, slopes, options)
    expected = plain_greedy(table, slopes, options)
    assert (body is None) == (not expected)
    if body:
        assert body.tests == expected
        assert len(body.tests) <= longest
        assert np.isclose(body.gain, slopes.gain(slopes.sums(body.rows)))


def test_of_many_labels_those_that_a_body_tells_most_about_judge_how_it_goes_on() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    both = (X[:, 0] <= 0.5) & (X[:, 1] <= 0.5)
    truth = rng.random((300, 50)) < 0.1
    truth[:, 49] = both  # every label gains a little by something, this one much by both conditions
    chance = np.broadcast_to(truth.mean(axis=0), truth.shape)
    binning = Binning.of(Table.from_array(X), 16)
    table = BinnedTable.of(binning, binning.columns(Table.from_array(X)))
    body = grow(table, fixed(chance - truth, chance * (1 - chance), 1.0, 0.5), GrowthOptions(max_conditions=2))
    assert body is not None
    assert {(test.feature, test.kind) for test in body.tests} == {(0, AT_MOST), (1, AT_MOST)}


def booster_of(X: np.ndarray, truth: np.ndarray, options: BoostingOptions, capacity: int = 9):
    table = Table.from_array(X)
    binning = Binning.of(table, 16)
    examples = plain_examples(binning, table, truth.astype(np.float32), np.ones(len(X)))
    return Booster(binning, examples, options, capacity), binning, examples


def test_rules_that_the_loss_misses_least_are_taken_out_and_the_rest_fits_better_than_as_many_built() -> None:
    # The first rule of a greedy search straddles two planted ones, and is of no use once both are there.
    rng = np.random.default_rng(3)
    X = rng.random((400, 3))
    both = (X[:, 0] > 0.5).astype(float) + (X[:, 1] > 0.5)
    truth = np.column_stack([both == 2, both == 1]) ^ (rng.random((400, 2)) < 0.1)
    objectives = {}
    for built in (3, 6):
        booster, binning, examples = booster_of(
            X, truth, BoostingOptions(search_cost=0.0, growth=GrowthOptions(max_conditions=2))
        )
        counts: list[int] = []
        booster.build(built, lambda rules, _, counts=counts: bool(counts.append(rules)))
        assert counts == list(range(1, built + 1))
        pool = Pool()
        pool.add(booster)
        covers = covers_of([rule.tests for rule in pool.rules], binning, 400, examples.column)
        pruner = RulePruner(pool.rules, covers, examples, 2.0, 0)
        pruner.thin_out(3)
        assert len(pruner.bodies) == 3
        expected = covers_of(pruner.bodies, binning, 400, examples.column)
        assert np.array_equal(pruner.solver.covers, expected)
        objectives[built] = pruner.solver.objective()
    assert objectives[6] < objectives[3]


def test_thinning_out_removes_the_rule_that_costs_least() -> None:
    """The slow twin refits without each rule in turn."""
    rng = np.random.default_rng(8)
    X = rng.random((300, 4))
    truth = np.column_stack([X[:, 0] + X[:, 1] > 1, X[:, 2] > X[:, 3], X[:, 0] > 0.7])
    booster, binning, examples = booster_of(X, truth, BoostingOptions())
    booster.build(6)
    rules = booster.rules
    covers = covers_of([rule.tests for rule in rules], binning, 300, examples.column)
    costs = []
    for left_out in range(len(rules)):
        others = [place for place in range(len(rules)) if place != left_out]
        some = covers[:, [0, *(place + 1 for place in others)]]
        costs.append(RulePruner([rules[place] for place in others], some, examples, 2.0, 0).solver.objective())
    pruner = RulePruner(rules, covers, examples, 2.0, 0)
    pruner.thin_out(len(rules) - 1)
    assert pruner.solver.objective() <= min(costs) * 1.01
    assert pruner.solver.objective() >= min(costs) - 1e-6


def test_where_no_label_gains_much_rules_are_sought_that_gain_enough_for_an_entry() -> None:
    rng = np.random.default_rng(5)
    X = rng.random((200, 3))
    truth = (X[:, [0]] > 0.5) ^ (rng.random((200, 1)) < 0.3)
    for cost, expected in ((0.1, 2), (1000.0, 0)):
        booster, _, _ = booster_of(X, truth, BoostingOptions(label_cost=cost, search_cost=1000.0))
        booster.build(2)
        assert len(booster.rules) == expected


@pytest.mark.parametrize("min_rows", [1, 30, 45])
def test_bodies_cover_enough_examples(min_rows: int) -> None:
    rng = np.random.default_rng(2)
    X = rng.random((100, 5)).round(1)
    truth = rng.random((100, 3)) < 0.2
    growth = GrowthOptions(max_members=4, chance=0.0)
    booster, binning, examples = booster_of(
        X, truth, BoostingOptions(min_rows=min_rows, label_cost=0.01, growth=growth)
    )
    booster.build(9)
    covers = covers_of([rule.tests for rule in booster.rules], binning, 100, examples.column)
    assert len(booster.rules) > 3
    assert covers.sum(axis=0).min() >= min_rows
