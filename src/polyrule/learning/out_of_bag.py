"""What a teacher thinks of the training labels, and where to cut it.

A label that the teacher would not give to an example from the other examples is likely noise, or a case that few rules
cannot express. Lists learned from the teacher's opinion beside the labels are shorter and err less on new examples.
"""

from __future__ import annotations

import time

import numpy as np

from polyrule.arrays import Bytes, Ints, Matrix
from polyrule.bins.binning import Binning
from polyrule.data.table import Table
from polyrule.teacher.design import Design
from polyrule.teacher.teacher import Teacher

FEWEST_EXAMPLES = 50  # below, a teacher knows too little to correct anybody
_TREES = 20, 60  # of very many and of few examples
_TOLD = 100_000  # examples that all trees together are asked about, about
_MAX_BINS = 64


def out_of_bag(
    table: Table, truth: Bytes, weights: Ints, order: Ints, threads: int = 1, deadline: float | None = None
) -> Matrix | None:
    """Return for every example and label how likely a teacher thinks the label without having seen the example's own.

    The `order` is that of `by_content`. None where there are too few examples, no usable feature, or no time.
    """

    def late() -> bool:
        return deadline is not None and time.monotonic() > deadline

    if len(truth) < FEWEST_EXAMPLES or late():
        return None
    binning = Binning.of(table, _MAX_BINS, readable=False)
    design = Design.of(binning, table)
    if not design.features:
        return None
    shown, counted = design.of_table(table)[order], weights[order].astype(np.float64)
    trees = int(np.clip(_TOLD // len(truth), *_TREES))
    teacher = Teacher(shown, truth[order], counted, 0, threads, trees, late, keep=False)
    opinion = np.empty(truth.shape)
    opinion[order] = teacher.left_out
    return opinion


def best_cut(opinion: Matrix, truth: Bytes, weights: Ints) -> tuple[float, float]:
    """Return the cut at which the opinion's micro-F1 is largest, and that F1.

    Examples
    --------
    >>> truth = np.array([[1], [1], [0]], dtype=np.uint8)
    >>> best_cut(np.array([[0.9], [0.4], [0.1]]), truth, np.ones(3, dtype=np.int64))
    (0.4, 1.0)
    """
    chance, every = opinion.ravel(), np.repeat(weights, truth.shape[1])
    order = np.argsort(-chance, kind="stable")
    right = np.cumsum((every * truth.ravel())[order])
    said = np.cumsum(every[order])
    value = 2 * right / (said + right[-1]) if right[-1] else np.zeros(len(order))
    ends = np.append(chance[order][1:] != chance[order][:-1], True)
    best = int(np.argmax(np.where(ends, value, -1.0)))
    return float(chance[order][best]), float(value[best])
