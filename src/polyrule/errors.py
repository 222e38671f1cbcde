"""The errors polyrule raises on purpose: each says in one sentence what is wrong, where, and what to do."""

from __future__ import annotations

LONGEST_MESSAGE = 2000
"""Characters; names in a file may be far longer, and a message may quote several."""


class PolyruleError(Exception):
    """Base of every error raised on purpose; catching it catches nothing else."""

    def __str__(self) -> str:
        text = super().__str__()
        half = LONGEST_MESSAGE // 2
        return text if len(text) <= LONGEST_MESSAGE else f"{text[:half]} … {text[-half:]}"


class DataError(PolyruleError, ValueError):
    """The data cannot be used as it is: a file, a column, a value or a shape is wrong."""


class LimitError(DataError):
    """An input asks for more bytes, cells or seconds than it is allowed; see `polyrule.limits`."""


class OptionError(PolyruleError, ValueError):
    """An option has a value that is not allowed, or two options contradict each other."""


class OutputError(PolyruleError, OSError):
    """A result could not be written: the disk is full, or the place may not be written to."""


class MeasureError(OptionError):
    """A measure is unknown, ill-formed, or not defined for the averaging or scope asked for."""


class UnsoundSearchError(OptionError):
    """A head search was asked for that could miss the best head; the message shows a small witness."""


class UnseenCategoryWarning(UserWarning):
    """New data holds categories that the model never saw; they count as missing values, which satisfy no condition."""


class MeasureWarning(UserWarning):
    """A measure makes learning pointless or nearly so: it is constant, rewards errors, or lets every example pass."""


class ModelWarning(UserWarning):
    """What was learned can do less than one would think: it has no rules, or cannot predict some label."""


class DataWarning(UserWarning):
    """The data can be used, but looks as if something else was meant: identifiers as features, tags as one text."""


class SlowSearchWarning(UserWarning):
    """A search is about to start that will take long; the message says how long and what would be fast."""


class ModelError(PolyruleError, ValueError):
    """A model or model file is broken, of an unknown version, or does not fit the data."""
