"""A slice of what is slow and of what is many, and problems that must be seen."""

from __future__ import annotations

import sys

import pytest
from tests.campaign import endurance
from tests.campaign.endurance import KINDS, endure


@pytest.mark.skipif(sys.platform != "linux", reason="reads what the process holds from /proc")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "workers"])  # tests/dask kills workers
def test_nothing_hangs_or_gets_lost(kind: str) -> None:
    found = list(endure([kind], 0.01, 0))
    assert [(name, well) for name, well, _ in found] == [(kind, True)], found


def test_a_problem_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        endurance.require(False, "something is lost")
        return ""

    monkeypatch.setitem(KINDS, "names", fail)
    assert list(endure(["names"], 0.01, 0)) == [("names", False, "something is lost")]
    monkeypatch.setattr(sys, "argv", ["endurance", "--kind", "names"])
    assert endurance.main() == 1
