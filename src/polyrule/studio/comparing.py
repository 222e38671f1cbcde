"""Two versions of a model side by side: rules, scores with intervals, examples decided otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyrule.data import Dataset
from polyrule.data.names import visible
from polyrule.report.comparison import shared_rules
from polyrule.report.kinds import signed_rules
from polyrule.studio.steps import said
from polyrule.studio.workbench import Workbench, resampled

#: examples decided otherwise that a page gets of each part
MOST_DIFFERING = 50
_SHOWN = ("micro_f1", "macro_f1", "hamming_accuracy", "subset_accuracy")


def compare(bench: Workbench, first: Any, second: Any) -> dict[str, Any]:
    """Return as plain values what two models share, and where they differ.

    Returns
    -------
    dict
        same: pairs of rules that say the same; rules: the texts of both; effect: what going from one to the other
        does; scores: per measure value, low and high of both on the held-out part; level: whether they cannot be told
        apart; rows: per part, the first examples decided otherwise.
    """
    models = (first, second)
    same, _ = shared_rules(signed_rules(first), signed_rules(second))
    drawn = resampled(bench.parts[1], [bench.predicted(model, 1) for model in models])
    return {
        "same": same,
        "rules": [[visible(said(model, index)) for index in range(len(model.rules))] for model in models],
        "effect": bench.effect(first, second),
        "scores": {
            name: [[bench.tallies(model)[1].scores[name], *drawn.interval(name, at)] for at, model in enumerate(models)]
            for name in _SHOWN
        },
        "level": {name: all(drawn.level_with(name, 0)) for name in _SHOWN},
        "rows": [_differing(bench, first, second, at) for at in range(len(bench.parts))],
    }


def judged(data: Dataset, models: dict[int, Any]) -> list[dict[str, Any]]:
    """Return the scores of some versions on examples of their own, with intervals."""
    bench = Workbench(data, data)
    return [
        {
            "version": number,
            "rules": len(model.rules),
            "scores": {name: bench.tallies(model)[1].scores[name] for name in _SHOWN},
            "interval": bench.intervals(model),
        }
        for number, model in models.items()
    ]


def _differing(bench: Workbench, first: Any, second: Any, at: int) -> list[dict[str, Any]]:
    """The first examples of a part that two models decide otherwise: [label, first says, second says, truth]."""
    part, left, right = bench.parts[at], bench.predicted(first, at), bench.predicted(second, at)
    entries = []
    for row in np.flatnonzero((left != right).any(axis=1))[:MOST_DIFFERING].tolist():
        labels = np.flatnonzero(left[row] != right[row]).tolist()
        entries.append(
            {
                "name": str(row + 1) if part.row_ids is None else visible(part.row_ids[row]),
                "labels": [[k, int(left[row, k]), int(right[row, k]), int(part.truth[row, k])] for k in labels],
            }
        )
    return entries
