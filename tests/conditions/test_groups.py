"""Groups of alternatives changed by hand: joined, split, named, with a member more or less."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import feature_conditions, random_table

from polyrule.conditions.evaluate import evaluate
from polyrule.conditions.groups import joined_bodies, split_bodies, with_member, without_member
from polyrule.data import Feature
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.errors import ModelError
from polyrule.model import (
    GroupCondition,
    LabelCondition,
    Literal,
    NominalCondition,
    NumericCondition,
    Rule,
    RuleList,
    parse_rule,
)
from polyrule.model.rule_list import from_text

FLAGS = tuple(Feature(word, "nominal", ("0", "1")) for word in ("jam", "queue", "night", "works"))
JAM, QUEUE, NIGHT, WORKS = (NominalCondition(j, 1) for j in range(4))
MIXED = (Feature("x0"), Feature("x1", "nominal", ("a", "b", "c")), Feature("x2", "ordinal", ("low", "mid", "high")))


def words(*texts: str) -> RuleList:
    rules = tuple(parse_rule(text, FLAGS, ("traffic", "noise")) for text in texts)
    return RuleList(rules, FLAGS, ("traffic", "noise"))


def body_text(model: RuleList, index: int = 0) -> str:
    return model.format_rule(index, counts=False).partition(" <- ")[2].partition("  [")[0]


def covered(body, table):
    return np.logical_and.reduce([np.ones(len(table), dtype=bool), *(evaluate(condition, table) for condition in body)])


@settings(max_examples=100)
@given(st.data(), st.integers(0, 99))
def test_joined_bodies_hold_where_any_of_them_does_and_split_ones_where_the_group_does(data, seed):
    members = data.draw(st.lists(feature_conditions(MIXED), min_size=2, max_size=5, unique=True))
    shared = data.draw(st.lists(feature_conditions(MIXED), max_size=2))
    shared = [condition for condition in shared if condition not in members]
    table = random_table(MIXED, 40, seed)
    bodies = [tuple(data.draw(st.permutations([*shared, member]))) for member in members]
    either = np.logical_or.reduce([covered(body, table) for body in bodies])
    assert (covered(joined_bodies(bodies), table) == either).all()
    group = GroupCondition(tuple(members), data.draw(st.integers(1, len(members) - 1)))
    parts = split_bodies((*shared, group))
    assert (np.logical_or.reduce([covered(part, table) for part in parts]) == covered((*shared, group), table)).all()


def test_rules_are_joined_at_the_place_of_the_first_and_are_not_counted():
    model = words("traffic <- night = 1, jam = 1", "noise <- works = 1", "traffic <- queue = 1, night = 1")
    one = model.join(2, 0)
    assert body_text(one) == "night, any of {jam, queue}"
    assert one.rules[0].origin == "edited"
    assert one.rules[0].coverage is None
    assert len(one) == 2
    assert body_text(one.insert(2, "traffic <- works = 1, night = 1").join(0, 2)) == "night, any of {jam, queue, works}"
    assert [body_text(one.split_group(0), j) for j in (0, 1)] == ["night, jam", "night, queue"]


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["traffic <- jam = 1"], "at least two"),
        (["traffic <- jam = 1", "noise <- queue = 1"], "same head"),
        (["traffic <- jam = 1", "traffic <- queue = 1 [stop]"], "with a stop"),
        (["traffic <- jam = 1", "traffic <- jam = 1, queue = 1"], "contained in another"),
        (["traffic <- jam = 1, night = 1", "traffic <- queue = 1, works = 1"], "but for one condition"),
        (["traffic <- any of {jam, night}, works = 1", "traffic <- any of {jam, night}, queue = 1"], "at most one"),
        (["traffic <- jam = 1", "traffic <- noise"], "features only"),
        (["traffic <- at least 2 of {jam, night, works}", "traffic <- queue = 1"], "at least 2 must hold"),
    ],
)
def test_rules_that_do_not_say_any_of_are_not_joined(texts, why):
    with pytest.raises(ModelError, match=why):
        words(*texts).join(*range(len(texts)))


def test_a_name_is_printed_read_and_kept_with_the_counts():
    rule = Rule((Literal(0, 1, 5, 1),), (GroupCondition((JAM, QUEUE)),), coverage=6)
    model = RuleList((rule,), FLAGS, ("traffic",)).name_group(0, "road words")
    assert model.format_rule(0) == 'traffic <- any of "road words" {jam, queue}   (TP 5, FP 1)'
    renamed = from_text(model, str(model).replace("road words", "on the road"))
    assert renamed.format_rule(0) == 'traffic <- any of "on the road" {jam, queue}   (TP 5, FP 1)'
    assert renamed.rules[0].origin == "learned"
    assert model.name_group(0, "").format_rule(0, counts=False) == "traffic <- any of {jam, queue}"


@pytest.mark.parametrize("name", ["two\nlines", "\u202eback", "x" * 101])
def test_names_that_a_page_could_not_show_are_refused(name):
    with pytest.raises(ModelError, match="visible characters"):
        words("traffic <- any of {jam, queue}").name_group(0, name)


def test_members_come_and_go():
    model = words("traffic <- any of {jam, queue}, night = 1")
    assert body_text(model.add_member(0, "works")) == "any of {jam, queue, works}, night"
    assert body_text(model.remove_member(0, "jam = 1")) == "queue, night"
    two = words("traffic <- at least 2 of {jam, queue, works}")
    assert body_text(two.remove_member(0, "works")) == "jam, queue"
    assert without_member((NIGHT, GroupCondition((JAM, QUEUE, WORKS), 2)), JAM) == (NIGHT, QUEUE, WORKS)
    assert body_text(words("traffic <- jam = 1").add_member(0, "¬queue")) == "any of {jam, ¬queue}"
    plain = words("traffic <- jam = 1, night = 1")
    assert body_text(plain.add_member(0, "queue", beside="jam")) == "any of {jam, queue}, night"
    with pytest.raises(ModelError, match="beside"):
        plain.add_member(0, "queue")
    with pytest.raises(ModelError, match="no such member"):
        model.remove_member(0, "works")
    with pytest.raises(ModelError, match="no group"):
        plain.remove_member(0, "jam")
    with pytest.raises(ModelError, match="distinct"):
        model.add_member(0, "jam")
    with pytest.raises(ModelError, match="no feature 'noise'"):
        model.add_member(0, "noise")


def test_a_group_that_would_make_a_thousand_rules_is_not_split():
    features = tuple(Feature(f"x{j}", "nominal", ("0", "1")) for j in range(20))
    rule = Rule((Literal(0, 1),), (GroupCondition(tuple(NominalCondition(j, 1) for j in range(20)), 10),))
    with pytest.raises(ModelError, match="184,756 rules"):
        RuleList((rule,), features, ("y",)).split_group(0)


def test_an_ensemble_with_another_member_says_that_it_was_edited():
    rule = WeightedRule((Entry(0, 2.0),), (GroupCondition((JAM, QUEUE)), NIGHT), coverage=7)
    model = RuleEnsemble((rule,), FLAGS, ("traffic",), (0.0,), Decision("threshold", (0.0,)), info={"weights": {}})
    named = model.name_group(0, "road words")
    assert 'any of "road words" {jam, queue}' in str(named)
    assert named.info == model.info
    assert named.rules[0].coverage == 7
    more = named.add_member(0, "works")
    assert 'any of "road words" {jam, queue, works}' in str(more)
    assert more.info == {"edited": True}
    assert more.rules[0].coverage is None
    assert more.remove_member(0, "works").rules[0].body == rule.body


def test_groups_hold_plain_conditions_and_a_rule_one_group():
    with pytest.raises(ModelError, match="plain conditions"):
        GroupCondition((JAM, LabelCondition(0, 1)))
    with pytest.raises(ModelError, match="plain conditions"):
        GroupCondition((JAM, GroupCondition((QUEUE, NIGHT))))
    with pytest.raises(ModelError, match="at most one group"):
        WeightedRule((Entry(0, 1.0),), (GroupCondition((JAM, QUEUE)), GroupCondition((NIGHT, WORKS))))
    assert with_member((LabelCondition(0, 1), JAM), QUEUE) == (LabelCondition(0, 1), GroupCondition((JAM, QUEUE)))


def test_a_column_of_0_and_1_is_its_name_wherever_learning_cut_it():
    members = tuple(NumericCondition(j, ">", 0.0, (0.0, 1.0)) for j in range(3))
    rule = Rule((Literal(0, 1, 5, 1),), (GroupCondition(members),))
    model = RuleList((rule,), tuple(map(Feature, ("jam", "queue", "works"))), ("traffic",))
    assert body_text(model) == "any of {jam, queue, works}"
    assert from_text(model, str(model)).rules[0].head[0].tp == 5
    assert model.remove_member(0, "queue").rules[0].body[0].members == (members[0], members[2])
