"""Rows on disk: one small file per finished run, written whole or not at all, by one process at a time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NoReturn

from polyrule.errors import PolyruleError
from polyrule.utils.atomic import atomic_write, try_lock
from polyrule.utils.names import visible

Row = dict[str, Any]
_LARGEST = 2**53
_PER_LABEL = ("tp", "fp", "fn")
#: what tables and figures calculate with
_NUMBERS = frozenset(
    (
        *("fit_seconds", "fit_cpu_seconds", "predict_seconds", "peak_memory_mb", "used_memory_mb"),
        *("rules", "conditions", "multi_label_rules", "head_literals", "label_conditions"),
        *("train_examples", "test_examples", "features", "labels"),
    )
)


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
            row = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
        except (OSError, ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else error
            raise StoreError(f"cannot read the stored row {path}: {reason}; delete it to have it made again") from None
        if not isinstance(row, dict):
            raise StoreError(f"the stored row {path} is not a table; delete it to have it made again")
        return row

    def read_run(self, key: str) -> Row:
        """Return the row of a run: how it ended and, if it ended well, the counts."""
        row = self.read(key)
        problem = _problem(row)
        if problem:
            path = self.row_directory / f"{key}.json"
            raise StoreError(f"the stored row {path} {problem}; delete it to have it made again")
        return row

    def add(self, key: str, row: Row) -> None:
        """Store a row; an older one with the same key is replaced."""
        write_atomically(self.row_directory / f"{key}.json", json.dumps(row, sort_keys=True) + "\n")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory against other processes; the system lets go when the process ends, however it ends."""
        with self._open_lock() as handle:
            if try_lock(handle) is False:
                handle.seek(0)
                owner = visible(handle.read(40).strip()) or "unknown"
                raise StoreError(
                    f"another experiment is running in {self.directory} (process {owner}): "
                    "wait for it, or choose another directory"
                )
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
            self._remove_leftovers()
            yield

    def _open_lock(self) -> IO[str]:
        path = self.directory / "lock"
        try:
            return open(path, "a+", encoding="utf-8", errors="replace")
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror or error}") from None

    def _remove_leftovers(self) -> None:
        """Delete what a killed process was about to write; only the holder of the lock may."""
        for path in self.row_directory.glob(".*.part"):
            path.unlink(missing_ok=True)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _problem(row: Row) -> str:
    """Return the error in the row of a run, or ""."""
    if not isinstance(row.get("status"), str):
        return "does not say how the run ended ('status')"
    if row["status"] != "ok":
        return ""
    counts = row.get("counts")
    if not isinstance(counts, dict) or not _is_count(counts.get("examples")):
        return "lacks what was counted ('counts')"
    if not _fit_together(counts):
        return "holds counts that do not fit together"
    for name, value in row.items():
        if name in _NUMBERS and value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            return f"holds no number under {name!r}"
        if name in _NUMBERS and isinstance(value, int) and abs(value) > _LARGEST:
            return f"holds a number under {name!r} that is too large"
    return ""


def _fit_together(counts: dict[str, Any]) -> bool:
    """Return True if no label has more examples than are known, and groups count each example once."""
    groups, examples = counts.get("example_groups"), counts["examples"]
    columns: list[Any] = [counts.get(name) for name in _PER_LABEL]
    if "known" in counts:
        columns.append(counts["known"])
    if not all(map(_are_counts, columns)) or len({len(column) for column in columns}) != 1 or not columns[0]:
        return False
    if not isinstance(groups, list) or not all(_are_counts(group) and len(group) == 4 for group in groups):
        return False
    n_known = counts.get("known", [examples] * len(columns[0]))
    grouped = sum(group[3] for group in groups)
    # an example with no known label is in no group
    whole = max(n_known) <= grouped <= min(examples, sum(n_known)) if "known" in counts else grouped == examples
    cells = zip(*columns[:3], n_known, strict=True)
    return whole and grouped > 0 and max(n_known) <= examples and all(sum(cell[:3]) <= cell[3] for cell in cells)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_count, values))


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that readers see the old or the new content, never a part, even after a power cut."""
    try:
        with atomic_write(path) as handle:
            handle.write(text)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
