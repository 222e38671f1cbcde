"""Property of fitted ensembles and scorecards: nothing can be left out without loss. A slice of `make redundancy`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.campaign import redundancy
from tests.campaign.redundancy import campaign, outcome

from polyrule.ensemble.pruning import RulePruner
from polyrule.ensemble.simplification import BodySimplifier


@given(st.integers(10_000, 10**9))
@settings(max_examples=12, deadline=None)
def test_nothing_can_be_left_out_without_loss(seed: int) -> None:
    assert outcome(seed)[1] == []


def test_what_can_be_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    assert campaign(12, 0, lines.append)["REDUNDANT"] == 0
    monkeypatch.setattr(BodySimplifier, "simplify", lambda self: False)
    assert campaign(12, 0, lines.append)["REDUNDANT"] > 0
    assert any("condition" in line for line in lines)


def test_rules_that_distinguish_the_same_rows_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RulePruner, "merge_equal", lambda self: bool(self.solver.solve(steps=30)))
    seen = [problem for seed in (24, 56, 91) for problem in redundancy.outcome(seed)[1]]
    assert any("distinguish the same rows" in problem for problem in seen)
