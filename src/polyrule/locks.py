"""Locks that the system takes back when their holder ends, however it ends: no clocks, no process numbers to trust."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any


def try_lock(handle: IO[Any] | int) -> bool | None:
    """Lock an open file against other processes; False if another one holds it, None if this system cannot say."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _try_lock_windows(handle: IO[Any] | int) -> bool | None:  # pragma: no cover
    if isinstance(handle, int):
        return None
    msvcrt: Any = import_module("msvcrt")
    try:
        # a byte far behind the text, so that others can still read who holds the lock
        handle.seek(1 << 20)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    handle.seek(0)
    return True


@contextlib.contextmanager
def hold(path: Path) -> Iterator[bool]:
    """Hold the lock file at `path`, which is gone afterwards; False if somebody else holds it.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "store.lock"
    >>> with hold(place) as mine, hold(place) as mine_too:
    ...     mine, mine_too
    (True, False)
    >>> place.exists()
    False
    """
    while True:
        with path.open("a") as handle:
            if try_lock(handle) is False:
                yield False
                return
            if not _is_at(handle, path):  # its last holder has removed it since we opened it
                continue
            try:
                yield True
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()
            return


def _is_at(handle: IO[Any], path: Path) -> bool:
    """Whether an open file is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except OSError:
        return False
