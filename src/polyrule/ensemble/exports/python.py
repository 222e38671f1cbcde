"""An ensemble as a Python module without dependencies."""

from __future__ import annotations

from polyrule.ensemble.exports import check_decision, rule_comment, used_features
from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.comparing import columns_of, python_helpers, python_read, python_test
from polyrule.model.exports.quoting import python_string

_HEADER = '''"""Weighted multi-label rules, exported by polyrule. Needs nothing but Python.

predict(row) takes a mapping from feature name to value (None or NaN where it is missing) and returns a dict from label
to 0 or 1; scores(row) returns the sums behind it. All names in FEATURES must be there; others are ignored.
"""
'''

_CUTS = """
def predict(row):
    return {label: int(s >= cut) for label, s, cut in zip(LABELS, _sums(row), _CUTS)}
"""

_SETS = """
def predict(row):
    s = _sums(row)
    best, most = (), float("-inf")
    for labels, total in zip(_SETS, _BONUSES):
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
    lines = [_HEADER, _names("FEATURES", columns_of(model.features, used))]
    lines.append(_names("LABELS", list(model.label_names)))
    decision = model.decision
    lines.append(f"_CUTS = ({''.join(f'{float(cut)!r}, ' for cut in decision.cuts)})")
    if decision.uses_sets:
        lines.append(f"_SETS = ({''.join(f'{labels!r}, ' for labels in decision.label_sets)})")
        lines.append(f"_BONUSES = ({''.join(f'{bonus!r}, ' for bonus in decision.every_bonus)})")
    lines += [
        python_helpers(model.features, used),
        "",
        "def _sums(row):",
        f"    s = [{', '.join(repr(float(b)) for b in model.intercepts)}]",
    ]
    for j in used:
        lines.append(f"    x{j} = {python_read(model.features[j])}")
    for index, rule in enumerate(model.rules):
        test = " and ".join(python_test(condition, model.features) for condition in rule.body) or "True"  # type: ignore[arg-type]
        lines += [f"    # {rule_comment(model, index)}", f"    if {test}:"]
        lines += [f"        s[{entry.label}] += {float(entry.weight)!r}" for entry in rule.head]
    lines += ["    return s", "", "", "def scores(row):", "    return dict(zip(LABELS, _sums(row)))", ""]
    lines.append(_SETS if decision.uses_sets else _CUTS)
    return "\n".join(lines)


def _names(variable: str, names: list[str]) -> str:
    return "\n".join([f"{variable} = (", *(f"    {python_string(name)}," for name in names), ")"])
