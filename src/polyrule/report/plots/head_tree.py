"""The tree of a head search, as in the paper's Fig. 1: every head with its value, and where the search was cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.errors import OptionError
from polyrule.evaluation.figures.canvas import ACCENT, SOFT, WRONG, new_axes
from polyrule.heads import HeadResult, TreeNode


@dataclass(frozen=True, eq=False)
class HeadTree:
    """Heads that a search evaluated, level by level.

    Parameters
    ----------
    result : HeadResult
        Result of a search with ``trace=True``.
    names : tuple of str
        Names of the labels.

    Examples
    --------
    >>> from polyrule.heads import HeadProblem, search
    >>> from polyrule.measures import Objective
    >>> result = search(HeadProblem.from_text(covered="0110 1100 1000"), Objective("precision"), "exhaustive", True, 0)
    >>> tree = HeadTree(result, ("1", "2", "3", "4"))
    >>> tree.frame().query("status == 'best'")[["head", "value"]].values.tolist()
    [['1, 2', '2/3']]
    """

    result: HeadResult
    names: Sequence[str]

    def __post_init__(self) -> None:
        if self.result.trace is None:
            raise OptionError("the search kept no trace; search with trace=True")

    def nodes(self) -> Iterator[tuple[int, int, TreeNode]]:
        """Return depth, parent's position in this order (-1 for the root) and node, parents before children."""
        queue: list[tuple[int, int, TreeNode]] = [(0, -1, self._root())]
        position = 0
        while position < len(queue):
            depth, _, node = queue[position]
            yield queue[position]
            queue += [(depth + 1, position, child) for child in node.children]
            position += 1

    def frame(self) -> Any:
        """Return a row per head that was evaluated or cut off, by size."""
        nodes = [node for depth, _, node in self.nodes() if depth]
        return make_frame(
            {
                "head": [self._text(node) for node in nodes],
                "size": [len(node.head) for node in nodes],
                "value": [None if node.value is None else str(node.value) for node in nodes],
                "status": [node.status for node in nodes],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree from the top; the best head is filled, cut-off heads are dashed. Return the axes."""
        nodes = list(self.nodes())
        across = self._across(nodes)
        deepest = max(depth for depth, *_ in nodes)
        ax = new_axes(ax, max(5.0, 0.85 * (max(across) + 1)), 1.1 + 0.9 * (deepest + 1))
        for at, (depth, parent, node) in enumerate(nodes):
            if parent >= 0:
                ax.plot([across[parent], across[at]], [1 - depth, -depth], color=SOFT, linewidth=0.8, zorder=1)
            self._draw(ax, node, across[at], -depth)
        ax.set_xlim(min(across) - 0.8, max(across) + 0.8)
        ax.set_ylim(-deepest - 0.5, 0.5)
        ax.set_axis_off()
        evaluated, pruned = self.result.evaluated, self.result.pruned
        ax.set_title(f"{self.result.strategy}: {evaluated} heads evaluated, {pruned} not looked at", fontsize=10)
        return ax

    def _draw(self, ax: Any, node: TreeNode, x: float, y: float) -> None:
        value = "" if node.value is None or not node.head else f"\n{node.value}"
        edge = {"best": ACCENT, "pruned": WRONG}.get(node.status, SOFT)
        box = {
            "boxstyle": "round,pad=0.35",
            "facecolor": "#e9ecfb" if node.status == "best" else "white",
            "edgecolor": edge,
            "linestyle": "--" if node.status == "pruned" else "-",
            "linewidth": 2 if node.status == "best" else 1,
        }
        ax.text(x, y, (self._text(node) or "∅") + value, ha="center", va="center", fontsize=9, bbox=box, zorder=2)

    def _across(self, nodes: list[tuple[int, int, TreeNode]]) -> list[float]:
        """Leaves side by side in reading order, parents above the middle of their children."""
        children: dict[int, list[int]] = {}
        for at, (_, parent, _) in enumerate(nodes):
            children.setdefault(parent, []).append(at)
        across = [0.0] * len(nodes)
        leaves = 0

        def place(at: int) -> float:
            nonlocal leaves
            below = [place(child) for child in children.get(at, [])]
            if not below:
                leaves += 1
            across[at] = sum(below) / len(below) if below else float(leaves - 1)
            return across[at]

        place(0)
        return across

    def _text(self, node: TreeNode) -> str:
        return ", ".join(("" if value else "¬") + str(self.names[label]) for label, value in node.head)

    def _root(self) -> TreeNode:
        assert self.result.trace is not None
        return self.result.trace
