"""What an input may cost: bytes, cells and seconds, set by the caller or derived from the size of the input.

Every reader holds what it is about to allocate against one `Budget`. Without limits of the caller's own a small file
may not become a large table: the allowance grows with the file, and what a file of that size can honestly hold fits.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from polyrule.errors import LimitError, OptionError

DEFAULT_BYTES = 2 << 30
"""Bytes that a file may expand to however small it is."""

DEFAULT_CELLS = 1 << 24
"""Cells of a table that a file may ask for however small it is."""

MOST_COLUMNS = 5_000_000
"""Columns, or labels, of any input; one that claims more is refused before anything is allocated."""

DEFAULT_NAMES = 1 << 18
"""Columns and labels that a file may imply without spelling them out."""

_EXPANSION = 32
_CELLS_PER_BYTE = 64
_BYTES_PER_CELL = 8


@dataclass(frozen=True)
class Limits:
    """Limits in force; None where there is none. `deadline` is a reading of the monotonic clock."""

    max_bytes: int | None = None
    max_cells: int | None = None
    seconds: float | None = None
    deadline: float | None = None

    def check_time(self, name: str) -> None:
        """Raise an error if the time limit is exceeded; `name` is the work in progress."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LimitError(f"{name}: not finished within the {self.seconds:g} seconds that are allowed")

    def check_bytes(self, name: str, count: int) -> None:
        """Raise if an input has more bytes than allowed."""
        if self.max_bytes is not None and count > self.max_bytes:
            raise LimitError(f"{name}: {count} bytes are more than the {self.max_bytes} that are allowed")

    def check_cells(self, name: str, count: int) -> None:
        """Raise if an input has, or asks for, more cells than allowed."""
        if self.max_cells is not None and count > self.max_cells:
            raise LimitError(f"{name}: {count} cells are more than the {self.max_cells} that are allowed")


NO_LIMITS = Limits()
CURRENT: ContextVar[Limits] = ContextVar("polyrule_limits", default=NO_LIMITS)


@contextlib.contextmanager
def limits(
    *, max_bytes: float | None = None, max_cells: float | None = None, seconds: float | None = None
) -> Iterator[None]:
    r"""Limit what everything inside the block may cost: the way to accept files from strangers.

    Reading data, loading a model, parsing a rule or a measure and predicting raise `polyrule.errors.LimitError` as soon
    as an input asks for more. Inside another such block the tighter limit of each kind holds. The limits belong to the
    thread or asynchronous task that set them.

    Parameters
    ----------
    max_bytes : int, optional
        Bytes of one file after decompression, and of what is built from it.
    max_cells : int, optional
        Cells of one table: examples times columns, or what a sparse table stores; also columns and labels.
    seconds : float, optional
        Time for the whole block. It is looked at between blocks of work, so a little more may pass.

    Examples
    --------
    >>> import io, polyrule
    >>> from polyrule.data import read
    >>> with polyrule.limits(max_bytes=1_000_000, max_cells=100_000, seconds=10):
    ...     len(read(io.BytesIO(b"size,red\n" + b"1,0\n" * 5), labels=["red"]))
    5
    >>> with polyrule.limits(max_cells=4):
    ...     read(io.BytesIO(b"size,red\n" + b"1,0\n" * 5), labels=["red"], name="upload")
    Traceback (most recent call last):
    ...
    polyrule.errors.LimitError: stream: a table of 10 cells is more than the 4 that are allowed
    """
    _check_limit("seconds", seconds)
    max_bytes, max_cells = _whole_limit("max_bytes", max_bytes), _whole_limit("max_cells", max_cells)
    outer = CURRENT.get()
    deadline = None if seconds is None else time.monotonic() + seconds
    if outer.deadline is not None and (deadline is None or outer.deadline < deadline):
        deadline, seconds = outer.deadline, outer.seconds
    inner = Limits(_tighter(outer.max_bytes, max_bytes), _tighter(outer.max_cells, max_cells), seconds, deadline)
    token = CURRENT.set(inner)
    try:
        yield
    finally:
        CURRENT.reset(token)


def current_limits() -> Limits:
    """Return the limits in force here."""
    return CURRENT.get()


class Budget:
    """Budget of one input: `name` is its name in errors, `stored` its size on the disk."""

    def __init__(self, name: str, stored: int = 0, max_bytes: float | None = None) -> None:
        set_here = current_limits()
        self.name, self.limits = name, set_here
        self._stored = stored
        self._explicit_bytes = _tighter(set_here.max_bytes, _whole_limit("max_bytes", max_bytes))
        generous = max(DEFAULT_BYTES, _EXPANSION * stored)
        self.most_bytes = generous if self._explicit_bytes is None else self._explicit_bytes

    @property
    def limits_content(self) -> bool:
        """True if plain content is limited, too, and not only what compressed content expands to."""
        return self._explicit_bytes is not None

    def tick(self) -> None:
        """Raise an error if the time limit is exceeded."""
        self.limits.check_time(self.name)

    def bytes(self, count: int, what: str) -> None:
        """Raise if something is larger than the whole input may be."""
        if count > self.most_bytes:
            raise LimitError(
                f"{self.name}: {what} of {count} bytes is more than the {self.most_bytes} that are allowed; pass a "
                "larger max_bytes if you trust the file"
            )

    def cells(self, count: int) -> None:
        """Raise if the input asks for a table of more cells in all than allowed."""
        self.tick()
        if count > self._most_cells():
            trust = "; pass a larger max_bytes if you trust the file"
            if self._explicit_bytes is None:
                trust = f" for a file of {self._stored} bytes{trust}"
            if self.limits.max_cells is not None:
                trust = ""
            raise LimitError(
                f"{self.name}: a table of {count} cells is more than the {self._most_cells()} that are allowed{trust}"
            )

    def names(self, count: int, what: str = "columns") -> None:
        """Raise if the input implies more columns or labels in all than allowed."""
        max_names = self.limits.max_cells
        if max_names is None:
            max_names = max(DEFAULT_NAMES, self._stored)
        if count > max_names:
            raise LimitError(
                f"{self.name}: {count} {what} are more than the {max_names} that are allowed for a file of "
                f"{self._stored} bytes; set polyrule.limits(max_cells=...) if you trust the file"
            )

    def _most_cells(self) -> int:
        max_cells = self.most_bytes // _BYTES_PER_CELL
        if self._explicit_bytes is None:
            max_cells = min(max_cells, max(DEFAULT_CELLS, _CELLS_PER_BYTE * self._stored))
        return max_cells if self.limits.max_cells is None else min(max_cells, self.limits.max_cells)


def _tighter(one: int | None, other: int | None) -> int | None:
    limits = [limit for limit in (one, other) if limit is not None]
    return min(limits) if limits else None


def _whole_limit(name: str, value: float | None) -> int | None:
    """A limit as a whole number, also where it was written as 1e6; an infinite one is none."""
    _check_limit(name, value)
    return None if value is None or math.isinf(value) else int(value)


def _check_limit(name: str, value: float | None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value) or value < 0:
        raise OptionError(f"{name} must be a number of at least 0 or None, not {value!r}")
