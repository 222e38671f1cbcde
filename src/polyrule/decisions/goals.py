"""Cutoffs that are best for a goal on given data. They promise nothing about other data; `calibrate` does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyrule.binning.thresholds import short_between
from polyrule.data.frames import is_frame, without_columns
from polyrule.data.groups import groups_of
from polyrule.data.labels import dense_labels
from polyrule.decisions.costs import costs_of, read_costs, with_costs
from polyrule.decisions.cutoffs import examples_of, scores, set_cutoffs
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.model.columns import match_columns
from polyrule.utils.arrays import Array, Bytes, Floats

Table = tuple[Floats, Floats, Floats]
_GOAL = re.compile(r"(recall|precision)\s*>=\s*(0?\.\d+|0|1|1\.0*|0\.0*)")


MIN_GROUP = 20  # examples with the label, for the recall of a group to count


def choose_cutoffs(
    model: Any,
    data: Any,
    y: Any = None,
    *,
    goal: str = "f1",
    costs: Mapping[str, tuple[float, float]] | None = None,
    by_group: Any = None,
    max_gap: float | None = None,
) -> Any:
    """Return the model with the cutoff of each label that is best for a goal on labelled data.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    data : Dataset, or features with labels in `y`
        An unknown label counts nowhere.
    y : array-like, optional
    goal : {"f1", "macro-f1", "cost", "recall>=SHARE", "precision>=SHARE"}
        The F1 of all labels together; that of each label; the least cost; the largest cutoff that keeps the recall of
        each label on this data at SHARE or above; the smallest that keeps its precision there. A label for which no
        cutoff reaches SHARE is refused by name.
    costs : mapping from label to (false alarm, miss), optional
        For the goal "cost"; see `set_costs`. Without it, those of the model.
    by_group : str or sequence, optional
        Column of the data, or group of each example, as `polyrule.evaluation.by_group` takes them.
    max_gap : float, optional
        Largest difference of the recall of a label between two of the groups, on this data. Groups with fewer than 20
        examples of the label do not count.

    Examples
    --------
    >>> from polyrule import RuleEnsembleClassifier
    >>> X, Y = np.arange(40.0)[:, None], (np.arange(40) > 25)[:, None].astype(int)
    >>> model = RuleEnsembleClassifier(max_rules=2, teacher=None).fit(X, Y).model_
    >>> careful = choose_cutoffs(model, X, Y, goal="recall>=0.9")
    >>> bool(careful.predict(X)[Y == 1].mean() >= 0.9)
    True
    """
    column, places = "", None
    if by_group is not None:
        column, _, places = groups_of(data, by_group, len(data))
        if isinstance(by_group, str) and is_frame(data) and by_group not in (f.column for f in model.features):
            data = without_columns(data, [by_group])
    examples = examples_of(model, data, y)
    fitted, table = match_columns(model, examples)
    reached, truth = scores(fitted, table), np.asarray(dense_labels(examples.Y))
    names = model.label_names
    tables = [_table(reached[:, k], truth[:, k]) for k in range(len(names))]
    if places is not None or max_gap is not None:
        if model.relations:
            raise ModelError("max_gap is for labels that are decided one by one; this model has relations")
        tables = _within_gap(names, tables, reached, truth, (column, places), max_gap)
    if goal in ("f1", "macro-f1"):
        best = _best_for_f1(tables, truth, common=goal == "f1")
        return set_cutoffs(model, dict(zip(names, best, strict=True)))
    if goal == "cost":
        label_costs = read_costs(costs, names) if costs is not None else costs_of(model)
        if not label_costs:
            raise OptionError("goal 'cost' needs costs={label: (false alarm, miss)}, or a model that has costs")
        cheapest = {
            name: _cheapest(tables[k], truth[:, k], label_costs[name])
            for k, name in enumerate(names)
            if name in label_costs
        }
        return with_costs(set_cutoffs(model, cheapest), label_costs)
    if costs is not None:
        raise OptionError("costs are for goal='cost'")
    parts = _GOAL.fullmatch(goal.strip())
    if parts is None:
        raise OptionError(f"goal must be 'f1', 'macro-f1', 'cost', 'recall>=SHARE' or 'precision>=SHARE', got {goal!r}")
    if model.relations:
        raise ModelError(
            f"goal {goal!r} is about labels that are decided one by one, but this model has relations between labels; "
            "choose cutoffs without them, then add them again: model.with_relations(None)"
        )
    share = float(parts[2])
    cutoff_of = {}
    for label, name in enumerate(names):
        cut = _for_share(tables[label], int((truth[:, label] == 1).sum()), parts[1], share)
        if cut is None:
            raise DataError(
                f"no cutoff of {name!r} reaches a {parts[1]} of {share:g} on {examples.name or 'this data'}"
            )
        cutoff_of[name] = cut
    return set_cutoffs(model, cutoff_of)


def candidates(reached: Floats) -> Floats:
    """Return cutoffs that predict different rows, descending; the first predicts none unless a score is 1.

    Each lies between two scores, as a short decimal where there is one.

    >>> candidates(np.array([0.25, 0.75, -1.0])).tolist()
    [0.9, 0.5, 0.1]
    """
    values = np.r_[np.unique(reached[reached >= 0]), 1.0]
    below = np.r_[0.0, values[:-1]]
    cuts = [short_between(low, high) if low < high else high for low, high in zip(below, values, strict=True)]
    return np.unique(np.array(cuts))[::-1]


def _counts(reached: Floats, truth: Bytes, cuts: Floats) -> tuple[Floats, Floats]:
    """Return hits and predictions at each cutoff."""
    order = np.sort(reached), np.sort(reached[truth == 1])
    predicted, hits = (len(part) - np.searchsorted(part, cuts, side="left") for part in order)
    return hits.astype(float), predicted.astype(float)


def _table(reached: Floats, truth: Bytes) -> Table:
    """Return the candidate cutoffs of a label, with hits and predictions at each."""
    is_known = truth <= 1
    cuts = candidates(reached[is_known])
    return (cuts, *_counts(reached[is_known], truth[is_known], cuts))


def _cheapest(table: Table, truth: Bytes, costs: tuple[float, float]) -> float:
    """Return the cutoff with the least cost; the largest of equals."""
    cuts, hits, predicted = table
    false_alarm, miss = costs
    return float(cuts[np.argmin(false_alarm * (predicted - hits) + miss * ((truth == 1).sum() - hits))])


def _within_gap(
    names: Sequence[str],
    tables: list[Table],
    reached: Floats,
    truth: Bytes,
    groups: tuple[str, Array | None],
    max_gap: float | None,
) -> list[Table]:
    """Return the tables with the cutoffs at which recall differs between groups by at most `max_gap`."""
    column, places = groups
    if places is None or max_gap is None:
        raise OptionError("by_group and max_gap belong together: pass both")
    if isinstance(max_gap, bool) or not isinstance(max_gap, (int, float)) or not 0 <= max_gap <= 1:
        raise OptionError(f"max_gap must be a number from 0 to 1, got {max_gap!r}")
    within = []
    for label, (cuts, hits, predicted) in enumerate(tables):
        present = [reached[(places == place) & (truth[:, label] == 1), label] for place in range(places.max() + 1)]
        recalls = [(group[:, None] >= cuts).mean(axis=0) for group in present if len(group) >= MIN_GROUP]
        differences = np.ptp(recalls, axis=0) if len(recalls) > 1 else np.zeros(len(cuts))
        useful = (hits > 0) | (hits.max(initial=0) == 0)  # to predict none is no solution
        fine = (differences <= max_gap + 1e-12) & useful
        if not fine.any():
            raise DataError(
                f"no cutoff of {names[label]!r} keeps the difference of recall between groups of {column} "
                f"at {max_gap:g} or less; the smallest is {differences[useful].min():.3f}"
            )
        within.append((cuts[fine], hits[fine], predicted[fine]))
    return within


def _for_share(table: Table, n_present: int, ratio: str, share: float) -> float | None:
    cuts, hits, predicted = table
    if ratio == "recall":
        reaching = np.flatnonzero(hits >= share * n_present)
        return float(cuts[reaching[0]]) if len(reaching) else None
    reaching = np.flatnonzero((hits >= share * predicted) & (predicted > 0))
    return float(cuts[reaching[-1]]) if len(reaching) else None


def _best_for_f1(tables: list[Table], truth: Bytes, *, common: bool) -> Floats:
    """Return the cutoffs with the largest micro-F1, by Dinkelbach's iteration, or the largest F1 of each label."""
    present = (truth == 1).sum(axis=0)
    if not common:
        places = [int(np.argmax(2 * h / np.maximum(p + n, 1))) for (_, h, p), n in zip(tables, present, strict=True)]
        return np.array([cuts[place] for (cuts, _, _), place in zip(tables, places, strict=True)])
    value, total = 0.0, float(present.sum())
    while True:
        places = [int(np.argmax(2 * hits - value * predicted)) for _, hits, predicted in tables]
        hits = sum(table[1][place] for table, place in zip(tables, places, strict=True))
        predicted = sum(table[2][place] for table, place in zip(tables, places, strict=True))
        better = 2 * hits / max(1.0, predicted + total)
        if better <= value:
            return np.array([table[0][place] for table, place in zip(tables, places, strict=True)])
        value = better
