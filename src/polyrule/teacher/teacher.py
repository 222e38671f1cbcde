"""Large models that say about each training example how likely each label is *without that example*.

A forest, a kernel regression and, for text, a linear one, blended by a logistic regression on what they say about
examples they have not seen: out of bag for the forest, by the closed form for leaving one out for the other two. Memory
stays within a few numbers per example and label, plus about 100 MB, whatever the number of labels or label sets.

This module knows nothing about ensembles of rules. Any learner that wants probabilities of its training labels that no
label can have leaked into may use it: ``Teacher(design, truth, weights, seed).left_out``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from polyrule.arrays import Bytes, Floats, Floats32
from polyrule.teacher import linear
from polyrule.teacher.blending import Blend
from polyrule.teacher.forest import Forest
from polyrule.teacher.kernel_ridge import KernelRidge

_TREES = 100
_TREES_FOR_TEXT = 60  # there the linear member knows what more trees would
_BLENDED_CELLS = 400_000
_BLOCK_CELLS = 1_000_000
# Estimates are rounded to multiples of this, so that the last digits of a machine's arithmetic stay without effect.
_GRAIN = 2.0**-16


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
        Features as numbers; missing is NaN. `polyrule.teacher.design.Design` makes one from a table.
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
        text = linear.suits(design)
        if trees is None:
            trees = _TREES_FOR_TEXT if text else _TREES
        self._members: dict[str, Member] = {"forest": Forest(design, truth, weights, trees, seed, threads, stop, keep)}
        if not stop():
            self._members["kernel"] = KernelRidge(design, truth, weights, seed)
            if text and not stop():
                self._members["linear"] = linear.LinearRidge(design, truth, weights)
        said = [member.left_out for member in self._members.values()]
        for member in self._members.values():
            del member.left_out
        # A few hundred thousand estimates are plenty for a handful of slopes.
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
        step = max(1, _BLOCK_CELLS // max(1, blended.shape[1]))
        for first in range(0, len(blended), step):
            block = slice(first, first + step)
            estimates = self._blend.apply([estimates[block].astype(np.float64) for estimates in said])
            blended[block] = np.rint(estimates / _GRAIN) * _GRAIN
        return blended
