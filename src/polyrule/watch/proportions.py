"""Proportions that are watched, and their counts on a table of examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from polyrule.data.table import Table
from polyrule.model import RuleList
from polyrule.model.columns import used_features
from polyrule.model.predict import fired_rows
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints

Topic = Literal["coverage", "precision", "feature", "label"]

MAX_BINS = 8  # of a numeric feature: its quantiles in the reference data
MAX_CATEGORIES = 20  # of a nominal feature; rarer ones are counted together


@dataclass(frozen=True)
class Proportion:
    """One proportion that is watched.

    Attributes
    ----------
    topic : {"coverage", "precision", "feature", "label"}
        Share of rows a rule covers; share of covered rows whose label is as the rule predicts; share of rows in one
        bin of a feature; share of rows with a label.
    rule, label, feature, bin : int or None
        Position of what it is about.
    """

    topic: Topic
    rule: int | None = None
    label: int | None = None
    feature: int | None = None
    bin: int | None = None


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """Bins in which the values of one feature are counted; the last one holds missing values.

    A category that the model does not know counts as missing, because its rules treat it so.
    """

    feature: int
    edges: Floats  # of a numeric feature: bin b holds values in (edges[b - 1], edges[b]]
    categories: tuple[int, ...]  # of a nominal feature: one bin each, then one for the others

    @property
    def n_bins(self) -> int:
        """Number of bins, that of missing values included."""
        return len(self.categories) + 2 if self.categories else len(self.edges) + 2

    def codes(self, values: Floats) -> Ints:
        """Return the bin of each value."""
        missing = np.isnan(values)
        if self.categories:
            bins = np.full(len(values), len(self.categories))
            for place, category in enumerate(self.categories):
                bins[values == category] = place
        else:
            bins = np.searchsorted(self.edges, values, side="left")
        return np.where(missing, self.n_bins - 1, bins).astype(np.int64)

    def name(self, bin: int, features: Sequence[Any]) -> str:
        """Return a name for a bin, as messages use it."""
        if bin == self.n_bins - 1:
            return "missing"
        if self.categories:
            known = features[self.feature].categories
            return f"= {known[self.categories[bin]]}" if bin < len(self.categories) else "= any other category"
        if not len(self.edges):
            return "known"
        if bin == 0:
            return f"<= {self.edges[0]:g}"
        if bin == len(self.edges):
            return f"> {self.edges[-1]:g}"
        return f"> {self.edges[bin - 1]:g} and <= {self.edges[bin]:g}"


def bins_of(table: Table, feature: int) -> FeatureBins:
    """Return the bins of a feature: quantiles of its values, or its most frequent categories."""
    values = table.column(feature)
    values = values[~np.isnan(values)]
    if table.features[feature].has_categories:
        counts = np.bincount(values.astype(np.int64), minlength=len(table.features[feature].categories))
        order = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
        return FeatureBins(feature, np.empty(0), tuple(sorted(order.tolist())))
    if not len(values):
        return FeatureBins(feature, np.empty(0), ())
    shares = np.linspace(0, 1, MAX_BINS + 1)[1:-1]
    edges = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    return FeatureBins(feature, edges[edges < values.max()], ())


def tested_features(model: Any) -> list[int]:
    """Return the features that rules of a model test."""
    return list(used_features(model.rules))


def proportions_of(model: Any, bins: Sequence[FeatureBins]) -> tuple[Proportion, ...]:
    """Return what is watched of a model, in the order of `count`."""
    rules = [number for number, rule in enumerate(model.rules) if rule.body]
    return (
        *(Proportion("coverage", rule=rule) for rule in rules),
        *(Proportion("precision", rule=rule, label=one.label) for rule in rules for one in model.rules[rule].head),
        *(Proportion("feature", feature=one.feature, bin=place) for one in bins for place in range(one.n_bins)),
        *(Proportion("label", label=label) for label in range(len(model.label_names))),
    )


def covers_of(model: Any, table: Table) -> Bools:
    """Return the rows that each rule covers, shape (rows, rules)."""
    if not isinstance(model, RuleList):
        return np.asarray(model.fired(table))
    covers = np.zeros((len(table), len(model)), dtype=bool)
    for rule, rows in enumerate(fired_rows(model, table)):
        covers[rows, rule] = True
    return covers


def count(model: Any, bins: Sequence[FeatureBins], table: Table, truth: Bytes | None) -> tuple[Ints, Ints]:
    """Return hits and rows of every proportion; an unknown label counts nowhere.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    bins : sequence of FeatureBins
    table : Table
        Features of the model.
    truth : ndarray of uint8, shape (rows, labels), or None
        Labels, 2 if unknown; None if no label is known.
    """
    n_rows, covers = len(table), covers_of(model, table)
    present = np.zeros((n_rows, len(model.label_names)), dtype=bool) if truth is None else truth == 1
    known = np.zeros_like(present) if truth is None else truth <= 1
    codes = {one.feature: np.bincount(one.codes(table.column(one.feature)), minlength=one.n_bins) for one in bins}
    hits, rows = [], []
    for one in proportions_of(model, bins):
        if one.topic == "coverage":
            hits.append(int(covers[:, one.rule].sum()))
            rows.append(n_rows)
        elif one.topic == "precision":
            judged = covers[:, one.rule] & known[:, one.label]
            hits.append(int((present[judged, one.label] == expected_presence(model, one)).sum()))
            rows.append(int(judged.sum()))
        elif one.topic == "feature":
            assert one.feature is not None
            hits.append(int(codes[one.feature][one.bin]))
            rows.append(n_rows)
        else:
            hits.append(int(present[:, one.label].sum()))
            rows.append(int(known[:, one.label].sum()))
    return np.array(hits, dtype=np.int64), np.array(rows, dtype=np.int64)


def expected_presence(model: Any, one: Proportion) -> bool:
    """Return True if the rule of a precision predicts, or adds to, its label; False if it rules the label out."""
    assert one.rule is not None
    entry = next(entry for entry in model.rules[one.rule].head if entry.label == one.label)
    return bool(entry.value if isinstance(model, RuleList) else entry.weight > 0)
