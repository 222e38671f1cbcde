"""The paper's figure of training times: heads of one label against heads of several, same measure and data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.evaluation.figures.canvas import new_axes

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_COLOURS = ("#2a6fbb", "#c2571a", "#3c8a3f", "#8a4fbf", "#b03060", "#7a6a00", "#007c80", "#555555")


@dataclass(frozen=True)
class TimePair:
    """Training times on one data set with one measure, in CPU seconds."""

    data: str
    measure: str
    labels: int
    single: float
    multi: float

    @property
    def single_times_labels(self) -> float:
        """Time to learn single-label heads if each label cost as much as all together."""
        return self.single * self.labels


@dataclass(frozen=True)
class TrainingTimes:
    """Time for single-label heads against time for multi-label heads.

    Parameters
    ----------
    pairs : tuple of TimePair

    Examples
    --------
    >>> flags = {"data": "flags", "measure": "f0.5", "labels": 7, "status": "ok"}
    >>> times = TrainingTimes.from_rows(
    ...     {**flags, "family": family, "fit_cpu_seconds": time} for family, time in (("single", 0.2), ("multi", 0.1))
    ... )
    >>> times.pairs[0].single_times_labels
    1.4000000000000001
    """

    pairs: tuple[TimePair, ...]

    @classmethod
    def from_rows(
        cls, rows: Iterable[Mapping[str, Any]], single: str = "single", multi: str = "multi"
    ) -> TrainingTimes:
        """Pair the rows of the families `single` and `multi` that share data set, split and measure."""
        times: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
        for row in rows:
            if row.get("status") == "ok" and row["family"] in (single, multi):
                key = (row["data"], row.get("split", ""), row["measure"])
                times.setdefault(key, {})[row["family"]] = row
        pairs = [
            TimePair(
                data,
                measure,
                int(both[single]["labels"]),
                float(both[single]["fit_cpu_seconds"]),
                float(both[multi]["fit_cpu_seconds"]),
            )
            for (data, _, measure), both in times.items()
            if len(both) == 2
        ]
        return cls(tuple(pairs))

    def frame(self) -> Any:
        """Return a row per data set and measure."""
        pairs = self.pairs
        return make_frame(
            {
                "data": [pair.data for pair in pairs],
                "measure": [pair.measure for pair in pairs],
                "labels": [pair.labels for pair in pairs],
                "single_seconds": [pair.single for pair in pairs],
                "multi_seconds": [pair.multi for pair in pairs],
                "single_seconds_times_labels": [pair.single_times_labels for pair in pairs],
                "multi_to_single": [pair.multi / pair.single if pair.single else None for pair in pairs],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw single against multi on logarithmic axes; empty forms are single × number of labels, as in the paper."""
        ax = new_axes(ax, 6.4, 6.0)
        measures = list(dict.fromkeys(pair.measure for pair in self.pairs))
        for number, measure in enumerate(measures):
            pairs = [pair for pair in self.pairs if pair.measure == measure]
            style: dict[str, Any] = {"marker": _MARKERS[number % len(_MARKERS)], "s": 42}
            colour = _COLOURS[number % len(_COLOURS)]
            multi = [pair.multi for pair in pairs]
            ax.scatter([pair.single for pair in pairs], multi, color=colour, label=measure, **style)
            ax.scatter(
                [pair.single_times_labels for pair in pairs], multi, facecolors="none", edgecolors=colour, **style
            )
            for pair in pairs:
                ax.annotate(pair.data, (pair.single, pair.multi), xytext=(4, 4), textcoords="offset points", fontsize=6)
        if self.pairs:
            values = [value for pair in self.pairs for value in (pair.single, pair.multi, pair.single_times_labels)]
            ends = [max(min(values), 1e-6) / 2, max(values) * 2]
            ax.plot(ends, ends, color="#999999", linewidth=1, zorder=0)
            highest = max(pair.multi for pair in self.pairs) * 3
            ax.set(xscale="log", yscale="log", xlim=ends, ylim=(ends[0], highest))
            ax.legend(title="measure (empty: single × labels)", fontsize="small", title_fontsize="small")
        ax.set_xlabel("single-label heads, CPU seconds for training")
        ax.set_ylabel("multi-label heads, CPU seconds for training")
        return ax
