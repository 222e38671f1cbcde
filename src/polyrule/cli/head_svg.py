"""The tree of a head search as a picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from polyrule.cli.head import head_text

if TYPE_CHECKING:
    from polyrule.heads import Node

_LETTER, _GAP, _ROW, _BOX = 7.5, 14.0, 84.0, 40.0
_STYLE = (
    "text{font:13px system-ui,sans-serif;text-anchor:middle;fill:#1a1a1a}.v{fill:#444}line{stroke:#888}"
    "rect{fill:#fff;stroke:#555}.best rect{stroke:#0b5;stroke-width:3;fill:#eafaf0}"
    ".pruned rect{stroke-dasharray:4 3;fill:#f3f3f3;stroke:#999}.pruned text{fill:#777}"
)


def draw(root: Node, names: list[str], title: str) -> str:
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


def _value(node: Node) -> str:
    return "" if not node.head else "not evaluated" if node.value is None else str(node.value)


def _width(node: Node, names: list[str]) -> float:
    return max(len(head_text(node.head, names)), len(_value(node)), 3) * _LETTER + 12


def _place(node: Node, names: list[str], depth: int, left: float, places: dict[int, tuple[float, int]]) -> float:
    """Give every node its centre; children side by side, the parent above their middle. Returns the right edge."""
    own = _width(node, names)
    edge = left
    for child in node.children:
        edge = _place(child, names, depth + 1, edge, places)
    if node.children:
        centre = (places[id(node.children[0])][0] + places[id(node.children[-1])][0]) / 2
    else:
        centre = left + own / 2
    places[id(node)] = (max(centre, left + own / 2), depth)
    return max(edge, left + own + _GAP)


def _draw(node: Node, names: list[str], places: dict[int, tuple[float, int]], shapes: list[str]) -> None:
    x, depth = places[id(node)]
    y = depth * _ROW + 10
    for child in node.children:
        below, _ = places[id(child)]
        shapes.append(f'<line x1="{x:.1f}" y1="{y + _BOX:.1f}" x2="{below:.1f}" y2="{y + _ROW:.1f}"/>')
        _draw(child, names, places, shapes)
    own = _width(node, names)
    kind = node.status if node.status in ("best", "pruned") else "seen"
    head, value = escape(head_text(node.head, names)), _value(node)
    shapes.append(
        f'<g class="{kind}"><title>{head} {value} {"" if kind == "seen" else kind}</title>'
        f'<rect x="{x - own / 2:.1f}" y="{y:.1f}" width="{own:.1f}" height="{_BOX:.0f}" rx="5"/>'
        f'<text x="{x:.1f}" y="{y + (17 if value else 25):.1f}">{head}</text>'
        f'<text class="v" x="{x:.1f}" y="{y + 33:.1f}">{value}</text></g>'
    )
