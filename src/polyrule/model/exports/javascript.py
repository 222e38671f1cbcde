"""A rule list as JavaScript for Node and browsers."""

from __future__ import annotations

from polyrule.model import printing
from polyrule.model.exports.condition_code import (
    columns_of,
    head_of,
    javascript_body,
    javascript_helpers,
    javascript_read,
)
from polyrule.model.exports.quoting import comment, javascript_string
from polyrule.model.narrowing import used_features
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList

_HEADER = """// A multi-label rule list, exported by polyrule. Needs nothing but JavaScript.
//
// predict(row) takes an object from feature name to value (null, undefined or NaN where it is missing) and returns an
// object from label to 0 or 1. All names in FEATURES must be there; others are ignored.
// In Node: const { predict } = require("./model.js"); in a page: polyrule.predict(row).
const polyrule = (() => {
  "use strict";
"""

_HELPERS = """\
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

_FOOTER = """
  const predict = (row) => {
    const labels = Object.create(null);
    run(row).forEach((value, k) => { labels[LABELS[k]] = value === null ? DEFAULTS[k] : value; });
    return labels;
  };
  return { predict, FEATURES, LABELS };
})();
if (typeof module !== "undefined") module.exports = polyrule;
"""


def export(model: RuleList) -> str:
    """Return the source of a script that defines ``polyrule.predict`` and exports it where there are modules."""
    used = used_features(model.rules)
    lines = [_HEADER, name_array("FEATURES", columns_of(model.features, used))]
    lines.append(name_array("LABELS", list(model.label_names)))
    lines += [f"  const DEFAULTS = [{', '.join(map(str, model.defaults))}];"]
    lines.append(javascript_helpers(model.features, used) + _HELPERS)
    lines += ["  const run = (row) => {", f"    const y = new Array({len(model.label_names)}).fill(null);"]
    for j in used:
        lines.append(f"    const x{j} = {javascript_read(model.features[j])};")
    for number, rule in enumerate(model.rules, start=1):
        lines += _rule_lines(model, number, rule)
    return "\n".join([*lines, "    return y;", "  };", _FOOTER.strip("\n")]) + "\n"


def name_array(variable: str, names: list[str]) -> str:
    """Return a constant with names as an array."""
    return "\n".join([f"  const {variable} = [", *(f"    {javascript_string(name)}," for name in names), "  ];"])


def _rule_lines(model: RuleList, number: int, rule: Rule) -> list[str]:
    text = printing.format_rule(rule, model.features, model.label_names, counts=False)
    call = f"set(y, [{', '.join(f'[{label}, {value}]' for label, value in head_of(model, rule).items())}])"
    test = javascript_body(rule.body, model.features)
    action = f"if ({call}) return y;" if rule.stop else f"{call};"
    return [f"    // {number}: {comment(text)}", f"    if ({test}) {{", f"      {action}", "    }"]
