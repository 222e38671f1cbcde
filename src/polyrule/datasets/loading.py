"""Benchmark data by name.

Some comes with the package: emotions, and the worked example of the paper. `names` and `describe` list them.
"""

from __future__ import annotations

import gzip
import os
from dataclasses import asdict, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.data.dataset import Dataset
from polyrule.data.labelspec import some_columns
from polyrule.data.reading import read
from polyrule.data.table import Feature, Table
from polyrule.datasets import remote
from polyrule.datasets.registry import ENTRIES, DatasetEntry, entry
from polyrule.datasets.remote import Progress, Unreachable
from polyrule.errors import DataError, OptionError
from polyrule.utils.arrays import Floats

Part = Literal["train", "test"]
PAPER_EXAMPLE = "paper-example"
_BY_HAND = "put its files (NAME-train.arff, NAME-test.arff, NAME.xml) into a folder and set POLYRULE_DATA to it"


def _checkout_data() -> Path | None:
    """The folder beside a source checkout where its developers keep the benchmark data."""
    checkout = Path(__file__).resolve().parents[3]
    return checkout.parent / "shared" / "data" if (checkout / "pyproject.toml").is_file() else None


CHECKOUT_DATA = _checkout_data()


def load(
    name: str,
    part: Part | None = None,
    *,
    drop: Any = (),
    download: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """Load a benchmark data set.

    It is looked for in the embedded data, in the cache, and in the folder that the environment variable
    ``POLYRULE_DATA`` names; then it is downloaded into the cache.

    Parameters
    ----------
    name : str
        A name from `polyrule.datasets.list`, or ``"paper-example"``.
    part : {"train", "test"}, optional
        One part of the benchmark's split; by default both, train first.
    drop : list of names, or any column specification
        Columns to leave out, such as genbase's identifier ``protein``.
    download : bool
        Whether the network may be used.
    progress : callable, optional
        Called during a download with the bytes fetched so far and the total (None if it is not known).

    Examples
    --------
    >>> data = load("emotions", part="train")
    >>> data.X.shape, data.Y.shape
    ((391, 72), (391, 6))
    >>> data.label_names[0]
    'amazed-surprised'
    """
    if part not in (None, "train", "test"):
        raise OptionError(f"part must be 'train', 'test' or None, not {part!r}")
    if name == PAPER_EXAMPLE:
        return load_paper_example()
    source = entry(name)
    if source.name == "emotions":
        return _without(load_emotions(part), drop)
    folder = find_folder(source)
    if folder is not None:
        return _read_parts(source, folder, part, drop)
    if not download:
        raise DataError(f"data set {source.name!r} is not on this machine, and download is off; {_BY_HAND}")
    return _downloaded(source, part, drop, progress)


def _downloaded(source: DatasetEntry, part: Part | None, drop: Any, progress: Progress | None) -> Dataset:
    try:
        folder = remote.download(source, progress)
    except Unreachable as problem:
        if source.openml is not None and part is None:
            try:
                return _without(remote.from_openml(source), drop)
            except Unreachable as other:
                problem = Unreachable(f"{problem}; {other}")
        raise DataError(
            f"data set {source.name!r} is not on this machine and could not be downloaded; {_BY_HAND} ({problem})"
        ) from problem
    try:
        for one in ("train", "test"):
            remote.check(_read_part(source, folder, one, ()), source, one)
    except DataError:
        remote.discard(folder, source)
        raise
    return _read_parts(source, folder, part, drop)


def _read_parts(source: DatasetEntry, folder: Path, part: Part | None, drop: Any) -> Dataset:
    parts = [_read_part(source, folder, one, drop) for one in (("train", "test") if part is None else (part,))]
    return parts[0] if part else concatenate(parts, source.name)


def find_folder(source: DatasetEntry) -> Path | None:
    """Folder with the files of a data set, if it is on this machine."""
    for root in data_roots():
        for folder in (root / source.name, root):
            if part_file(source, folder, "train") is not None:
                return folder
    return None


def data_roots() -> list[Path]:
    """Folders that may hold benchmark data, the first one first."""
    roots = [remote.cache_folder()]
    if folder := os.environ.get("POLYRULE_DATA"):
        roots.append(Path(folder))
    if CHECKOUT_DATA is not None:
        roots.append(CHECKOUT_DATA)
    return roots


def part_file(source: DatasetEntry, folder: Path, part: str) -> Path | None:
    """The file of one part, compressed or not."""
    candidates = (folder / f"{source.name}-{part}.arff{ending}" for ending in ("", ".gz", ".bz2", ".xz", ".zst"))
    return next((path for path in candidates if path.is_file()), None)


def concatenate(parts: list[Dataset], name: str) -> Dataset:
    """Put data sets with the same columns one below the other."""
    first = parts[0]
    for other in parts[1:]:
        if other.features != first.features or other.label_names != first.label_names:
            raise DataError(f"{name}: the parts do not have the same features and labels")
    tables = [part.X.values for part in parts]
    stacked: Any = sp.vstack(tables, format="csc") if first.X.is_sparse else np.asfortranarray(np.vstack(tables))
    labels = [part.Y for part in parts]
    Y = sp.vstack(labels, format="csr") if sp.issparse(first.Y) else np.vstack(labels)
    return Dataset(
        Table.from_array(stacked, first.features), Y, first.label_names, name, info={**first.info, "part": None}
    )


def _read_part(source: DatasetEntry, folder: Path, part: str, drop: Any) -> Dataset:
    path = part_file(source, folder, part)
    if path is None:
        raise DataError(f"{folder}: the {part} part of {source.name} is missing ({source.name}-{part}.arff)")
    data = read(path, labels=folder / f"{source.name}.xml", drop=drop, name=source.name)
    data.info["part"] = part
    return data


def _without(data: Dataset, drop: Any) -> Dataset:
    gone = some_columns(drop, data.feature_names, "drop")
    if not gone:
        return data
    columns = [j for j in range(len(data.features)) if j not in gone]
    return replace(data, X=data.X.rearranged(columns, [data.features[j] for j in columns]))


EMOTIONS_LABELS = 6


@lru_cache(maxsize=1)
def _emotions() -> tuple[tuple[str, ...], npt.NDArray[np.str_], Floats]:
    packed = files("polyrule.datasets").joinpath("_embedded", "emotions.csv.gz").read_bytes()
    header, *rows = gzip.decompress(packed).decode().splitlines()
    cells = [row.split(",") for row in rows]
    parts = np.array([row[0] for row in cells])
    return tuple(header.split(",")[1:]), parts, np.array([row[1:] for row in cells], dtype=np.float64)


def load_emotions(part: str | None) -> Dataset:
    """593 songs, 72 audio features, 6 moods (Trohidis et al., 2008), with the benchmark's split."""
    names, parts, values = _emotions()
    rows = values if part is None else values[parts == part]
    features = [Feature(name) for name in names[EMOTIONS_LABELS:]]
    X = Table.from_array(rows[:, EMOTIONS_LABELS:], features)
    Y = rows[:, :EMOTIONS_LABELS].astype(np.uint8)
    return Dataset(X, Y, names[:EMOTIONS_LABELS], "emotions", info={"source": "embedded", "part": part})


def load_paper_example() -> Dataset:
    """The examples behind the paper's Fig. 1: three covered ones, with labels 0110, 1100 and 1000.

    The feature ``covered`` holds for the three examples of the figure; precision looks at nothing else.

    Examples
    --------
    >>> load_paper_example().Y.sum(axis=0).tolist()
    [2, 2, 1, 0]
    """
    Y = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=np.uint8)
    X = Table.from_array(np.ones((3, 1)), [Feature("covered", "nominal", ("no", "yes"))])
    return Dataset(X, Y, ("λ1", "λ2", "λ3", "λ4"), "paper-example", info={"source": "Rapp et al., PAKDD 2018, Fig. 1"})


def names() -> list[str]:
    """Names of the benchmark data sets, smallest first as in the literature.

    Examples
    --------
    >>> names()[:3]
    ['flags', 'emotions', 'scene']
    """
    return list(ENTRIES)


@overload
def describe(name: str) -> dict[str, Any]: ...
@overload
def describe(name: None = None) -> list[dict[str, Any]]: ...
def describe(name: str | None = None) -> dict[str, Any] | list[dict[str, Any]]:
    """Return a description of one data set, or of all of them.

    ``pandas.DataFrame(describe())`` makes a table of it. For what is *in* a data set that was loaded, see
    `polyrule.data.Dataset.describe`.

    Parameters
    ----------
    name : str, optional
        One of the names that `list` gives; without it, all of them are described.

    Examples
    --------
    >>> describe("yeast")["labels"]
    14
    >>> len(describe())
    14
    """
    if name is not None:
        return _record(entry(name))
    return [_record(source) for source in ENTRIES.values()]


def _record(source: DatasetEntry) -> dict[str, Any]:
    record = {name: value for name, value in asdict(source).items() if name not in ("openml", "checksums")}
    return record | {"density": round(source.density, 4)}
