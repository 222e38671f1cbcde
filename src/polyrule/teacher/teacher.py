"""Large models that say about each training example how likely each label is *without that example*.

A forest, a kernel regression and, for text, a linear one, blended by a logistic regression on what they say about
examples they have not seen: out of bag for the forest, by the closed form for leaving one out for the other two. Memory
stays within a few numbers per example and label, plus about 100 MB, whatever the number of labels or label sets.

Mixed examples lie between training examples. Rules that must fit what a teacher says there as well are less likely to
fit the noise of a few hundred examples.

This module knows nothing about ensembles of rules. Any learner that wants probabilities of its training labels that no
label can have leaked into may use it: ``Teacher(design, truth, weights, seed).left_out``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from polyrule.bins.binning import Binning
from polyrule.data.table import Table, row_blocks
from polyrule.teacher.forest import Forest
from polyrule.teacher.ridge import KernelRidge, LinearRidge, column_blocks, looks_like_text, usual_values
from polyrule.utils.arrays import Bytes, Codes, Floats, Floats32, Ints, Matrix

_TREES = 100
_TREES_FOR_TEXT = 60  # there the linear member knows what more trees would
_BLENDED_CELLS = 100_000
_BLOCK_CELLS = 1_000_000
# Estimates are rounded to multiples of this, so that the last digits of a machine's arithmetic stay without effect.
GRAIN = 2.0**-16

T = TypeVar("T", bound=np.generic)


class Member(Protocol):
    """One of the models that are blended."""

    left_out: Floats32

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label."""


class Teacher:
    """Blended estimates of all labels.

    Parameters
    ----------
    design : ndarray of float32, shape (examples, columns)
        Features as numbers; missing is NaN. `polyrule.teacher.teacher.Design` makes one from a table.
    truth : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.
    seed : int
        Decides everything that is random; the number of threads decides nothing.
    threads : int
    trees : int or None
        Of the forest; None for 100, or 60 for text.
    stop : callable
        Asked now and then; True makes do with what is there.
    keep : bool
        Whether `predict` will be called; the members take memory.

    Attributes
    ----------
    left_out : ndarray of float32, shape (examples, labels)
        Probability of each label of each training example, without what its own labels say.
    slopes : dict
        How much each member is listened to.

    Examples
    --------
    >>> design = np.arange(40, dtype=np.float32).reshape(-1, 1)
    >>> truth = (design > 20).astype(np.uint8)
    >>> truth[3] = 1  # surely a mistake
    >>> teacher = Teacher(design, truth, np.ones(40), seed=0)
    >>> bool(teacher.left_out[3, 0] < 0.5), bool(teacher.left_out[35, 0] > 0.5)
    (True, True)
    """

    def __init__(
        self,
        design: Floats32,
        truth: Bytes,
        weights: Floats,
        seed: int,
        threads: int = 1,
        trees: int | None = None,
        stop: Callable[[], bool] = lambda: False,
        keep: bool = True,
    ) -> None:
        usual = usual_values(design)
        text = looks_like_text(design, usual)
        if trees is None:
            trees = _TREES_FOR_TEXT if text else _TREES
        forest = Forest(design, truth, weights, trees, seed, threads, stop, keep, usual)
        self._members: dict[str, Member] = {"forest": forest}
        if not stop():
            self._members["kernel"] = KernelRidge(design, truth, weights, seed, text)
            if text and not stop():
                self._members["linear"] = LinearRidge(design, truth, weights, usual)
        said = [member.left_out for member in self._members.values()]
        for member in self._members.values():
            del member.left_out
        # A hundred thousand estimates are plenty for a handful of slopes.
        every = slice(None, None, max(1, truth.size // _BLENDED_CELLS))
        self._blend = Blend.fit(
            [estimates[every].astype(np.float64) for estimates in said], truth[every].astype(np.float64), weights[every]
        )
        self.slopes = dict(zip(self._members, self._blend.slopes, strict=True))
        self.left_out = self._blended(said)
        if not keep:
            self._members.clear()

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label of other examples."""
        return self._blended([member.predict(design) for member in self._members.values()])

    def _blended(self, said: list[Floats32]) -> Floats32:
        blended = said[0]  # in their place: such matrices are what a teacher needs most memory for
        for block in row_blocks(len(blended), blended.shape[1], _BLOCK_CELLS):
            estimates = self._blend.apply([estimates[block].astype(np.float64) for estimates in said])
            blended[block] = np.rint(estimates / GRAIN) * GRAIN
        return blended


_MOST_STEPS = 100  # of Newton's method; a handful will do
_SMALLEST_STEP = 1e-6  # the next one is about its square
_EDGE = 0.005  # keeps the log-odds of unanimous votes finite


@dataclass(frozen=True, slots=True)
class Blend:
    """How much each teacher is listened to, by the log-odds of its estimates."""

    slopes: tuple[float, ...]
    shift: float

    @classmethod
    def fit(cls, estimates: Sequence[Matrix], truth: Matrix, weights: Matrix) -> Blend:
        """Fit to estimates of examples that were not used to make them; no teacher counts negatively.

        A weak penalty pulls towards the plain mean, which also keeps the slopes finite where the labels are separated
        perfectly.

        Examples
        --------
        >>> truth = np.array([[1.0]] * 9 + [[0.0]] + [[0.0]] * 9 + [[1.0]])
        >>> sure = np.array([[0.99]] * 10 + [[0.01]] * 10)
        >>> blend = Blend.fit([sure], truth, np.full(20, 100.0))
        >>> blend.apply([sure])[0].round(1)
        array([0.9])
        """
        seen = np.stack([*(log_odds(estimate).ravel() for estimate in estimates), np.ones(truth.size)], axis=1)
        seen *= 1 - 2 * truth.reshape(-1, 1)  # what speaks for the wrong side
        every = np.repeat(weights, truth.shape[1])
        usual = np.append(np.full(len(estimates), 1 / len(estimates)), 0.0)
        line, free = usual.copy(), np.ones(len(usual), dtype=bool)
        while True:
            line[free] = lowest(seen[:, free], every, line[free], usual[free], np.ones(np.count_nonzero(free)))
            worst = int(np.argmin(line[:-1]))
            if line[worst] >= 0:
                break
            line[worst], free[worst] = 0.0, False
        return cls(tuple(float(slope) for slope in line[:-1]), float(line[-1]))

    def apply(self, estimates: Sequence[Matrix]) -> Matrix:
        """Return probabilities."""
        parts = [slope * log_odds(estimate) for slope, estimate in zip(self.slopes, estimates, strict=True)]
        return np.asarray(expit(sum(parts, np.zeros_like(estimates[0])) + self.shift))


def lowest(
    seen: Matrix, weights: Floats, line: Floats, usual: Floats, penalties: Floats, offset: Floats | float = 0.0
) -> Floats:
    """Find where the logistic loss of wrong log-odds, and a penalty for being away from `usual`, is lowest, by Newton.

    Steps end when the next one would be lost in rounding, so that every machine finds the same place.

    Parameters
    ----------
    seen : ndarray, shape (rows, numbers)
        What each number, times the one that is sought, adds to the log-odds of the wrong side.
    weights : ndarray, shape (rows,)
    line : ndarray, shape (numbers,)
        Where to begin.
    usual, penalties : ndarray, shape (numbers,)
        Half of a penalty is the price of being one away from what is usual.
    offset : ndarray, shape (rows,), or 0
        Log-odds of the wrong side that are there anyway.
    """

    def height(line: Floats) -> tuple[float, Floats]:
        moved, away = seen @ line + offset, line - usual
        return float(weights @ np.logaddexp(0, moved) + penalties * away @ away / 2), moved

    reached, moved = height(line)
    for _ in range(_MOST_STEPS):
        chances = expit(moved)
        surplus = weights * chances
        curvature = (seen * (surplus * (1 - chances))[:, None]).T @ seen + np.diag(penalties)
        step = np.linalg.solve(curvature, surplus @ seen + penalties * line - penalties * usual)
        if np.abs(step).max() < _SMALLEST_STEP:
            return line - step
        found, moved = height(line - step)
        while found > reached:
            step /= 2
            found, moved = height(line - step)
        line, reached = line - step, found
    return line


def log_odds(chances: Matrix) -> Matrix:
    """Log-odds of estimates, kept a little away from 0 and 1, which they may lie outside of."""
    chances = np.clip(chances, 0, 1)
    return np.asarray(np.log((chances + _EDGE) / (1 + _EDGE - chances)))


_LARGEST = 25_000_000  # cells
_MOST_CATEGORIES = 100


@dataclass(frozen=True, eq=False)
class Design:
    """Which features, and which of their categories, make the columns of the matrix.

    Parameters
    ----------
    binning : Binning
    features : tuple of int
        A table too wide to be held as a matrix only shows the features whose values differ most often.
    """

    binning: Binning
    features: tuple[int, ...]

    @classmethod
    def of(cls, binning: Binning, table: Table) -> Design:
        """Choose the features for a matrix of at most 25 million cells.

        A feature with more than a hundred categories is an identifier, not a property, and left out.
        """
        usable = [j for j, feature in enumerate(binning.features) if _width(binning, j)]
        width, rows = sum(_width(binning, j) for j in usable), max(1, len(table))
        if width * rows > _LARGEST:
            unusual = {j: rows - np.bincount(binning.column(j, table)).max(initial=0) for j in usable}
            chosen, left = [], _LARGEST // rows
            for j in sorted(usable, key=lambda j: (-unusual[j], j)):
                if _width(binning, j) <= left:
                    chosen.append(j)
                    left -= _width(binning, j)
            usable = sorted(chosen)
        return cls(binning, tuple(usable))

    def matrix(self, columns: Iterable[Codes], rows: int) -> Floats32:
        """Return the matrix of examples whose bins are given one feature of `features` after the other.

        Examples
        --------
        >>> table = Table.from_array([[0.5, np.nan], [2.0, 7.0]])
        >>> binning = Binning.of(table, 8)
        >>> Design.of(binning, table).matrix(binning.columns(table), 2)
        array([[ 0., nan],
               [ 1.,  0.]], dtype=float32)
        """
        found = np.zeros((rows, max(1, sum(_width(self.binning, j) for j in self.features))), dtype=np.float32)
        place = 0
        for j, column in zip(self.features, columns, strict=True):
            count, width = self.binning.count(j), _width(self.binning, j)
            if width == 1:
                found[:, place] = np.where(column == count, np.float32(np.nan), column.astype(np.float32))
            else:
                for value in range(count):
                    found[:, place + value] = column == value
            place += width
        return found

    def of_table(self, table: Table) -> Floats32:
        """Return the matrix of a table."""
        columns = (self.binning.column(j, table) for j in self.features)
        return self.matrix(columns, len(table))


def _width(binning: Binning, feature: int) -> int:
    count = binning.count(feature)
    if not binning.features[feature].is_nominal or count <= 2:
        return 1
    return count if count <= _MOST_CATEGORIES else 0


_POOL = 1500  # examples among which neighbours are sought


def neighbours(design: Floats32, count: int, random: np.random.Generator) -> Ints:
    """Nearest others of every example, among at most 1,500 that are drawn; shape (examples, count).

    Values are rounded to a few steps per standard deviation: distances are then whole numbers, exact on every machine.
    """
    steps = np.empty(design.shape, dtype=np.float32)
    for columns in column_blocks(design):
        filled = np.where(np.isnan(design[:, columns]), np.float32(0), design[:, columns])
        spread = filled.std(axis=0, dtype=np.float64)
        scaled = (filled - filled.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1)
        steps[:, columns] = np.clip(np.rint(3 * scaled), -9, 9)
    pool = np.sort(random.permutation(len(design))[:_POOL])
    theirs = (steps[pool] ** 2).sum(axis=1)
    found = np.empty((len(design), count), dtype=np.int64)
    for first in range(0, len(design), 1000):
        block = np.arange(first, min(len(design), first + 1000))
        distances = (theirs - 2 * (steps[block] @ steps[pool].T)).astype(np.int64)
        distances[block[:, None] == pool] = 2**40
        # Of equally near ones the first; all keys differ, so that a partial sort finds the same ones as a whole one.
        keys = np.partition(distances * len(pool) + np.arange(len(pool)), count - 1, axis=1)[:, :count]
        found[block] = pool[np.sort(keys, axis=1) % len(pool)]
    return found


def mix(
    columns: npt.NDArray[T], near: Ints, wanted: int, exchange: float, random: np.random.Generator
) -> tuple[npt.NDArray[T], Ints]:
    """Make examples that take some values from a near neighbour; also return which example each started from.

    Parameters
    ----------
    columns : ndarray, shape (features, examples)
    near : ndarray of int, shape (examples, neighbours)
    wanted : int
    exchange : float
        Probability that a value is taken from the neighbour.
    random : Generator

    Examples
    --------
    >>> mixed, sources = mix(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), 4, 0.5, np.random.default_rng(0))
    >>> sources, mixed[0]
    (array([0, 1, 0, 1]), array([1, 2, 1, 1]))
    """
    sources = np.resize(np.arange(columns.shape[1]), wanted)
    partners = near[sources, random.integers(near.shape[1], size=wanted)]
    mixed = np.empty((len(columns), wanted), dtype=columns.dtype)
    for feature, column in enumerate(columns):
        exchanged = random.random(wanted, dtype=np.float32) < exchange
        mixed[feature] = np.where(exchanged, column[partners], column[sources])
    return mixed, sources
