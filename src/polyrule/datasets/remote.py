"""Where benchmark data sets can be downloaded, and how a download is checked."""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.labels import to_labels
from polyrule.datasets.download import Progress, Unreachable, fetch
from polyrule.datasets.registry import Entry
from polyrule.errors import DataError

SITES = (
    "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-label/{name}/{file}",
    "https://raw.githubusercontent.com/keelm/SeCo-MLC/master/data/{file}",
)
"""The MULAN project's own collection, and that of the paper's authors."""


def cache_folder() -> Path:
    """Folder for downloads: ``POLYRULE_CACHE``, or the usual place of the operating system."""
    if given := os.environ.get("POLYRULE_CACHE"):
        return Path(given)
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


def download(known: Entry, progress: Progress | None = None) -> Path:
    """Fetch the files of a data set into the cache from the first site that has them all."""
    folder = cache_folder() / known.name
    files = [f"{known.name}.xml", f"{known.name}-test.arff", f"{known.name}-train.arff"]
    problems = []
    for pattern in sites():
        try:
            for file in files:
                if not (folder / file).is_file():
                    fetch(pattern.format(name=known.name, file=file), folder / file, progress)
            return folder
        except Unreachable as problem:
            problems.append(str(problem))
            discard(folder, known)
    raise Unreachable("; ".join(problems))


def discard(folder: Path, known: Entry) -> None:
    """Remove the complete files of a data set from the cache; cut-off downloads stay to be resumed."""
    for file in (f"{known.name}.xml", f"{known.name}-test.arff", f"{known.name}-train.arff"):
        (folder / file).unlink(missing_ok=True)


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


def check(data: Dataset, known: Entry, part: str) -> None:
    """Compare a downloaded part with what the benchmark holds."""
    expected = known.checksums.get(part)
    found = checksum(data)
    if expected is not None and found != expected:
        raise DataError(
            f"data set {known.name!r}: the downloaded {part} part is not the benchmark's (checksum {found}, expected "
            f"{expected}); get the files from another place and set POLYRULE_DATA"
        )


def from_openml(known: Entry) -> Dataset:
    """Load a whole data set from OpenML through scikit-learn, which keeps its own cache and checks."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about attempts that failed; what comes of them is said below
            found: Any = fetch_openml(data_id=known.openml, as_frame=True, parser="auto")
    except (OSError, ValueError, ImportError) as problem:
        reason = " ".join(str(problem).split())
        raise Unreachable(f"OpenML data set {known.openml}: {reason}") from problem
    X, (Y, names) = to_table(found.data), to_labels(found.target)
    made = Dataset(X, Y, names, known.name, info={"source": f"OpenML {known.openml}", "part": None})
    expected = (known.examples, known.features, known.labels)
    if (len(made), X.shape[1], len(names)) != expected:
        raise DataError(
            f"OpenML data set {known.openml} has {len(made)} examples, {X.shape[1]} features and {len(names)} labels, "
            f"but {known.name} has {expected[0]}, {expected[1]} and {expected[2]}"
        )
    return made
