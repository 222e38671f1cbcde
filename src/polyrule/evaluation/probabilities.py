"""Measures of predicted probabilities: how well they rank labels, and how well they are calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics

from polyrule.data.labels import UNKNOWN
from polyrule.data.results import make_frame, text_table
from polyrule.errors import DataError
from polyrule.evaluation.confusion import encoded_labels, label_names_or_default
from polyrule.utils.arrays import Bytes, Floats

#: ranks at which precision is measured
RANKS = (1, 3, 5)
#: measures for which lower is better
LOWER = frozenset({"coverage error", "log loss", "Brier score", "calibration error"})
_TINY = 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class ProbabilityScores:
    """Scores of predicted probabilities of labels.

    Parameters
    ----------
    values : dict of str to float or None
        Each measure by name; None if it is not defined for these examples.
    per_label : dict of str to list
        "label", "present", "AUC", "average precision", "log loss" and "Brier score" as columns.
    examples : int
        Examples with at least one known label.
    ranked : int
        Examples whose labels are all known and not all alike: LRAP, nDCG, precision@k and coverage error use only those
        that they are defined for.

    Examples
    --------
    >>> found = score_probabilities([[1, 0], [0, 1], [1, 1]], [[0.9, 0.2], [0.4, 0.8], [0.7, 0.6]])
    >>> found["macro AUC"], found["LRAP"], found["precision@1"]
    (1.0, 1.0, 1.0)
    >>> round(found["Brier score"], 4)
    0.0833
    """

    values: dict[str, float | None]
    per_label: dict[str, list[Any]]
    examples: int
    ranked: int

    def __getitem__(self, measure: str) -> float | None:
        return self.values[measure]

    def as_dict(self) -> dict[str, float | None]:
        """Return every measure by name."""
        return dict(self.values)

    def frame(self, per_label: bool = False) -> Any:
        """Return a data frame: a row per measure, or with `per_label` a row per label."""
        if per_label:
            return make_frame(self.per_label)
        return make_frame({"measure": list(self.values), "value": list(self.values.values())})

    def text(self) -> str:
        """Return the scores as a table."""
        return text_table(["probabilities", ""], [[name, _number(value)] for name, value in self.values.items()])

    def __repr__(self) -> str:
        text = ", ".join(f"{name} {_number(self.values[name])}" for name in ("macro AUC", "LRAP", "log loss"))
        return f"ProbabilityScores({self.examples} examples: {text})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def score_probabilities(
    Y_true: Any, probabilities: Any, label_names: Sequence[str] | None = None, bins: int = 10
) -> ProbabilityScores:
    """Score probabilities with the measures of the field; those of scikit-learn are computed by scikit-learn.

    Parameters
    ----------
    Y_true : array-like or sparse matrix of 0 and 1, shape (examples, labels)
        The truth; a label that is NaN is unknown and counts nowhere.
    probabilities : array-like, shape (examples, labels)
        Such as `predict_proba` returns.
    label_names : sequence of str, optional
        Names for the table of labels.
    bins : int
        Intervals of equal width in which predicted and observed shares are compared (see `reliability`).

    Returns
    -------
    ProbabilityScores
        ``macro AUC`` and ``macro average precision`` are means over the labels that are both present and absent
        somewhere. ``calibration error`` is the mean gap between predicted and observed shares, by examples in a bin.

    Examples
    --------
    >>> score_probabilities([[1, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.8]])["micro AUC"]
    1.0
    """
    truth, probability = _pair(Y_true, probabilities)
    names = label_names_or_default(label_names, truth.shape[1])
    is_known = truth != UNKNOWN
    flat_truth, flat = truth[is_known], probability[is_known]
    if not len(flat):
        raise DataError("no label of these examples is known, so that probabilities cannot be scored")
    columns = [_label(truth[is_known[:, k], k], probability[is_known[:, k], k]) for k in range(len(names))]
    two_sided = len(np.unique(flat_truth)) == 2
    values: dict[str, float | None] = {
        "macro AUC": _mean([column[1] for column in columns]),
        "micro AUC": float(metrics.roc_auc_score(flat_truth, flat)) if two_sided else None,
        "macro average precision": _mean([column[2] for column in columns]),
        "micro average precision": float(metrics.average_precision_score(flat_truth, flat)) if two_sided else None,
        **_ranks(truth[is_known.all(axis=1)], probability[is_known.all(axis=1)]),
        "log loss": _log_loss(flat_truth, flat),
        "Brier score": float(np.mean((flat - flat_truth) ** 2)),
        "calibration error": reliability(Y_true, probabilities, bins=bins).error,
    }
    titles = ("present", "AUC", "average precision", "log loss", "Brier score")
    per_label = {"label": list(names)} | {title: [c[at] for c in columns] for at, title in enumerate(titles)}
    rows = truth[is_known.all(axis=1)]
    ranked = int(((rows == 1).any(axis=1) & (rows == 0).any(axis=1)).sum())
    return ProbabilityScores(values, per_label, int(is_known.any(axis=1).sum()), ranked)


def _pair(Y_true: Any, probabilities: Any) -> tuple[Bytes, Floats]:
    truth = encoded_labels(Y_true, "Y_true")
    probability = np.asarray(probabilities, dtype=np.float64)
    if probability.shape != truth.shape:
        raise DataError(f"probabilities have shape {probability.shape}, but the truth has shape {truth.shape}")
    if not (np.isfinite(probability) & (probability >= 0) & (probability <= 1)).all():
        raise DataError("probabilities must be numbers from 0 to 1")
    return truth, probability


def _label(truth: Bytes, probability: Floats) -> list[Any]:
    present = int(truth.sum())
    if not len(truth):
        return [0, None, None, None, None]
    two_sided = 0 < present < len(truth)
    auc = float(metrics.roc_auc_score(truth, probability)) if two_sided else None
    precision = float(metrics.average_precision_score(truth, probability)) if two_sided else None
    return [present, auc, precision, _log_loss(truth, probability), float(np.mean((probability - truth) ** 2))]


def _log_loss(truth: Bytes, probability: Floats) -> float:
    clipped = np.clip(probability, _TINY, 1 - _TINY)
    return float(-np.mean(np.where(truth == 1, np.log(clipped), np.log1p(-clipped))))


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def _ranks(truth: Bytes, probability: Floats) -> dict[str, float | None]:
    """Measures of the order of labels within an example, over examples whose labels are all known."""
    with_labels = (truth == 1).any(axis=1)
    values: dict[str, float | None] = dict.fromkeys(
        ("LRAP", "nDCG", *(f"precision@{k}" for k in RANKS), "coverage error")
    )
    if truth.shape[1] < 2 or not with_labels.any():
        return values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values["LRAP"] = float(
            metrics.label_ranking_average_precision_score(truth[with_labels], probability[with_labels])
        )
        values["nDCG"] = float(metrics.ndcg_score(truth[with_labels], probability[with_labels]))
        values["coverage error"] = float(metrics.coverage_error(truth[with_labels], probability[with_labels]))
    for k in RANKS:
        if k <= truth.shape[1]:
            values[f"precision@{k}"] = precision_at(truth, probability, k)
    return values


def precision_at(truth: Any, probability: Any, k: int) -> float:
    """Return the mean share of present labels among the `k` most probable; labels with one probability share places.

    >>> precision_at(np.array([[1, 0, 0]]), np.array([[0.5, 0.5, 0.1]]), 1)
    0.5
    """
    truth, probability = np.asarray(truth), np.asarray(probability)
    last = -np.partition(-probability, k - 1, axis=1)[:, k - 1 : k]
    above, level = probability > last, probability == last
    room = k - above.sum(axis=1)
    share = (truth * level).sum(axis=1) / level.sum(axis=1)
    return float(np.mean(((truth * above).sum(axis=1) + room * share) / k))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted against observed shares: a reliability curve.

    Attributes
    ----------
    bins : list of dict
        Per bin with examples: "from", "to", "predicted" (mean probability), "observed" (share present), "count", and
        the 95 % Wilson interval of the observed share as "low" and "high".
    error : float
        Mean gap between predicted and observed, weighted by the examples of a bin (expected calibration error).

    Examples
    --------
    >>> reliability([[1], [0]], [[1.0], [0.0]]).error
    0.0
    """

    bins: list[dict[str, float]]
    error: float

    def frame(self) -> Any:
        """Return a data frame with one row per bin."""
        names = ("from", "to", "predicted", "observed", "count", "low", "high")
        return make_frame({name: [one[name] for one in self.bins] for name in names})

    def text(self) -> str:
        """Return the bins as a table."""
        rows = [
            [
                f"{one['from']:.2f} to {one['to']:.2f}",
                str(int(one["count"])),
                f"{one['predicted']:.3f}",
                f"{one['observed']:.3f}",
                f"{one['low']:.3f} to {one['high']:.3f}",
            ]
            for one in self.bins
        ]
        return text_table(["probability", "labels", "predicted", "observed", "95 % interval"], rows)


def reliability(Y_true: Any, probabilities: Any, label: int | None = None, bins: int = 10) -> Reliability:
    """Compare predicted with observed shares in intervals of equal width.

    Parameters
    ----------
    Y_true, probabilities : as in `score_probabilities`
    label : int, optional
        Number of one label; without it, all labels together.
    bins : int
        How many intervals.

    Examples
    --------
    >>> found = reliability([[0], [1], [1]], [[0.1], [0.8], [0.9]], bins=2)
    >>> [(one["predicted"], one["observed"], one["count"]) for one in found.bins]
    [(0.1, 0.0, 1), (0.85..., 1.0, 2)]
    >>> round(found.error, 4)
    0.1333
    """
    truth, probability = _pair(Y_true, probabilities)
    if label is not None:
        truth, probability = truth[:, [label]], probability[:, [label]]
    is_known = truth != UNKNOWN
    flat_truth, flat = truth[is_known], probability[is_known]
    places = np.minimum((flat * bins).astype(np.int64), bins - 1)
    filled: list[dict[str, float]] = []
    for place in np.unique(places).tolist():
        inside = places == place
        count, present = int(inside.sum()), int(flat_truth[inside].sum())
        low, high = wilson(present, count)
        shares = {"predicted": float(flat[inside].mean()), "observed": present / count}
        filled.append(
            {"from": place / bins, "to": (place + 1) / bins, **shares, "count": count, "low": low, "high": high}
        )
    gap = sum(abs(one["predicted"] - one["observed"]) * one["count"] for one in filled)
    return Reliability(filled, gap / max(1, len(flat)))


def wilson(hits: int, total: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    >>> [round(bound, 3) for bound in wilson(8, 10)], wilson(0, 0)
    ([0.49, 0.943], (0.0, 1.0))
    """
    if not total:
        return 0.0, 1.0
    share, extra = hits / total, z * z / total
    middle = (share + extra / 2) / (1 + extra)
    reach = z / (1 + extra) * np.sqrt(share * (1 - share) / total + extra / (4 * total))
    return float(middle - reach) if hits else 0.0, float(middle + reach) if hits < total else 1.0
