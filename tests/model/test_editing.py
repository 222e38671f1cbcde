from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists, slow_predict

from polyrule.data import Dataset, Feature, Table
from polyrule.errors import ModelError, OptionError
from polyrule.model import Literal, NumericCondition, Rule, RuleList
from polyrule.model.parsing import parse_rule
from polyrule.model.predict import fired_rows
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_list import from_text

FEATURES = (Feature("colours"), Feature("religion", "nominal", ("none", "hindu")))
LABELS = ("red", "orange", "blue")


def three() -> RuleList:
    rules = tuple(Rule((Literal(k, 1, k, 0),), (NumericCondition(0, ">", float(k)),)) for k in range(3))
    return RuleList(rules, FEATURES, LABELS)


def test_a_slice_is_a_list():
    first = three()[:2]
    assert isinstance(first, RuleList)
    assert first.rules == three().rules[:2]
    assert first.features == FEATURES
    assert isinstance(three()[0], Rule)


def test_a_rule_by_hand_is_not_counted_until_it_is():
    model = three().insert(0, "red <- colours > 4.5")
    assert model.format_rule(0) == "red <- colours > 4.5   (not counted) [hand]"
    assert from_text(model, str(model)).rules == model.rules
    data = Dataset(Table.from_array([[5.0, 0.0]], FEATURES), np.array([[1, 0, 0]]), LABELS)
    assert model.recount(data).format_rule(0) == "red <- colours > 4.5   (right 1 of 1) [hand]"


def order(model: RuleList) -> list[int]:
    return [rule.head[0].label for rule in model]


def test_rules_can_be_removed_moved_inserted_and_replaced():
    model = three()
    assert order(model.remove(1)) == [0, 2]
    assert order(model.remove(-1)) == [0, 1]
    assert order(model.move(0, 2)) == [1, 2, 0]
    assert order(model.move(2, 0)) == [2, 0, 1]
    assert order(model.insert(0, "blue <- true")) == [2, 0, 1, 2]
    assert order(model.insert(3, "red <- true")) == [0, 1, 2, 0]
    assert model.insert(1, "red <- true").rules[1].origin == "hand"
    assert model.replace(1, "¬red <- religion = hindu").rules[1].origin == "edited"
    assert "[edited]" in model.replace(1, "¬red <- religion = hindu").format_rule(1)
    assert order(model) == [0, 1, 2], "the old list must stay as it was"


@pytest.mark.parametrize("edit", [lambda m: m.remove(3), lambda m: m.move(0, 3), lambda m: m.insert(4, "red <- true"),
                                  lambda m: m.replace(-4, "red <- true")])  # fmt: skip
def test_places_that_do_not_exist_are_refused(edit):
    with pytest.raises(ModelError, match="in a list of 3 rules"):
        edit(three())


@settings(max_examples=100, deadline=None)
@given(rule_lists())
def test_what_is_printed_can_be_read_back(model):
    for index, rule in enumerate(model):
        for counts in (True, False):
            again = parse_rule(model.format_rule(index, counts=counts), model.features, model.label_names)
            assert again.body == rule.body
            assert [(x.label, x.value) for x in again.head] == [(x.label, x.value) for x in rule.head]
            assert again.stop == (rule.stop and counts)


@settings(max_examples=300, deadline=None)
@given(st.text(), st.text(), st.text(), st.floats(allow_nan=False, allow_infinity=False))
def test_any_names_can_be_read_back(label, feature, category, threshold):
    from polyrule.model import LabelCondition, NominalCondition

    features = (Feature(feature), Feature(feature + "2", "nominal", (category, category + "2")))
    body = (NumericCondition(0, "<=", threshold), NominalCondition(1, 0), LabelCondition(0, 0), NominalCondition(1, 1))
    model = RuleList((Rule((Literal(0, 0),), body),), features, (label,))
    again = from_text(model, model.format())
    assert again.rules == model.rules


@pytest.mark.parametrize(
    ("text", "head", "conditions"),
    [
        ("red <- true", [(0, 1)], 0),
        ("red <-", [(0, 1)], 0),
        ("blue, !red <- colours<=3", [(0, 0), (2, 1)], 1),
        ("not red, ~ orange <- colours > -1e3, not blue, religion = none", [(0, 0), (1, 0)], 3),
        ('"red" <- "colours" > 5.5', [(0, 1)], 1),
        (" 12. red <- ¬ blue (TP 3, FP 1)", [(0, 1)], 1),
    ],
)
def test_what_people_type_is_read(text, head, conditions):
    rule = parse_rule(text, FEATURES, LABELS)
    assert [(x.label, x.value) for x in rule.head] == head
    assert len(rule.body) == conditions
    assert rule.origin == "hand"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one arrow"),
        ("red", "one arrow"),
        ("red <- colours > 1 <- blue", "one arrow"),
        ("<- colours > 1", "of the head"),
        ("red <- colours > 1,", "of the body"),
        ("green <- true", "no label 'green' \\(known: 'red', 'orange', 'blue'\\)"),
        ("red <- size > 1", "no feature 'size'"),
        ("red <- size", "no label 'size'"),
        ("red <- colours = 1", "numeric: use '<=' or '>'"),
        ("red <- religion > 1", "nominal: use '='"),
        ("red <- religion = jedi", "no category 'jedi'"),
        ("red <- colours < 1", "written '<=' or '>'"),
        ("red <- colours >= 1", "written '<=' or '>'"),
        ("red <- 1 <= colours <= 2", "more than one comparison"),
        ("red <- colours > many", "'many' is not a number"),
        ("red <- colours > nan", "not a finite number"),
        ("red, ¬red <- true", "twice in the head"),
        ("red = 1 <- true", "as one name"),
        ("red <- true [halt]", "unknown mark"),
        ('"red <- true', "not closed"),
        ("red <- " + "x" * 200 + " > 1", r"\.\.\."),
    ],
)
def test_what_cannot_be_read_is_explained(text, message):
    with pytest.raises(ModelError, match=message):
        parse_rule(text, FEATURES, LABELS)


def test_a_name_that_says_too_little_is_refused():
    with pytest.raises(ModelError, match="occurs 2 times"):
        parse_rule("a <- true", (), ("a", "a"))


def test_text_keeps_what_did_not_change():
    model = three()
    lines = model.format().splitlines()
    edited = from_text(model, "\n".join(["# mine", lines[2], "red <- religion = none", "", lines[0], lines[-1]]))
    assert order(edited) == [2, 0, 0]
    assert [rule.origin for rule in edited] == ["learned", "hand", "learned"]
    assert edited.rules[0] == replace(model.rules[2], stale=True)
    assert from_text(model, model.format()).rules == model.rules
    with pytest.raises(ModelError, match="line 2: rule 'nonsense'"):
        from_text(model, "red <- true\nnonsense")


def test_what_is_predicted_for_everyone_is_read_as_it_is_printed():
    both = Rule((Literal(0, 1, 80, 20), Literal(2, 1, 73, 27)))
    model = RuleList((both, Rule((Literal(1, 1, 6, 4),)), *three().rules), FEATURES, LABELS)
    text = model.format()
    assert text.startswith("1-2. always: red (right for 80 %), blue (73 %), orange (60 %)")
    assert from_text(model, text).rules == model.rules
    fewer = from_text(model, text.replace("red (right for 80 %), ", ""))
    assert [replace(rule, stale=False) for rule in fewer] == [
        *(model.rules[1], Rule((Literal(2, 1),), origin="hand"), *three().rules)
    ]
    more = from_text(three(), "always: blue, orange\n" + three().format())
    assert [rule.origin for rule in more] == ["hand", "hand", "learned", "learned", "learned"]
    assert more.predict([[0.0, "none"]]).tolist() == [[0, 1, 1]]
    with pytest.raises(ModelError, match="line 1: rule 'always: rde': there is no label 'rde'; did you mean 'red'"):
        from_text(model, "always: rde")
    odd = RuleList((Rule((Literal(0, 1, 1, 1),)), Rule((Literal(1, 1),))), (), ("a, b", "c (5 %)"))
    assert from_text(odd, odd.format()).rules == odd.rules


@settings(max_examples=100, deadline=None)
@given(rule_lists(), st.integers(0, 10**6), st.booleans())
def test_counts_are_what_running_the_list_shows(model, seed, weighted):
    rng = np.random.default_rng(seed)
    table = random_table(model.features, 20, seed)
    truth = rng.integers(0, 2, (20, len(model.label_names))).astype(np.uint8)
    weights = rng.integers(1, 5, 20) / 2 if weighted else None
    counted = model.recount(Dataset(table, truth, model.label_names, weights=weights))
    by_hand: dict[tuple[int, int, bool], float] = {}
    for i, row in enumerate(np.asarray(table)):
        for label, number in enumerate(slow_predict(model, row)[1]):
            literal = next((x for x in model.rules[number].head if x.label == label), None) if number >= 0 else None
            right = truth[i, label] == (literal.value if literal else 1)
            key = (number, label, bool(right))
            by_hand[key] = by_hand.get(key, 0) + (weights[i] if weighted else 1)
    for number, rule in enumerate(counted):
        for literal in rule.head:
            assert literal.tp == by_hand.get((number, literal.label, True), 0)
            assert literal.fp == by_hand.get((number, literal.label, False), 0)
    for label, (present, absent) in enumerate(counted.default_counts):
        assert (present, absent) == (by_hand.get((-1, label, True), 0), by_hand.get((-1, label, False), 0))


def test_coverage_counts_examples_that_had_nothing_left_to_set():
    rules = (
        Rule((Literal(0, 1),)),
        Rule((Literal(0, 0),), (NumericCondition(0, ">", 0.5),), stop=True),
        Rule((Literal(0, 1),)),
    )
    table = Table.from_array([[0.0], [1.0]])
    model = RuleList(rules, table.features, ("a",))
    assert [rows.tolist() for rows in fired_rows(model, table)] == [[0, 1], [1], [0, 1]]
    assert [rule.coverage for rule in model.recount(Dataset(table, np.ones((2, 1), np.uint8), ("a",)))] == [2, 1, 2]


def test_recounting_finds_columns_by_name_as_prediction_does():
    model = three()
    table = Table.from_array([[6.0, 1.0], [2.0, 0.0]], model.features)
    truth = np.array([[1, 0, 0], [0, 0, 1]], dtype=np.uint8)
    counted = model.recount(Dataset(table, truth, model.label_names))
    turned = Table.from_array([[1.0, 6.0], [0.0, 2.0]], model.features[::-1])
    assert model.recount(Dataset(turned, truth, model.label_names)).rules == counted.rules
    assert model.recount(table, truth).rules == counted.rules
    with pytest.raises(OptionError, match="this needs labels"):
        model.recount(table)


def test_rules_of_another_kind_and_places_that_are_no_numbers_are_refused():
    model = three()
    weighted = WeightedRule((Entry(0, 1.0),))
    for edit in (lambda: model.insert(0, weighted), lambda: model.replace(0, weighted)):
        with pytest.raises(ModelError, match="a rule of a list is a Rule, or text, not a WeightedRule"):
            edit()
    with pytest.raises(ModelError, match="there is no rule '1' in a list of 3 rules"):
        model.remove("1")
    with pytest.raises(ModelError, match=r"there is no rule 1\.0 in"):
        model.move(0, 1.0)


def test_defaults_are_0_or_1():
    with pytest.raises(ModelError, match=r"defaults must be 0 or 1, got \(2, 0\)"):
        RuleList((), FEATURES, ("a", "b"), defaults=(2, 0))


def test_recounting_needs_the_same_labels():
    table = Table.from_array([[0.0]])
    with pytest.raises(ModelError, match="labels are not those of the model"):
        RuleList((), table.features, ("a",)).recount(Dataset(table, np.ones((1, 1), np.uint8), ("b",)))
