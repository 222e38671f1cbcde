"""Allowed values of the learners' parameters.

The table is the only place that states what a parameter may be. It imports no learner and no NumPy, because the help of
the command line is made from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from polyrule.errors import OptionError
from polyrule.utils.messages import literal

LARGEST = 2**31 - 1
"""Largest whole number of an option; the kernels count with 32 bits."""

LARGEST_PRICE = 1e9
"""Largest penalty or price; a larger one has the same effect."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Values that a parameter may have.

    Parameters
    ----------
    what : str
        Description of the values, such as "a whole number of at least 1".
    accepts : callable
        Return True for a value that fits.
    besides : tuple
        Single values that are allowed, too: None, True, False or texts.
    """

    what: str
    accepts: Callable[[Any], bool]
    besides: tuple[Any, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Raise `OptionError` unless the value is allowed."""
        if not any(is_same(value, one) for one in self.besides) and not self.accepts(value):
            words = [*map(literal, self.besides), *([self.what] if self.what else [])]
            allowed = ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + words[-1]
            raise OptionError(parameter=name, value=value, allowed=allowed)


def is_switch(value: Any) -> bool:
    """Return True for a Boolean of Python or NumPy."""
    dtype = getattr(value, "dtype", None)
    return isinstance(value, bool) or (getattr(dtype, "kind", "") == "b" and getattr(value, "ndim", None) == 0)


def is_same(value: Any, one: Any) -> bool:
    """Return True if a value is a certain None, Boolean or text; never compares arrays or missing values.

    >>> is_same(None, None), is_same(1, True), is_same("a", "a")
    (True, False, True)
    """
    if isinstance(one, bool):
        return is_switch(value) and bool(value) is one
    return value is one or (isinstance(value, str) and isinstance(one, str) and value == one)


def is_whole(value: Any) -> bool:
    """Return True for a whole number that is no Boolean."""
    return isinstance(value, Integral) and not is_switch(value)


def as_float(value: Any) -> float:
    """Return a number as a float, NaN for what is no number or too large."""
    if not isinstance(value, Real) or is_switch(value):
        return math.nan
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.nan


def choice(*values: Any) -> Allowed:
    """Allow single values."""
    return Allowed("", lambda value: False, values)


def switch(*besides: Any) -> Allowed:
    """Allow True and False."""
    return choice(*besides, True, False)


def whole(minimum: int, *besides: Any, maximum: int = LARGEST) -> Allowed:
    """Allow whole numbers from `minimum` to `maximum`."""
    what = (
        f"a whole number of at least {minimum}" if maximum == LARGEST else f"a whole number from {minimum} to {maximum}"
    )
    return Allowed(what, lambda value: is_whole(value) and minimum <= value <= maximum, besides)


def number(what: str, fits: Callable[[float], bool], *besides: Any) -> Allowed:
    """Allow numbers that fit; NaN never does."""
    return Allowed(what, lambda value: bool(fits(as_float(value))), besides)


def share(*besides: Any) -> Allowed:
    """Allow shares from 0 to 1."""
    return number("a share from 0 to 1", lambda value: 0 <= value <= 1, *besides)


def price(*besides: Any) -> Allowed:
    """Allow numbers from 0 to `LARGEST_PRICE`."""
    return number(f"a number from 0 to {LARGEST_PRICE:g}", lambda value: 0 <= value <= LARGEST_PRICE, *besides)


def mapping(what: str) -> Allowed:
    """Allow None and dicts."""
    return Allowed(what, lambda value: isinstance(value, Mapping), (None,))


def _is_threads(value: Any) -> bool:
    return is_whole(value) and 0 < abs(int(value)) <= LARGEST


def _is_bins(value: Any) -> bool:
    return 2 <= as_float(value) <= 60_000 and as_float(value) % 1 == 0


def _is_lift(value: Any) -> bool:
    return isinstance(value, str) or type(value).__name__ == "Lift"  # not imported, see above


def _is_seed(value: Any) -> bool:
    return 0 <= value < 1 << 32 if is_whole(value) else hasattr(value, "randint")


def _is_names(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _is_specification(value: Any) -> bool:
    return isinstance(value, (str, re.Pattern, slice)) or _is_names(value)


#: Parameter -> allowed values, for the parameters that are alike in all learners that have them. `measure`,
#: `cv` and `constraints` are checked by what reads them.
ALLOWED = {
    "averaging": choice("micro", "label", "example", "macro"),
    "beam_width": whole(1),
    "callback": Allowed("a function", callable, (None,)),
    "decision": choice("auto", "threshold", "per-label", "subset", "expected-f1"),
    "device": choice("cpu", "cuda"),
    "effort": whole(1, None),
    "features": mapping("a dict of label to list of feature names"),
    "forbid": Allowed("a list of feature names", _is_names, (None,)),
    "heads": choice("multi", "single"),
    "keep_covered": switch(),
    "keep_columns": Allowed("names of columns, or a pattern", _is_specification, (None,)),
    "kernels": choice(None, "native", "reference"),
    "label_conditions": switch(),
    "label_cost": price("auto"),
    "labels_per_head": number(f"a number from 1 to {LARGEST_PRICE:g}", lambda value: 1 <= value <= LARGEST_PRICE, None),
    "lift": Allowed("text such as 'kln:0.16' or a Lift", _is_lift, (None,)),
    "max_bins": Allowed("a whole number from 2 to 60000", _is_bins, (None,)),
    "max_alternatives": whole(0),
    "max_conditions": whole(0, None),
    "max_head_size": whole(1, None),
    "max_rules": whole(1, None),
    "max_samples": whole(1, None),
    "min_coverage": number("a finite number of at least 0", lambda value: 0 <= value < math.inf),
    "min_precision": share(),
    "monotone": mapping("a dict of feature to 'up' or 'down'"),
    "n_jobs": Allowed("a number of threads (-1: all cores)", _is_threads, (None,)),
    "negative": switch(),
    "optimize": choice("micro-f1", "macro-f1", "example-f1", "subset", "hamming"),
    "points": whole(0, True, False),
    "random_state": Allowed("a whole number from 0 to 4294967295 or a RandomState", _is_seed, (None,)),
    "refine": switch(),
    "remaining": share(),
    "ridge": number(f"a positive number up to {LARGEST_PRICE:g}", lambda value: 0 < value <= LARGEST_PRICE, "auto"),
    "scope": choice("head", "all", "full"),
    "search": choice("auto", "exhaustive", "antimonotone", "decomposable", "ratio", "subset", "bound"),
    "simplicity": price(),
    "stop_threshold": share(None),
    "teacher": choice("forest", None),
    "time_limit": number("a positive number of seconds", lambda value: value > 0, None),
    "verbose": whole(0, True, False),
}


def check_parameters(parameters: Mapping[str, Any], **special: Allowed) -> None:
    """Raise `OptionError` for the first parameter whose value is not allowed.

    Parameters
    ----------
    parameters : mapping
        Values by name; a name that is in no table is skipped.
    **special : Allowed
        What the learner allows in place of `ALLOWED`.

    Examples
    --------
    >>> check_parameters({"max_rules": 0}, max_rules=whole(1, None))
    Traceback (most recent call last):
    ...
    polyrule.errors.OptionError: max_rules must be None or a whole number of at least 1, got 0
    """
    table = ALLOWED | special
    for name, value in parameters.items():
        if name in table:
            table[name].check(name, value)
