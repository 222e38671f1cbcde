"""A model as JavaScript for Node and browsers."""

from __future__ import annotations

import json
from collections.abc import Sequence

from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.export.language import Language, columns_of, constants, helpers, relation_constants, title
from polyrule.export.quoting import javascript_string
from polyrule.model.columns import used_features
from polyrule.model.decisions import AS_GOOD
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList

_HEADER = """// {title} Needs nothing but JavaScript.
//
// predict(row) takes an object from feature name to value (null, undefined or NaN where it is missing) and returns an
// object from label to 0 or 1{sums}.
// All names in FEATURES must be there; others are ignored.
// In Node: const {{ predict }} = require("./model.js"); in a page: polyrule.predict(row).
const polyrule = (() => {{
  "use strict";
"""

_FOOTER = """\
})();
if (typeof module !== "undefined") module.exports = polyrule;
"""


def _set_head(head: dict[int, int], margins: dict[int, float], stop: bool) -> list[str]:
    if margins:
        triples = [(label, value, margins[label]) for label, value in head.items()]
        call, result = f"set(y, m, {json.dumps(triples)})", "m"
    else:
        call, result = f"set(y, {json.dumps(list(head.items()))})", "y"
    return [f"if ({call}) return {result};" if stop else f"{call};"]


_JAVASCRIPT = Language(
    *(" && ", " || ", "===", "!==", "true", "// {}", "if ({}) {{", ("}",), "  ", _set_head),
    mark=";",
    quoted=javascript_string,
    among="[{names}].includes({x})",
    outside="![{names}].includes({x})",
)

_READ = """
  const read = (row, name) => {
    if (!Object.prototype.hasOwnProperty.call(row, name)) throw new Error("the row lacks the feature " + name);
    return row[name];
  };
  const number = (value) => (value === null || value === undefined ? NaN : Number(value));
  const text = (value) => {
    if (value === null || value === undefined || value !== value) return null;
    return typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  };
"""

_LIST_HELPERS = """\
  const set = (y, head) => {
    let fresh = false;
    for (const [label, value] of head) {
      if (y[label] === null) {
        y[label] = value;
        fresh = true;
      }
    }
    return fresh;
  };
"""

_MARGIN_HELPERS = """\
  const set = (y, m, head) => {
    let fresh = false;
    for (const [label, value, margin] of head) {
      if (y[label] === null) {
        y[label] = value;
        m[label] = margin;
        fresh = true;
      }
    }
    return fresh;
  };
"""

_RELATED = """\
  const related = (m) => { // the relations between labels hold, whatever the margins are
    const strength = BELOW.map((below) => below.reduce((most, k) => (m[k] > most ? m[k] : most), -Infinity));
    const possible = m.map(() => true);
    const forced = m.map(() => false);
    for (const [members, exactly] of GROUPS) {
      const rank = members.map((k) => (possible[k] ? (forced[k] ? Infinity : strength[k]) : -Infinity));
      const winner = members[rank.indexOf(rank.reduce((a, b) => (b > a ? b : a)))];
      for (const k of members) if (k !== winner) for (const other of BELOW[k]) possible[other] = false;
      if (exactly) for (const other of ABOVE[winner]) forced[other] = true;
    }
    return m.map((_, k) => (possible[k] && (forced[k] || strength[k] >= 0) ? 1 : 0));
  };
"""

_RELATED_LIST = """
  const predict = (row) => named(related(run(row)));
  return { predict, FEATURES, LABELS };
"""

_RELATED_CUTS = "  const decide = (s) => related(s.map((value, k) => (value - CUTS[k]) * WORTH[k]));\n"

_LIST = """
  const predict = (row) => {
    const labels = Object.create(null);
    run(row).forEach((value, k) => { labels[LABELS[k]] = value === null ? DEFAULTS[k] : value; });
    return labels;
  };
  return { predict, FEATURES, LABELS };
"""

_SUM_HELPERS = """\
  const named = (values) => {
    const result = Object.create(null);
    values.forEach((value, k) => { result[LABELS[k]] = value; });
    return result;
  };
"""

_CUTS = "  const decide = (s) => s.map((value, k) => (value >= CUTS[k] ? 1 : 0));\n"
_SETS = """  const largest = (numbers) => numbers.reduce((a, b) => (b > a ? b : a));
  const decide = (s) => {
    const totals = SETS.map((labels, place) => labels.reduce((sum, k) => sum + (s[k] - CUTS[k]), BONUSES[place]));
    const merits = meritsOf(totals);
    const least = largest(merits) * AS_GOOD; // smaller differences are rounding
    const best = SETS[merits.findIndex((merit) => merit >= least)];
    return s.map((_, k) => (best.includes(k) ? 1 : 0));
  };
"""
_BEST = {}
_BEST["subset"] = """  const meritsOf = (totals) => totals;
  const AS_GOOD = 1;
"""
_BEST["expected-f1"] = f"""  const meritsOf = (totals) => {{
    const most = largest(totals);
    const withLabel = new Map(); // size of a set -> per label, how probable it is that they meet
    let none = 0;
    SETS.forEach((labels, place) => {{
      const chance = Math.exp(UNIT * (totals[place] - most));
      if (!labels.length) none += chance;
      else if (!withLabel.has(labels.length)) withLabel.set(labels.length, new Float64Array(LABELS.length));
      for (const k of labels) withLabel.get(labels.length)[k] += chance;
    }});
    return SETS.map((labels) => {{
      let merit = labels.length ? 0 : none; // no label where there is none is right
      for (const [n, chances] of withLabel)
        for (const k of labels) merit += (2 / (labels.length + n)) * chances[k];
      return merit;
    }});
  }};
  const AS_GOOD = {AS_GOOD!r};
"""

_SUMS = """  const scores = (row) => named(sums(row));
  const predict = (row) => named(decide(sums(row)));
  return { predict, scores, FEATURES, LABELS };
"""


def export(model: RuleList | RuleEnsemble) -> str:
    """Return the source of a script that defines ``polyrule.predict`` and exports it where there are modules."""
    used = used_features(model.rules)
    if isinstance(model, RuleList):
        run, state, start = "run", "y", f"new Array({len(model.label_names)}).fill(null)"
        sums, setting, ending = "", _LIST_HELPERS, _LIST
    else:
        run, state, start = "sums", "s", repr(list(map(float, model.intercepts)))
        sums, setting, ending = "; scores(row) returns the sums behind it", _SUM_HELPERS, _SUMS
        ending = (_BEST[model.decision.kind] + _SETS if model.decision.uses_sets else _CUTS) + ending
    related = relation_constants(model)
    if related:
        is_list = isinstance(model, RuleList)
        setting = _SUM_HELPERS + (_MARGIN_HELPERS if is_list else "") + _RELATED
        ending = _RELATED_LIST if is_list else _RELATED_CUTS + _SUMS
    lines = [
        _HEADER.format(title=title(model), sums=sums),
        _name_array("FEATURES", columns_of(model.features, used)),
        _name_array("LABELS", model.label_names),
        *(f"  const {name} = {json.dumps(value)};" for name, value in constants(model).items()),
        _READ + helpers(model.features, used, "javascript") + setting,
        f"  const {run} = (row) => {{",
        f"    const {state} = {start};",
        *(["    const m = MARGINS.slice();"] if run == "run" and related else []),
        *(f"    const x{j} = {_read(model.features[j])};" for j in used),
        *_JAVASCRIPT.rules(model, "    "),
        f"    return {'m' if run == 'run' and related else state};",
        "  };",
        ending + _FOOTER,
    ]
    return "\n".join(lines)


def _read(feature: Feature) -> str:
    """Return the expression that reads a feature from a row."""
    cells = [f"read(row, {javascript_string(name)})" for name in feature.sources]
    if (derivation := derivation_of(feature)) is not None:
        return derivation.code("javascript", *cells)
    return f"{'text' if feature.has_categories else 'number'}({cells[0]})"


def _name_array(variable: str, names: Sequence[str]) -> str:
    """Return a constant with names as an array."""
    return "\n".join([f"  const {variable} = [", *(f"    {javascript_string(name)}," for name in names), "  ];"])
