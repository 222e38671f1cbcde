"""What to expect of labels and rules on new examples.

A teacher says how likely each training label is without its example. A label that it would not give is likely noise, or
a case that few rules cannot express; lists learned from its opinion beside the labels are shorter and err less.

The counts of a rule flatter it: its conditions were searched on these very examples, and it was chosen among many. A
teacher's answers do not know the labels the choice saw, but know the body only roughly. So the counts speak with the
weight they have, and the teacher with that of `PER_CONDITION` examples for each condition that was searched. A rule
without conditions was not searched, and its counts are as good as any.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from polyrule.arrays import Bytes, Floats, Ints, Matrix
from polyrule.bins.binning import FEWEST_WORDS, Binning, looks_like_text
from polyrule.data.examples import LARGEST_TOTAL
from polyrule.data.table import Table
from polyrule.teacher.teacher import GRAIN, Design, Teacher, mix, neighbours

PER_CONDITION = 200  # examples that a teacher's answer counts for
# Squared standard errors per condition by which counts are doubted: where nobody else is asked, and where a teacher
# says less than even so much doubt explains, as of a label that one clear sign tells.
_DOUBT, _LARGEST_DOUBT = 2, 4


def expected(right: float, wrong: float, conditions: int, told: float | None) -> float:
    """Return how likely a literal is right on a new example.

    Parameters
    ----------
    right, wrong : float
        Weight of the training examples on which it was.
    conditions : int
        How many were searched for it.
    told : float or None
        What a teacher who did not see their labels expects of `right`; None if nobody was asked.

    Examples
    --------
    >>> round(expected(30, 10, 0, None), 4), round(expected(30, 10, 2, 24.0), 4), round(expected(30, 10, 2, None), 4)
    (0.7381, 0.6131, 0.5948)
    """
    every = right + wrong
    if not every or not conditions:
        return (right + 1) / (every + 2)
    if told is None:
        return _at_least(right, every, _DOUBT * conditions)
    asked = PER_CONDITION * conditions
    mixed = (right + asked * told / every + 1) / (every + asked + 2)
    return max(mixed, _at_least(right, every, _LARGEST_DOUBT * conditions))


def _at_least(right: float, every: float, doubt: float) -> float:
    """Return the lower end of Wilson's interval: the least share from which this one is not too far away."""
    share, doubt = right / every, doubt / every
    return (share + doubt / 2 - sqrt(doubt * (share * (1 - share) + doubt / 4))) / (1 + doubt)


def value_of(right: float, said: float, present: float, every: float, squared: Fraction | None) -> float:
    """Return the F-measure, or Hamming accuracy where `squared` is None, of saying that labels are present.

    Parameters
    ----------
    right, said : float
        Examples, summed over labels, of which it is said, and of which it is right.
    present, every : float
        Examples that have a label, and all of them, summed over labels.
    squared : Fraction or None
        Square of beta.

    Examples
    --------
    >>> value_of(30, 40, 60, 200, Fraction(1)), value_of(30, 40, 60, 200, None)
    (0.6, 0.8)
    """
    if squared is None:
        return 1 - (said + present - 2 * right) / every if every else 1.0
    bottom = said + float(squared) * present
    return float(1 + squared) * right / bottom if bottom else 0.0


def best_constants(present: Floats, every: Floats, squared: Fraction | None, least: float = 0.0) -> float:
    """Return the best value of saying the same labels of every example, from how often each is present.

    Labels that less than the share `least` of the examples have are not said.

    Examples
    --------
    >>> best_constants(np.array([30.0, 5.0]), np.array([40.0, 40.0]), Fraction(1))
    0.8
    """
    share = np.divide(present, every, out=np.zeros(len(present)), where=every > 0)
    order = np.argsort(-share, kind="stable")[: np.count_nonzero(share >= least)]
    right, said = np.append(0, np.cumsum(present[order])), np.append(0, np.cumsum(every[order]))
    total = float(present.sum()), float(every.sum())
    return max(value_of(float(r), float(s), *total, squared) for r, s in zip(right, said, strict=True))


FEWEST_EXAMPLES = 50  # below, a teacher knows too little to correct anybody
_TREES = 15, 30  # of very many and of few examples
_TOLD = 75_000  # examples that all trees together are asked about, about
_MAX_BINS = 64
_LOOKED_AT = 1000  # examples, to tell whether a table looks like text


# Up to so many examples, real and mixed, mixed ones are made: so many for each that is real. Of more examples, chance
# finds fewer conditions that look good, and choosing by all of them takes long enough.
_MOST_EXAMPLES, _MIXED = 5000, 3
_MOST_VALUES = 20_000_000  # of real and mixed examples together
_NEIGHBOURS, _EXCHANGE = 5, 0.5


@dataclass(frozen=True, eq=False)
class Taught:
    """Examples that rules are chosen by, and what a teacher says of them: those of the user, and then mixed ones.

    Mixed examples lie between real ones; nobody but the teacher can label them, and all of them together weigh as much
    as the real ones. A threshold that only divides the few examples at hand does not divide those. What the teacher
    says is cut where that suits the labels of the user's examples best.
    """

    table: Table
    truth: Bytes
    weights: Ints
    opinion: Matrix
    cut: float = 0.5


def teach(
    table: Table,
    truth: Bytes,
    weights: Ints,
    order: Ints,
    *,
    text: bool,
    threads: int = 1,
    deadline: float | None = None,
) -> Taught | None:
    """Ask a teacher how likely each label of each example is, without having seen the example's own.

    Where there are few examples, and no words, it is asked about mixed ones as well. The `order` is that of
    `by_content`. None where there are too few examples, no usable feature, or no time.
    """

    def late() -> bool:
        return deadline is not None and time.monotonic() > deadline

    examples = len(truth)
    if examples < FEWEST_EXAMPLES or late():
        return None
    binning = Binning.of(table, _MAX_BINS, readable=False)
    design = Design.of(binning, table)
    if not design.features:
        return None
    shown, counted = design.of_table(table)[order], weights[order].astype(np.float64)
    trees = int(np.clip(_TOLD // examples, *_TREES))
    every = (1 + _MIXED) * examples
    mixing = not text and every <= _MOST_EXAMPLES and every * table.shape[1] <= _MOST_VALUES
    teacher = Teacher(shown, truth[order], counted, 0, threads, trees, late, keep=mixing)
    opinion = np.empty(truth.shape)
    opinion[order] = teacher.left_out
    cut, _ = best_cut(opinion, truth, weights)
    if not mixing or late():
        return Taught(table, truth, weights, opinion, cut)
    random = np.random.default_rng(0)
    near = neighbours(shown, _NEIGHBOURS, random)
    stored: Any = table.values
    values = stored.toarray() if table.is_sparse else stored
    mixed, sources = mix(values[order].T, near, _MIXED * examples, _EXCHANGE, random)
    between = replace(table, values=np.asfortranarray(mixed.T))
    said = teacher.predict(design.of_table(between)).astype(np.float64)
    coarser = -(-2 * _MIXED * int(weights.sum()) // LARGEST_TOTAL)
    weight = np.maximum(1, weights // coarser)
    return Taught(
        replace(table, values=np.asfortranarray(np.vstack([values, mixed.T]))),
        np.vstack([truth, (said >= cut).astype(np.uint8)]),
        np.concatenate([_MIXED * weight, weight[order][sources]]),
        np.vstack([opinion, said]),
        cut,
    )


def is_text(table: Table, order: Ints) -> bool:
    """Whether a table looks like text, in whatever order its rows come; the `order` is that of `by_content`."""
    return len(table.features) >= FEWEST_WORDS and looks_like_text(table[order[:_LOOKED_AT]])


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
