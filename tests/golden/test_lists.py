"""The quick ones of the golden lists; `make golden` checks all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.lists import QUICK, cases, digest, key, known, learn

from polyrule.utils.compute import native


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
@pytest.mark.parametrize("name", sorted({case[0] for case in QUICK}))
def test_lists_are_what_they_were(name: str, benchmark_root: Path) -> None:
    hashes = known()
    found = {key(case): digest(learn(case)) for case in QUICK if case[0] == name}
    assert found == {name: hashes[name] for name in found}


def test_only_known_cases_are_kept() -> None:
    names = {key(case) for case in cases()}
    assert set(known()) <= names
    assert {key(case) for case in QUICK} <= set(known())
