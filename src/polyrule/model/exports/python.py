"""A rule list as a Python module without dependencies."""

from __future__ import annotations

from polyrule.model import printing
from polyrule.model.exports.condition_code import columns_of, python_helpers, python_read, python_test
from polyrule.model.exports.quoting import comment, python_string
from polyrule.model.narrowing import used_features
from polyrule.model.rule import Condition, LabelCondition, Rule
from polyrule.model.rule_list import RuleList

_HEADER = '''"""A multi-label rule list, exported by polyrule. Needs nothing but Python.

predict(row) takes a mapping from feature name to value (None or NaN where it is missing) and returns a dict from label
to 0 or 1. All names in FEATURES must be there; others are ignored.
"""
'''

_HELPERS = """

def _set(y, head):
    new = False
    for label, value in head:
        if y[label] is None:
            y[label] = value
            new = True
    return new
"""


def export(model: RuleList) -> str:
    """Return the source of a module with ``predict(row)``, ``FEATURES`` and ``LABELS``."""
    used = used_features(model.rules)
    lines = [_HEADER, _names("FEATURES", columns_of(model.features, used))]
    lines.append(_names("LABELS", list(model.label_names)))
    lines += [f"_DEFAULTS = ({''.join(f'{value}, ' for value in model.defaults)})"]
    lines += [python_helpers(model.features, used) + _HELPERS, ""]
    lines += ["def _run(row):", f"    y = [None] * {len(model.label_names)}"]
    for j in used:
        lines.append(f"    x{j} = {python_read(model.features[j])}")
    for number, rule in enumerate(model.rules, start=1):
        lines += _rule_lines(model, number, rule)
    lines += ["    return y", "", "", "def predict(row):"]
    lines += ["    values = zip(LABELS, _run(row), _DEFAULTS)"]
    lines += ["    return {label: default if value is None else value for label, value, default in values}"]
    return "\n".join(lines) + "\n"


def _names(variable: str, names: list[str]) -> str:
    return "\n".join([f"{variable} = (", *(f"    {python_string(name)}," for name in names), ")"])


def _rule_lines(model: RuleList, number: int, rule: Rule) -> list[str]:
    text = printing.format_rule(rule, model.features, model.label_names, counts=False)
    head = {literal.label: literal.value for literal in rule.head}
    if model.full:
        head = {label: head.get(label, 0) for label in range(len(model.label_names))}
    pairs = "".join(f"({label}, {value}), " for label, value in head.items())
    call = f"_set(y, ({pairs}))"
    test = " and ".join(_test(model, condition) for condition in rule.body)
    lines = [f"    # {number}: {comment(text, unicode=True)}"]
    indent = "    "
    if test:
        lines.append(f"    if {test}:")
        indent += "    "
    if rule.stop:
        return [*lines, f"{indent}if {call}:", f"{indent}    return y"]
    return [*lines, f"{indent}{call}"]


def _test(model: RuleList, condition: Condition) -> str:
    if isinstance(condition, LabelCondition):
        return f"y[{condition.label}] == {condition.value}"
    return python_test(condition, model.features)
