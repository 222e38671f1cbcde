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
from polyrule.teacher.teacher import GRAIN, Teacher

FEWEST_EXAMPLES = 50  # below, a teacher knows too little to correct anybody
_TREES = 15, 30  # of very many and of few examples
_TOLD = 75_000  # examples that all trees together are asked about, about
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
    >>> best_cut(np.array([[0.875], [0.375], [0.125]]), truth, np.ones(3, dtype=np.int64))
    (0.375, 1.0)
    """
    places, every = np.rint(opinion.ravel() / GRAIN).astype(np.int64), np.repeat(weights, truth.shape[1])
    said, right = (np.cumsum(np.bincount(places, counted)[::-1]) for counted in (every, every * truth.ravel()))
    value = 2 * right / np.maximum(said + right[-1], 1)
    best = int(np.argmax(value))
    return float((len(value) - 1 - best) * GRAIN), float(value[best])
