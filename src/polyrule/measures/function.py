"""A user's own function of the four counts, and what can be recognised in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from polyrule.errors import MeasureError
from polyrule.measures.base import Measure
from polyrule.measures.ratio import RatioMeasure
from polyrule.utils.arrays import Floats

Linear = tuple[Fraction, ...]
#: Products of a numerator and a denominator below this have quotients that doubles tell apart.
LARGEST_PRODUCT = 2**50
LARGEST_COEFFICIENT = 2**20
SAMPLES = 400


@dataclass(frozen=True)
class TracedRatio:
    """The ratio a function computes, and up to which sum of counts its doubles are ordered like it."""

    measure: RatioMeasure
    largest_total: int


class _OpaqueError(Exception):
    """The function does something that is not followed."""


def trace(name: str, function: Callable[..., Any], values: Callable[..., Any]) -> TracedRatio | None:
    """Return the ratio of linear functions, such as an F-measure, that a function computes, or None if it is opaque.

    The function is called once with symbols instead of numbers. What comes out is trusted only if every step is exact
    in doubles: sums and multiples with short binary coefficients, and one division at the end. The rounded quotients of
    such numbers are ordered like the quotients themselves as long as the numbers are small enough, so the function can
    be optimised as a ratio measure and ties are the same. Whatever else a function does makes it opaque; then it is
    asked for its values. What was recognised is checked against `values`, the same function for arrays of counts.

    Examples
    --------
    >>> def f_half(tp, fp, tn, fn):
    ...     return 1.25 * tp / np.maximum(1.25 * tp + fp + 0.25 * fn, 1e-9)
    >>> trace("f", f_half, f_half).measure
    RatioMeasure('f', 5·TP / (5·TP + 4·FP + FN))
    >>> trace("f", lambda tp, fp, tn, fn: np.sqrt(tp), None) is None
    True
    """
    zero, one = Fraction(0), Fraction(1)
    symbols = [_Symbol(tuple(one if i == k else zero for i in range(5))) for k in range(1, 5)]
    try:
        with np.errstate(all="ignore"):
            result = _symbol(function(*symbols))
        top, bottom = result.top, result.bottom or (one, zero, zero, zero, zero)
        if not _is_positive(bottom):
            return None
        traced = _measured(name, top, bottom)
        return traced if traced is not None and _agrees(traced, values) else None
    except Exception:
        # a function that cannot be traced is called for its values, and errors are reported there
        return None


class _Symbol(NDArrayOperatorsMixin):
    """A linear function of the counts, or one over another."""

    def __init__(self, top: Linear, bottom: Linear | None = None) -> None:
        if any(top[1:]) and max(map(abs, top)) * lcm(*(x.denominator for x in top)) > LARGEST_COEFFICIENT:
            raise _OpaqueError  # sums might be rounded
        self.top, self.bottom = top, bottom

    def astype(self, *_: Any, **__: Any) -> _Symbol:
        return self

    def copy(self) -> _Symbol:
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        where = options.pop("where", True)
        options.pop("out", None)
        if method != "__call__" or options or not _always(where) or ufunc.__name__ not in _UFUNCS:
            raise _OpaqueError
        return _UFUNCS[ufunc.__name__](*map(_symbol, inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ not in _FUNCTIONS:
            raise _OpaqueError
        return _FUNCTIONS[function.__name__](*args, **kwargs)


def _symbol(x: Any) -> _Symbol:
    if isinstance(x, _Symbol):
        return x
    number = np.asarray(x)
    if number.ndim or number.dtype.kind not in "iuf" or not np.isfinite(number):
        raise _OpaqueError
    return _Symbol((Fraction(number.item()), *[Fraction(0)] * 4))


def _always(condition: Any) -> bool:
    if not isinstance(condition, (bool, np.bool_)):
        raise _OpaqueError
    return bool(condition)


def _whole(*symbols: _Symbol) -> list[Linear]:
    if any(symbol.bottom is not None for symbol in symbols):
        raise _OpaqueError
    return [symbol.top for symbol in symbols]


def _add(x: _Symbol, y: _Symbol) -> _Symbol:
    a, b = _whole(x, y)
    return _Symbol(tuple(p + q for p, q in zip(a, b, strict=True)))


def _multiply(x: _Symbol, y: _Symbol) -> _Symbol:
    if any(x.top[1:]) or x.bottom is not None:
        x, y = y, x
    if any(x.top[1:]) or x.bottom is not None:
        raise _OpaqueError
    if y.bottom is not None and not _is_power_of_two(x.top[0]):
        raise _OpaqueError  # rounded once more
    return _Symbol(tuple(x.top[0] * p for p in y.top), y.bottom)


def _divide(x: _Symbol, y: _Symbol) -> _Symbol:
    a, b = _whole(x, y)
    if not any(b[1:]):
        if not _is_power_of_two(b[0]):
            return _Symbol(a, b)
        return _Symbol(tuple(p / b[0] for p in a))
    return _Symbol(a, b)


def _maximum(x: _Symbol, y: _Symbol) -> _Symbol:
    a, b = _whole(x, y)
    if _minimum(tuple(p - q for p, q in zip(a, b, strict=True))) >= 0:
        return x
    if _minimum(tuple(q - p for p, q in zip(a, b, strict=True))) >= 0:
        return y
    raise _OpaqueError


def _is_power_of_two(x: Fraction) -> bool:
    return x > 0 and (x.numerator & (x.numerator - 1)) == 0 and (x.denominator & (x.denominator - 1)) == 0


def _minimum(row: Linear) -> Fraction:
    """Return the least value of a linear function over counts with TP >= 1."""
    if min(row[1:]) < 0:
        raise _OpaqueError
    return row[0] + row[1]


def _is_positive(row: Linear) -> bool:
    return min(row) >= 0 and row[0] + row[1] > 0


def _above(x: _Symbol, y: _Symbol) -> np.bool_:
    """Return True if x > y always; where that depends on the counts, the function is opaque."""
    a, b = _whole(x, y)
    if _minimum(tuple(p - q for p, q in zip(a, b, strict=True))) <= 0:
        raise _OpaqueError
    return np.bool_(True)


def _where(condition: Any, x: Any, y: Any) -> _Symbol:
    return _symbol(x if _always(condition) else y)


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "subtract": lambda x, y: _add(x, _symbol(-1) * y),
    "multiply": _multiply,
    "divide": _divide,
    "maximum": _maximum,
    "negative": lambda x: _Symbol(tuple(-p for p in x.top), x.bottom),
    "positive": lambda x: x,
    "greater": _above,
    "greater_equal": _above,
    "less": lambda x, y: _above(y, x),
    "less_equal": lambda x, y: _above(y, x),
    "equal": lambda x, y: ~_above(x, y),
    "not_equal": _above,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "zeros_like": lambda x, **_: _symbol(0),
    "ones_like": lambda x, **_: _symbol(1),
    "full_like": lambda x, value, **_: _symbol(value),
    "nan_to_num": lambda x, **_: _symbol(x),
}


def _measured(name: str, top: Linear, bottom: Linear) -> TracedRatio | None:
    scale = lcm(*(x.denominator for x in top + bottom))
    whole = [[int(x * scale) for x in row] for row in (top, bottom)]
    largest = [max(map(abs, row)) for row in whole]
    # Numbers n and d stay below largest * (total + 1); quotients differ if products do, and doubles tell them apart.
    total = int((LARGEST_PRODUCT // max(1, largest[0] * largest[1])) ** 0.5) - 1
    return TracedRatio(RatioMeasure(name, *whole), total) if total > 0 else None


def _agrees(traced: TracedRatio, values: Callable[..., Any]) -> bool:
    """Check the function against the ratio for many counts, bit by bit."""
    rng = np.random.default_rng(0)
    sizes = np.minimum(10 ** rng.integers(1, 6, SAMPLES), traced.largest_total // 4)
    counts = rng.integers(0, sizes[None, :] + 1, (4, SAMPLES))
    counts[1:, : SAMPLES // 4] *= rng.integers(0, 2, (3, SAMPLES // 4))  # none of some kind
    counts[0] = np.maximum(counts[0], 1)
    a, b = (np.array(row, dtype=np.int64) for row in traced.measure.rows)
    expected = (a[0] + a[1:] @ counts) / (b[0] + b[1:] @ counts)
    return bool((np.asarray(values(*counts.astype(np.float64))) == expected).all())


class FunctionMeasure(Measure):
    """Any function of (tp, fp, tn, fn) that works on arrays of float64 element by element.

    The doubles it returns are taken as they are: they compare exactly, and two heads tie only if their doubles agree.
    Nothing is proved about such a function except for label-wise averages; `polyrule.measures.check` looks for
    counterexamples.

    Parameters
    ----------
    name : str
        What to call it.
    function : callable
        ``function(tp, fp, tn, fn) -> array`` of the shape of its arguments, all finite.
    monotone : bool
        True claims that the value never falls when TP or TN grows and never rises when FP or FN grows. Branch and bound
        then prunes by it; a wrong claim can cost the best head.

    Examples
    --------
    >>> import numpy as np
    >>> measure = FunctionMeasure("log gain", lambda tp, fp, tn, fn: np.log2(1 + tp) - np.log2(1 + fp), monotone=True)
    >>> measure.value(3, 0, 5, 1)
    Fraction(2, 1)
    """

    def __init__(self, name: str, function: Callable[..., Any], monotone: bool = False) -> None:
        if not callable(function):
            raise MeasureError(f"measure {name!r}: {function!r} cannot be called with (tp, fp, tn, fn)")
        self.name = name
        self.function = function
        self.monotone = monotone
        self.values(*np.array([[0.0, 2], [0, 1], [1, 3], [0, 2]]))

    @cached_property
    def traced(self) -> TracedRatio | None:
        """The ratio of linear functions that the function computes, where that could be made out and proved exact."""
        return trace(self.name, self.function, self.values)

    def in_units(self, unit: Fraction) -> FunctionMeasure:
        """Call the function with numbers of examples, each rounded to a double."""
        function, (top, bottom) = self.function, unit.as_integer_ratio()
        return FunctionMeasure(self.name, lambda *counts: function(*(c * top / bottom for c in counts)), self.monotone)

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Call the function on arrays of counts and check what it returns."""
        arguments = [np.asarray(x, dtype=np.float64) for x in (tp, fp, tn, fn)]
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(self.function(*arguments), dtype=np.float64)
        except Exception as error:
            raise MeasureError(
                f"measure {self.name!r}: its function failed: {type(error).__name__}: {error}"
            ) from error
        if result.shape != arguments[0].shape:
            raise MeasureError(
                f"measure {self.name!r}: its function returned shape {result.shape} for counts of shape "
                f"{arguments[0].shape}; it must work element by element"
            )
        if not np.isfinite(result).all():
            where = int(np.flatnonzero(~np.isfinite(result))[0])
            counts = ", ".join(
                f"{k}={x.flat[where]:g}" for k, x in zip(("tp", "fp", "tn", "fn"), arguments, strict=True)
            )
            raise MeasureError(
                f"measure {self.name!r}: its function returned {result.flat[where]} for {counts}; return a finite "
                "number, for example 0 where a denominator is 0"
            )
        return result

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the function's double as an exact fraction."""
        return Fraction(float(self.values(*np.array([[tp], [fp], [tn], [fn]], dtype=np.float64))[0]))
