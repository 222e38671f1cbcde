"""``polyrule measure head``: the best head for labels, with the tree of the search, as in the paper's first figure."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.command import command, json_option, output_option
from polyrule.cli.output import print_json, write_text
from polyrule.errors import DataError, OptionError

if TYPE_CHECKING:
    from polyrule.heads import HeadResult, TreeNode


_SEARCHES = ["auto", "exhaustive", "antimonotone", "antimonotone-tree", "decomposable", "ratio", "subset", "bound"]


@command("head")
@click.argument("covered", metavar="LABELS")
@click.option("--uncovered", metavar="LABELS", default="", help="Examples that the rule does not cover.")
@click.option("--names", metavar="A,B,...", help="Names of the labels [1, 2, ...].")
@click.option("--measure", default="precision", show_default=True, help="What a head is judged by.")
@click.option(
    "--averaging", type=click.Choice(["micro", "label", "example", "macro"]), default="micro", show_default=True
)
@click.option("--scope", type=click.Choice(["head", "all", "full"]), default="head", show_default=True)
@click.option("--search", type=click.Choice(_SEARCHES), default="auto", show_default=True, help="How to search.")
@click.option("--lift", metavar="SPEC", help="Preference for larger heads, such as kln:0.16.")
@click.option("--max-head-size", type=click.IntRange(min=1), metavar="K", help="Most labels in a head.")
@click.option("--negative/--no-negative", default=False, show_default=True, help="Also predict absent labels.")
@click.option(
    "--min-tp", type=click.IntRange(min=0), default=1, show_default=True, help="0: also labels never present."
)
@click.option("--format", "format_", type=click.Choice(["text", "svg"]), help="Form of the tree [by the ending of -o].")
@output_option("Write the tree to a file.")
@json_option
def head(
    covered: str,
    uncovered: str,
    names: str | None,
    measure: str,
    averaging: str,
    scope: str,
    search: str,
    lift: str | None,
    max_head_size: int | None,
    negative: bool,
    min_tp: int,
    format_: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    r"""Find the best head for examples with these labels, and show what the search looked at.

    LABELS are label vectors such as "0110 1100 1000", or @FILE with one per line. Heads are shown with their exact
    value; a head marked "pruned" is where the search did not go on.

    \b
    Examples:
      polyrule measure head "0110 1100 1000" --search antimonotone-tree --min-tp 0
      polyrule measure head "0110 1100 1000" --names red,blue,white,green -o tree.svg
      polyrule measure head @labels.txt --measure f1 --averaging example --negative --json
    """
    from polyrule.heads.problem import HeadProblem
    from polyrule.heads.search import search as find
    from polyrule.measures import Objective

    inside, outside = _vectors(covered), _vectors(uncovered) if uncovered else []
    problem = HeadProblem.make(
        _matrix([*inside, *outside]), [True] * len(inside) + [False] * len(outside), negative=negative
    )
    objective = Objective(measure, averaging, scope, lift, "auto", max_head_size, negative)  # type: ignore[arg-type]
    called = _names(names, problem.n_labels)
    result = find(problem, objective, search, trace=True, min_tp=min_tp)
    if result is None:
        raise DataError("there is no head: no label is ever predicted rightly on the covered examples")
    if as_json:
        print_json(_record(result, called))
        if output is None or str(output) == "-":
            return
    if (format_ or ("svg" if output and output.suffix == ".svg" else "text")) == "svg":
        assert result.trace is not None
        write_text(draw(result.trace, called, f"{objective}: best {_summary(result, called)}"), output)
        return
    write_text(f"{objective}\n{text_tree(result, called)}\n", output)


def _vectors(text: str) -> list[str]:
    """Label vectors from the command line, or from a file with one per line, digits separated or not."""
    if not text.startswith("@"):
        return text.replace(",", " ").split()
    path = Path(text[1:])
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a text file") from error
    return [re.sub(r"[\s,;]", "", line) for line in lines if line.strip()]


def _matrix(vectors: list[str]) -> list[list[int]]:
    if not vectors or not vectors[0]:
        raise DataError("there are no label vectors; write them as in '0110 1100 1000'")
    for number, vector in enumerate(vectors, start=1):
        if set(vector) - {"0", "1"}:
            raise DataError(f"label vector {number} ({vector!r}) holds something else than 0 and 1")
        if len(vector) != len(vectors[0]):
            raise DataError(f"label vector {number} ({vector!r}) has {len(vector)} labels, the first {len(vectors[0])}")
    return [[int(digit) for digit in vector] for vector in vectors]


def _names(text: str | None, width: int) -> list[str]:
    if text is None:
        return [str(number) for number in range(1, width + 1)]
    names = [name.strip() for name in text.split(",")]
    if len(names) != width:
        raise OptionError(f"--names gives {len(names)} names for {width} labels")
    return names


def head_text(head_: Any, names: list[str]) -> str:
    """Write a head as a set of labels."""
    return "{" + ", ".join(("" if value else "¬") + names[label] for label, value in head_) + "}"


def _summary(result: HeadResult, names: list[str]) -> str:
    tp, fp = result.tp, sum(fp for _, fp in result.counts)
    return f"{head_text(result.head, names)} = {result.value} (TP {tp}, FP {fp})"


def text_tree(result: HeadResult, names: list[str]) -> str:
    """Draw the tree with lines, one head per line, and sum up below."""
    assert result.trace is not None
    lines = ["{}"]

    def walk(node: TreeNode, indent: str) -> None:
        for number, child in enumerate(node.children):
            last = number == len(node.children) - 1
            value = "not evaluated" if child.value is None else str(child.value)
            mark = {"best": "  best", "pruned": "  pruned"}.get(child.status, "")
            lines.append(f"{indent}{'└─ ' if last else '├─ '}{head_text(child.head, names)}  {value}{mark}")
            walk(child, indent + ("   " if last else "│  "))

    walk(result.trace, "")
    lines.append(f"best: {_summary(result, names)}")
    lines.append(f"{result.evaluated} heads evaluated, {result.pruned} not looked at; search: {result.strategy}")
    return "\n".join(lines)


def _record(result: HeadResult, names: list[str]) -> dict[str, Any]:
    def node(part: TreeNode) -> dict[str, Any]:
        return {
            "head": _literals(part.head, names),
            "value": None if part.value is None else str(part.value),
            "status": part.status,
            "children": [node(child) for child in part.children],
        }

    return {
        "head": _literals(result.head, names),
        "value": str(result.value),
        "counts": [{"tp": tp, "fp": fp} for tp, fp in result.counts],
        "evaluated": result.evaluated,
        "not_evaluated": result.pruned,
        "search": result.strategy,
        "tree": None if result.trace is None else node(result.trace),
    }


def _literals(head_: Any, names: list[str]) -> list[dict[str, Any]]:
    return [{"label": names[label], "value": int(value)} for label, value in head_]


_LETTER, _GAP, _ROW, _BOX = 7.5, 14.0, 84.0, 40.0
_STYLE = (
    "text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#1a1a1a}.v{fill:#444}line{stroke:#888}"
    "rect{fill:#fff;stroke:#555}.best rect{stroke:#0b5;stroke-width:3;fill:#eafaf0}"
    ".pruned rect{stroke-dasharray:4 3;fill:#f3f3f3;stroke:#999}.pruned text{fill:#777}"
)


def draw(root: TreeNode, names: list[str], title: str) -> str:
    """Return an SVG drawing: a row per head size, best head framed, pruned heads dashed and grey."""
    places: dict[int, tuple[float, int]] = {}
    shapes: list[str] = []
    edge = _place(root, names, 0, _GAP, places)
    deepest = max(depth for _, depth in places.values())
    _draw(root, names, places, shapes)
    width, height = max(edge, 240.0), (deepest + 1) * _ROW + 36
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" role="img" aria-label="{escape(title, quote=True)}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n" + "\n".join(shapes) + "\n</svg>\n"
    )


def _value(node: TreeNode) -> str:
    return "" if not node.head else "not evaluated" if node.value is None else str(node.value)


def _width(node: TreeNode, names: list[str]) -> float:
    return max(len(head_text(node.head, names)), len(_value(node)), 3) * _LETTER + 12


def _place(node: TreeNode, names: list[str], depth: int, left: float, places: dict[int, tuple[float, int]]) -> float:
    """Set the centre of each node; return the right edge. Children are side by side, the parent above their middle."""
    width = _width(node, names)
    edge = left
    for child in node.children:
        edge = _place(child, names, depth + 1, edge, places)
    if node.children:
        centre = (places[id(node.children[0])][0] + places[id(node.children[-1])][0]) / 2
    else:
        centre = left + width / 2
    places[id(node)] = (max(centre, left + width / 2), depth)
    return max(edge, left + width + _GAP)


def _draw(node: TreeNode, names: list[str], places: dict[int, tuple[float, int]], shapes: list[str]) -> None:
    x, depth = places[id(node)]
    y = depth * _ROW + 10
    for child in node.children:
        below, _ = places[id(child)]
        shapes.append(f'<line x1="{x:.1f}" y1="{y + _BOX:.1f}" x2="{below:.1f}" y2="{y + _ROW:.1f}"/>')
        _draw(child, names, places, shapes)
    width = _width(node, names)
    kind = node.status if node.status in ("best", "pruned") else "seen"
    head, value = escape(head_text(node.head, names)), _value(node)
    shapes.append(
        f'<g class="{kind}"><title>{head} {value} {"" if kind == "seen" else kind}</title>'
        f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BOX:.0f}" rx="5"/>'
        f'<text x="{x:.1f}" y="{y + (17 if value else 25):.1f}">{head}</text>'
        f'<text class="v" x="{x:.1f}" y="{y + 33:.1f}">{value}</text></g>'
    )
