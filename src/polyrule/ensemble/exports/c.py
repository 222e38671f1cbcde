"""An ensemble as one C99 file."""

from __future__ import annotations

from polyrule.ensemble.decisions import AS_GOOD
from polyrule.ensemble.exports import rule_comment
from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.c import name_tables
from polyrule.model.exports.condition_code import c_body
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
    prefix = c_identifier(prefix)
    width = len(model.label_names)
    lines = [_HEADER.replace("PREFIX", prefix), *name_tables(model, prefix)]
    lines += [
        f"void {prefix}_scores(const double *x, double *s) {{",
        "  (void)x;",
    ]
    lines += [f"  s[{label}] = {float(start)!r};" for label, start in enumerate(model.intercepts)]
    for index, rule in enumerate(model.rules):
        lines += [f"  /* {rule_comment(model, index)} */", f"  if ({c_body(rule.body, model.features)}) {{"]
        lines += [f"    s[{entry.label}] += {float(entry.weight)!r};" for entry in rule.head]
        lines.append("  }")
    lines += ["}", "", f"void {prefix}_predict(const double *x, unsigned char *y) {{", f"  double s[{max(1, width)}];"]
    lines.append(f"  {prefix}_scores(x, s);")
    cuts = ", ".join(repr(float(cut)) for cut in model.decision.every_cut(width)) or "0"
    lines.append(f"  static const double cuts[] = {{{cuts}}};")
    if model.decision.uses_sets:
        lines += _set_lines(model)
    else:
        lines.append(f"  for (int k = 0; k < {width}; ++k) y[k] = s[k] >= cuts[k];")
    return "\n".join([*lines, "}"]) + "\n"


def _set_lines(model: RuleEnsemble) -> list[str]:
    """Labels of all sets in one row, and where each set ends."""
    sets = model.decision.label_sets
    flat = ", ".join(str(label) for labels in sets for label in sorted(labels)) or "0"
    ends, end = [], 0
    for labels in sets:
        end += len(labels)
        ends.append(str(end))
    return [
        f"  static const int members[] = {{{flat}}};",
        f"  static const int ends[] = {{{', '.join(ends)}}};",
        f"  static const double bonuses[] = {{{', '.join(map(repr, model.decision.every_bonus))}}};",
        f"  double merits[{len(sets)}];",
        "  int best = 0;",
        "  double most = -INFINITY;",
        f"  for (int k = 0, j = 0; k < {len(sets)}; ++k) {{",
        "    merits[k] = bonuses[k];",
        "    for (; j < ends[k]; ++j) merits[k] += s[members[j]] - cuts[members[j]];",
        "    if (merits[k] > most) { most = merits[k]; best = k; }",
        "  }",
        *(_expected_f1_lines(model) if model.decision.kind == "expected-f1" else ()),
        f"  for (int k = 0; k < {len(model.label_names)}; ++k) y[k] = 0;",
        "  for (int j = best ? ends[best - 1] : 0; j < ends[best]; ++j) y[members[j]] = 1;",
    ]


def _expected_f1_lines(model: RuleEnsemble) -> list[str]:
    """From the sets' totals in `merits` to their expected F1, and the first that is as good as any."""
    sets = model.decision.label_sets
    longest = max(map(len, sets))
    return [
        "  /* How probable it is that a set of n labels has label k; [0][0]: that there is no label. */",
        f"  double with_label[{longest + 1}][{max(1, len(model.label_names))}] = {{{{0}}}};",
        f"  for (int k = 0, j = 0; k < {len(sets)}; ++k) {{",
        "    const int size = ends[k] - j;",
        f"    const double chance = exp({model.common_unit!r} * (merits[k] - most));",
        "    if (size == 0) with_label[0][0] += chance;",
        "    for (; j < ends[k]; ++j) with_label[size][members[j]] += chance;",
        "  }",
        "  most = 0;",
        f"  for (int k = 0, j = 0; k < {len(sets)}; ++k) {{",
        "    const int size = ends[k] - j;",
        "    merits[k] = size ? 0 : with_label[0][0];",
        "    for (; j < ends[k]; ++j)",
        f"      for (int n = 1; n <= {longest}; ++n) merits[k] += 2.0 / (size + n) * with_label[n][members[j]];",
        "    if (merits[k] > most) most = merits[k];",
        "  }",
        f"  for (best = 0; merits[best] < most * {AS_GOOD!r}; ++best) {{ /* smaller differences are rounding */",
        "  }",
    ]
