"""The errors polyrule raises on purpose: each says in one sentence what is wrong, where, and what to do."""


class PolyruleError(Exception):
    """Base of every error raised on purpose; catching it catches nothing else."""


class DataError(PolyruleError, ValueError):
    """The data cannot be used as it is: a file, a column, a value or a shape is wrong."""


class OptionError(PolyruleError, ValueError):
    """An option has a value that is not allowed, or two options contradict each other."""


class MeasureError(OptionError):
    """A measure is unknown, ill-formed, or not defined for the averaging or scope asked for."""


class UnsoundSearchError(OptionError):
    """A head search was asked for that could miss the best head; the message shows a small witness."""


class ModelError(PolyruleError, ValueError):
    """A model or model file is broken, of an unknown version, or does not fit the data."""
