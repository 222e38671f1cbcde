"""Where benchmark data sets can be downloaded, and how a download is checked."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import logging
import os
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.labels import to_labels
from polyrule.datasets.registry import DatasetEntry
from polyrule.errors import DataError, OutputError
from polyrule.utils.atomic import hold
from polyrule.utils.version import __version__

SITES = (
    "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-label/{name}/{file}",
    "https://raw.githubusercontent.com/keelm/SeCo-MLC/master/data/{file}",
)
"""The MULAN project's own collection, and that of the paper's authors."""


def cache_folder() -> Path:
    """Folder for downloads: ``POLYRULE_CACHE``, or the usual place of the operating system."""
    if folder := os.environ.get("POLYRULE_CACHE"):
        return Path(folder)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "polyrule"


def sites() -> tuple[str, ...]:
    """Address patterns in the order they are tried; ``POLYRULE_MIRROR`` comes first."""
    mirror = os.environ.get("POLYRULE_MIRROR")
    return ((mirror.rstrip("/") + "/{name}/{file}",) if mirror else ()) + SITES


def download(entry: DatasetEntry, progress: Progress | None = None) -> Path:
    """Fetch the files of a data set into the cache from the first site that has them all."""
    folder = cache_folder() / entry.name
    problems = []
    for pattern in sites():
        try:
            for file in _files(entry):
                if not (folder / file).is_file():
                    fetch(pattern.format(name=entry.name, file=file), folder / file, progress)
            return folder
        except Unreachable as problem:
            problems.append(str(problem))
            discard(folder, entry)
        except OSError as problem:
            reason = problem.strerror or problem
            raise OutputError(
                f"{folder}: cannot be written ({reason}); set POLYRULE_CACHE to another folder"
            ) from problem
    raise Unreachable("; ".join(problems))


def discard(folder: Path, entry: DatasetEntry) -> None:
    """Remove the complete files of a data set from the cache; cut-off downloads stay to be resumed."""
    for file in _files(entry):
        (folder / file).unlink(missing_ok=True)


def _files(entry: DatasetEntry) -> tuple[str, ...]:
    return f"{entry.name}.xml", f"{entry.name}-test.arff", f"{entry.name}-train.arff"


def checksum(data: Dataset) -> str:
    """Hash values and labels, whatever the file they came from looked like.

    Examples
    --------
    >>> from polyrule.datasets import load
    >>> checksum(load("emotions", part="test"))
    '...'
    """
    digest = hashlib.blake2b(digest_size=8)
    for matrix in (data.X.values, data.Y):
        tidy = sp.csc_array(matrix, dtype=np.float64)
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        digest.update(repr(tuple(int(size) for size in tidy.shape)).encode())
        for part in (tidy.indptr.astype("<i8"), tidy.indices.astype("<i8"), tidy.data.astype("<f8")):
            digest.update(part.tobytes())
    return digest.hexdigest()


def check(data: Dataset, entry: DatasetEntry, part: str) -> None:
    """Compare a downloaded part with what the benchmark holds."""
    expected = entry.checksums.get(part)
    digest = checksum(data)
    if expected is not None and digest != expected:
        raise DataError(
            f"data set {entry.name!r}: the downloaded {part} part is not the benchmark's (checksum {digest}, expected "
            f"{expected}); get the files from another place and set POLYRULE_DATA"
        )


def from_openml(entry: DatasetEntry) -> Dataset:
    """Load a whole data set from OpenML through scikit-learn, which keeps its own cache and checks."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about attempts that failed; the result is reported below
            fetched: Any = fetch_openml(data_id=entry.openml, as_frame=True, parser="auto")
    except (OSError, ValueError, ImportError) as problem:
        reason = " ".join(str(problem).split())
        raise Unreachable(f"OpenML data set {entry.openml}: {reason}") from problem
    X, (Y, names) = to_table(fetched.data), to_labels(fetched.target)
    data = Dataset(X, Y, names, entry.name, info={"source": f"OpenML {entry.openml}", "part": None})
    expected = (entry.examples, entry.features, entry.labels)
    if (len(data), X.shape[1], len(names)) != expected:
        raise DataError(
            f"OpenML data set {entry.openml} has {len(data)} examples, {X.shape[1]} features and {len(names)} labels, "
            f"but {entry.name} has {expected[0]}, {expected[1]} and {expected[2]}"
        )
    return data


Progress = Callable[[int, int | None], None]

CHUNK = 1 << 18
LARGEST_FILE = 4 << 30
TIMEOUT = 30.0
ATTEMPTS = 3
PAUSE = 1.0
_log = logging.getLogger(__name__)


class Unreachable(DataError):
    """The file could not be fetched: no network, or the server does not have it."""


def fetch(url: str, target: Path, progress: Progress | None = None, largest: int = LARGEST_FILE) -> Path:
    """Download `url` to `target`, or raise `Unreachable`.

    The content goes to a ``.part`` file first and is renamed when it is complete, so that `target` is whole or absent.
    A download that was cut off goes on where it stopped, if the server says that the file is still the same. `progress`
    is called with the bytes fetched so far and the total, None if it is not known; `largest` is most bytes to accept.
    """
    if not url.startswith(("http://", "https://")):
        raise DataError(f"{url}: only http and https addresses are fetched")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _own_part(target) as part:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                _transfer(url, part, progress, largest)
                break
            except urllib.error.HTTPError as problem:
                if problem.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and attempt < ATTEMPTS:
                    part.unlink()  # it was whole already, or is too long: there is nothing to go on with
                    continue
                raise Unreachable(f"{url}: the server answered {problem.code} {problem.reason}") from problem
            except (OSError, http.client.HTTPException) as problem:
                _log.info("download of %s failed (attempt %d): %s", url, attempt, problem)
                if attempt == ATTEMPTS:
                    raise Unreachable(f"{url}: cannot be reached ({_reason(problem)})") from problem
                time.sleep(PAUSE * attempt)
        os.replace(part, target)
        _remembered(part).unlink(missing_ok=True)
    return target


@contextlib.contextmanager
def _own_part(target: Path) -> Iterator[Path]:
    """The shared ``.part`` file if no other process uses it, else a separate one."""
    with hold(target.with_name(target.name + ".lock")) as free:
        if free:
            yield target.with_name(target.name + ".part")
            return
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
            _remembered(part).unlink(missing_ok=True)


def _remembered(part: Path) -> Path:
    """File of the server's name for this version of the file, while it is incomplete."""
    return part.with_name(part.name + ".json")


def _transfer(url: str, part: Path, progress: Progress | None, largest: int) -> None:
    have = part.stat().st_size if part.is_file() else 0
    version = _read_version(part) if have else None
    headers = {"User-Agent": f"polyrule/{__version__}", "Accept-Encoding": "identity"}
    if have and version:
        headers |= {"Range": f"bytes={have}-", "If-Range": version}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        resumed = answer.status == 206 and str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-")
        have = have if resumed else 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length and length.isdigit() else None
        if total is not None and total > largest:
            raise DataError(f"{url}: {total} bytes are more than the {largest} that are accepted")
        _remember_version(part, answer)
        with part.open("ab" if resumed else "wb") as out:
            while block := answer.read(CHUNK):
                out.write(block)
                have += len(block)
                if have > largest:
                    raise DataError(f"{url}: more than {largest} bytes were sent")
                if progress is not None:
                    progress(have, total)
    if total is not None and have != total:
        raise ConnectionError(f"the connection broke off after {have} of {total} bytes")


def _read_version(part: Path) -> str | None:
    try:
        etag = json.loads(_remembered(part).read_text())
    except (OSError, ValueError):
        return None
    return etag if isinstance(etag, str) else None


def _remember_version(part: Path, answer: Any) -> None:
    etag = answer.headers.get("ETag")
    version = etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified")
    if version:
        _remembered(part).write_text(json.dumps(version))
    else:
        _remembered(part).unlink(missing_ok=True)


def _reason(problem: BaseException) -> str:
    reason = getattr(problem, "reason", problem)
    return " ".join(str(reason).split()) or type(problem).__name__
