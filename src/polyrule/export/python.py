"""A model as a Python module without dependencies."""

from __future__ import annotations

from collections.abc import Sequence

from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.export.language import Language, columns_of, constants, helpers, relation_constants, title
from polyrule.export.quoting import python_string
from polyrule.model.columns import used_features
from polyrule.model.decisions import AS_GOOD
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList

_HEADER = '''"""{title} Needs nothing but Python.

predict(row) takes a mapping from feature name to value (None or NaN where it is missing) and returns a dict from label
to 0 or 1{sums}. All names in FEATURES must be there; others are ignored.
"""
'''


def _set_head(head: dict[int, int], margins: dict[int, float], stop: bool) -> list[str]:
    if margins:
        call = f"_set(y, m, {tuple((label, value, margins[label]) for label, value in head.items())!r})"
    else:
        call = f"_set(y, {tuple(head.items())!r})"
    if stop and margins:
        return [f"if {call}: return m"]
    return [f"if {call}: return y" if stop else call]


_PYTHON = Language(
    *(" and ", " or ", "==", "!=", "True", "# {}", "if {}:", (), "    ", _set_head),
    unicode=True,
    quoted=python_string,
    among="{x} in [{names}]",
    outside="{x} not in [{names}]",
)

_READ = """
def _number(value):
    return float("nan") if value is None else float(value)


def _text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None if value != value else repr(int(value)) if value == int(value) else repr(float(value))
    return str(value)
"""

_LIST_HELPERS = """

def _set(y, head):
    new = False
    for label, value in head:
        if y[label] is None:
            y[label] = value
            new = True
    return new
"""

_MARGIN_HELPERS = """

def _set(y, m, head):
    new = False
    for label, value, margin in head:
        if y[label] is None:
            y[label], m[label] = value, margin
            new = True
    return new
"""

_RELATED_LIST = """
def predict(row):
    return dict(zip(LABELS, _related(_run(row))))
"""

_RELATED_CUTS = """
def predict(row):
    margins = [(s - cut) * worth for s, cut, worth in zip(_sums(row), _CUTS, _WORTH)]
    return dict(zip(LABELS, _related(margins)))
"""

_RELATED = """

def _related(m):  # the relations between labels hold, whatever the margins are
    strength = [max(m[k] for k in below) for below in _BELOW]
    possible, forced = [True] * len(m), [False] * len(m)
    infinite = float("inf")
    for members, exactly in _GROUPS:
        rank = [(infinite if forced[k] else strength[k]) if possible[k] else -infinite for k in members]
        winner = members[rank.index(max(rank))]
        for k in members:
            if k != winner:
                for other in _BELOW[k]:
                    possible[other] = False
        if exactly:
            for other in _ABOVE[winner]:
                forced[other] = True
    return [int(p and (f or s >= 0)) for p, f, s in zip(possible, forced, strength)]
"""

_LIST = """
def predict(row):
    values = zip(LABELS, _run(row), _DEFAULTS)
    return {label: default if value is None else value for label, value, default in values}
"""

_SCORES = """
def scores(row):
    return dict(zip(LABELS, _sums(row)))

"""

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

_BEST = {}
_BEST["subset"] = """
def _best(totals):
    return totals.index(max(totals))
"""

_BEST["expected-f1"] = f"""
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
    if isinstance(model, RuleList):
        run, state, start = "_run", "y", f"[None] * {len(model.label_names)}"
        sums, setting, ending = "", _LIST_HELPERS, _LIST
    else:
        run, state, start = "_sums", "s", repr(list(map(float, model.intercepts)))
        sums, setting, ending = "; scores(row) returns the sums behind it", "", _SCORES
        ending += _SETS + _BEST[model.decision.kind] if model.decision.uses_sets else _CUTS
    related = relation_constants(model)
    if related:
        is_list = isinstance(model, RuleList)
        setting = (_MARGIN_HELPERS if is_list else "") + _RELATED
        ending = _RELATED_LIST if is_list else _SCORES + _RELATED_CUTS
    lines = [
        _HEADER.format(title=title(model), sums=sums) + ("\nimport math\n" if "math." in ending else ""),
        _name_tuple("FEATURES", columns_of(model.features, used)),
        _name_tuple("LABELS", model.label_names),
        *(f"_{name} = {value!r}" for name, value in constants(model).items()),
        _READ + helpers(model.features, used, "python") + setting,
        "",
        f"def {run}(row):",
        f"    {state} = {start}",
        *(["    m = list(_MARGINS)"] if run == "_run" and related else []),
        *(f"    x{j} = {_read(model.features[j])}" for j in used),
        *_PYTHON.rules(model, "    "),
        f"    return {'m' if run == '_run' and related else state}",
        "",
        ending,
    ]
    return "\n".join(lines)


def _read(feature: Feature) -> str:
    """Return the expression that reads a feature from a row."""
    cells = [f"row[{python_string(name)}]" for name in feature.sources]
    if (derivation := derivation_of(feature)) is not None:
        return derivation.code("python", *cells)
    return f"{'_text' if feature.has_categories else '_number'}({cells[0]})"


def _name_tuple(variable: str, names: Sequence[str]) -> str:
    """Return a variable with names as a tuple."""
    return "\n".join([f"{variable} = (", *(f"    {python_string(name)}," for name in names), ")"])
