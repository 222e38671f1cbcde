"""Files that are written whole or not at all, and locks that the system takes back when their holder ends."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
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


_SETTLED = 10.0  # seconds by the file system's own clock after which a writer has certainly locked its file


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that takes its place when the block ends without an error.

    What a writer that was killed left behind is removed by the next one to the same place. A symbolic link is followed,
    an existing file keeps its permissions; devices and named pipes are written to directly. Text (mode "w") is UTF-8
    with the same line ends on every system. After an OSError, whatever the file system says, the temporary file is
    gone.
    """
    target = Path(os.path.realpath(path))
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if target.exists() and not target.is_file() and not target.is_dir():
        # A device or a named pipe must be written to, never replaced.
        with open(target, mode, **text) as stream:
            yield stream
        return
    prefix = f".{target.name[:40]}."
    handle, temporary = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=target.parent)
    try_lock(handle)  # held until the file is closed, or its writer dies
    try:
        with open(handle, mode, **text) as stream:
            _remove_leftovers(target.parent, prefix, os.fstat(handle).st_mtime)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _remove_leftovers(folder: Path, prefix: str, now: float) -> None:
    """Remove what killed writers to the same place left behind: files that nobody holds a lock on."""
    ours = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}\.part")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not ours.fullmatch(entry.name):
                continue
            with contextlib.suppress(OSError):
                old = abs(now - entry.stat(follow_symlinks=False).st_mtime) > _SETTLED
                if old and entry.is_file(follow_symlinks=False):
                    _remove_unless_held(entry.path)


def _remove_unless_held(path: str) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        if try_lock(handle):
            os.unlink(path)
    finally:
        os.close(handle)


def _permissions(target: Path) -> int:
    """Permissions of the file being replaced, or what the process would give a new one."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can do that for folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
