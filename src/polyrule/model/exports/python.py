"""A model as a Python module without dependencies."""

from __future__ import annotations

from polyrule.model.decisions import AS_GOOD
from polyrule.model.exports.condition_code import columns_of, python_body, python_helpers, python_read
from polyrule.model.exports.quoting import python_string, rule_comment
from polyrule.model.narrowing import used_features
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList

_LIST_HEADER = '''"""A multi-label rule list, exported by polyrule. Needs nothing but Python.

predict(row) takes a mapping from feature name to value (None or NaN where it is missing) and returns a dict from label
to 0 or 1. All names in FEATURES must be there; others are ignored.
"""
'''

_LIST_HELPERS = """

def _set(y, head):
    new = False
    for label, value in head:
        if y[label] is None:
            y[label] = value
            new = True
    return new
"""

_SUM_HEADER = '''"""Weighted multi-label rules, exported by polyrule. Needs nothing but Python.

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


def export(model: RuleList | RuleEnsemble) -> str:
    """Return the source of a module: ``predict(row)``, of an ensemble ``scores(row)``, ``FEATURES`` and ``LABELS``."""
    used = used_features(model.rules)
    names = [_name_tuple("FEATURES", columns_of(model.features, used)), _name_tuple("LABELS", list(model.label_names))]
    reads = [f"    x{j} = {python_read(model.features[j])}" for j in used]
    helpers = python_helpers(model.features, used)
    if isinstance(model, RuleList):
        return "\n".join(_list(model, names, helpers, reads))
    return "\n".join(_ensemble(model, names, helpers, reads))


def _list(model: RuleList, names: list[str], helpers: str, reads: list[str]) -> list[str]:
    lines = [_LIST_HEADER, *names, f"_DEFAULTS = ({''.join(f'{value}, ' for value in model.defaults)})"]
    lines += [helpers + _LIST_HELPERS, "", "def _run(row):", f"    y = [None] * {len(model.label_names)}", *reads]
    for index in range(len(model)):
        lines += _rule_lines(model, index)
    lines += ["    return y", "", "", "def predict(row):"]
    lines += ["    values = zip(LABELS, _run(row), _DEFAULTS)"]
    return [*lines, "    return {label: default if value is None else value for label, value, default in values}\n"]


def _rule_lines(model: RuleList, index: int) -> list[str]:
    rule = model.rules[index]
    pairs = "".join(f"({label}, {value}), " for label, value in model.heads[index].items())
    call = f"_set(y, ({pairs}))"
    lines = [f"    # {rule_comment(model, index, unicode=True)}"]
    indent = "    "
    if rule.body:
        lines.append(f"    if {python_body(rule.body, model.features)}:")
        indent += "    "
    if rule.stop:
        return [*lines, f"{indent}if {call}:", f"{indent}    return y"]
    return [*lines, f"{indent}{call}"]


def _ensemble(model: RuleEnsemble, names: list[str], helpers: str, reads: list[str]) -> list[str]:
    decision = model.decision
    lines = [_SUM_HEADER, *(["import math\n"] if decision.kind == "expected-f1" else []), *names]
    lines.append(f"_CUTS = ({''.join(f'{float(cut)!r}, ' for cut in decision.every_cut(len(model.label_names)))})")
    if decision.uses_sets:
        lines.append(f"_SETS = ({''.join(f'{tuple(sorted(labels))!r}, ' for labels in decision.label_sets)})")
        lines.append(f"_UNIT = {model.common_unit!r}")
        lines.append(f"_BONUSES = ({''.join(f'{bonus!r}, ' for bonus in decision.every_bonus)})")
    starts = ", ".join(repr(float(b)) for b in model.intercepts)
    lines += [helpers, "", "def _sums(row):", f"    s = [{starts}]", *reads]
    for index, rule in enumerate(model.rules):
        lines += [f"    # {rule_comment(model, index)}", f"    if {python_body(rule.body, model.features)}:"]
        lines += [f"        s[{entry.label}] += {float(entry.weight)!r}" for entry in rule.head]
    lines += ["    return s", "", "", "def scores(row):", "    return dict(zip(LABELS, _sums(row)))", ""]
    return [*lines, _SETS + (_SUBSET if decision.kind == "subset" else _EXPECTED_F1) if decision.uses_sets else _CUTS]


def _name_tuple(variable: str, names: list[str]) -> str:
    """Return a variable with names as a tuple."""
    return "\n".join([f"{variable} = (", *(f"    {python_string(name)}," for name in names), ")"])
