"""Running an ensemble over a table: weights are added up in the order of the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Matrix
from polyrule.model.bodies import FlatBodies, flat_heads, native_values
from polyrule.native import native

if TYPE_CHECKING:
    from polyrule.ensemble.model import RuleEnsemble


@dataclass(frozen=True, eq=False)
class FlatWeights:
    """An ensemble as plain arrays; the entries of rule r's head are ``head_start[r]:head_start[r + 1]``.

    Parameters
    ----------
    bodies : FlatBodies
    head_start : ndarray of int32
        Offsets, one more than there are rules.
    head_label : ndarray of int32
    weight : ndarray of float64
        Per entry of a head.
    intercepts : ndarray of float64
        Per label.
    """

    bodies: FlatBodies
    head_start: npt.NDArray[np.int32]
    head_label: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    intercepts: npt.NDArray[np.float64]

    @classmethod
    def of(cls, model: RuleEnsemble) -> FlatWeights:
        """Flatten an ensemble."""
        head_start, head_label = flat_heads(model.rules)
        weights = [entry.weight for rule in model.rules for entry in rule.head]
        return cls(
            bodies=FlatBodies.of((rule.body for rule in model.rules), model.features),
            head_start=head_start,
            head_label=head_label,
            weight=np.array(weights, dtype=np.float64),
            intercepts=np.array(model.intercepts, dtype=np.float64),
        )


def scores_flat(flat: FlatWeights, values: Any) -> Matrix:
    """NumPy definition of the scores, shape (examples, labels)."""
    scores = np.tile(flat.intercepts, (int(values.shape[0]), 1))
    for rows, block in flat.bodies.blocks(values, len(flat.intercepts)):
        every, part = np.arange(len(block)), scores[rows]
        for rule in range(flat.bodies.rules):
            fired = flat.bodies.fired(rule, block, every)
            for entry in range(flat.head_start[rule], flat.head_start[rule + 1]):
                part[fired, flat.head_label[entry]] += flat.weight[entry]
    return scores


def scores_native(flat: FlatWeights, values: Any) -> Matrix:
    """Run the compiled kernel; the same doubles as `scores_flat`."""
    assert native is not None
    scores = np.empty((int(values.shape[0]), len(flat.intercepts)))
    for rows, part in native_values(values):
        native.add_weights(
            values=part,
            bodies=flat.bodies.arrays,
            head_start=flat.head_start,
            head_label=flat.head_label,
            weight=flat.weight,
            intercepts=flat.intercepts,
            scores=scores[rows],
        )
    return scores
