import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import rule_lists

from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.conditions.text import Names
from polyrule.data import Feature, Table
from polyrule.data.results import MissingExtraError
from polyrule.errors import OptionError
from polyrule.model import LabelCondition, Literal, NominalCondition, NumericCondition, Rule, RuleList, printing
from polyrule.model.model_printing import html_model
from polyrule.model.parsing import parse_rule
from polyrule.model.printing import Formatter
from polyrule.model.rule_list import from_text


def test_a_rule_reads_as_in_the_paper():
    rule = Rule(
        (Literal(0, 1, 35, 0), Literal(1, 0, 30, 0)),
        (NumericCondition(0, ">", 5.5), NumericCondition(1, "<=", 4.0)),
    )
    model = RuleList((rule,), (Feature("colours"), Feature("stripes")), ("red", "orange"))
    assert model.format_rule(0) == "red, ¬orange <- colours > 5.5, stripes <= 4   (TP 65, FP 0)"
    assert model.format_rule(0, counts=False) == "red, ¬orange <- colours > 5.5, stripes <= 4"
    assert str(model) == "1. " + model.format_rule(0) + "\n(labels that no rule sets are absent)"
    assert model.format(numbers=False).startswith("red")
    assert repr(model) == "RuleList(1 rules, 2 features, 2 labels)"


def test_what_to_expect_stands_behind_the_counts_and_reads_back():
    rule = Rule((Literal(0, 1, 8, 2, 0.7), Literal(1, 1, 5, 5, 0.4)), (NumericCondition(0, ">", 5.5),))
    text = Formatter(Names((Feature("colours"),), ("red", "blue"))).rule(rule)
    assert text == "red, blue <- colours > 5.5   (TP 13, FP 7, expect 55 % right)"
    assert parse_rule(text, (Feature("colours"),), ("red", "blue")).body == rule.body


def test_what_holds_for_everyone_stands_in_one_line():
    always = Rule((Literal(0, 1, 77, 23, 0.77),)), Rule((Literal(1, 1, 2, 2),)), Rule((Literal(2, 1),))
    model = RuleList(
        (*always, Rule((Literal(3, 1, 4, 1),), (NumericCondition(0, ">", 5.5),))), (Feature("x"),), tuple("abcd")
    )
    assert str(model).splitlines()[:2] == [
        "1-3. always: a (right for 77 %), b (50 %), c",
        "4. d <- x > 5.5   (TP 4, FP 1)",
    ]
    assert model.format(numbers=False, counts=False).startswith("always: a, b, c\nd <- x > 5.5\n")
    shown = model._repr_html_()
    assert "<p>always: a (right for 77 %), b (50 %), c</p>" in shown.split("<table>")[0]
    assert "true" not in shown


def test_after_a_stop_or_an_absence_nothing_holds_for_everyone():
    stop, absent = Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.0),), stop=True), Rule((Literal(1, 0),))
    always = Rule((Literal(1, 1),))
    assert "b <- true" in str(RuleList((stop, always), (Feature("x"),), ("a", "b")))
    assert "b <- true" in str(RuleList((absent, always), (), ("a", "b")))
    assert "b <- true" in str(RuleList((always,), (), ("a", "b"), full=True))
    assert "always: b" in str(RuleList((always, stop), (Feature("x"),), ("a", "b")))


def test_conditions_on_labels_and_categories():
    features = (Feature("religion", "nominal", ("catholic", "true")),)
    rule = Rule((Literal(0, 1),), (NominalCondition(0, 1), LabelCondition(1, 1), LabelCondition(2, 0)), stop=True)
    model = RuleList((rule,), features, ("red", "yellow", "religion"), (0, 1, 0), full=True)
    assert model.format_rule(0) == "red <- religion = true, yellow, ¬religion   (TP 0, FP 0) [stop]"
    assert "yellow present, all others absent" in str(model)
    assert "sets all labels outside its head to absent" in str(model)
    assert RuleList((Rule((Literal(0, 1),)),), (), ("a",), (1,)).format(counts=False) == (
        "1. always: a\n(labels that no rule sets are present)"
    )


def test_hand_made_rules_are_marked():
    rule = Rule((Literal(0, 1, 0.5, 0.25),), stop=True, origin="hand")
    assert Formatter(Names((), ("a",))).rule(rule) == "a <- true   (TP 0.5, FP 0.25) [stop, hand]"


@pytest.mark.parametrize("name", ["a-b", "0", "x y", "Mean(x)", "Ünïcode 名", "a/b", "C4.5", "-", "/", "x" * 10_000])
def test_harmless_names_stand_as_they_are(name):
    assert printing.format_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "a,b", "a <- b", "x>1", "a=b", "¬a", "!a", "not a", "true", " a", "a ", "a  b", 'q"q', "b\\c", "\x1b[2J",
     "is missing", "x is known", "line\nbreak", "\u202eevil", "x (TP 3, FP 0)", "x [stop]", "1. x", "\ud800"]
)  # fmt: skip
def test_misleading_names_are_quoted_and_escaped(name):
    shown = printing.format_name(name)
    assert shown.startswith('"')
    assert shown.isprintable()
    assert json.loads(shown) == name


@given(st.text())
def test_what_is_shown_is_always_printable(name):
    assert printing.format_name(name).isprintable()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back(number):
    assert float(printing.format_number(number)) == number


def test_html_holds_names_as_text():
    model = RuleList((Rule((Literal(0, 1),)),) * 3, (), ("<script>alert(1)</script>",))
    assert "<script>" not in model._repr_html_()
    assert "&lt;script&gt;" in model._repr_html_()
    assert "2 more rules" in html_model(model, limit=1)


@settings(max_examples=50, deadline=None)
@given(rule_lists())
def test_statistics_and_frame_agree_with_the_rules(model):
    stats = model.statistics()
    frame = model.to_frame()
    assert stats["rules"] == len(model) == len(frame)
    if len(model):
        assert stats["conditions"] == frame["conditions"].sum()
        assert stats["literals"] == frame["labels"].sum()
        assert stats["stops"] == frame["stop"].sum()
        assert stats["rules_with_multi_label_heads"] == (frame["labels"] > 1).sum()
        assert stats["labels_per_head"] == pytest.approx(frame["labels"].mean())


def test_a_frame_needs_some_library_for_frames(monkeypatch):
    model = RuleList((Rule((Literal(0, 1),)),), (Feature("a"),), ("y",))
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert model.to_frame().shape[0] == 1, "polars or pyarrow will do"
    for name in ("polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match="install one of them"):
        model.to_frame()


def test_a_rule_alone_shows_itself_without_names():
    body = (NumericCondition(3, "<=", 0.1), NominalCondition(2, 1), LabelCondition(1, 0))
    rule = Rule((Literal(0, 1, 3, 0), Literal(2, 0, 2, 1)), body, stop=True, origin="edited")
    assert str(rule) == "y0, ¬y2 <- x3 <= 0.1, x2 = category 1, ¬y1   (TP 5, FP 1) [stop, edited]"
    assert repr(rule) == f"<Rule {rule}>"
    assert repr(Rule((Literal(0, 1),))) == "<Rule y0 <- true   (TP 0, FP 0)>"


def test_explanations_show_themselves_in_a_console():
    model = RuleList((Rule((Literal(0, 1, 3, 0),), (NumericCondition(0, ">", 1.0),)),), (Feature("size"),), ("red",))
    told, flip = model.explain([2.0]), model.smallest_flip([2.0], "red")
    assert repr(told) == str(told)
    assert repr(flip) == str(flip)


@pytest.mark.parametrize("digits", [0, -1, 2.5, "3", True])
def test_digits_are_a_whole_number_from_1(digits):
    rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5, between=(5.0, 6.0)),))
    model = RuleList((rule,), (Feature("colours"),), ("red",))
    for ask in (model.format, model.records, lambda digits: model.explain([7.0], digits=digits)):
        with pytest.raises(OptionError, match="digits must be a whole number of at least 1, got"):
            ask(digits=digits)


FLAGS = (Feature("laptop", flag=True), Feature("stolen", "nominal", ("0", "1")), Feature("words"))


@pytest.mark.parametrize("body", ["laptop", "¬laptop, stolen", "¬stolen, words > 0", "any of (laptop, words > 3)"])
def test_columns_of_0_and_1_are_named_alone(body):
    rule = parse_rule(f"loss <- {body}", FLAGS, ["loss"])
    assert Formatter(Names(FLAGS, ["loss"])).rule(rule, counts=False) == f"loss <- {body}"
    assert parse_rule(f"loss <- {body}".replace("¬", "not "), FLAGS, ["loss"]) == rule
    assert not any(isinstance(condition, LabelCondition) for condition in rule.body)


def test_a_label_of_the_same_name_has_the_bare_name():
    rule = parse_rule("loss <- laptop, laptop <= 0, stolen = 1", FLAGS, ["loss", "laptop"])
    assert rule.body == (LabelCondition(1, 1), NumericCondition(0, "<=", 0.0), NominalCondition(1, 1))
    assert Formatter(Names(FLAGS, ["loss", "laptop"])).rule(rule, counts=False) == "loss <- laptop, laptop <= 0, stolen"


def test_only_what_training_values_tell_is_named_alone():
    by_hand = parse_rule("loss <- laptop > 3, words", FLAGS, ["loss"])  # no training example has a 3; words are counted
    assert Formatter(Names(FLAGS, ["loss"])).rule(by_hand, counts=False) == "loss <- laptop > 3, words > 0.5"
    table = Table.from_array([[0, 0, 0], [1, 1, 1], [1, 0, 2]], FLAGS)
    rule = parse_rule("loss <- laptop > 0.2, words > 0.4", FLAGS, ["loss"])
    model = with_threshold_intervals(RuleList((rule,), FLAGS, ("loss",)), table)
    assert [feature.flag for feature in model.features] == [True, False, False]
    assert model.format(counts=False).splitlines()[0] == "1. loss <- laptop, words > 0.4"
    other = with_threshold_intervals(model, Table.from_array([[2.0, 0, 0]], FLAGS), also=True)
    assert other.format(counts=False).splitlines()[0] == "1. loss <- laptop > 0.2, words > 0.4"
    assert from_text(model, str(model)).rules == model.rules  # with its own threshold, which the text does not show


def test_a_feature_whose_name_is_a_number_stands_in_quotes() -> None:
    """Columns of a frame without names are numbers: ``13 > 297`` reads like a comparison of two."""
    features, labels = [Feature("13"), Feature("x13")], ["0"]
    rule = parse_rule('0 <- "13" > 297, x13 <= 4', features, labels)
    model = RuleList((rule,), tuple(features), tuple(labels))
    text = model.format(numbers=False, counts=False).splitlines()[0]
    assert text == '0 <- "13" > 297, x13 <= 4'
    assert parse_rule(text, features, labels).body == rule.body
