"""The one place that imports matplotlib, only when something is drawn, and the colours of plots and page."""

from __future__ import annotations

import io
import sys
from typing import Any, Protocol

from polyrule.data.results import MissingExtraError

# every series also has a shape or dash that no other has
ACCENT, RIGHT, WRONG, SOFT, FAINT = "#3a4fc4", "#12877b", "#b8431a", "#6b6c65", "#c9c9c1"
COLOURS = (ACCENT, WRONG, RIGHT, "#7a4bb3", "#8a6d00", "#555555")
DASHES = ("-", "--", ":", "-.")


class Figure(Protocol):
    """Base of the figures of an evaluation."""

    def frame(self) -> Any:
        """Return the numbers behind the figure."""

    def plot(self, ax: Any = None) -> Any:
        """Draw it and return the axes."""


def new_axes(ax: Any, width: float, height: float) -> Any:
    """Return `ax`, or axes of a new figure of the given size in inches; a notebook shows that figure under the cell."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingExtraError("drawing a figure needs matplotlib: install polyrule[plot]") from None
    if "ipykernel" in sys.modules:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    # elsewhere not pyplot: it keeps every figure alive and picks a window system
    return Canvas(figsize=(width, height), layout="constrained").add_subplot()


def quiet(ax: Any) -> None:
    """Leave only the two axes that are read, and a faint grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(color=FAINT, linewidth=0.5, alpha=0.6)
    ax.set_axisbelow(True)


def svg_text(figure: Figure) -> str:
    """Draw a figure as SVG with text as text; the same numbers give the same bytes."""
    axes = figure.plot()
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "polyrule"}):
        axes.figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(axes.figure)  # the text is the result, not a picture in a notebook
    text = buffer.getvalue()
    return text[text.index("<svg") :]
