"""Benchmark data by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from polyrule.data.dataset import Dataset
from polyrule.data.reading import read
from polyrule.data.table import Table
from polyrule.datasets.embedded import load_emotions, load_paper_example
from polyrule.datasets.registry import Entry, entry
from polyrule.errors import DataError, OptionError

Part = Literal["train", "test"]
PAPER_EXAMPLE = "paper-example"


def load(name: str, part: Part | None = None, *, drop: Any = (), download: bool = True) -> Dataset:
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
    known = entry(name)
    if known.name == "emotions":
        return _without(load_emotions(part), drop)
    folder = find_folder(known)
    if folder is None:
        raise DataError(
            f"data set {known.name!r} is not on this machine; put its files into a folder and set POLYRULE_DATA to it"
        )
    parts = [_read_part(known, folder, one, drop) for one in (("train", "test") if part is None else (part,))]
    return parts[0] if part else concatenate(parts, known.name)


def find_folder(known: Entry) -> Path | None:
    """Folder with the files of a data set, if it is on this machine."""
    for root in data_roots():
        for folder in (root / known.name, root):
            if part_file(known, folder, "train") is not None:
                return folder
    return None


def data_roots() -> list[Path]:
    """Folders that may hold benchmark data, the first one first."""
    roots = []
    if given := os.environ.get("POLYRULE_DATA"):
        roots.append(Path(given))
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").is_file():
        roots.append(checkout.parent / "shared" / "data")
    return roots


def part_file(known: Entry, folder: Path, part: str) -> Path | None:
    """The file of one part, compressed or not."""
    candidates = (folder / f"{known.name}-{part}.arff{ending}" for ending in ("", ".gz", ".bz2", ".xz", ".zst"))
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


def _read_part(known: Entry, folder: Path, part: str, drop: Any) -> Dataset:
    path = part_file(known, folder, part)
    if path is None:
        raise DataError(f"{folder}: the {part} part of {known.name} is missing ({known.name}-{part}.arff)")
    made = read(path, labels=folder / f"{known.name}.xml", drop=drop, name=known.name)
    made.info["part"] = part
    return made


def _without(data: Dataset, drop: Any) -> Dataset:
    from polyrule.data.labelspec import choose_columns

    if len(drop) == 0:
        return data
    gone = set(choose_columns(drop, data.feature_names, "drop").positions)
    kept = [j for j in range(len(data.features)) if j not in gone]
    values: Any = data.X.values
    X = Table.from_array(values[:, kept], [data.features[j] for j in kept])
    return Dataset(X, data.Y, data.label_names, data.name, data.row_ids, data.weights, data.info)
