"""Random small training problems of every kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from polyrule.data.table import Feature, Table


@dataclass(frozen=True)
class Problem:
    table: Table
    truth: np.ndarray
    weights: np.ndarray
    seed: int


@st.composite
def problems(
    draw, max_rows: int = 12, max_features: int = 4, max_labels: int = 4, sparse: bool | None = None
) -> Problem:
    """A table with numeric, nominal, missing, constant and extreme columns, duplicated rows, labels and weights."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    rows = draw(st.integers(1, max_rows))
    width = draw(st.integers(1, max_features))
    labels = draw(st.integers(1, max_labels))
    as_sparse = draw(st.booleans()) if sparse is None else sparse
    columns, features = [], []
    for j in range(width):
        kind = draw(st.sampled_from(["few", "many", "nominal", "constant", "extreme"]))
        if kind == "nominal":
            size = int(rng.integers(1, 4))
            column = rng.integers(0, size, rows).astype(float)
            features.append(Feature(f"f{j}", "nominal", tuple("abcd"[:size])))
        else:
            features.append(Feature(f"f{j}"))
            column = {
                "few": rng.integers(0, 4, rows).astype(float),
                "many": rng.normal(size=rows),
                "constant": np.zeros(rows),
                "extreme": rng.choice([1e308, 1.7e308, -1.7e308, 5e-324, 1e-323, -0.0, 0.0], rows),
            }[kind]
        if draw(st.booleans()):
            column = np.where(rng.random(rows) < 0.25, np.nan, column)
        if as_sparse and kind != "extreme":
            column = np.where(rng.random(rows) < 0.5, 0.0, column)
        columns.append(column)
    values = np.stack(columns, axis=1)
    truth = (rng.random((rows, labels)) < rng.choice([0.2, 0.5, 0.8])).astype(np.uint8)
    if draw(st.booleans()) and rows > 2:  # duplicated rows, labels not always alike
        values[rows // 2 :] = values[: rows - rows // 2]
    weighted = draw(st.booleans())
    weights = rng.integers(1, 5, rows) if weighted else np.ones(rows, dtype=np.int64)
    matrix = sp.csc_array(values) if as_sparse else values
    return Problem(Table.from_array(matrix, features), truth, weights.astype(np.int64), seed)
