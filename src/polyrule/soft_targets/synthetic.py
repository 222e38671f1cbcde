"""Synthetic examples: mixtures of neighboring examples, to be labeled by the soft-label model."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from polyrule.soft_targets.regression import column_blocks
from polyrule.utils.arrays import Floats32, Ints

_MAX_CANDIDATES = 1500  # examples among which neighbors are searched
_MAX_BLOCK = 1000

T = TypeVar("T", bound=np.generic)


def nearest_neighbors(matrix: Floats32, count: int, random: np.random.Generator) -> Ints:
    """Return the nearest other examples, among at most 1,500 drawn ones, shape (examples, count).

    Values are rounded to a few steps per standard deviation: distances are then whole numbers, exact on every machine.
    """
    steps = np.empty(matrix.shape, dtype=np.float32)
    for columns in column_blocks(matrix):
        filled = np.where(np.isnan(matrix[:, columns]), np.float32(0), matrix[:, columns])
        spread = filled.std(axis=0, dtype=np.float64)
        scaled = (filled - filled.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1)
        steps[:, columns] = np.clip(np.rint(3 * scaled), -9, 9)
    candidates = np.sort(random.permutation(len(matrix))[:_MAX_CANDIDATES])
    squares = (steps[candidates] ** 2).sum(axis=1)
    neighbors = np.empty((len(matrix), count), dtype=np.int64)
    for first in range(0, len(matrix), _MAX_BLOCK):
        block = np.arange(first, min(len(matrix), first + _MAX_BLOCK))
        distances = (squares - 2 * (steps[block] @ steps[candidates].T)).astype(np.int64)
        distances[block[:, None] == candidates] = 2**40
        # The first of equally near ones; all keys differ, so that a partial sort finds the same ones as a whole one.
        keys = np.partition(distances * len(candidates) + np.arange(len(candidates)), count - 1, axis=1)[:, :count]
        neighbors[block] = candidates[np.sort(keys, axis=1) % len(candidates)]
    return neighbors


def synthesize(
    columns: npt.NDArray[T], neighbors: Ints, number: int, exchange: float, random: np.random.Generator
) -> tuple[npt.NDArray[T], Ints]:
    """Make examples that take some values from a near neighbor; also return the example each started from.

    Parameters
    ----------
    columns : ndarray, shape (features, examples)
    neighbors : ndarray of int, shape (examples, neighbors)
    number : int
        Examples to make.
    exchange : float
        Probability that a value is taken from the neighbor.
    random : Generator

    Examples
    --------
    >>> made = synthesize(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), 4, 0.5, np.random.default_rng(0))
    >>> made[1], made[0][0]
    (array([0, 1, 0, 1]), array([1, 2, 1, 1]))
    """
    sources = np.resize(np.arange(columns.shape[1]), number)
    partners = neighbors[sources, random.integers(neighbors.shape[1], size=number)]
    synthetic = np.empty((len(columns), number), dtype=columns.dtype)
    for feature, column in enumerate(columns):
        exchanged = random.random(number, dtype=np.float32) < exchange
        synthetic[feature] = np.where(exchanged, column[partners], column[sources])
    return synthetic, sources
