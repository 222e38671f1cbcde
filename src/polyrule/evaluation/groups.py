"""Scores of a model in groups of examples: coverage, misses and false alarms, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from polyrule.conditions import without_labels
from polyrule.conditions.evaluate import evaluate
from polyrule.data import Dataset
from polyrule.data.groups import groups_of
from polyrule.data.labels import UNKNOWN, dense_labels
from polyrule.data.results import make_frame, text_table
from polyrule.errors import DataError, OptionError
from polyrule.evaluation.confusion import encoded_labels, label_names_or_default
from polyrule.evaluation.probabilities import wilson
from polyrule.model.columns import match_columns
from polyrule.utils.arrays import Bools, Bytes
from polyrule.utils.messages import did_you_mean

#: each measure: which counts are its hits, and which its total
MEASURES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "coverage": (("tp", "fp"), ("tp", "fp", "fn", "tn")),
    "precision": (("tp",), ("tp", "fp")),
    "recall": (("tp",), ("tp", "fn")),
    "false alarms": (("fp",), ("fp", "tn")),
}
#: a share of fewer examples than this is marked
SMALL = 20
ALL = "all labels"
Method = Literal["between_groups", "to_overall"]


@dataclass(frozen=True)
class GroupShare:
    """One measure of one label in one group: a share of examples, with its 95 % interval."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        """The share; None without examples."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval."""
        return wilson(self.hits, self.total)

    @property
    def small(self) -> bool:
        """True if so few examples stand behind the share that it says little."""
        return self.total < SMALL


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison:
    """Counts of a model per group, label and rule.

    Attributes
    ----------
    column : str
        What the groups are values of.
    groups : tuple of str
        Names of the groups.
    sizes : tuple of int
        Examples in each.
    label_names : tuple of str
        The labels; "all labels" stands for all of them together.
    counts : dict of str to list of dict
        Per label the counts "tp", "fp", "fn" and "tn" in each group, over the examples whose label is known.
    rules : list of list of GroupShare
        Per rule and group, how many of the examples it covers are as it says, by its labels; empty for predictions.
    rule_coverage : list of list of GroupShare
        Per rule and group, how many examples it covers.

    Examples
    --------
    >>> truth = np.array([[1], [1], [0], [0]] * 10)
    >>> found = by_group(truth, None, ["a", "b"] * 20, truth)
    >>> found.shares("recall")["a"].interval, found.difference("recall")
    ((0.722..., 1.0), 0.0)
    """

    column: str
    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    label_names: tuple[str, ...]
    counts: dict[str, list[dict[str, int]]]
    rules: list[list[GroupShare]]
    rule_coverage: list[list[GroupShare]]

    def shares(self, measure: str, label: str = ALL) -> dict[str, GroupShare]:
        """Return a measure of a label in every group: "coverage", "precision", "recall" or "false alarms"."""
        if measure not in MEASURES:
            raise OptionError(f"there is no measure {measure!r} of groups; there are {', '.join(MEASURES)}")
        if label not in self.counts:
            raise OptionError(f"there is no label {label!r}{did_you_mean(label, list(self.counts))}")
        hits, total = MEASURES[measure]
        return {
            group: GroupShare(sum(count[name] for name in hits), sum(count[name] for name in total))
            for group, count in zip(self.groups, self.counts[label], strict=True)
        }

    def difference(self, measure: str = "recall", label: str = ALL, method: Method = "between_groups") -> float | None:
        """Return the largest difference of a measure between two groups, or of a group to all examples.

        Groups without examples for the measure are left out; None if fewer than two are left.
        """
        values, overall = self._values(measure, label, method)
        if method == "to_overall":
            return None if overall is None or not values else max(abs(value - overall) for value in values)
        return max(values) - min(values) if len(values) > 1 else None

    def ratio(self, measure: str = "recall", label: str = ALL, method: Method = "between_groups") -> float | None:
        """Return the smallest ratio of a measure between two groups, or of a group and all examples; at most 1."""
        values, overall = self._values(measure, label, method)
        if method == "to_overall":
            pairs = [] if overall is None else [(min(v, overall), max(v, overall)) for v in values]
        else:
            pairs = [(min(values), max(values))] if len(values) > 1 else []
        ratios = [low / high if high else 1.0 for low, high in pairs]
        return min(ratios) if ratios else None

    def _values(self, measure: str, label: str, method: str) -> tuple[list[float], float | None]:
        if method not in ("between_groups", "to_overall"):
            raise OptionError(f"method must be 'between_groups' or 'to_overall', got {method!r}")
        shares = self.shares(measure, label).values()
        overall = GroupShare(sum(share.hits for share in shares), sum(share.total for share in shares))
        return [share.value for share in shares if share.value is not None], overall.value

    def frame(self) -> Any:
        """Return a data frame with one row per label, group and measure."""
        return make_frame(self._columns())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "column": self.column,
            "groups": list(self.groups),
            "sizes": list(self.sizes),
            "small": SMALL,
            "labels": {
                label: {measure: [_plain(s) for s in self.shares(measure, label).values()] for measure in MEASURES}
                | {
                    "difference": {measure: self.difference(measure, label) for measure in MEASURES},
                    "ratio": {measure: self.ratio(measure, label) for measure in MEASURES},
                }
                for label in self.counts
            },
            "rules": [
                {"coverage": list(map(_plain, coverage)), "precision": list(map(_plain, right))}
                for coverage, right in zip(self.rule_coverage, self.rules, strict=True)
            ],
        }

    def text(self, per_label: bool = True) -> str:
        """Return the measures as tables, all labels together first."""
        labels = list(self.counts) if per_label else [ALL]
        lines = [f"groups by {self.column}; * fewer than {SMALL} examples; 95 % intervals"]
        for label in labels:
            rows = []
            for at, (group, size) in enumerate(zip(self.groups, self.sizes, strict=True)):
                cells = [list(self.shares(measure, label).values())[at] for measure in MEASURES]
                rows.append([group, str(size), *map(_cell, cells)])
            differences = [self.difference(measure, label) for measure in MEASURES]
            rows.append(["difference", "", *("-" if gap is None else f"{gap:.3f}" for gap in differences)])
            lines += ["", text_table([label, "examples", *MEASURES], rows)]
        return "\n".join(lines)

    def _columns(self) -> dict[str, list[Any]]:
        names = ("label", "group", "examples", "measure", "value", "low", "high", "hits", "total", "small")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for label in self.counts:
            for measure in MEASURES:
                for (group, share), size in zip(self.shares(measure, label).items(), self.sizes, strict=True):
                    value = np.nan if share.value is None else share.value
                    entry = (label, group, size, measure, value, *share.interval, share.hits, share.total, share.small)
                    for name, one in zip(names, entry, strict=True):
                        columns[name].append(one)
        return columns

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        gap = self.difference("recall")
        text = "-" if gap is None else f"{gap:.3f}"
        return f"GroupComparison({len(self.groups)} groups by {self.column}; difference of recall {text})"


def _plain(share: GroupShare) -> list[Any]:
    return [share.hits, share.total, *(round(bound, 4) for bound in share.interval)]


def _cell(share: GroupShare) -> str:
    if share.value is None:
        return "-"
    low, high = share.interval
    return f"{share.value:.3f} ({low:.2f} to {high:.2f}){'*' if share.small else ''}"


def by_group(model: Any, data: Any, groups: Any, Y: Any = None) -> GroupComparison:
    """Count what a model does in groups of examples.

    Parameters
    ----------
    model : model, fitted estimator or matrix of predictions
        The model, or what it predicts.
    data : Dataset, or table, frame or array with `Y`
        The examples.
    groups : str or sequence
        Name of a column of the data, which need not be one that the model uses; or the group of each example. Numbers
        of more than ten values are divided into four parts of equal size.
    Y : array-like, optional
        Labels, if `data` is no data set.

    Returns
    -------
    GroupComparison

    Examples
    --------
    >>> truth = np.array([[1], [1], [0], [0]] * 10)
    >>> predicted = np.array([[1], [1], [0], [0], [1], [0], [0], [1]] * 5)
    >>> found = by_group(predicted, None, ["f", "f", "f", "f", "m", "m", "m", "m"] * 5, truth)
    >>> {group: share.value for group, share in found.shares("recall").items()}
    {'f': 1.0, 'm': 0.5}
    >>> found.difference("recall"), found.ratio("recall"), found.difference("false alarms")
    (0.5, 0.5, 0.5)
    """
    is_set = isinstance(data, Dataset)
    X, truth = (data.X, dense_labels(data.Y)) if is_set else (data, encoded_labels(Y, "Y"))
    names = data.label_names if is_set else getattr(model, "label_names", None)
    predicted = model if isinstance(model, np.ndarray) else np.asarray(model.predict(X))
    if predicted.shape != truth.shape:
        raise DataError(f"predictions have shape {predicted.shape}, but the truth has shape {truth.shape}")
    column, parts, places = groups_of(data, groups, len(truth))
    members = [places == at for at in range(len(parts))]
    label_names = label_names_or_default(names, truth.shape[1])
    counts = {name: [_counts(truth[m, k], predicted[m, k]) for m in members] for k, name in enumerate(label_names)}
    together = [{key: sum(one[at][key] for one in counts.values()) for key in _KEYS} for at in range(len(parts))]
    fitted = getattr(model, "model_", model)
    covered, right = _rules(fitted, X, truth, members) if hasattr(fitted, "rules") else ([], [])
    sizes = tuple(int(m.sum()) for m in members)
    return GroupComparison(column, parts, sizes, label_names, {ALL: together} | counts, right, covered)


_KEYS = ("tp", "fp", "fn", "tn")


def _counts(truth: Bytes, predicted: Bytes) -> dict[str, int]:
    predicted_present = predicted == 1
    cells = {
        "tp": predicted_present & (truth == 1),
        "fp": predicted_present & (truth == 0),
        "fn": ~predicted_present & (truth == 1),
        "tn": ~predicted_present & (truth == 0),
    }
    return {key: int(cell.sum()) for key, cell in cells.items()}


def _rules(
    model: Any, X: Any, truth: Bytes, members: Sequence[Bools]
) -> tuple[list[list[GroupShare]], list[list[GroupShare]]]:
    """Coverage and precision of each rule in each group; a rule covers where its conditions on features hold."""
    narrowed, table = match_columns(model, X)
    covered, right = [], []
    for rule in narrowed.rules:
        mask = np.ones(len(truth), dtype=bool)
        for condition in without_labels(rule.body):
            mask &= evaluate(condition, table)
        cells = [(entry.label, getattr(entry, "value", int(getattr(entry, "weight", 1) > 0))) for entry in rule.head]
        covered.append([GroupShare(int((mask & m).sum()), int(m.sum())) for m in members])
        right.append([_precision(truth[mask & m], cells) for m in members])
    return covered, right


def _precision(truth: Bytes, head: Sequence[tuple[int, int]]) -> GroupShare:
    hits = sum(int((truth[:, label] == value).sum()) for label, value in head)
    n_known = sum(int((truth[:, label] != UNKNOWN).sum()) for label, _ in head)
    return GroupShare(hits, n_known)
