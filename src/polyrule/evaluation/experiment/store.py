"""Rows on disk: one small file per finished run, written whole or not at all, by one process at a time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from polyrule.errors import PolyruleError

Row = dict[str, Any]


class StoreError(PolyruleError, OSError):
    """The directory of an experiment's rows cannot be used."""


class RowStore:
    """The rows of one experiment in a directory.

    A row appears under its final name only when it is complete and on disk, so a process killed at any moment leaves
    either the whole row or none of it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = RowStore(folder)
    ...     store.add("flags-tree", {"status": "ok", "micro_f1": 0.6})
    ...     sorted(store.keys()), store.rows()
    (['flags-tree'], [{'micro_f1': 0.6, 'status': 'ok'}])
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.row_directory = self.directory / "rows"
        try:
            self.row_directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot create {self.row_directory}: {error.strerror}") from None

    def keys(self) -> set[str]:
        """Return the keys of all stored rows."""
        return {path.stem for path in self.row_directory.glob("*.json")}

    def rows(self) -> list[Row]:
        """Return all rows, in the order of their keys."""
        return [self.read(key) for key in sorted(self.keys())]

    def read(self, key: str) -> Row:
        """Return one row."""
        path = self.row_directory / f"{key}.json"
        try:
            row = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot read the stored row {path}: {error}; delete it to have it made again") from None
        if not isinstance(row, dict):
            raise StoreError(f"the stored row {path} is not a table; delete it to have it made again")
        return row

    def add(self, key: str, row: Row) -> None:
        """Store a row; an older one with the same key is replaced."""
        write_atomically(self.row_directory / f"{key}.json", json.dumps(row, sort_keys=True) + "\n")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory against other processes; the system lets go when the process ends, however it ends."""
        path = self.directory / "lock"
        with open(path, "a+", encoding="utf-8") as handle:
            if not _try_lock(handle):
                handle.seek(0)
                owner = handle.read().strip() or "unknown"
                raise StoreError(
                    f"another experiment is running in {self.directory} (process {owner}): "
                    "wait for it, or choose another directory"
                )
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
            self._remove_leftovers()
            yield

    def _remove_leftovers(self) -> None:
        """Delete what a killed process was about to write; only the holder of the lock may."""
        for path in self.row_directory.glob(".*.part"):
            path.unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that readers see the old or the new content, never a part, even after a power cut."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            with open(temporary, "w", encoding="utf-8") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


def _try_lock(handle: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_windows(handle: IO[str]) -> bool:  # pragma: no cover
    from importlib import import_module

    msvcrt: Any = import_module("msvcrt")
    try:
        # a byte far behind the text, so that others can still read who holds the lock
        handle.seek(1 << 20)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    handle.seek(0)
    return True
