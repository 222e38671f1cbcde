"""Rule text of a stranger's: read in time that grows with its length, whatever it is made of.

A pattern that tries again from every blank takes hours for these texts; the tests then do not end.
"""

import itertools
import json

import pytest

import polyrule
from polyrule.errors import LimitError, ModelError
from polyrule.model.parsing import parse_rule

LENGTH = 1_000_000
FEATURES, LABELS = (polyrule.Feature("num"),), ("A",)
LONG = {
    "blanks after is": f"A <- num is{' ' * LENGTH}missin",
    "blanks in a name": f"A <- num{' ' * LENGTH}x > 1",
    "blanks before the head": f"{' ' * LENGTH}x",
    "blanks after a number": f"1.{' ' * LENGTH}x <- num > 1",
    "blanks after not": f"not{' ' * LENGTH}B <- num > 1",
    "blanks before an open bracket": f"A <- num > 1{' ' * LENGTH}(TP 1, FP 0",
    "counts": "A <- x" + "(TP " * LENGTH,
    "false positives": "A <- x (TP " + ", FP " * (LENGTH // 5),  # each of these is a part of the rule
    "marks": "A <- x" + "[" * LENGTH,
    "closed marks": "A <- x" + "[]" * LENGTH + "(",
    "escaped quotes": 'A <- "' + '\\"' * LENGTH,
    "a backslash at the end": 'A <- "' + '\\"' * LENGTH + "\\",
    "digits": "A <- num > " + "1" * LENGTH + "x",
}


@pytest.mark.parametrize("name", LONG)
def test_long_texts_are_refused_at_once(name):
    with pytest.raises(ModelError, match="rule '"):
        parse_rule(LONG[name], FEATURES, LABELS)


def test_what_stands_at_the_end_is_still_read():
    blanks = " " * 100_000
    text = f"{blanks}12. {blanks}A{blanks}<- num is{blanks}missing{blanks}(TP 3, FP 1){blanks}[stop, hand]{blanks}"
    rule = parse_rule(text, FEATURES, LABELS)
    assert rule.stop
    assert str(rule.body[0]) == str(parse_rule("A <- num is missing", FEATURES, LABELS).body[0])


@pytest.mark.parametrize("name", ["depth [m]", "x (TP 3, FP 1)", "a [stop]", "is missing", 'say "hi" [stop]'])
def test_brackets_inside_quotes_belong_to_the_name(name):
    features = (polyrule.Feature(name),)
    for end in ("", " (TP 3, FP 1)", " [stop]", " (not counted) [hand]"):
        rule = parse_rule(f"A <- {json.dumps(name)} is known{end}", features, LABELS)
        assert rule.stop == (end == " [stop]")
        flat = parse_rule(f"A <- {json.dumps(name)}{end}", (), ("A", name))
        assert flat.body[0].label == 1


def test_brackets_that_are_no_marks_belong_to_the_name():
    assert parse_rule("A <- num [0-5] is known", (polyrule.Feature("num [0-5]"),), LABELS).body
    assert parse_rule("A <- B [0-5]", (), ("A", "B [0-5]")).body
    assert parse_rule("A <- B (m)", (), ("A", "B (m)")).body


def test_reading_obeys_a_limit_of_time_all_the_way(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr("polyrule.utils.budget.time.monotonic", lambda: next(clock))
    text = "A <- " + ", ".join(["num > 1"] * 1000)
    with polyrule.limits(seconds=100), pytest.raises(LimitError, match="rule: not finished within the 100 seconds"):
        parse_rule(text, FEATURES, LABELS)
