"""How good the best head of many bodies can be, from their label counts alone, at once.

An engine that tries thousands of bodies needs the exact head only of those that can still win. The ceilings say which.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.measures.objective import Objective

Floats = npt.NDArray[np.float64]


def head_ceilings(objective: Objective, tp: Any, fp: Any, tn: Any, fn: Any, allowed: Any) -> Floats | None:
    """Return a number per body that no head's value exceeds (up to rounding of doubles), or None if none is known.

    It is known for micro averages of monotone measures with scope ``head``: a head of k labels has at most the k
    largest TP and TN, and at least the k smallest FP and FN.

    Parameters
    ----------
    objective : Objective
    tp, fp : array (bodies, labels, 2)
        Counts of the literals ``label = 0`` and ``label = 1``.
    tn, fn : array (bodies, labels)
    allowed : array (labels, 2) or (bodies, labels, 2)
        Which literals may be used.

    Examples
    --------
    >>> tp, fp = np.array([[[0, 2], [1, 1]]]), np.array([[[2, 0], [1, 1]]])
    >>> head_ceilings(Objective("rate_difference"), tp, fp, [[3, 1]], [[0, 2]], np.ones((2, 2)))
    array([1.])
    """
    if objective.averaging != "micro" or objective.scope != "head" or not objective.measure.monotone:
        return None
    right, wrong = np.asarray(tp), np.asarray(fp)
    usable = np.asarray(allowed, bool) & (right >= 1)
    if not objective.negative:
        usable = usable & np.array([False, True])
    some = usable.any(axis=2)
    far = np.iinfo(np.int64).max // 4
    most_tp = np.where(usable, right, -1).max(axis=2)
    least_fp = np.where(usable, wrong, far).min(axis=2)
    sums = [
        _sums_of_first(-np.sort(-np.where(some, most_tp, 0), axis=1)),
        _sums_of_first(np.sort(np.where(some, least_fp, far), axis=1), far),
        _sums_of_first(-np.sort(-np.where(some, np.asarray(tn), 0), axis=1)),
        _sums_of_first(np.sort(np.where(some, np.asarray(fn), far), axis=1), far),
    ]
    labels = right.shape[1]
    sizes = np.arange(1, labels + 1)
    limit = (
        some.sum(axis=1) if objective.max_head_size is None else np.minimum(some.sum(axis=1), objective.max_head_size)
    )
    possible = sizes[None, :] <= limit[:, None]
    values = objective.measure.values(*(np.where(possible, x, 0) for x in sums))
    rho = np.array([float(objective.lift.rho(int(k), labels)) for k in sizes])
    return np.asarray(np.where(possible, values * rho, -np.inf).max(axis=1, initial=-np.inf))


def _sums_of_first(ordered: npt.NDArray[np.int64], far: int | None = None) -> npt.NDArray[np.int64]:
    """Return running sums; entries at `far` stand for labels that cannot be used and are left out."""
    return np.asarray(np.cumsum(ordered if far is None else np.where(ordered == far, 0, ordered), axis=1))
