"""Models that anyone would try first; what a learned model gains is measured against the strongest of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.kernels.engine import GrowOptions
from polyrule.kernels.native import make_engine
from polyrule.measures import Objective, get
from polyrule.model.bodies import FlatBodies, covers
from polyrule.model.rule import Condition

Labels = npt.NDArray[np.uint8]


def simple_predictions(train: Table, truth: Labels, test: Table) -> dict[str, Labels]:
    """Fit the simple models on the examples `train` with labels `truth`, and predict the examples `test`.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0], [3.0]])
    >>> found = simple_predictions(table, np.array([[0, 1], [0, 1], [1, 0]], dtype=np.uint8), table)
    >>> found["label set"].tolist(), found["one rule per label"].tolist()
    ([[0, 1], [0, 1], [0, 1]], [[0, 1], [0, 1], [1, 0]])
    """
    present = truth == 1
    majority = (2 * present.sum(axis=0) > (truth != UNKNOWN).sum(axis=0)).astype(np.uint8)
    return {
        "majority": np.tile(majority, (len(test), 1)),
        "label set": np.tile(frequent_label_set(truth), (len(test), 1)),
        "one rule per label": _apply(one_rule_per_label(train, truth), test),
    }


def frequent_label_set(truth: Labels) -> Labels:
    """Return the label set that most examples have; of several, the one with fewer labels, then the first in order."""
    complete = truth[(truth != UNKNOWN).all(axis=1)]
    rows = np.asarray(complete if len(complete) else truth == 1, dtype=np.uint8)
    counts = Counter(row.tobytes() for row in rows)  # row by row: sorting them would hold up every other thread
    best = min(counts, key=lambda row: (-counts[row], sum(row), [-value for value in row]))
    return np.frombuffer(best, dtype=np.uint8)


def one_rule_per_label(table: Table, truth: Labels) -> list[tuple[Condition, ...] | None]:
    """For every label the condition with the highest F1 on the examples; () is always, None never."""
    ones = np.ones(len(table), dtype=np.int64)
    engine = make_engine(table, np.ascontiguousarray(truth), ones, Objective(get("f1")), GrowOptions(1, False, 0, 1))
    found = []
    for label in range(truth.shape[1]):
        candidate = engine.grow(label=label, value=1)
        found.append(None if candidate is None else candidate.body)
    return found


def _apply(bodies: list[tuple[Condition, ...] | None], table: Table) -> Labels:
    labels = covers(FlatBodies.of((body or () for body in bodies), table.features), table.values)
    return np.asarray(labels & [body is not None for body in bodies], dtype=np.uint8)
