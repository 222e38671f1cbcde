"""Rules with alternatives: the grower against its definition, the normal form, limits inside groups."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule import RuleListClassifier, Table
from polyrule.conditions import (
    GroupCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
    flatten,
)
from polyrule.conditions.evaluate import evaluate
from polyrule.data.dataset import Dataset
from polyrule.data.table import Feature
from polyrule.errors import OptionError
from polyrule.selection import groups
from polyrule.selection.groups import GroupGrowth, description_length
from polyrule.selection.objective import Costs, condition_cost_units
from polyrule.selection.pool import BodySet
from polyrule.verification import certify, verify

WORDS = ("jam", "congestion", "queue", "gridlock", "goal", "match", "team", "roadworks", "the", "and")


def texts(rows=400, seed=0):
    """Words that stand for each other: any of four means traffic, any of three means sport."""
    random = np.random.default_rng(seed)
    words = (random.random((rows, len(WORDS))) < 0.12).astype(float)
    labels = np.stack([words[:, :4].any(axis=1), words[:, 4:7].any(axis=1)], axis=1)
    labels ^= random.random(labels.shape) < 0.02
    return words, labels.astype(np.uint8)


def fitted(X, Y, **options):
    return RuleListClassifier(**options).fit(X, Y, label_names=["traffic", "sport"], feature_names=WORDS)


def groups_of(model):
    return [condition for rule in model.rules_ for condition in rule.body if isinstance(condition, GroupCondition)]


def test_words_that_stand_for_each_other_become_one_rule():
    X, Y = texts()
    model = fitted(X, Y)
    members = {frozenset(WORDS[c.feature] for c in group.members) for group in groups_of(model)}
    assert members == {frozenset(WORDS[:4]), frozenset(WORDS[4:7])}
    assert len(model.rules_) == 2
    plain = fitted(X, Y, max_alternatives=0)
    assert not groups_of(plain)
    assert len(plain.rules_) == 7
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))


# ---- the grower ------------------------------------------------------------------------------------------------------


def slow_groups(bodies, bits, rows, gains, largest, price, rest, first, label, most, fits):
    """The definition: row by row, one candidate after the other."""
    covered = [b for b in range(len(bodies)) if len(bodies[b]) == 1]
    inside = [all(rows[place][e] for place in rest) for e in range(len(gains))]
    every, group, found = range(len(gains)), [first], []
    while len(group) < most:
        best, best_value = None, price
        free = [inside[e] and not any(rows[member][e] for member in group) for e in every]
        for place in covered:
            border = [gains[e][label] for e in every if free[e] and rows[place][e]]
            value = sum(border) - math.sqrt(0.5 * bits[place] * largest * sum(map(abs, border)))
            if fits[place][label] and value > best_value:
                best, best_value = place, value
        if best is None:
            break
        group.append(best)
        for member in list(group):
            others = [m for m in group if m != member]
            mine = [e for e in every if inside[e] and rows[member][e]]
            if all(any(rows[m][e] for m in others) for e in mine):
                group = others
        if len(group) > 1:
            found.append(tuple(group))
    return found


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
def test_groups_are_those_of_the_definition(seed, most, limited):
    random = np.random.default_rng(seed)
    features, examples, labels = 7, int(random.integers(20, 90)), 3
    steps = 2.0 ** random.integers(0, 4, features)  # columns with 2 to 9 values
    table = Table.from_array(np.floor(random.random((examples, features)) * 1.4 * steps) / steps)
    conditions = [NumericCondition(feature, ">", 0.9) for feature in range(features)]
    pool = BodySet(table)
    pool.add([(conditions[i],) for i in range(features)])
    pool.add([(conditions[i], conditions[j]) for i, j in random.integers(features, size=(4, 2)) if i != j])
    gains = random.integers(-60, 90, (examples, labels)).astype(float)
    allowed = random.random((len(pool), labels)) < 0.8 if limited else None
    costs = Costs(90, 30, 15)
    grower = GroupGrowth(table, pool.bodies, pool.covers(), gains, 90.0, costs, most, allowed)
    rows = [np.logical_and.reduce([np.ones(examples, bool), *(evaluate(c, table) for c in b)]) for b in pool.bodies]
    bits = [description_length(body[0], table) if body else 0 for body in pool.bodies]
    fits = np.ones((len(pool), labels), bool) if allowed is None else allowed
    singles = np.array([number for number, body in enumerate(pool.bodies) if len(body) == 1])
    expected = []
    for start in grower._seeds(singles):
        rest, first = [int(singles[place]) for place in start.rest], int(singles[start.first])
        judged = rest, first, start.label, most, fits
        for group in slow_groups(pool.bodies, bits, rows, gains, 90.0, costs.condition, *judged):
            beside = tuple(pool.bodies[place][0] for place in rest)
            expected.append((*beside, GroupCondition(tuple(pool.bodies[place][0] for place in group))))
    assert sorted(map(repr, grower.bodies_with_groups())) == sorted(map(repr, expected))


def test_groups_start_from_the_best_conditions_of_each_label():
    table = Table.from_array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    conditions = [NumericCondition(feature, ">", 0.5) for feature in range(3)]
    pool = BodySet(table)
    pool.add([(condition,) for condition in conditions])
    gains = np.array([[40.0], [40.0], [30.0], [-5.0]])
    grower = GroupGrowth(table, pool.bodies, pool.covers(), gains, 1.0, Costs(3, 2, 1), 8)
    assert [(start.rest, start.first) for start in grower._seeds(np.array([1, 2, 3]))] == [((), 0), ((), 1)]
    assert [body[0].members for body in grower.bodies_with_groups()] == [
        tuple(conditions[:2]),
        (conditions[1], conditions[0]),
    ]


def test_a_threshold_is_doubted_more_than_a_word():
    random = np.random.default_rng(0)
    table = Table.from_array(
        np.column_stack([random.integers(2, size=3000), random.integers(4, size=3000), random.random(3000)]),
        [Feature("word"), Feature("count"), Feature("number")],
    )
    assert [description_length(NumericCondition(feature, ">", 0.5), table) for feature in range(3)] == [1, 2, 6]
    hue = Table.from_array([[0.0], [1.0]], [Feature("hue", "nominal", tuple("abcde"))])
    conditions = NominalCondition(0, 1), SetCondition(0, (1, 2)), MissingCondition(0, True)
    assert [description_length(condition, hue) for condition in conditions] == [3, 5, 1]


def test_work_in_blocks_changes_nothing(monkeypatch):
    X, Y = texts()
    whole = fitted(X, Y).rules_.rules
    monkeypatch.setattr(groups, "_BLOCK_CELLS", 500)
    assert fitted(X, Y).rules_.rules == whole


def test_covers_of_groups_are_those_of_their_meaning():
    random = np.random.default_rng(3)
    table = Table.from_array(random.random((130, 4)))
    members = tuple(NumericCondition(feature, ">", 0.8) for feature in range(3))
    bodies = [(GroupCondition(members),), (NumericCondition(3, "<=", 0.5), GroupCondition(members, 2))]
    pool = BodySet(table)
    pool.add(bodies, parts=False)
    for number, body in enumerate(bodies, start=1):
        expected = np.logical_and.reduce([evaluate(condition, table) for condition in body])
        np.testing.assert_array_equal(pool.covers().of(number), expected)
    np.testing.assert_array_equal(pool.covers().all_of([1, 2]), pool.covers().of(1) & pool.covers().of(2))
    assert pool.covers().all_of([]).all()


def test_sets_are_priced_by_how_many_there_are_to_choose_from():
    hue = Feature("hue", "nominal", tuple("abcdefgh"))
    group = GroupCondition((MissingCondition(0, True), SetCondition(0, (1, 2))))
    assert condition_cost_units((NominalCondition(0, 1),), [hue]) == 1
    assert condition_cost_units((SetCondition(0, (1, 2, 3, 4)),), [hue]) == 3
    assert condition_cost_units((NominalCondition(0, 1), group), [hue]) == 4


# ---- the normal form -------------------------------------------------------------------------------------------------

a, b, c, d, e = (MissingCondition(feature, True) for feature in range(5))


# ---- what holds for lists holds for lists with groups ----------------------------------------------------------------


def test_the_order_of_rows_and_threads_do_not_matter():
    X, Y = texts(seed=1)
    order = np.random.default_rng(0).permutation(len(X))
    assert fitted(X, Y).rules_.rules == fitted(X[order], Y[order], n_jobs=2).rules_.rules


def test_sparse_tables_give_the_same_rules():
    X, Y = texts(seed=2)
    assert fitted(X, Y).rules_.rules == fitted(sp.csr_matrix(X), Y).rules_.rules


def test_weights_stand_for_copies_inside_groups():
    X, Y = texts(120, seed=3)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = RuleListClassifier(teacher=None).fit(X, Y, sample_weight=weights)
    copied = RuleListClassifier(teacher=None).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    assert groups_of(weighted)
    assert weighted.rules_.rules == copied.rules_.rules


def test_lists_with_groups_are_verified():
    X, Y = texts()
    data = Dataset(Table.from_array(X, [Feature(word) for word in WORDS]), Y, ("traffic", "sport"))
    model = RuleListClassifier().fit(data).rules_
    assert verify(model, data).ok
    proved = certify(model, data)
    assert verify(proved, data, learn=False).certified == len(proved)
    rule = model.rules[0]
    assert isinstance(rule.body[0], GroupCondition)
    fewer = replace(rule, body=(GroupCondition(rule.body[0].members[:-1]),))
    assert not verify(replace(model, rules=(fewer, *model.rules[1:])), data).ok


def test_limits_hold_inside_groups():
    X, Y = texts()
    for limits in (
        {"forbid": ["jam"]},
        {"features": {"traffic": ["congestion", "queue", "the"]}},
        {"monotone": dict.fromkeys(WORDS, "up")},
        {"monotone": {"jam": "down"}},
    ):
        model = fitted(X, Y, constraints=limits)
        for rule in model.rules_:
            for condition in flatten(rule.body):
                word = WORDS[condition.feature]
                assert word not in limits.get("forbid", ())
                if any(literal.label == 0 for literal in rule.head):
                    assert word in limits.get("features", {"traffic": WORDS})["traffic"]
                direction = limits.get("monotone", {}).get(word)
                assert direction is None or condition.op == {"up": ">", "down": "<="}[direction]
        assert groups_of(model), limits


def test_rules_at_the_start_stay_and_groups_add_to_them():
    X, Y = texts()
    first = fitted(X, Y, max_rules=1).rules_
    model = RuleListClassifier().fit(X, Y, label_names=["traffic", "sport"], feature_names=WORDS, start=first)
    assert model.rules_.rules[0].body == first.rules[0].body
    assert groups_of(model)


def test_unknown_labels_count_nowhere_inside_groups():
    X, Y = texts()
    partly = Y.astype(float)
    partly[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    members = {frozenset(c.feature for c in group.members) for group in groups_of(fitted(X, partly))}
    assert members == {frozenset(range(4)), frozenset(range(4, 7))}


def test_members_of_every_kind():
    random = np.random.default_rng(0)
    rows = 500
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 90, rows).astype(float),
            "income": np.where(random.random(rows) < 0.12, np.nan, random.random(rows)),
            "region": random.choice(list("NESWXYZ"), rows),
            "seen": pd.Timestamp("2021-01-01") + pd.to_timedelta(random.integers(0, 700, rows), unit="D"),
        }
    )
    late = frame["seen"] > pd.Timestamp("2022-09-01")
    label = (frame["age"] > 80) | frame["income"].isna() | frame["region"].isin(["N", "E"]) | late
    model = RuleListClassifier(constraints={"keep_columns": ["seen"]}).fit(
        frame, label.to_numpy()[:, None].astype(int), label_names=["risk"]
    )
    kinds = {type(member) for group in groups_of(model) for member in group.members}
    assert {NumericCondition, MissingCondition} <= kinds
    assert (model.predict(frame)[:, 0] == label).mean() > 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_alternatives": "never"}, "max_alternatives must be"),
        ({"max_alternatives": -1}, "max_alternatives must be a whole number of at least 0, got -1"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(OptionError, match=message):
        fitted(*texts(60), **options)


def test_the_lists_of_the_paper_have_no_groups():
    X, Y = texts()
    model = RuleListClassifier.paper().fit(X, Y)
    assert not groups_of(model)


def test_max_alternatives_limits_groups():
    model = fitted(*texts(), max_alternatives=2)
    assert max(len(group.members) for group in groups_of(model)) == 2
    assert not groups_of(fitted(*texts(), max_alternatives=1))
