"""Tests of proportions that stay valid however often, and whenever, one looks at them.

A proportion of the reference data has a Clopper-Pearson interval. The null hypothesis is that new rows are drawn with
some proportion inside it. The evidence against it is a likelihood ratio: the mixture of all proportions under
Jeffreys' prior, over the best proportion inside the interval. For the true proportion the ratio's denominator is at
least the likelihood, so the ratio is at most a nonnegative martingale that starts at 1. By Ville's inequality it ever
reaches 1/a with probability at most a (Ramdas, Gruenwald, Vovk and Shafer, Statistical Science 2023).

Drift may begin late, when old rows would hide it. So the evidence is a weighted mean over windows that begin at
updates 1, 2, 4, 8, and so on; windows that have not begun count 1. A weighted mean of such processes is another one.

Example with one proportion, interval [.4, .6], and three updates of ten rows:

    update   hits   window from 1   window from 2   evidence
         1      5            0.25               -   1/2 x 0.25 + 1/2 x 1 = 0.6
         2     10            0.48              29   1/2 x 0.48 + 1/6 x 29 + 1/3 x 1 = 5.4
         3     10            6.66           3,429   1/2 x 6.66 + 1/6 x 3,429 + 1/3 x 1 = 575
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaln, xlogy
from scipy.stats import beta

from polyrule.utils.arrays import Floats, Ints


def exact_interval(hits: Any, rows: Any, level: float) -> tuple[Floats, Floats]:
    """Return Clopper-Pearson intervals that miss the true proportion with probability at most `level`.

    >>> low, high = exact_interval(np.array([5, 0, 0]), np.array([10, 10, 0]), 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.187, 0.0, 0.0], [0.813, 0.308, 1.0])
    """
    hits, rows = np.asarray(hits, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, beta.ppf(level / 2, hits, rows - hits + 1), 0.0)
        high = np.where(hits < rows, beta.ppf(1 - level / 2, hits + 1, rows - hits), 1.0)
    return low, high


def log_ratio(hits: Any, rows: Any, low: Floats, high: Floats) -> Floats:
    """Return the logarithm of the likelihood ratio of each proportion, see the module.

    >>> float(np.exp(log_ratio(np.array([0]), np.array([0]), np.array([0.4]), np.array([0.6])))[0])
    1.0
    """
    hits, rows = np.asarray(hits, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    mixture = betaln(hits + 0.5, rows - hits + 0.5) - betaln(0.5, 0.5)
    share = np.divide(hits, rows, out=np.zeros_like(hits), where=rows > 0)
    nearest = np.clip(share, low, high)
    return np.asarray(mixture - xlogy(hits, nearest) - xlogy(rows - hits, 1 - nearest))


def log_evidence(hits: Ints, rows: Ints, low: Floats, high: Floats) -> Floats:
    """Return the largest evidence so far, as a logarithm, per update and proportion.

    Parameters
    ----------
    hits, rows : ndarray of int, shape (updates, proportions)
        New hits and rows of each update.
    low, high : ndarray of float, shape (proportions,)
        Null hypothesis: the proportion lies between these.

    Returns
    -------
    ndarray of float, shape (updates, proportions)
    """
    updates = len(hits)
    total_hits, total_rows = (np.vstack([np.zeros_like(part[:1]), np.cumsum(part, axis=0)]) for part in (hits, rows))
    evidence = np.empty(hits.shape)
    starts = [2**place - 1 for place in range(updates.bit_length())]
    for update in range(updates):
        begun = [start for start in starts if start <= update]
        ratios = [
            log_ratio(total_hits[update + 1] - total_hits[start], total_rows[update + 1] - total_rows[start], low, high)
            - np.log((place + 1) * (place + 2))
            for place, start in enumerate(begun)
        ]
        waiting = np.full(hits.shape[1], -np.log(len(begun) + 1))
        evidence[update] = np.logaddexp.reduce([*ratios, waiting], axis=0)
    return np.asarray(np.maximum.accumulate(evidence, axis=0)) if updates else evidence
