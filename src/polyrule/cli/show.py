"""``polyrule show``: the rules of a model as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import check_known, load_model, model_argument
from polyrule.cli.command import command, json_option, output_option
from polyrule.cli.output import check_place, fit, print_json, write_text
from polyrule.utils.names import safe_cell, visible


@command("show")
@model_argument
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "markdown", "latex", "csv"]),
    default="text",
    show_default=True,
    help="How to print the rules.",
)
@click.option("--label", "labels", multiple=True, metavar="NAME", help="Only rules that predict or test this label.")
@click.option("--feature", "features", multiple=True, metavar="NAME", help="Only rules that test this feature.")
@click.option("--min-coverage", type=float, metavar="N", help="Only rules that covered at least N training examples.")
@click.option(
    "--digits",
    type=click.IntRange(min=1),
    metavar="N",
    help="Round thresholds to N digits where this covers the same training examples [exact].",
)
@click.option("--safe-csv", is_flag=True, help="With --format csv: keep spreadsheets from running cells as formulas.")
@click.option("--stats", is_flag=True, help="Print the size of the model and how it was made, not the rules.")
@output_option("Write to a file.")
@json_option
def show(
    model: Path,
    format_: str,
    labels: tuple[str, ...],
    features: tuple[str, ...],
    min_coverage: float | None,
    digits: int | None,
    safe_csv: bool,
    stats: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    r"""Print the rules of MODEL.

    A rule reads "labels <- conditions"; ¬ marks a label that is predicted, or must be, absent. TP and FP count the
    training examples on which the rule set its labels rightly and wrongly. The first rule to set a label wins.

    \b
    Examples:
      polyrule show model.json
      polyrule show model.json --label happy --min-coverage 20
      polyrule show model.json --format latex -o rules.tex
    """
    check_place(output, model)
    stored = load_model(model)
    check_known("--label", labels, stored.label_names, "label")
    check_known("--feature", features, [feature.name for feature in stored.features], "feature")
    numbers = [n for n in range(len(stored)) if _is_shown(stored, n, labels, features, min_coverage)]
    if as_json:
        rules = {} if stats else {"rules": [row for n, row in enumerate(stored.records()) if n in numbers]}
        print_json({"info": stored.info, "statistics": stored.statistics(), **rules}, output)
        return
    if stats:
        write_text(_stats(stored), output)
        return
    if format_ != "text":
        rows = [row for n, row in enumerate(stored.records(digits)) if n in numbers]
        if safe_csv:
            rows = [{key: safe_cell(value) for key, value in row.items()} for row in rows]
        text = {"markdown": _markdown, "latex": _latex, "csv": _csv}[format_](rows)
    elif labels or features or min_coverage is not None:
        lines = [f"{n + 1}. {stored.format_rule(n, digits=digits)}" for n in numbers]
        text = "\n".join(lines) or "(no such rules)"
    else:
        text = stored.format(digits=digits)
    write_text((fit(text) if output is None else text) + "\n", output)


def _is_shown(
    model: Any, number: int, labels: tuple[str, ...], features: tuple[str, ...], min_weight: float | None
) -> bool:
    from polyrule.conditions import label_conditions
    from polyrule.model.columns import used_features

    rule = model.rules[number]
    if labels:
        named = {model.label_names[literal.label] for literal in rule.head}
        named |= {model.label_names[condition.label] for condition in label_conditions(rule.body)}
        if not named & set(labels):
            return False
    if features:
        tested = {model.features[feature].name for feature in used_features([rule])}
        if not tested & set(features):
            return False
    return min_weight is None or (rule.coverage or 0) >= min_weight


def _stats(model: Any) -> str:
    lines = []
    for name, value in model.statistics().items():
        number = f"{value:.2f}" if isinstance(value, float) and not value.is_integer() else f"{value:g}"
        lines.append(f"{name.replace('_', ' '):<30} {number}\n")
    for name, value in model.info.items():
        lines.append(f"{visible(name).replace('_', ' '):<30} {visible(_plainly(value))}\n")
    return "".join(lines)


def _plainly(value: Any) -> str:
    """Return a stored value without the quotes and brackets of a program."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_plainly(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_plainly, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return str(value)


def _marks(row: dict[str, Any]) -> str:
    origin = row.get("origin", "learned")
    return ", ".join(["stop"] * bool(row.get("stop")) + [origin] * (origin != "learned"))


def _counts(row: dict[str, Any]) -> dict[str, str]:
    """Return the counts of a rule: TP and FP, or the coverage of a weighted one."""
    from polyrule.model.printing import format_count, format_coverage, format_share

    if "tp" not in row:
        return {"covers": "" if row["coverage"] is None else format_coverage(row["coverage"])}
    expected = "" if row["expected"] is None else f"{format_share(row['expected'])} right"
    return {"TP": format_count(row["tp"]), "FP": format_count(row["fp"]), "expect": expected}


def _markdown(rows: list[dict[str, Any]]) -> str:
    counts = list(_counts(rows[0])) if rows else ["TP", "FP", "expect"]
    lines = [
        f"| | labels | conditions | {' | '.join(counts)} | |",
        f"| --: | --- | --- |{' --: |' * len(counts)} --- |",
    ]
    for row in rows:
        cells = [str(row["rule"]), row["head"], row["body"], *_counts(row).values(), _marks(row)]
        lines.append("| " + " | ".join(_escape_markdown(cell) for cell in cells) + " |")
    return "\n".join(lines)


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\|`*_{}[]<>#~$" else c for c in text)


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "¬": r"$\lnot$", '"': r"\textquotedbl{}",
}  # fmt: skip


def _latex(rows: list[dict[str, Any]]) -> str:
    counts = list(_counts(rows[0])) if rows else ["TP", "FP", "expect"]
    lines = [r"\begin{tabular}{rp{0.25\linewidth}p{0.5\linewidth}" + "r" * len(counts) + "}", r"\hline"]
    lines += [" & ".join(["", "labels", "conditions", *counts]) + r" \\", r"\hline"]
    for row in rows:
        head, body = (_escape_latex(row[part]) for part in ("head", "body"))
        marks = f" ({_marks(row)})" if _marks(row) else ""
        cells = [str(row["rule"]), head, rf"$\leftarrow$ {body}{marks}", *_counts(row).values()]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text.replace("<=", "\x00")).replace("\x00", r"$\le$")


def _csv(rows: list[dict[str, Any]]) -> str:
    from polyrule.data.results import csv_text

    fields = "rule head body labels conditions tp fp expected value coverage stop origin"
    return csv_text(rows, fields.split()).rstrip("\n")
