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

from polyrule.errors import OutputError


def try_lock(handle: IO[Any] | int) -> bool | None:
    """Lock an open file against other processes; return False if another one holds it, None if it cannot be locked."""
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
    """Hold the lock file at `path`, which is gone afterwards; yield False if another process holds it.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "store.lock"
    >>> with hold(place) as first, hold(place) as second:
    ...     first, second
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
    """Return True if an open file is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except OSError:
        return False


_LOCK_DELAY = 10.0  # seconds by the file system's own clock after which a writer has certainly locked its file


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w", *, follow_links: bool = True) -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that takes its place when the block ends without an error.

    Leftovers of a writer that was killed are removed by the next one to the same place. An existing file keeps its
    permissions; devices and named pipes are written to directly. Text (mode "w") is UTF-8 with the same line ends on
    every system.

    Parameters
    ----------
    path : path
    mode : {"w", "wb"}
    follow_links : bool, default=True
        Write to the target of a symbolic link; else the file replaces the link.

    Raises
    ------
    OutputError
        The file cannot be written; the message names `path`, and the temporary file is gone.

    Examples
    --------
    >>> with atomic_write("") as stream:
    ...     pass
    Traceback (most recent call last):
    ...
    polyrule.errors.OutputError: '': the name of the output is empty; pass the name of a file
    """
    target = _place(path, follow_links)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        if target.exists() and not target.is_file():
            # A device or a named pipe must be written to, never replaced.
            with open(target, mode, **text) as stream:
                yield stream
            return
        yield from _write_beside(target, mode, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None and Path(str(error.filename)).parent != target.parent:
            raise  # of another file, which the caller read
        raise output_error(path, error) from error


def _place(path: str | os.PathLike[str], follow_links: bool) -> Path:
    """Return the file to write; raise `OutputError` for a place that can be none."""
    name = os.fspath(path)
    shown = f"{name}" if name else "''"
    if not name:
        raise OutputError(f"{shown}: the name of the output is empty; pass the name of a file")
    try:
        target = Path(os.path.realpath(name) if follow_links else os.path.abspath(name))
        if target.is_dir():
            raise OutputError(f"{shown}: cannot be written (it is a folder); pass the name of a file in it")
        if not target.parent.is_dir():
            folder = os.path.dirname(name) or "."
            problem = f"{folder} is no folder" if target.parent.exists() else f"there is no folder {folder}"
            raise OutputError(f"{shown}: cannot be written ({problem})")
    except ValueError as error:  # a null character
        raise OutputError(f"{shown!r}: cannot be written ({error})") from error
    except OSError as error:
        raise output_error(path, error) from error
    return target


def _write_beside(target: Path, mode: str, text: dict[str, Any]) -> Iterator[IO[Any]]:
    """Yield a temporary file, then let it take the place of `target`."""
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


def output_error(path: str | os.PathLike[str], error: OSError) -> OutputError:
    """Return an error that names the output that was passed, not a temporary file."""
    if isinstance(error, OutputError):
        return error
    reason = error.strerror or str(error)
    named = OutputError(f"{os.fspath(path)}: cannot be written ({reason})")
    named.strerror = reason
    return named


def _remove_leftovers(folder: Path, prefix: str, now: float) -> None:
    """Remove temporary files of killed writers to the same place: those without a lock."""
    ours = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}\.part")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not ours.fullmatch(entry.name):
                continue
            with contextlib.suppress(OSError):
                old = abs(now - entry.stat(follow_symlinks=False).st_mtime) > _LOCK_DELAY
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
