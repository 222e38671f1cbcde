"""The choice of rules: sums kept up to date, every rule and label worth its price, as good as brute force on toys."""

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule import RuleListClassifier
from polyrule.conditions import NominalCondition, NumericCondition
from polyrule.conditions.evaluate import evaluate
from polyrule.data.table import Feature, Table, packed_bits
from polyrule.selection.covers import Covers, plain_sums
from polyrule.selection.objective import Costs, cell_gains, gain_coefficients, order_by_gain, reached_levels
from polyrule.selection.pool import BodySet, presence_bodies
from polyrule.selection.select import RuleSelection, SelectedRule
from polyrule.utils.compute import native


def world(seed: int, bodies: int = 6, examples: int = 12, labels: int = 3):
    random = np.random.default_rng(seed)
    covers = random.random((bodies, examples)) < 0.5
    covers[0] = True
    gains = random.integers(-3, 6, (examples, labels)).astype(float)
    return covers, np.array([0, *random.integers(1, 4, bodies - 1)]), gains


def total(rules, covers, lengths, gains, costs) -> float:
    """What a list is worth, from its definition."""
    said = np.zeros(gains.shape, dtype=bool)
    price = 0
    for body, labels in rules:
        said[np.ix_(covers[body], list(labels))] = True
        price += (costs.rule + costs.condition * lengths[body] if lengths[body] else 0) + costs.literal * len(labels)
    return gains[said].sum() - price


def chosen(selection):
    return [(rule.body, rule.labels) for rule in selection.rules]


@given(st.integers(0, 10_000), st.integers(0, 3))
@settings(max_examples=40)
def test_scores_are_what_they_would_be_from_scratch(seed, cost):
    covers, lengths, gains = world(seed)
    selection = RuleSelection(Covers.pack(covers), lengths, gains, Costs(cost, cost, cost), np.zeros(gains.shape, bool))
    random = np.random.default_rng(seed)
    for _ in range(6):
        if selection.rules and random.random() < 0.4:
            selection.remove(int(random.integers(len(selection.rules))))
        else:
            labels = np.flatnonzero(random.random(3) < 0.5)
            if len(labels):
                selection.add(SelectedRule(int(random.integers(6)), tuple(labels.tolist())))
        free = np.where(selection.count == 0, gains, 0.0)
        np.testing.assert_array_equal(selection.scores, covers.astype(float) @ free)


@given(st.integers(0, 10_000), st.integers(0, 2))
@settings(max_examples=60)
def test_labels_laid_anew_leave_all_sums_as_from_scratch(seed, cost):
    covers, lengths, gains = world(seed, bodies=8)
    selection = RuleSelection(Covers.pack(covers), lengths, gains, Costs(cost, cost, cost), np.zeros(gains.shape, bool))
    selection.grow(None)
    selection.move_labels(None)
    count = np.zeros(gains.shape, dtype=int)
    for body, labels in chosen(selection):
        count[np.ix_(covers[body], list(labels))] += 1
    np.testing.assert_array_equal(selection.count, count)
    np.testing.assert_array_equal(selection.scores, covers.astype(float) @ np.where(count == 0, gains, 0.0))
    np.testing.assert_array_equal(selection.head_gains, np.maximum(selection.scores - cost, 0.0).sum(axis=1))


@given(st.integers(0, 10_000), st.sampled_from([Fraction(1), Fraction(4), Fraction(1, 4)]))
@settings(max_examples=60)
def test_levels_are_those_of_fractions(seed, squared):
    random = np.random.default_rng(seed)
    targets = random.integers(0, 257, (7, 3)) * random.integers(0, 2, 3)  # some labels nobody has
    said, weights = random.random((7, 3)) < random.random(3), random.integers(1, 4, 7)
    value, levels = reached_levels(targets.astype(float), weights, said, squared)

    def reached(labels):
        cells = [
            (int(weights[row]), Fraction(int(targets[row, at]), 256), said[row, at])
            for row in range(7)
            for at in labels
        ]
        bottom = sum(w * (int(told) + squared * t) for w, t, told in cells)
        return (1 + squared) * sum(w * t for w, t, told in cells if told) / bottom if bottom else Fraction(0)

    whole = reached(range(3))
    assert abs(value - 256 * whole) <= Fraction(1, 2) + Fraction(1, 10**9)
    for label, level in enumerate(levels.tolist()):
        wanted = 256 * (whole - max(whole - reached([label]), Fraction(0)) / 4)
        assert abs(level - wanted) <= Fraction(1, 2) + Fraction(1, 10**9)


def test_hamming_accuracy_knows_no_levels():
    value, levels = reached_levels(np.ones((2, 3)), np.ones(2), np.ones((2, 3), dtype=bool), None)
    assert value == 128
    assert levels.tolist() == [128] * 3


def test_words_are_what_some_examples_have_and_most_have_not():
    word = Feature("word", "nominal", ("NO", "YES"))
    hue = Feature("hue", "nominal", ("blue", "green", "red"))
    columns = {
        "counts": [0, 0, 0, 0, 2, 5],
        "rare": [0, 0, 0, 0, 0, 1],
        "common": [0, 0, 1, 1, 1, 1],
        "below": [-3, -1, 0, 0, 0, 0],
        "constant": [1, 1, 1, 1, 1, 1],
        "gaps": [0, 0, 0, 1, 1, np.nan],
        "word": [1, 0, 0, 0, 1, 0],
        "hue": [0, 0, 0, 0, 1, 2],
    }
    features = [{"word": word, "hue": hue}.get(name, Feature(name)) for name in columns]
    table = Table.from_array(np.array(list(columns.values()), dtype=float).T, features)
    assert list(presence_bodies(table, min_weight=2)) == [
        (NumericCondition(0, ">", 1.0),),
        (NumericCondition(5, ">", 0.5),),
        (NominalCondition(6, 1),),
    ]
    assert (NumericCondition(1, ">", 0.5),) in list(presence_bodies(table, min_weight=1))


def test_a_column_that_is_never_known_is_no_word():
    values = np.tile(np.eye(60), (2, 1))
    values[:, 0] = np.nan
    assert all(body[0].feature > 0 for body in presence_bodies(Table.from_array(values), min_weight=1))
    assert RuleListClassifier(teacher=None).fit(values, values[:, 1:3] > 0).predict(values)[1, 0] == 1


@given(st.integers(0, 10_000))
@settings(max_examples=60)
def test_every_rule_and_label_is_worth_its_price(seed):
    covers, lengths, gains = world(seed)
    costs = Costs(2, 1, 1)
    selection = RuleSelection(Covers.pack(covers), lengths, gains, costs, np.zeros(gains.shape, bool))
    selection.grow(None)
    selection.exchange()
    selection.prune()
    value = total(chosen(selection), covers, lengths, gains, costs)
    assert value >= 0
    for place, (body, _) in enumerate(chosen(selection)):
        others = chosen(selection)[:place] + chosen(selection)[place + 1 :]
        assert total(others, covers, lengths, gains, costs) < value, "no rule can be left out"
        for heads in chain.from_iterable(combinations(range(3), k) for k in range(1, 4)):
            assert total([*others, (body, heads)], covers, lengths, gains, costs) <= value, "no head is better"


def test_close_to_the_best_list_of_all():
    """Greedy with exchanges need not be best; over many toys it reaches nearly all of what brute force does."""
    costs, reached, best = Costs(2, 1, 1), 0.0, 0.0
    heads = list(chain.from_iterable(combinations(range(2), k) for k in range(1, 3)))
    for seed in range(30):
        covers, lengths, gains = world(seed, bodies=4, examples=8, labels=2)
        selection = RuleSelection(Covers.pack(covers), lengths, gains, costs, np.zeros(gains.shape, bool))
        while selection.exchange() | selection.move_labels(None) | selection.grow(None):
            pass
        selection.prune()
        reached += total(chosen(selection), covers, lengths, gains, costs)
        rules = [(body, head) for body in range(4) for head in heads]
        lists = chain.from_iterable(combinations(rules, k) for k in range(4))
        best += max(total(some, covers, lengths, gains, costs) for some in lists)
    assert 0.98 * best <= reached <= best


def test_a_large_head_over_everything_does_not_stand_in_the_way():
    """Each of three labels has a body of its own; saying all of them always is worth more than any one of these."""
    random = np.random.default_rng(0)
    truth = random.random((60, 3)) < 0.5
    covers = np.vstack([np.ones(60, bool), truth.T])
    gains = np.where(truth, 5.0, -1.0)
    selection = RuleSelection(
        Covers.pack(covers), np.array([0, 1, 1, 1]), gains, Costs(2, 1, 1), np.zeros(gains.shape, bool)
    )
    selection.grow(None)
    assert chosen(selection) == [(0, (0, 1, 2))]
    selection.move_labels(None)
    assert sorted(chosen(selection)) == [(1, (0,)), (2, (1,)), (3, (2,))]
    np.testing.assert_array_equal(selection.scores, covers.astype(float) @ np.where(selection.count == 0, gains, 0.0))


def test_limits_are_kept():
    covers, lengths, gains = world(1)
    free = np.zeros(gains.shape, bool)
    narrow = RuleSelection(Covers.pack(covers), lengths, gains, Costs(0, 0, 0), free, max_head_size=1)
    narrow.grow(2)
    assert len(narrow.rules) <= 2
    assert all(len(rule.labels) == 1 for rule in narrow.rules)
    allowed = np.zeros((6, 3), dtype=bool)
    allowed[:, 2] = True
    only = RuleSelection(Covers.pack(covers), lengths, np.abs(gains), Costs(0, 0, 0), free, allowed)
    only.grow(None)
    assert {label for rule in only.rules for label in rule.labels} == {2}
    taken = RuleSelection(Covers.pack(covers), lengths, np.abs(gains), Costs(0, 0, 0), np.ones(gains.shape, bool))
    assert not taken.grow(None)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 20), st.integers(1, 3))
def test_sums_over_covers_are_those_of_the_definition(seed, examples, columns, threads):
    random = np.random.default_rng(seed)
    slow = random.random((random.choice([1, 31, 150, 1100]), examples)) < random.random()
    covers = Covers(packed_bits(slow), examples, threads)
    rows = random.random(examples) < random.choice([0.0, 0.1, 1.0])
    largest = random.choice([511, 512, 2047, 2048, 2**40])  # small numbers are added up as such
    worth = random.integers(-largest, largest, (examples, columns), endpoint=True).astype(float)
    worth[random.random(worth.shape) < random.choice([0.0, 0.5, 1.0])] = random.choice([-largest, largest])
    expected = (slow & rows).astype(np.int64) @ worth.astype(np.int64)
    np.testing.assert_array_equal(covers.sums(rows, worth), expected)
    np.testing.assert_array_equal(plain_sums(covers, rows, worth), expected)


def test_covers_are_those_of_the_conditions():
    random = np.random.default_rng(1)
    table = Table.from_array(random.random((143, 3)))
    bodies = BodySet(table)
    for _ in range(7):
        tests = [NumericCondition(int(j), "<=", float(random.random())) for j in random.permutation(3)[:2]]
        bodies.add([tuple(tests)])
    slow = np.array(
        [np.logical_and.reduce([np.ones(143, bool), *(evaluate(c, table) for c in b)]) for b in bodies.bodies]
    )
    covers = bodies.covers()
    np.testing.assert_array_equal([covers.of(b) for b in range(len(covers))], slow)
    np.testing.assert_array_equal([covers.only(np.array([4, 0])).of(b) for b in range(2)], slow[[4, 0]])
    np.testing.assert_array_equal(covers.any_of([2, 5]), slow[2] | slow[5])
    assert not covers.any_of([]).any()
    assert len({covers.key(b) for b in range(len(covers))}) == len(np.unique(slow, axis=0))


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
def test_arrays_that_do_not_fit_are_refused():
    covers, worth, found = np.zeros((2, 1), np.uint64), np.zeros((10, 3)), np.zeros((2, 3))
    with pytest.raises(ValueError, match="rows that there are not"):
        native.cover_sums(covers, np.array([1 << 10], np.uint64), worth, found, 1)
    for wrong in ((covers, np.zeros(2, np.uint64), worth, found), (covers, np.zeros(1, np.uint64), worth, found[:1])):
        with pytest.raises(ValueError, match="wrong shapes"):
            native.cover_sums(*wrong, 1)


@pytest.mark.parametrize("squared", [None, Fraction(1), Fraction(1, 4), Fraction(4)])
def test_gains_are_a_line_so_bodies_are_summed_up_once(squared):
    covers, _, _ = world(0)
    random = np.random.default_rng(5)
    targets, packed = random.integers(0, 257, (covers.shape[1], 3)).astype(float), Covers.pack(covers)
    rows = np.ones(covers.shape[1], dtype=bool)
    for level in (100, 153):
        slope, offset = gain_coefficients(squared, level)
        line = slope * packed.sums(rows, targets) - offset * packed.sums(rows, np.ones((len(rows), 1)))
        np.testing.assert_array_equal(line, packed.sums(rows, cell_gains(targets, squared, level)))


@pytest.mark.parametrize("cost", [0, 1])
def test_no_rule_is_chosen_for_what_others_cover_anyway(cost):
    """Greedily the first body comes first; when the other two are there it adds nothing, however cheap it is."""
    rows = [[0, 1, 2, 3], [0, 1, 4, 5], [2, 3, 6, 7]]
    covers = np.array([[example in body for example in range(8)] for body in rows])
    gains = np.full((8, 1), 2.0)
    gains[:4] = 3.0
    selection = RuleSelection(Covers.pack(covers), np.ones(3, int), gains, Costs(cost, cost, 0), np.zeros((8, 1), bool))
    assert selection.move_labels(None)
    assert sorted(chosen(selection)) == [(1, (0,)), (2, (0,))]


def test_of_bodies_that_cover_the_same_the_first_is_chosen_and_stays():
    covers = np.array([[True, True, False]] * 3)
    gains = np.array([[2.0], [2.0], [-1.0]])
    selection = RuleSelection(Covers.pack(covers), np.ones(3, int), gains, Costs(1, 1, 1), np.zeros((3, 1), bool))
    assert selection.grow(None)
    assert chosen(selection) == [(0, (0,))]
    assert not selection.exchange()
    assert not selection.move_labels(None)
    assert chosen(selection) == [(0, (0,))]


def test_a_rule_is_not_exchanged_for_an_equal_one():
    covers = np.array([[True, True, False]] * 2)
    gains = np.array([[2.0], [2.0], [-1.0]])
    selection = RuleSelection(Covers.pack(covers), np.ones(2, int), gains, Costs(1, 1, 1), np.zeros((3, 1), bool))
    selection.add(SelectedRule(1, (0,)))
    assert not selection.exchange()
    assert chosen(selection) == [(1, (0,))]


@pytest.mark.parametrize("seed", range(3))
def test_the_first_rule_adds_most(seed):
    covers, _, gains = world(seed)
    heads = [(0,), (1, 2), (0, 2), (1,), (2,), (0, 1)]
    order = order_by_gain(covers, heads, gains)
    sums = [gains[np.ix_(covers[rule], heads[rule])].sum() for rule in order]
    assert sums[0] == max(sums)
    assert sorted(order) == list(range(6))
