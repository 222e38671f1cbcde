"""Writing a file so that a crash, a full disk or Ctrl-C leaves either the old file or the new one, never a half."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that takes its place when the block ends without an error.

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
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    try:
        with open(handle, mode, **text) as stream:
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
