"""A user's own function of the four counts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.errors import MeasureError
from polyrule.measures.base import Measure
from polyrule.measures.tracing import TracedRatio, trace


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

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> npt.NDArray[np.float64]:
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

    def __repr__(self) -> str:
        return f"FunctionMeasure({self.name!r})"
