"""Growing a body: what is found is what a search over all features at every step finds, and never too long."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.test_gain import fixed, world

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import ABOVE, BinTest, simplify
from polyrule.data.table import Table
from polyrule.ensemble.building import Builder, BuildOptions, plain_examples
from polyrule.ensemble.gain import Slopes, reference_best_conditions
from polyrule.ensemble.growing import Growth, grow
from polyrule.utils.arrays import Ints32


def plain_greedy(
    table: BinnedTable, slopes: Slopes, options: Growth, tests: tuple[BinTest, ...] = ()
) -> tuple[BinTest, ...]:
    """Add the best allowed condition of any feature until none raises the gain enough."""
    rows = rows_of(table, tests)
    gain = slopes.gain(slopes.sums(rows)) if tests else 0.0
    while True:
        found = reference_best_conditions(table, rows, slopes)
        least = options.enough(gain, len(table.slot)) if tests else 0.0
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
    options = Growth(max_conditions=longest)
    body = grow(table, slopes, options)
    expected = plain_greedy(table, slopes, options)
    assert (body is None) == (not expected)
    if body:
        other = table.opposite(expected[0])
        starts = [expected] if other is None else [expected, plain_greedy(table, slopes, options, (other,))]
        assert body.tests in starts
        assert body.gain >= max(slopes.gain(slopes.sums(rows_of(table, tests))) for tests in starts) - 1e-9
        assert len(body.tests) <= longest
        assert np.isclose(body.gain, slopes.gain(slopes.sums(body.rows)))


def test_of_many_labels_those_that_a_body_tells_most_about_judge_how_it_goes_on() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    both = (X[:, 0] > 0.5) & (X[:, 1] > 0.5)
    truth = rng.random((300, 50)) < 0.1
    truth[:, 49] = both  # every label gains a little by something, this one much by both conditions
    chance = np.broadcast_to(truth.mean(axis=0), truth.shape)
    binning = Binning.of(Table.from_array(X), 16)
    table = BinnedTable.of(binning, binning.columns(Table.from_array(X)))
    body = grow(table, fixed(chance - truth, chance * (1 - chance), 1.0, 0.5), Growth(max_conditions=2))
    assert body is not None
    assert {(test.feature, test.kind) for test in body.tests} == {(0, ABOVE), (1, ABOVE)}


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_beam_finds_at_least_what_greedy_finds_in_the_first_step(seed: int) -> None:
    table, slopes, _ = world(seed)
    narrow, wide = (grow(table, slopes, Growth(max_conditions=1, beam_width=width)) for width in (1, 4))
    assert (narrow is None) == (wide is None)
    if narrow and wide:
        assert wide.gain >= narrow.gain


def test_both_sides_of_the_first_condition_are_tried() -> None:
    # Without the mirror image the search would start below the threshold, where nothing is left to find.
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    table = Table.from_array(X)
    binning = Binning.of(table, 16)
    truth = (X[:, [0]] > 0.5) & (X[:, [1]] > 0.5)
    examples = plain_examples(list(binning.columns(table)), truth.astype(np.uint8), np.ones(400))
    builder = Builder(binning, examples, BuildOptions(max_rules=1, spare=0.0))
    builder.build()
    (body,) = builder.bodies
    assert {(test.feature, test.kind) for test in body.tests} == {(0, ABOVE), (1, ABOVE)}


def test_rules_to_spare_are_taken_out_again_and_the_rest_fits_better() -> None:
    # The first rule of a greedy search straddles two planted ones, and is of no use once both are there.
    rng = np.random.default_rng(3)
    X = rng.random((400, 3))
    table = Table.from_array(X)
    both = (X[:, 0] > 0.5).astype(float) + (X[:, 1] > 0.5)
    truth = (np.column_stack([both == 2, both == 1]) ^ (rng.random((400, 2)) < 0.1)).astype(np.uint8)
    binning = Binning.of(table, 16)
    examples = plain_examples(list(binning.columns(table)), truth, np.ones(400))
    reached = {}
    for spare in (0.0, 1.0):
        builder = Builder(binning, examples, BuildOptions(max_rules=3, spare=spare, growth=Growth(max_conditions=2)))
        counts = []
        builder.build(lambda rules, _, counts=counts: bool(counts.append(rules)))
        assert counts == list(range(1, 4 + (3 if spare else 0)))
        assert len(builder.bodies) == 3 == len(builder.chosen().heads)
        assert builder.solver.covers.shape == (400, 4)
        for place, body in enumerate(builder.bodies, start=1):
            assert np.array_equal(np.flatnonzero(builder.solver.covers[:, place]), body.rows)
        reached[spare] = builder.solver.objective()
    assert reached[1.0] < reached[0.0]


def test_where_no_label_gains_much_rules_are_sought_that_gain_enough_for_an_entry() -> None:
    rng = np.random.default_rng(5)
    X = rng.random((200, 3))
    table = Table.from_array(X)
    truth = ((X[:, [0]] > 0.5) ^ (rng.random((200, 1)) < 0.3)).astype(np.uint8)
    binning = Binning.of(table, 16)
    examples = plain_examples(list(binning.columns(table)), truth, np.ones(200))
    for cost, expected in ((0.1, 2), (1000.0, 0)):
        builder = Builder(binning, examples, BuildOptions(max_rules=2, label_cost=cost, search_cost=1000.0))
        builder.build()
        assert len(builder.bodies) == expected
