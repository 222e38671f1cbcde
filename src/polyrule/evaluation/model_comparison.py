"""Several models on the same examples: scores side by side, intervals of differences, rows that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.data.labels import UNKNOWN
from polyrule.data.results import make_frame, text_table
from polyrule.errors import OptionError
from polyrule.evaluation.confusion import encoded_labels
from polyrule.evaluation.resampling import ResampledScores, resample_scores
from polyrule.evaluation.scores import LOWER_IS_BETTER, MEASURES, Scores, measure_words, score
from polyrule.utils.arrays import Bytes

_SHOWN = ("micro_f1", "macro_f1", "example_f1", "hamming_accuracy", "subset_accuracy")


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Models scored on the same examples; the first one is what others are compared with.

    Attributes
    ----------
    names : tuple of str
        Names of the models.
    scores : tuple of Scores
        Scores of each model.
    predictions : tuple of ndarray
        What each model predicts, shape (examples, labels).
    truth : ndarray of uint8
        0, 1, or 2 if a label is unknown.
    resampled : ResampledScores
        Scores of all models on the same bootstrap resamples of the examples.

    Examples
    --------
    >>> truth = np.array([[1, 0], [0, 1]] * 20)
    >>> found = compare_models({"old": 1 - truth, "new": truth}, None, truth, resamples=50)
    >>> found.difference("micro_f1", "new")
    (1.0, 1.0, 1.0)
    """

    names: tuple[str, ...]
    scores: tuple[Scores, ...]
    predictions: tuple[Bytes, ...]
    truth: Bytes
    resampled: ResampledScores

    def difference(self, measure: str, name: str) -> tuple[float, float, float]:
        """Return the difference of a model's score to the first one's, with its 95 % interval (low, high).

        The interval is that of pairs: both models are scored on the same resamples.
        """
        at = self._place(name)
        if measure not in MEASURES:
            raise OptionError(f"unknown measure {measure!r}: choose one of {', '.join(MEASURES)}")
        values = self.resampled.values[measure]
        low, high = np.quantile(values[at] - values[0], [0.025, 0.975])
        return self.scores[at][measure] - self.scores[0][measure], float(low), float(high)

    def differing(self, name: str) -> list[tuple[int, list[tuple[str, int, int, int | None]]]]:
        """Return the rows (from 0) that a model decides otherwise than the first one.

        Each comes with its labels: (name, what the first says, what the other says, the truth or None).
        """
        first, other = self.predictions[0], self.predictions[self._place(name)]
        labels = self.scores[0].label_names
        rows = []
        for row in np.flatnonzero((first != other).any(axis=1)).tolist():
            cells = []
            for k in np.flatnonzero(first[row] != other[row]).tolist():
                truth = int(self.truth[row, k])
                cells.append((labels[k], int(first[row, k]), int(other[row, k]), None if truth == UNKNOWN else truth))
            rows.append((row, cells))
        return rows

    def changes(self, name: str) -> dict[str, int]:
        """Count rows that differ, labels that the other model sets right, and those that it spoils."""
        cells = [cell for _, row in self.differing(name) for cell in row]
        right = sum(other == truth for _, _, other, truth in cells if truth is not None)
        n_known = sum(truth is not None for _, _, _, truth in cells)
        return {"rows": len(self.differing(name)), "set right": right, "spoilt": n_known - right}

    def frame(self) -> Any:
        """Return a data frame with one row per measure and model after the first."""
        return make_frame(self._columns(MEASURES))

    def as_dict(self) -> dict[str, Any]:
        """Return everything but predictions as plain values."""
        return {
            "models": {name: scores.as_dict() for name, scores in zip(self.names, self.scores, strict=True)},
            "differences": {
                name: {measure: list(self.difference(measure, name)) for measure in MEASURES} for name in self.names[1:]
            },
            "changes": {name: self.changes(name) for name in self.names[1:]},
        }

    def text(self, rows: int = 10, row_names: Sequence[str] | None = None) -> str:
        """Return scores, differences and the first `rows` rows that differ as text."""
        table = [[measure_words(m), *(f"{scores[m]:.4f}" for scores in self.scores)] for m in _SHOWN]
        lines = [text_table(["", *self.names], table)]
        for name in self.names[1:]:
            lines += ["", f"{name} against {self.names[0]}"]
            lines.append(
                text_table(["", "difference", "95 % interval", ""], [self._difference_row(m, name) for m in _SHOWN])
            )
            changed = self.changes(name)
            lines.append(
                f"{changed['rows']} of {len(self.truth)} rows differ: {name} sets {changed['set right']} labels right "
                f"and spoils {changed['spoilt']}"
            )
            for row, cells in self.differing(name)[:rows]:
                row_name = str(row + 1) if row_names is None else row_names[row]
                lines.append(f"  {row_name}: {'; '.join(map(_cell_words, cells))}")
        return "\n".join(lines)

    def _difference_row(self, measure: str, name: str) -> list[str]:
        value, low, high = self.difference(measure, name)
        better = (high < 0) if measure in LOWER_IS_BETTER else (low > 0)
        worse = (low > 0) if measure in LOWER_IS_BETTER else (high < 0)
        verdict = "better" if better else "worse" if worse else "level"
        return [measure_words(measure), f"{value:+.4f}", f"{low:+.4f} to {high:+.4f}", verdict]

    def _columns(self, measures: Sequence[str]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {key: [] for key in ("model", "measure", "value", "difference", "low", "high")}
        for at, name in enumerate(self.names):
            for measure in measures:
                difference = self.difference(measure, name) if at else (0.0, 0.0, 0.0)
                entry = (name, measure, self.scores[at][measure], *difference)
                for key, value in zip(columns, entry, strict=True):
                    columns[key].append(value)
        return columns

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise OptionError(f"there is no model {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def __repr__(self) -> str:
        text = ", ".join(
            f"{name} {scores['micro_f1']:.4f}" for name, scores in zip(self.names, self.scores, strict=True)
        )
        return f"ModelComparison({len(self.truth)} examples; micro F1: {text})"


def _cell_words(cell: tuple[str, int, int, int | None]) -> str:
    label, first, other, truth = cell
    truth_text = "unknown" if truth is None else str(truth)
    return f"{label} {first} -> {other} (truth {truth_text})"


def compare_models(
    models: Mapping[str, Any], X: Any, Y: Any = None, resamples: int = 1000, seed: int = 0
) -> ModelComparison:
    """Score models, or predictions, on the same examples.

    Parameters
    ----------
    models : mapping of str to model or matrix
        Models, fitted estimators, or matrices of predictions, by name; the first is what others are compared with.
    X : Dataset, table, frame or array
        The examples.
    Y : array-like, optional
        Their labels; not given if `X` is a data set.
    resamples, seed : int
        Bootstrap resamples of the examples, which depend on `seed` alone.

    Examples
    --------
    >>> truth = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 10)
    >>> worse = truth.copy()
    >>> worse[::5, 0] ^= 1
    >>> found = compare_models({"old": worse, "new": truth}, None, truth)
    >>> [round(value, 3) for value in found.difference("hamming_accuracy", "new")]
    [0.1, 0.037, 0.162]
    >>> found.changes("new")
    {'rows': 8, 'set right': 8, 'spoilt': 0}
    """
    if len(models) < 2:
        raise OptionError("compare_models needs at least two models")
    truth = X.Y if Y is None else Y
    names = X.label_names if Y is None else getattr(Y, "names", None)
    data = X.X if Y is None else X
    predictions = [one if isinstance(one, np.ndarray) else np.asarray(one.predict(data)) for one in models.values()]
    return ModelComparison(
        tuple(models),
        tuple(score(truth, predicted, names) for predicted in predictions),
        tuple(predictions),
        encoded_labels(truth, "truth"),
        resample_scores(truth, predictions, resamples, seed),
    )
