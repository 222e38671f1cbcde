"""Example weights as integers, so that weighted counts stay exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.errors import DataError

#: The largest sum of integer weights: it fits the 32-bit counters of the kernels (`native/core/limits.hpp`).
LARGEST_TOTAL = 2**31 - 1
#: Weights that have no such integers are rounded so that they sum to about this, or half of it.
GRID = 2**30


def integer_weights(sample_weight: Any, n: int) -> tuple[npt.NDArray[np.int64], Fraction]:
    """Bring weights to a common integer scale: ``weight = integer * scale``.

    Tried in turn: the decimal numbers the weights print as (0.1 is meant as 1/10), then the exact binary values of the
    floats, each accepted if the integers sum to less than 2**31. Otherwise the weights are rounded to multiples of
    the power of two that is just not below total / 2**30; a positive weight never becomes zero. Equal weights always
    stay equal.

    Parameters
    ----------
    sample_weight : array-like of float, a single number, or None
        None and a single number weigh every example alike.
    n : int
        Number of examples.

    Returns
    -------
    integers : ndarray of int64, shape (n,)
    scale : Fraction
        The weight one integer unit stands for.

    Examples
    --------
    >>> integer_weights([0.1, 0.3, 0.0], 3)
    (array([1, 3, 0]), Fraction(1, 10))
    >>> integer_weights(None, 2)
    (array([1, 1]), Fraction(1, 1))
    """
    if sample_weight is None:
        return np.ones(n, dtype=np.int64), Fraction(1)
    weights = _check(sample_weight, n)
    distinct, position, counts = np.unique(weights, return_inverse=True, return_counts=True)
    values = [float(value) for value in distinct]
    for exact in (_printed, Fraction):
        scaled = _common_scale(values, counts.tolist(), exact)
        if scaled is not None:
            integers, scale = scaled
            return np.array(integers, dtype=np.int64)[position], scale
    integers, scale = _on_grid(values, counts.tolist())
    return np.array(integers, dtype=np.int64)[position], scale


def _check(sample_weight: Any, n: int) -> npt.NDArray[np.float64]:
    try:
        given = np.asarray(sample_weight)
        if given.dtype in (np.float16, np.float32):  # as they are written: a single 0.1 is one tenth, too
            given = given.astype(str)
        weights = given.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise DataError("sample_weight must hold numbers") from problem
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise DataError(f"sample_weight has shape {weights.shape}, expected ({n},): one weight per example")
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"sample_weight, row {row}: {weights[row]} is not a weight; weights are finite and at least 0")
    if n and not weights.any():
        raise DataError("sample_weight is zero for every example; at least one weight must be positive")
    return weights


def _printed(value: float) -> Fraction:
    return Fraction(repr(value))


def _common_scale(
    values: Sequence[float], counts: Sequence[int], exact: Callable[[float], Fraction]
) -> tuple[list[int], Fraction] | None:
    """Find integers in the ratio of the values, or None once their sum must pass the limit."""
    fractions = [exact(value) for value in values]
    smallest = min((fraction for fraction in fractions if fraction), default=Fraction(1))
    numerator, denominator = 0, 1
    for fraction in fractions:
        if not fraction:
            continue
        denominator = lcm(denominator, fraction.denominator)
        numerator = gcd(numerator, fraction.numerator)
        if smallest * denominator > LARGEST_TOTAL * max(numerator, 1):
            return None
    # the greatest common divisor of fractions in lowest terms is gcd(numerators) / lcm(denominators)
    scale = Fraction(numerator or 1, denominator)
    integers = [int(fraction / scale) for fraction in fractions]
    total = sum(integer * count for integer, count in zip(integers, counts, strict=True))
    return (integers, scale) if total <= LARGEST_TOTAL else None


def _on_grid(values: Sequence[float], counts: Sequence[int]) -> tuple[list[int], Fraction]:
    total = sum((Fraction(value) * count for value, count in zip(values, counts, strict=True)), Fraction(0))
    scale = _power_of_two(total / GRID)
    return [max(1, round(Fraction(value) / scale)) if value else 0 for value in values], scale


def _power_of_two(number: Fraction) -> Fraction:
    """Return the smallest power of two that is not below a positive number.

    >>> _power_of_two(Fraction(5)), _power_of_two(Fraction(1, 4)), _power_of_two(Fraction(1, 5))
    (Fraction(8, 1), Fraction(1, 4), Fraction(1, 4))
    """
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
    while power < number:
        power *= 2
    return power
