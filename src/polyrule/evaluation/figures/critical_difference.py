"""The critical-difference diagram: average ranks on a line, learners that cannot be told apart joined by a bar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.errors import PolyruleError
from polyrule.evaluation.figures.canvas import new_axes
from polyrule.evaluation.scores import measure_words
from polyrule.evaluation.statistics import LearnerComparison


@dataclass(frozen=True, eq=False)
class CriticalDifferenceDiagram:
    """Average ranks and Nemenyi's critical difference, drawn as Demšar (2006) does.

    Parameters
    ----------
    comparison : LearnerComparison
        What `compare_learners` gave.

    Examples
    --------
    >>> from polyrule.evaluation.statistics import compare_learners
    >>> comparison = compare_learners({"a": [3, 3, 3, 3, 3], "b": [2, 2, 2, 2, 2], "c": [1, 1, 1, 1, 1]}, "vwxyz")
    >>> list(CriticalDifferenceDiagram(comparison).frame()["learner"])
    ['a', 'b', 'c']
    """

    comparison: LearnerComparison

    def frame(self) -> Any:
        """Return a row per learner, best first: average rank, and the groups it belongs to."""
        comparison = self.comparison
        order = comparison.order
        groups = self._groups()
        names = [comparison.learners[index] for index in order]
        return make_frame(
            {
                "learner": names,
                "average_rank": [float(comparison.average_ranks[index]) for index in order],
                "groups": [", ".join(str(n) for n, group in enumerate(groups, 1) if name in group) for name in names],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the diagram; learners to the left of the line's middle are labelled on the left."""
        comparison = self.comparison
        order = comparison.order
        ranks = comparison.average_ranks[order]
        k = len(order)
        left = (k + 1) // 2
        groups = self._groups()
        depth = 1.2 + 0.35 * len(groups)
        ax = new_axes(ax, 8.0, 1.2 + 0.26 * (depth + left))
        ax.hlines(0, 1, k, color="#555555", linewidth=1)
        for rank in range(1, k + 1):
            ax.vlines(rank, 0, 0.2, color="#555555", linewidth=1)
            ax.text(rank, 0.3, str(rank), ha="center", va="bottom", color="#777777")
        margin = 0.06 * max(k - 1, 1)
        for position, (index, rank) in enumerate(zip(order, ranks, strict=True)):
            on_left = position < left
            level = -depth - (position if on_left else k - 1 - position)
            edge = 1 - margin if on_left else k + margin
            ax.plot([rank, rank, edge], [0, level, level], color="#777777", linewidth=0.9)
            words = (
                f"{comparison.learners[index]}  {rank:.2f}" if on_left else f"{rank:.2f}  {comparison.learners[index]}"
            )
            ax.text(
                edge + (-0.01 if on_left else 0.01) * k,
                level,
                words,
                ha="right" if on_left else "left",
                va="center",
                color="#777777",
            )
        self._draw_groups(ax, groups)
        ax.set_xlim(1 - 0.55 * k, k + 0.55 * k)
        ax.set_ylim(-depth - left + 0.2, 2.6)
        ax.set_axis_off()
        ax.set_title(self._title(), fontsize="medium", color="#777777")
        return ax

    def _draw_groups(self, ax: Any, groups: list[tuple[str, ...]]) -> None:
        rank_of = dict(zip(self.comparison.learners, self.comparison.average_ranks, strict=True))
        for number, group in enumerate(groups):
            low, high = rank_of[group[0]], rank_of[group[-1]]
            ax.hlines(-0.5 - 0.35 * number, low - 0.05, high + 0.05, color="#c2571a", linewidth=4)
        try:
            reach = self.comparison.critical_difference
        except PolyruleError:
            return
        ax.hlines(1.5, 1, 1 + reach, color="#c2571a", linewidth=2)
        ax.text(1 + reach / 2, 1.6, f"critical difference {reach:.2f}", ha="center", va="bottom", color="#c2571a")

    def _groups(self) -> list[tuple[str, ...]]:
        try:
            return self.comparison.groups()
        except PolyruleError:
            return []  # too few data sets: ranks are shown, nothing is claimed

    def _title(self) -> str:
        comparison = self.comparison
        name = measure_words(comparison.measure)
        try:
            p_value = comparison.friedman().p_value
        except PolyruleError as reason:
            return (
                f"{name}: average ranks, {len(comparison.data_sets)} data sets (no test: {str(reason).split(':')[0]})"
            )
        return f"{name}: average ranks over {len(comparison.data_sets)} data sets, Friedman p = {p_value:.3g}"
