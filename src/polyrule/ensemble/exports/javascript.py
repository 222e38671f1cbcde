"""An ensemble as JavaScript for Node and browsers."""

from __future__ import annotations

from polyrule.ensemble.decisions import AS_GOOD
from polyrule.ensemble.exports import rule_comment
from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.condition_code import columns_of, javascript_body, javascript_helpers, javascript_read
from polyrule.model.exports.javascript import name_array
from polyrule.model.narrowing import used_features

_HEADER = """// Weighted multi-label rules, exported by polyrule. Needs nothing but JavaScript.
//
// predict(row) takes an object from feature name to value (null, undefined or NaN where it is missing) and returns an
// object from label to 0 or 1; scores(row) returns the sums behind it. All names in FEATURES must be there.
// In Node: const { predict } = require("./model.js"); in a page: polyrule.predict(row).
const polyrule = (() => {
  "use strict";
"""

_HELPERS = """\
  const named = (values) => {
    const result = Object.create(null);
    values.forEach((value, k) => { result[LABELS[k]] = value; });
    return result;
  };
"""

_CUTS = "  const decide = (s) => s.map((value, k) => (value >= CUTS[k] ? 1 : 0));"
_SETS = """  const largest = (numbers) => numbers.reduce((a, b) => (b > a ? b : a));
  const decide = (s) => {
    const totals = SETS.map((labels, place) => labels.reduce((sum, k) => sum + (s[k] - CUTS[k]), BONUSES[place]));
    const merits = meritsOf(totals);
    const least = largest(merits) * AS_GOOD; // smaller differences are rounding
    const best = SETS[merits.findIndex((merit) => merit >= least)];
    return s.map((_, k) => (best.includes(k) ? 1 : 0));
  };"""
_SUBSET = """  const meritsOf = (totals) => totals;
  const AS_GOOD = 1;"""
_EXPECTED_F1 = f"""  const meritsOf = (totals) => {{
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
  const AS_GOOD = {AS_GOOD!r};"""

_FOOTER = """  const scores = (row) => named(sums(row));
  const predict = (row) => named(decide(sums(row)));
  return { predict, scores, FEATURES, LABELS };
})();
if (typeof module !== "undefined") module.exports = polyrule;
"""


def export(model: RuleEnsemble) -> str:
    """Return the source of a script that defines ``polyrule.predict`` and exports it where there are modules."""
    used = used_features(model.rules)
    lines = [_HEADER, name_array("FEATURES", columns_of(model.features, used))]
    lines.append(name_array("LABELS", list(model.label_names)))
    decision = model.decision
    lines.append(
        f"  const CUTS = [{', '.join(repr(float(cut)) for cut in decision.every_cut(len(model.label_names)))}];"
    )
    if decision.uses_sets:
        lines.append(f"  const SETS = [{', '.join(str(sorted(labels)) for labels in decision.label_sets)}];")
        lines.append(f"  const UNIT = {model.common_unit!r};")
        lines.append(f"  const BONUSES = [{', '.join(map(repr, decision.every_bonus))}];")
    lines += [javascript_helpers(model.features, used) + _HELPERS, "  const sums = (row) => {"]
    lines.append(f"    const s = [{', '.join(repr(float(b)) for b in model.intercepts)}];")
    for j in used:
        lines.append(f"    const x{j} = {javascript_read(model.features[j])};")
    for index, rule in enumerate(model.rules):
        lines += [f"    // {rule_comment(model, index)}", f"    if ({javascript_body(rule.body, model.features)}) {{"]
        lines += [f"      s[{entry.label}] += {float(entry.weight)!r};" for entry in rule.head]
        lines.append("    }")
    lines += ["    return s;", "  };"]
    if decision.uses_sets:
        lines.append(_SUBSET if decision.kind == "subset" else _EXPECTED_F1)
    lines += [_SETS if decision.uses_sets else _CUTS, _FOOTER.rstrip("\n")]
    return "\n".join(lines) + "\n"
