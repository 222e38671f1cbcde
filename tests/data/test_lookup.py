"""Looking numbers up by code: the compiled form equals the NumPy form, and refuses codes that are not there."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.data import table
from polyrule.data.table import looked_up


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("by_row", [False, True])
def test_compiled_and_numpy_agree(kind, by_row: bool, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 200, 7)
    codes = np.array([rng.integers(0, size, 5000) for size in sizes], dtype=kind)
    codes = np.asfortranarray(codes) if by_row else codes
    tables = rng.integers(0, 2**64, sizes.sum(), dtype=np.uint64)  # sums pass 2**64
    found = looked_up(codes, tables, sizes), looked_up(codes[:, 100:200], tables, sizes)
    monkeypatch.setattr(table, "native", None)
    assert np.array_equal(found[0], looked_up(codes, tables, sizes))
    assert np.array_equal(found[1], found[0][100:200])


def test_codes_that_no_table_knows_are_refused() -> None:
    with pytest.raises(IndexError):
        looked_up(np.array([[0, 3]], dtype=np.uint8), np.array([1, 2, 3], dtype=np.uint64), [3])
