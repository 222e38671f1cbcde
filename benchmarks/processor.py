"""The compiled counting and deciding alone, for machines where the extension is not built but g++ is at hand."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import polyrule.search.counted.engine as engines
import polyrule.search.counted.queries as counting
import polyrule.search.counted.scoring as deciding


def compile_native() -> None:
    """Build both and put them where the extension would be."""
    root = Path(__file__).resolve().parents[1]
    library = Path(tempfile.mkdtemp()) / "count.so"
    sources = [
        root / "benchmarks" / "count_shim.cpp",
        *(root / "native" / "count" / n for n in ("count.cpp", "decide.cpp")),
    ]
    flags = ["-O3", "-march=native", "-std=gnu++20", "-shared", "-fPIC", f"-I{root / 'native'}"]
    subprocess.run(["g++", *flags, *map(str, sources), "-o", str(library)], check=True)
    shim = Shim(ctypes.CDLL(str(library)))
    for module in (counting, deciding, engines):
        module.native = shim  # type: ignore[attr-defined]


class Shim:
    """Answers like the extension."""

    def __init__(self, library: Any) -> None:
        self._count, self._decide = library.count_bytes, library.decide_counts

    def count_rows(self, codes, truth, set, value, weights, rows, columns, starts, usual, kinds, weight) -> None:
        assert weights is None
        assert codes.dtype == np.uint8
        size = ctypes.c_size_t
        sizes = [size(n) for n in (*codes.shape, truth.shape[1], len(usual))]
        self._count(
            *map(_at, (codes, truth, set, value)),
            *sizes,
            *(_at(rows), size(len(rows)), _at(columns), _at(starts), size(len(columns))),
            *map(_at, (usual, kinds, weight)),
        )

    def decide_counts(
        self, kinds, weight, occurs, starts, ends, numeric, own, allowed, total, num, den, min_coverage, single
    ):
        found = np.zeros(3, dtype=np.int64)
        given = [np.ascontiguousarray(a) for a in (kinds, weight, occurs, starts, ends, numeric, own, allowed, total)]
        rows = np.array([*num, *den], dtype=np.int64)
        sizes = [ctypes.c_size_t(kinds.shape[1]), ctypes.c_size_t(len(starts))]
        least = ctypes.c_double(min_coverage)
        if not self._decide(*map(_at, given), _at(rows), *sizes, least, int(single), _at(found)):
            return None
        return int(found[0]), int(found[1]), bool(found[2])


def _at(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
