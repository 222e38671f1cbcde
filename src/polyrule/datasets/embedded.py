"""Data that comes with the package: emotions, and the worked example of the paper."""

from __future__ import annotations

import gzip
from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from polyrule.data.dataset import Dataset
from polyrule.data.table import Feature, Table

EMOTIONS_LABELS = 6


@lru_cache(maxsize=1)
def _emotions() -> tuple[tuple[str, ...], npt.NDArray[np.str_], npt.NDArray[np.float64]]:
    packed = files("polyrule.datasets").joinpath("_embedded", "emotions.csv.gz").read_bytes()
    header, *rows = gzip.decompress(packed).decode().splitlines()
    cells = [row.split(",") for row in rows]
    parts = np.array([row[0] for row in cells])
    return tuple(header.split(",")[1:]), parts, np.array([row[1:] for row in cells], dtype=np.float64)


def load_emotions(part: str | None) -> Dataset:
    """593 songs, 72 audio features, 6 moods (Trohidis et al., 2008), with the benchmark's split."""
    names, parts, values = _emotions()
    chosen = values if part is None else values[parts == part]
    features = [Feature(name) for name in names[EMOTIONS_LABELS:]]
    X = Table.from_array(chosen[:, EMOTIONS_LABELS:], features)
    Y = chosen[:, :EMOTIONS_LABELS].astype(np.uint8)
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
