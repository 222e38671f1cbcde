"""`benchmarks/paths.py`, which switches off the ways of the compiled search."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from polyrule.utils.compute import native

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
def test_lists_are_the_same_without_any_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    paths = import_module("paths")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 4))
    data = SimpleNamespace(X=values, Y=(values[:, :3] > 0.5).astype(np.uint8))
    lists = [paths.fit(data, "f0.5", 4, limits)[1] for limits in ({}, *paths.WAYS.values())]
    assert "<-" in lists[0]
    assert set(lists) == {lists[0]}
