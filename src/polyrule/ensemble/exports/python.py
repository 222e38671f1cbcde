"""An ensemble as a Python module without dependencies."""

from __future__ import annotations

from polyrule.ensemble.decisions import AS_GOOD
from polyrule.ensemble.exports import rule_comment
from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.condition_code import columns_of, python_body, python_helpers, python_read
from polyrule.model.exports.python import name_tuple
from polyrule.model.narrowing import used_features

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
    best = _SETS[_best(_totals(_sums(row)))]
    return {label: int(k in best) for k, label in enumerate(LABELS)}


def _totals(s):
    totals = list(_BONUSES)
    for place, labels in enumerate(_SETS):
        for k in labels:
            totals[place] += s[k] - _CUTS[k]
    return totals
"""

_SUBSET = """
def _best(totals):
    return totals.index(max(totals))
"""

_EXPECTED_F1 = f"""
def _best(totals):
    most = max(totals)
    chances = [math.exp(_UNIT * (total - most)) for total in totals]
    with_label = {{}}  # size of a set, label -> how probable it is that they meet
    for labels, chance in zip(_SETS, chances):
        for k in labels or (None,):
            with_label[len(labels), k] = with_label.get((len(labels), k), 0.0) + chance
    sizes = sorted({{len(labels) for labels in _SETS if labels}})
    merits = [
        sum(2 / (len(labels) + n) * with_label.get((n, k), 0.0) for n in sizes for k in labels)
        if labels
        else with_label[0, None]  # no label where there is none is right
        for labels in _SETS
    ]
    least = max(merits) * {AS_GOOD!r}  # smaller differences are rounding
    return next(place for place, merit in enumerate(merits) if merit >= least)
"""


def export(model: RuleEnsemble) -> str:
    """Return the source of a module with ``predict(row)``, ``scores(row)``, ``FEATURES`` and ``LABELS``."""
    used = used_features(model.rules)
    lines = [_HEADER, "import math\n"] if model.decision.kind == "expected-f1" else [_HEADER]
    lines += [name_tuple("FEATURES", columns_of(model.features, used))]
    lines.append(name_tuple("LABELS", list(model.label_names)))
    decision = model.decision
    lines.append(f"_CUTS = ({''.join(f'{float(cut)!r}, ' for cut in decision.every_cut(len(model.label_names)))})")
    if decision.uses_sets:
        lines.append(f"_SETS = ({''.join(f'{tuple(sorted(labels))!r}, ' for labels in decision.label_sets)})")
        lines.append(f"_UNIT = {model.common_unit!r}")
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
        lines += [f"    # {rule_comment(model, index)}", f"    if {python_body(rule.body, model.features)}:"]
        lines += [f"        s[{entry.label}] += {float(entry.weight)!r}" for entry in rule.head]
    lines += ["    return s", "", "", "def scores(row):", "    return dict(zip(LABELS, _sums(row)))", ""]
    lines.append(_SETS + (_SUBSET if decision.kind == "subset" else _EXPECTED_F1) if decision.uses_sets else _CUTS)
    return "\n".join(lines)
