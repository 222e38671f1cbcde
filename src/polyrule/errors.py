"""Typed errors and warnings of polyrule. Each message states in one sentence what is wrong, where, and the remedy."""

from __future__ import annotations

from typing import Any

from polyrule.utils.messages import parameter_name, shown

__all__ = [
    "DataError",
    "DataWarning",
    "LimitError",
    "MeasureError",
    "MeasureWarning",
    "ModelError",
    "ModelWarning",
    "OptionError",
    "OutputError",
    "PolyruleError",
    "SlowSearchWarning",
    "UnseenCategoryWarning",
    "UnsoundSearchError",
]

LONGEST_MESSAGE = 2000
"""Characters; names in a file may be far longer, and a message may quote several."""


class PolyruleError(Exception):
    """Base of all errors that are raised on purpose; catching it catches nothing else.

    Parameters
    ----------
    message : str
        Text of the error. With `parameter` it begins with the name of that parameter: ``max_rules: ...``.
    parameter : str, optional
        Parameter that is wrong. On the command line the message names the option in its place.
    value, allowed : object and str, optional
        Value that was passed, and what is allowed. Without a message they make the sentence
        ``{parameter} must be {allowed}, got {value!r}``.

    Examples
    --------
    >>> print(OptionError(parameter="max_rules", value=0, allowed="None or a whole number of at least 1"))
    max_rules must be None or a whole number of at least 1, got 0
    >>> print(DataError("there is no column 'sad'", parameter="labels"))
    labels: there is no column 'sad'
    """

    def __init__(
        self, message: str = "", *, parameter: str | None = None, value: Any = None, allowed: str | None = None
    ) -> None:
        super().__init__(message)
        self.parameter, self.value, self.allowed = parameter, value, allowed
        #: Name of the file or data set that the error concerns, if the message does not name it.
        self.source: str | None = None

    def __str__(self) -> str:
        text = super().__str__()
        if self.parameter is not None:
            name = parameter_name(self.parameter)
            text = f"{name}: {text}" if text else f"{name} must be {self.allowed}, got {shown(self.value)}"
        if self.source is not None:
            text = f"{self.source}: {text}"
        half = LONGEST_MESSAGE // 2
        return text if len(text) <= LONGEST_MESSAGE else f"{text[:half]} … {text[-half:]}"


class DataError(PolyruleError, ValueError):
    """The data cannot be used: a file, a column, a value or a shape is wrong."""


class LimitError(DataError):
    """An input needs more bytes, cells or seconds than it is allowed; see `polyrule.limits`."""


class OptionError(PolyruleError, ValueError):
    """An option has a value that is not allowed, or two options contradict each other."""


class OutputError(PolyruleError, OSError):
    """A result could not be written: the disk is full, or the place may not be written to."""


class MeasureError(OptionError):
    """A measure is unknown, ill-formed, or not defined for the averaging or scope."""


class UnsoundSearchError(OptionError):
    """A head search could miss the best head; the message shows a small example."""


class UnseenCategoryWarning(UserWarning):
    """New data has categories that the model never saw; they count as missing values, which satisfy no condition."""


class MeasureWarning(UserWarning):
    """A measure makes learning pointless or nearly so: it is constant, rewards errors, or accepts all examples."""


class ModelWarning(UserWarning):
    """A fitted model can do less than expected: it has no rules, or cannot predict a label."""


class DataWarning(UserWarning):
    """The data can be used, but looks like a mistake: identifiers as features, tags as one text."""


class SlowSearchWarning(UserWarning):
    """A search is about to start that takes long; the message states how long and what would be fast."""


class ModelError(PolyruleError, ValueError):
    """A model or model file is broken, of an unknown version, or does not fit the data."""
