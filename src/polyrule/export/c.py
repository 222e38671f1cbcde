"""A model as one C99 file."""

from __future__ import annotations

from itertools import accumulate

from polyrule.export.language import Language, constants, relation_constants, title
from polyrule.export.quoting import c_identifier, c_string
from polyrule.model.decisions import AS_GOOD
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList


def _set_head(head: dict[int, int], margins: dict[int, float], stop: bool) -> list[str]:
    """Set the labels of a head; a stop ends the list where that was news."""
    if margins:
        sets = [f"fresh |= set_label(y, m, {k}, {value}, {margins[k]!r});" for k, value in head.items()]
    else:
        sets = [f"fresh |= set_label(y, {label}, {value});" for label, value in head.items()]
    return ["fresh = 0;", *sets, *(["if (fresh) return;"] if stop else [])]


_C = Language(
    *(" && ", " || ", "==", "!=", "1", "/* {} */", "if ({}) {{", ("}",), "  ", _set_head),
    mark=";",
    variable="x[{}]",
)

_HEADER = """/* TITLE C99, no dependencies.

FUNCTIONS   void PREFIX_predict(const double *x, unsigned char *y)
       x: PREFIX_FEATURE_COUNT values in the order of PREFIX_features; NaN where missing; a category is its
          position among the feature's categories, which PREFIX_category(feature, text) finds (NaN if unknown);
          a date is the number of days since 1970-01-01; its year, month and weekday are features of their own.
       RESULTS 0 or 1, in the order of PREFIX_labels.
   Do not compile with -ffast-math or -ffinite-math-only, which would break missing valuesSUMS. */

#include <math.h>
#include <stddef.h>
#include <string.h>
"""
_LIST = {
    "FUNCTIONS": "",
    "RESULTS": "y: PREFIX_LABEL_COUNT results,",
    "SUMS": "",
}
_ENSEMBLE = {
    "FUNCTIONS": "   void PREFIX_scores(const double *x, double *s)\n",
    "RESULTS": "s, y: PREFIX_LABEL_COUNT sums, or results",
    "SUMS": " and reorder sums",
}


def export(model: RuleList | RuleEnsemble, prefix: str = "polyrule") -> str:
    """Return the source of a C file with ``<prefix>_predict``, of an ensemble also ``_scores``, and tables of names."""
    prefix = c_identifier(prefix)
    header = _HEADER.replace("TITLE", title(model))
    for word, text in (_LIST if isinstance(model, RuleList) else _ENSEMBLE).items():
        header = header.replace(word, text)
    rules = _list(model, prefix) if isinstance(model, RuleList) else _ensemble(model, prefix)
    return "\n".join([header.replace("PREFIX", prefix), *_name_tables(model, prefix), *rules]) + "\n"


def _list(model: RuleList, prefix: str) -> list[str]:
    width = len(model.label_names)
    if relation_constants(model):
        return _related_list(model, prefix)
    parts = [
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
    parts += _C.rules(model, "  ")
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
    return parts


def _related_list(model: RuleList, prefix: str) -> list[str]:
    width = max(1, len(model.label_names))
    margins = ", ".join(map(repr, constants(model)["MARGINS"]))
    return [
        "static int set_label(signed char *y, double *m, int label, signed char value, double margin) {",
        "  if (y[label] >= 0) return 0;",
        "  y[label] = value;",
        "  m[label] = margin;",
        "  return 1;",
        "}",
        "",
        "static void run(const double *x, signed char *y, double *m) {",
        "  int fresh = 0;",
        "  (void)x;",
        "  (void)y;",
        "  (void)m;",
        "  (void)set_label;",
        *_C.rules(model, "  "),
        "  (void)fresh;",
        "}",
        "",
        *_related_lines(model),
        f"void {prefix}_predict(const double *x, unsigned char *y) {{",
        f"  double m[{width}] = {{{margins}}};",
        f"  signed char state[{width}];",
        f"  for (int k = 0; k < {width}; ++k) state[k] = -1;",
        "  run(x, state, m);",
        "  related(m, y);",
        "}",
    ]


def _flat(rows: list[list[int]]) -> tuple[str, str]:
    """Return the items of all rows, and where each row ends, as the texts of two tables."""
    items = ", ".join(str(item) for row in rows for item in row) or "0"
    return items, ", ".join(map(str, accumulate(map(len, rows)))) or "0"


def _related_lines(model: RuleList | RuleEnsemble) -> list[str]:
    """From margins in `m` to labels; the relations between labels hold, whatever the margins are."""
    plan, width = relation_constants(model), len(model.label_names)
    above, above_ends = _flat(plan["ABOVE"])
    below, below_ends = _flat(plan["BELOW"])
    members, ends = _flat([group[0] for group in plan["GROUPS"]])
    exactly = ", ".join(str(group[1]) for group in plan["GROUPS"]) or "0"
    return [
        "/* The relations between labels hold, whatever the margins are. */",
        "static void related(const double *m, unsigned char *y) {",
        f"  static const int above[] = {{{above}}}, above_ends[] = {{{above_ends}}};",
        f"  static const int below[] = {{{below}}}, below_ends[] = {{{below_ends}}};",
        f"  static const int members[] = {{{members}}}, ends[] = {{{ends}}}, exactly[] = {{{exactly}}};",
        f"  double strength[{width}];",
        f"  unsigned char possible[{width}], forced[{width}];",
        f"  for (int k = 0, j = 0; k < {width}; ++k) {{",
        "    possible[k] = 1;",
        "    forced[k] = 0;",
        "    strength[k] = -INFINITY;",
        "    for (; j < below_ends[k]; ++j) if (m[below[j]] > strength[k]) strength[k] = m[below[j]];",
        "  }",
        f"  for (int g = 0, start = 0; g < {len(plan['GROUPS'])}; start = ends[g++]) {{",
        "    int winner = members[start];",
        "    double most = -INFINITY;",
        "    for (int i = start; i < ends[g]; ++i) {",
        "      const int k = members[i];",
        "      const double rank = !possible[k] ? -INFINITY : forced[k] ? INFINITY : strength[k];",
        "      if (rank > most) { most = rank; winner = k; }",
        "    }",
        "    for (int i = start; i < ends[g]; ++i) {",
        "      const int k = members[i];",
        "      if (k == winner) continue;",
        "      for (int j = k ? below_ends[k - 1] : 0; j < below_ends[k]; ++j) possible[below[j]] = 0;",
        "    }",
        "    if (exactly[g])",
        "      for (int j = winner ? above_ends[winner - 1] : 0; j < above_ends[winner]; ++j) forced[above[j]] = 1;",
        "  }",
        f"  for (int k = 0; k < {width}; ++k) y[k] = possible[k] && (forced[k] || strength[k] >= 0);",
        "}",
        "",
    ]


def _ensemble(model: RuleEnsemble, prefix: str) -> list[str]:
    width = len(model.label_names)
    lines = [
        f"void {prefix}_scores(const double *x, double *s) {{",
        "  (void)x;",
    ]
    lines += [f"  s[{label}] = {float(start)!r};" for label, start in enumerate(model.intercepts)]
    lines += _C.rules(model, "  ")
    related = relation_constants(model)
    lines += ["}", "", *(_related_lines(model) if related else [])]
    lines += [f"void {prefix}_predict(const double *x, unsigned char *y) {{", f"  double s[{max(1, width)}];"]
    lines.append(f"  {prefix}_scores(x, s);")
    lines.append(f"  static const double cuts[] = {{{', '.join(map(repr, constants(model)['CUTS'])) or '0'}}};")
    if related:
        worth = ", ".join(map(repr, constants(model)["WORTH"]))
        lines += [
            f"  static const double worth[] = {{{worth}}};",
            f"  for (int k = 0; k < {width}; ++k) s[k] = (s[k] - cuts[k]) * worth[k];",
            "  related(s, y);",
        ]
    elif model.decision.uses_sets:
        lines += _choice_lines(model)
    else:
        lines.append(f"  for (int k = 0; k < {width}; ++k) y[k] = s[k] >= cuts[k];")
    return [*lines, "}"]


def _name_tables(model: RuleList | RuleEnsemble, prefix: str) -> list[str]:
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


def _choice_lines(model: RuleEnsemble) -> list[str]:
    """Labels of all sets in one row, and where each set ends."""
    numbers = constants(model)
    sets, bonuses = numbers["SETS"], ", ".join(map(repr, numbers["BONUSES"]))
    flat = ", ".join(str(label) for labels in sets for label in labels) or "0"
    ends = ", ".join(map(str, accumulate(map(len, sets))))
    return [
        f"  static const int members[] = {{{flat}}};",
        f"  static const int ends[] = {{{ends}}};",
        f"  static const double bonuses[] = {{{bonuses}}};",
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
    """Turn the sets' totals in `merits` into their expected F1, and return the first of the best."""
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
