"""Colours and shapes that the plots share with the page; every series also has a shape or dash of its own."""

from __future__ import annotations

from typing import Any

ACCENT, RIGHT, WRONG, SOFT, FAINT = "#3a4fc4", "#12877b", "#b8431a", "#6b6c65", "#c9c9c1"
COLOURS = (ACCENT, WRONG, RIGHT, "#7a4bb3", "#8a6d00", "#555555")
DASHES = ("-", "--", ":", "-.")


def quiet(ax: Any) -> None:
    """Leave only the two axes that are read, and a faint grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(color=FAINT, linewidth=0.5, alpha=0.6)
    ax.set_axisbelow(True)
