"""Rules as sentences: "If age is above 65 and smoker is current, then sepsis"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyrule.conditions import Condition
from polyrule.conditions.packed import ABOVE, AT_MOST, CATEGORY, GROUP, IN, LABEL, MISSING
from polyrule.conditions.page import write_condition
from polyrule.conditions.text import at_least, format_on_scale, is_0_or_1
from polyrule.data.table import Feature
from polyrule.model.printing import format_weight
from polyrule.model.rule import Rule

#: significant digits of thresholds
DIGITS = 5


def sentence(model: Any, rule: Any) -> str:
    """Return a rule of a model as a sentence.

    >>> from polyrule.model import RuleList
    >>> model = RuleList((), (Feature("age"), Feature("smoker", "nominal", ("no", "yes"))), ("sick", "fit"))
    >>> model = model.insert(0, "sick, ¬fit <- age > 65, smoker = yes")
    >>> sentence(model, model.rules[0])
    'If age is above 65 and smoker is yes, then sick and not fit'
    """
    head = _listed([_label(entry, model.label_names[entry.label], isinstance(rule, Rule)) for entry in rule.head])
    conditions = [condition_words(model, condition) for condition in rule.body]
    return f"If {_listed(conditions)}, then {head}" if conditions else f"Always {head}"


def condition_words(model: Any, condition: Condition) -> str:
    """Return a condition in words.

    >>> from polyrule.model import RuleList
    >>> model = RuleList((), (Feature("age"), Feature("ward", "nominal", ("a", "b", "c"))), ("sick",))
    >>> model = model.insert(0, "sick <- any of (age <= 18, ward in {a, c})")
    >>> condition_words(model, model.rules[0].body[0])
    'any of (age is at most 18, ward is a or c)'
    """
    same = {j: j for j in range(len(model.features))}
    return _words(write_condition(condition, same, DIGITS), model.features, model.label_names)


def _words(entry: Sequence[Any], features: Sequence[Feature], labels: Sequence[str]) -> str:
    kind, place, value = entry[:3]
    if kind == GROUP:
        members = ", ".join(_words(member, features, labels) for member in value)
        return f"{at_least(place)} of {f'{entry[3]} ' if entry[3] else ''}({members})"
    if kind == LABEL:
        return f"{labels[place]} was {'' if value else 'not '}predicted before"
    feature = features[place]
    if kind == MISSING:
        return f"{feature.name} is {'missing' if value else 'known'}"
    if kind == CATEGORY:
        return f"{feature.name} is {feature.categories[value]}"
    if kind == IN:
        return f"{feature.name} is {_listed([feature.categories[code] for code in value], 'or')}"
    assert kind in (AT_MOST, ABOVE)
    item = "" if feature.derived is None else feature.derived.item
    if item:
        return f"{feature.column} {'has' if kind == ABOVE else 'lacks'} {item}"
    if is_0_or_1(feature) and 0 <= value < 1:
        return feature.name if kind == ABOVE else f"not {feature.name}"
    number = entry[3] if len(entry) > 3 else value
    return f"{feature.name} is {'above' if kind == ABOVE else 'at most'} {format_on_scale(feature, number)}"


def _label(entry: Any, name: str, decides: bool) -> str:
    if decides:
        return name if entry.value else f"not {name}"
    return f"{name} {format_weight(entry.weight)}"


def _listed(parts: Sequence[str], last: str = "and") -> str:
    """Join words: "a, b and c"."""
    return f" {last} ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
