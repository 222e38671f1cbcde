"""A rule list as a Python module without dependencies."""

from __future__ import annotations

from polyrule.model import printing
from polyrule.model.exports.condition_code import columns_of, head_of, python_body, python_helpers, python_read
from polyrule.model.exports.quoting import comment, python_string
from polyrule.model.narrowing import used_features
from polyrule.model.rule import Rule
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
    lines = [_HEADER, name_tuple("FEATURES", columns_of(model.features, used))]
    lines.append(name_tuple("LABELS", list(model.label_names)))
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


def name_tuple(variable: str, names: list[str]) -> str:
    """Return a variable with names as a tuple."""
    return "\n".join([f"{variable} = (", *(f"    {python_string(name)}," for name in names), ")"])


def _rule_lines(model: RuleList, number: int, rule: Rule) -> list[str]:
    text = printing.format_rule(rule, model.features, model.label_names, counts=False)
    pairs = "".join(f"({label}, {value}), " for label, value in head_of(model, rule).items())
    call = f"_set(y, ({pairs}))"
    lines = [f"    # {number}: {comment(text, unicode=True)}"]
    indent = "    "
    if rule.body:
        lines.append(f"    if {python_body(rule.body, model.features)}:")
        indent += "    "
    if rule.stop:
        return [*lines, f"{indent}if {call}:", f"{indent}    return y"]
    return [*lines, f"{indent}{call}"]
