"""An ensemble as one C99 file."""

from __future__ import annotations

from polyrule.ensemble.exports import check_decision, rule_comment
from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.c import name_tables
from polyrule.model.exports.comparing import c_test
from polyrule.model.exports.quoting import c_identifier

_HEADER = """/* Weighted multi-label rules, exported by polyrule. C99, no dependencies.

   void PREFIX_scores(const double *x, double *s)
   void PREFIX_predict(const double *x, unsigned char *y)
       x: PREFIX_FEATURE_COUNT values in the order of PREFIX_features; NaN where missing; a category is its
          position among the feature's categories, which PREFIX_category(feature, text) finds (NaN if unknown);
          a date is the number of days since 1970-01-01; its year, month and weekday are features of their own.
       s, y: PREFIX_LABEL_COUNT sums, or results 0 or 1, in the order of PREFIX_labels.
   Do not compile with -ffast-math or -ffinite-math-only, which would break missing values and reorder sums. */

#include <math.h>
#include <stddef.h>
#include <string.h>
"""


def export(model: RuleEnsemble, prefix: str = "polyrule") -> str:
    """Return the source of a C file with ``<prefix>_predict``, ``<prefix>_scores`` and tables of names."""
    check_decision(model, "C", sets=True)
    prefix = c_identifier(prefix)
    width = len(model.label_names)
    lines = [_HEADER.replace("PREFIX", prefix), *name_tables(model, prefix)]
    lines += [
        f"void {prefix}_scores(const double *x, double *s) {{",
        "  (void)x;",
    ]
    lines += [f"  s[{label}] = {float(start)!r};" for label, start in enumerate(model.intercepts)]
    for index, rule in enumerate(model.rules):
        test = " && ".join(c_test(condition, model.features) for condition in rule.body) or "1"  # type: ignore[arg-type]
        lines += [f"  /* {rule_comment(model, index)} */", f"  if ({test}) {{"]
        lines += [f"    s[{entry.label}] += {float(entry.weight)!r};" for entry in rule.head]
        lines.append("  }")
    lines += ["}", "", f"void {prefix}_predict(const double *x, unsigned char *y) {{", f"  double s[{max(1, width)}];"]
    lines.append(f"  {prefix}_scores(x, s);")
    cuts = ", ".join(repr(float(cut)) for cut in model.decision.cuts) or "0"
    lines.append(f"  static const double cuts[] = {{{cuts}}};")
    if model.decision.uses_sets:
        lines += _set_lines(model)
    else:
        lines.append(f"  for (int k = 0; k < {width}; ++k) y[k] = s[k] >= cuts[k];")
    return "\n".join([*lines, "}"]) + "\n"


def _set_lines(model: RuleEnsemble) -> list[str]:
    """Labels of all sets in one row, and where each set ends."""
    sets = model.decision.label_sets
    flat = ", ".join(str(label) for labels in sets for label in labels) or "0"
    ends, end = [], 0
    for labels in sets:
        end += len(labels)
        ends.append(str(end))
    return [
        f"  static const int members[] = {{{flat}}};",
        f"  static const int ends[] = {{{', '.join(ends)}}};",
        f"  static const double bonuses[] = {{{', '.join(map(repr, model.decision.every_bonus))}}};",
        "  int best = 0;",
        "  double most = -INFINITY;",
        f"  for (int k = 0, j = 0; k < {len(sets)}; ++k) {{",
        "    double total = bonuses[k];",
        "    for (; j < ends[k]; ++j) total += s[members[j]] - cuts[members[j]];",
        "    if (total > most) { most = total; best = k; }",
        "  }",
        f"  for (int k = 0; k < {len(model.label_names)}; ++k) y[k] = 0;",
        "  for (int j = best ? ends[best - 1] : 0; j < ends[best]; ++j) y[members[j]] = 1;",
    ]
