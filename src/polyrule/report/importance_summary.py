"""What a model lives by: importances of its rules and features, and whether they would come back, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polyrule.errors import OptionError
from polyrule.evaluation.importance import Importance, importances
from polyrule.evaluation.model_stability import Stability, stability
from polyrule.report.inputs import Inputs


def summarise(model: Any, inputs: Inputs, slots: Mapping[int, int], resamples: int = 0) -> dict[str, Any] | None:
    """Importances on the last part; None without data.

    Returns
    -------
    dict
        score, examples, part; rules and features as [number or slot, drop, low, high, share that comes back or null];
        resamples and agreement where the model was learned again.
    """
    if not inputs.parts:
        if resamples:
            raise OptionError("resamples needs data: the training data from which the models are learned again")
        return None
    part = inputs.parts[-1]
    found = importances(model, part.table, part.truth)
    again = _again(model, inputs, resamples) if resamples else None
    shares = {} if again is None else again.features
    entry: dict[str, Any] = {
        "part": len(inputs.parts) - 1,
        "examples": found.examples,
        "rules": _rows(found.rules, [item.index for item in found.rules], None if again is None else again.rules),
        "features": [
            [slots[item.index], *_figures(item), shares.get(item.name) if again is not None else None]
            for item in found.features
        ],
    }
    if again is not None:
        entry |= {"resamples": again.resamples, "agreement": round(again.agreement, 4)}
    return entry


def _again(model: Any, inputs: Inputs, resamples: int) -> Stability:
    part = inputs.parts[0]
    if part.unseen:
        raise OptionError("resamples needs the training data (data=), which these examples are not")
    return stability(model, part.dataset(inputs.label_names), resamples)


def _rows(found: Sequence[Importance], numbers: Sequence[int], back: Sequence[float] | None) -> list[list[Any]]:
    return [
        [number, *_figures(item), None if back is None else round(back[number], 4)]
        for item, number in zip(found, numbers, strict=True)
    ]


def _figures(item: Importance) -> list[float]:
    return [round(value, 5) for value in (item.drop, item.low, item.high)]
