"""The quick ones of the golden models; `make golden` checks all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.models import EMBEDDED, QUICK, Case, cases, digest, key, known, learn, made_with

from polyrule.utils.compute import native


def check(case: Case) -> None:
    kept = known()[key(case)]
    found = digest(learn(case))  # it must be learned everywhere
    if kept["made_with"] == made_with(case):
        assert found == kept["hash"]


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
@pytest.mark.parametrize("case", EMBEDDED, ids=key)
def test_models_of_embedded_data_are_what_they_were(case: Case) -> None:
    check(case)


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
@pytest.mark.parametrize("case", QUICK, ids=key)
def test_models_are_what_they_were(case: Case, benchmark_root: Path) -> None:
    check(case)


def test_only_known_cases_are_kept() -> None:
    names = {key(case) for case in cases()}
    assert set(known()) <= names
    assert {key(case) for case in [*EMBEDDED, *QUICK]} <= set(known())


def test_what_needs_no_teacher_is_checked_everywhere() -> None:
    assert {name for name, kept in known().items() if not kept["made_with"]} == {
        key(case) for case in cases() if case[1].endswith("without teacher") and key(case) in known()
    }
