"""The label-dependency graph of a model, drawn where the page draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.errors import OptionError
from polyrule.evaluation.figures.canvas import ACCENT, RIGHT, SOFT, WRONG, new_axes
from polyrule.report.inputs import read_inputs
from polyrule.report.label_graph import MOST_EDGES, Edge, label_edges, layout
from polyrule.report.model_summary import signed_rules
from polyrule.utils.arrays import Floats

# Names stay readable where edges pass behind them.
_PLATE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8}


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """Labels predicted together (lines) and labels that imply others (arrows).

    Solid lines hold whatever the features are; dashed ones depend on features.

    Parameters
    ----------
    names : tuple of str
        The labels.
    edges : tuple of Edge
        Which label goes with which, and how.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule, RuleList
    >>> model = RuleList((Rule((Literal(0, 1), Literal(1, 0))),), (), ("red", "orange"))
    >>> LabelGraph.of(model).frame().to_dict("records")[0]["kind"]
    'together'
    """

    names: tuple[str, ...]
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, model: Any) -> LabelGraph:
        """Read the dependencies from a model, given as in `polyrule.report.build`."""
        inputs = read_inputs(model)
        if len(inputs.models) != 1:
            raise OptionError("this plot is about one model")
        return cls(inputs.label_names, tuple(label_edges(signed_rules(inputs.models[0]))))

    def frame(self) -> Any:
        """Return a row per dependency, the ones that most rules state first."""
        return make_frame(
            {
                "kind": [edge.kind for edge in self.edges],
                "source": [self.names[edge.source] for edge in self.edges],
                "source_value": [edge.values[0] for edge in self.edges],
                "target": [self.names[edge.target] for edge in self.edges],
                "target_value": [edge.values[1] for edge in self.edges],
                "conditional": [edge.conditional for edge in self.edges],
                "rules": [[number + 1 for number in edge.rules] for edge in self.edges],
            }
        )

    def places(self) -> Floats:
        """Return the position of each label in the unit square."""
        return layout(len(self.names), ((edge.source, edge.target) for edge in self.edges[:MOST_EDGES]))

    def plot(self, ax: Any = None, absent: bool = False) -> Any:
        """Draw the graph and return the axes; `absent` also draws dependencies between two absent labels."""
        ax = new_axes(ax, 8.0, 5.5)
        places = self.places()
        edges = [edge for edge in self.edges[:MOST_EDGES] if absent or any(edge.values)]
        for edge in edges:
            self._draw(ax, edge, places)
        ax.scatter(places[:, 0], places[:, 1], s=90, color=ACCENT, zorder=3)
        for name, (x, y) in zip(self.names, places, strict=True):
            ax.annotate(
                name, (x, y), xytext=(0, 9), textcoords="offset points", ha="center", fontsize=9, zorder=4, bbox=_PLATE
            )
        ax.set_xlim(-0.15, 1.15)
        ax.set_ylim(1.12, -0.12)  # downwards, as on the page
        ax.set_axis_off()
        return ax

    def _draw(self, ax: Any, edge: Edge, places: Floats) -> None:
        present, same = edge.values[0], edge.values[0] == edge.values[1]
        ax.annotate(
            "",
            xy=places[edge.target],
            xytext=places[edge.source],
            arrowprops={
                "arrowstyle": "-|>" if edge.kind == "implies" else "-",
                "color": (RIGHT if present else SOFT) if same else WRONG,
                "linestyle": "--" if edge.conditional else "-",
                "linewidth": min(4.0, 0.8 + 0.5 * len(edge.rules) ** 0.5),
                "shrinkA": 9,
                "shrinkB": 9,
                "connectionstyle": f"arc3,rad={0.12 if same else -0.12}",
            },
        )
