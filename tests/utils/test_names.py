"""What misleads the eye is escaped; what people call things in their own script is not."""

import json

import pytest

from polyrule import Feature
from polyrule.conditions.text import format_name
from polyrule.export import export
from polyrule.model import Literal, NumericCondition, Rule, RuleList
from polyrule.model.parsing import parse_rule
from polyrule.utils.names import is_visible, visible

PLAIN = ["größe", "размер", "Δx", "μm", "身長", "naïve café", "σ²", "ω_0", "m²", "日本 語", "حجم"]
MISLEADING = [
    "a\u202eb",
    "zero\u200bwidth",
    "p\u0430ypal",
    "ｆｕｌｌ",
    "\u3164",
    "a\ufe0f",
    "x\x1b[31m",
    "\U0001d41a",
    "a\u2028b",
]


@pytest.mark.parametrize("name", PLAIN)
def test_honest_names_stay(name):
    assert visible(name) == name
    assert is_visible(name)
    assert format_name(name).strip('"') == name


@pytest.mark.parametrize("name", MISLEADING)
def test_misleading_names_are_escaped(name):
    shown = visible(name)
    assert shown != name
    assert "\\" in shown
    assert not is_visible(name)
    assert format_name(name).startswith('"')
    assert json.loads(format_name(name)) == name


@pytest.mark.parametrize("name", MISLEADING)
def test_an_escaped_rule_reads_back(name):
    features, labels = [Feature(name)], [name + "y"]
    rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.5),))
    text = RuleList((rule,), tuple(features), tuple(labels)).format(numbers=False, counts=False).splitlines()[0]
    assert text.isprintable()
    assert parse_rule(text, features, labels).body == rule.body


@pytest.mark.parametrize("language", ["python", "javascript", "c"])
def test_exports_hold_no_mark_that_turns_the_line(language):
    name = "a\u202eb\u2066c"
    model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.5),)),), (Feature(name),), (name,))
    text = export(model, language)
    assert not any(mark in text for mark in "\u202e\u2066")
