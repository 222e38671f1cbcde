"""A rule list as one C99 file."""

from __future__ import annotations

from typing import Any

from polyrule.model import printing
from polyrule.model.exports.condition_code import c_body, head_of
from polyrule.model.exports.quoting import c_identifier, c_string, comment
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList

_HEADER = """/* A multi-label rule list, exported by polyrule. C99, no dependencies.

   void PREFIX_predict(const double *x, unsigned char *y)
       x: PREFIX_FEATURE_COUNT values in the order of PREFIX_features; NaN where missing; a category is its
          position among the feature's categories, which PREFIX_category(feature, text) finds (NaN if unknown);
          a date is the number of days since 1970-01-01; its year, month and weekday are features of their own.
       y: PREFIX_LABEL_COUNT results, 0 or 1, in the order of PREFIX_labels.
   Do not compile with -ffast-math or -ffinite-math-only, which would break missing values. */

#include <math.h>
#include <stddef.h>
#include <string.h>
"""


def export(model: RuleList, prefix: str = "polyrule") -> str:
    """Return the source of a C file with ``<prefix>_predict`` and tables of names."""
    prefix = c_identifier(prefix)
    width = len(model.label_names)
    parts = [_HEADER.replace("PREFIX", prefix), *name_tables(model, prefix)]
    parts += [
        "static int set_label(signed char *y, int label, signed char value) {",
        "  if (y[label] >= 0) return 0;",
        "  y[label] = value;",
        "  return 1;",
        "}",
        "",
        "static void run(const double *x, signed char *y) {",
        "  int fresh = 0;",
        "  (void)x;",
        "  (void)y;",
        "  (void)set_label;",
    ]
    for number, rule in enumerate(model.rules, start=1):
        parts += _rule_lines(model, number, rule)
    defaults = ", ".join(map(str, model.defaults)) or "0"
    parts += [
        "  (void)fresh;",
        "}",
        "",
        f"void {prefix}_predict(const double *x, unsigned char *y) {{",
        f"  static const unsigned char defaults[] = {{{defaults}}};",
        f"  signed char state[{max(1, width)}];",
        f"  for (int k = 0; k < {width}; ++k) state[k] = -1;",
        "  run(x, state);",
        f"  for (int k = 0; k < {width}; ++k) y[k] = state[k] < 0 ? defaults[k] : (unsigned char)state[k];",
        "}",
    ]
    return "\n".join(parts) + "\n"


def name_tables(model: Any, prefix: str) -> list[str]:
    """Counts, names, categories and their look-up; an empty table, which C does not allow, holds a null pointer."""
    parts = [
        f"enum {{ {prefix}_FEATURE_COUNT = {len(model.features)}, {prefix}_LABEL_COUNT = {len(model.label_names)} }};",
        _strings(f"{prefix}_features", [feature.name for feature in model.features]),
        _strings(f"{prefix}_labels", list(model.label_names)),
    ]
    nominal = [j for j, feature in enumerate(model.features) if feature.has_categories]
    parts += [_strings(f"categories_{j}", list(model.features[j].categories), "static ") for j in nominal]
    pointers = [f"categories_{j}" if f.has_categories else "NULL" for j, f in enumerate(model.features)]
    counts = [str(len(feature.categories)) for feature in model.features]
    parts.append(f"const char *const *const {prefix}_categories[] = {{{', '.join(pointers) or 'NULL'}}};")
    parts.append(f"const int {prefix}_category_counts[] = {{{', '.join(counts) or '0'}}};")
    parts += [
        "",
        f"double {prefix}_category(int feature, const char *text) {{",
        f"  for (int k = 0; k < {prefix}_category_counts[feature]; ++k)",
        f"    if (strcmp({prefix}_categories[feature][k], text) == 0) return k;",
        "  return NAN;",
        "}",
    ]
    return [*parts, ""]


def _strings(name: str, texts: list[str], storage: str = "") -> str:
    rows = [f"  {c_string(text)}," for text in texts] or ["  NULL"]
    return "\n".join([f"{storage}const char *const {name}[] = {{", *rows, "};"])


def _rule_lines(model: RuleList, number: int, rule: Rule) -> list[str]:
    text = printing.format_rule(rule, model.features, model.label_names, counts=False)
    test = c_body(rule.body, model.features)
    lines = [f"  /* {number}: {comment(text)} */", f"  if ({test}) {{"]
    lines.append("    fresh = 0;")
    lines += [f"    fresh |= set_label(y, {label}, {value});" for label, value in head_of(model, rule).items()]
    if rule.stop:
        lines.append("    if (fresh) return;")
    return [*lines, "  }"]
