"""An ensemble as a Python module without dependencies."""

from __future__ import annotations

from polyrule.ensemble.exports import check_decision, rule_comment, used_features
from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.quoting import python_string
from polyrule.model.rule import Condition, NominalCondition, NumericCondition

_HEADER = '''"""Weighted multi-label rules, exported by polyrule. Needs nothing but Python.

predict(row) takes a mapping from feature name to value (None or NaN where it is missing) and returns a dict from label
to 0 or 1; scores(row) returns the sums behind it. All names in FEATURES must be there; others are ignored.
"""
'''

_HELPERS = """
def _number(value):
    return float("nan") if value is None else float(value)


def _text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None if value != value else repr(int(value)) if value == int(value) else repr(float(value))
    return str(value)

"""

_CUTS = """
def predict(row):
    return {label: int(s >= cut) for label, s, cut in zip(LABELS, _sums(row), _CUTS)}
"""

_SETS = """
def predict(row):
    s = _sums(row)
    best, most = (), float("-inf")
    for labels in _SETS:
        total = 0.0
        for k in labels:
            total += s[k] - _CUTS[k]
        if total > most:
            best, most = labels, total
    return {label: int(k in best) for k, label in enumerate(LABELS)}
"""


def export(model: RuleEnsemble) -> str:
    """Return the source of a module with ``predict(row)``, ``scores(row)``, ``FEATURES`` and ``LABELS``."""
    check_decision(model, "Python", sets=True)
    used = used_features(model)
    lines = [_HEADER, _names("FEATURES", [model.features[j].name for j in used])]
    lines.append(_names("LABELS", list(model.label_names)))
    decision = model.decision
    lines.append(f"_CUTS = ({''.join(f'{float(cut)!r}, ' for cut in decision.cuts)})")
    if decision.uses_sets:
        lines.append(f"_SETS = ({''.join(f'{labels!r}, ' for labels in decision.label_sets)})")
    lines += [_HELPERS, "def _sums(row):", f"    s = [{', '.join(repr(float(b)) for b in model.intercepts)}]"]
    for j in used:
        read = "_text" if model.features[j].is_nominal else "_number"
        lines.append(f"    x{j} = {read}(row[{python_string(model.features[j].name)}])")
    for index, rule in enumerate(model.rules):
        test = " and ".join(_test(model, condition) for condition in rule.body) or "True"
        lines += [f"    # {rule_comment(model, index)}", f"    if {test}:"]
        lines += [f"        s[{entry.label}] += {float(entry.weight)!r}" for entry in rule.head]
    lines += ["    return s", "", "", "def scores(row):", "    return dict(zip(LABELS, _sums(row)))", ""]
    lines.append(_SETS if decision.uses_sets else _CUTS)
    return "\n".join(lines)


def _names(variable: str, names: list[str]) -> str:
    return "\n".join([f"{variable} = (", *(f"    {python_string(name)}," for name in names), ")"])


def _test(model: RuleEnsemble, condition: Condition) -> str:
    match condition:
        case NumericCondition(feature, op, threshold):
            return f"x{feature} {op} {float(threshold)!r}"
        case NominalCondition(feature, value):
            return f"x{feature} == {python_string(model.features[feature].categories[value])}"
    raise AssertionError(condition)  # an ensemble has no other conditions
