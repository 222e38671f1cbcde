"""Locks that the system takes back when their holder ends, however it ends: no clocks, no process numbers to trust."""

from __future__ import annotations

from importlib import import_module
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
