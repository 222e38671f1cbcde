"""Cutoffs that are best for a goal on given data. They promise nothing about other data; `calibrate` does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from polyrule.binning.thresholds import short_between
from polyrule.data.labels import dense_labels
from polyrule.decisions.cutoffs import examples_of, scores, set_cutoffs
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.model.columns import match_columns
from polyrule.utils.arrays import Bytes, Floats

_GOAL = re.compile(r"(recall|precision)\s*>=\s*(0?\.\d+|0|1|1\.0*|0\.0*)")


def choose_cutoffs(model: Any, data: Any, y: Any = None, *, goal: str = "f1") -> Any:
    """Return the model with the cutoff of each label that is best for a goal on labelled data.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    data : Dataset, or features with labels in `y`
        An unknown label counts nowhere.
    y : array-like, optional
    goal : {"f1", "macro-f1", "recall>=SHARE", "precision>=SHARE"}
        The F1 of all labels together; that of each label; the largest cutoff that keeps the recall of each label on
        this data at SHARE or above; the smallest that keeps its precision there. A label for which no cutoff reaches
        SHARE is refused by name.

    Examples
    --------
    >>> from polyrule import RuleEnsembleClassifier
    >>> X, Y = np.arange(40.0)[:, None], (np.arange(40) > 25)[:, None].astype(int)
    >>> model = RuleEnsembleClassifier(max_rules=2, teacher=None).fit(X, Y).model_
    >>> careful = choose_cutoffs(model, X, Y, goal="recall>=0.9")
    >>> bool(careful.predict(X)[Y == 1].mean() >= 0.9)
    True
    """
    examples = examples_of(model, data, y)
    fitted, table = match_columns(model, examples)
    reached, truth = scores(fitted, table), np.asarray(dense_labels(examples.Y))
    names = model.label_names
    if goal in ("f1", "macro-f1"):
        best = _best_for_f1(reached, truth, common=goal == "f1")
        return set_cutoffs(model, dict(zip(names, best, strict=True)))
    parts = _GOAL.fullmatch(goal.strip())
    if parts is None:
        raise OptionError(f"goal must be 'f1', 'macro-f1', 'recall>=SHARE' or 'precision>=SHARE', got {goal!r}")
    if model.relations:
        raise ModelError(
            f"goal {goal!r} is about labels that are decided one by one, but this model has relations between labels; "
            "choose cutoffs without them, then add them again: model.with_relations(None)"
        )
    share = float(parts[2])
    cutoff_of = {}
    for label, name in enumerate(names):
        is_known = truth[:, label] <= 1
        cut = _for_share(reached[is_known, label], truth[is_known, label], parts[1], share)
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


def _for_share(reached: Floats, truth: Bytes, ratio: str, share: float) -> float | None:
    cuts = candidates(reached)
    hits, predicted = _counts(reached, truth, cuts)
    if ratio == "recall":
        reaching = np.flatnonzero(hits >= share * (truth == 1).sum())
        return float(cuts[reaching[0]]) if len(reaching) else None
    reaching = np.flatnonzero((hits >= share * predicted) & (predicted > 0))
    return float(cuts[reaching[-1]]) if len(reaching) else None


def _best_for_f1(reached: Floats, truth: Bytes, *, common: bool) -> Floats:
    """Return the cutoffs with the largest micro-F1, by Dinkelbach's iteration, or the largest F1 of each label."""
    tables = []
    for label in range(truth.shape[1]):
        is_known = truth[:, label] <= 1
        cuts = candidates(reached[is_known, label])
        tables.append((cuts, *_counts(reached[is_known, label], truth[is_known, label], cuts)))
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
