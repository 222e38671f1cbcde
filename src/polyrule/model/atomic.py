"""Writing a file so that a crash, a full disk or Ctrl-C leaves either the old file or the new one, never a half."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from polyrule.locks import try_lock

_SETTLED = 10.0  # seconds by the file system's own clock after which a writer has certainly locked its file


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that takes its place when the block ends without an error.

    What a writer that was killed left behind is removed by the next one to the same place.

    Parameters
    ----------
    path : str or path-like
        Where the finished file appears; a symbolic link is followed, an existing file keeps its permissions. Devices
        and named pipes are written to directly.
    mode : {"w", "wb"}
        Text is written as UTF-8 with the same line ends on every system.

    Raises
    ------
    OSError
        Whatever the file system says; the temporary file is gone by then.
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
