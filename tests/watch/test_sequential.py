"""Evidence about proportions: against a slow definition, and its false alarms by simulation."""

from __future__ import annotations

from itertools import pairwise
from math import exp, lgamma, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyrule.watch.sequential import exact_interval, log_evidence, log_ratio


def slow_ratio(hits: int, rows: int, low: float, high: float) -> float:
    """Likelihood ratio by its definition, the best null proportion found on a fine grid."""

    def likelihood(p: float) -> float:
        terms = [(hits, p), (rows - hits, 1 - p)]
        return sum(count * log(q) if q > 0 else -np.inf for count, q in terms if count)

    grid = np.linspace(low, high, 4001)
    best = max(likelihood(p) for p in grid)
    mixture = lgamma(hits + 0.5) + lgamma(rows - hits + 0.5) - lgamma(rows + 1) - 2 * lgamma(0.5)
    return exp(mixture - best)


@given(st.integers(0, 30), st.integers(0, 30), st.floats(0.05, 0.5), st.floats(0.0, 0.4))
def test_the_ratio_is_the_one_defined(hits: int, misses: int, low: float, width: float) -> None:
    got = exp(
        float(log_ratio(np.array([hits]), np.array([hits + misses]), np.array([low]), np.array([low + width]))[0])
    )
    assert got == pytest.approx(slow_ratio(hits, hits + misses, low, low + width), rel=1e-3)


def test_the_evidence_is_the_weighted_mean_over_windows() -> None:
    rng = np.random.default_rng(0)
    hits, rows, low, high = rng.integers(0, 8, 9), np.full(9, 10), 0.3, 0.5
    got = np.exp(log_evidence(hits[:, None], rows[:, None], np.array([low]), np.array([high]))[:, 0])
    expected, largest = [], 0.0
    for update in range(9):
        starts = [start for start in (0, 1, 3, 7) if start <= update]
        total = 1 / (len(starts) + 1)
        for place, start in enumerate(starts, start=1):
            part = slice(start, update + 1)
            total += slow_ratio(int(hits[part].sum()), int(rows[part].sum()), low, high) / (place * (place + 1))
        largest = max(largest, total)
        expected.append(largest)
    np.testing.assert_allclose(got, expected, rtol=1e-3)


def test_no_rows_prove_nothing() -> None:
    none = np.zeros((3, 2), dtype=np.int64)
    assert np.allclose(log_evidence(none, none, np.array([0.0, 0.4]), np.array([1.0, 0.4])), 0)
    assert log_evidence(none[:0], none[:0], np.zeros(2), np.ones(2)).shape == (0, 2)


def test_intervals_are_nested_and_hold_the_share() -> None:
    hits, rows = np.array([0, 3, 10]), np.array([10, 10, 10])
    intervals = [exact_interval(hits, rows, level) for level in (0.5, 0.05, 0.001)]
    for (low, high), (wider_low, wider_high) in pairwise(intervals):
        assert (wider_low <= low).all()
        assert (wider_high >= high).all()
        assert ((low <= hits / rows) & (hits / rows <= high)).all()


def test_false_alarms_over_many_looks_stay_below_the_bound() -> None:
    """500 streams of 40 looks at a true proportion at the edge of the null hypothesis, level 10 %."""
    rng = np.random.default_rng(1)
    hits = rng.binomial(25, 0.4, (40, 500))
    evidence = log_evidence(hits, np.full_like(hits, 25), np.full(500, 0.2), np.full(500, 0.4))
    assert (evidence[-1] >= log(10)).mean() <= 0.1


def test_a_late_change_is_noticed_soon() -> None:
    rng = np.random.default_rng(2)
    hits = np.r_[rng.binomial(50, 0.3, 60), rng.binomial(50, 0.6, 10)][:, None]
    evidence = log_evidence(hits, np.full_like(hits, 50), np.array([0.25]), np.array([0.35]))[:, 0]
    assert evidence[59] < log(1000) < evidence[66]
