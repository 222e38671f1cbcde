"""A slice of the forgeries with fixed draws, and forgeries that the campaign would have to notice."""

from __future__ import annotations

import json

import pytest
from tests.campaign import forgeries
from tests.campaign.forgeries import KINDS, campaign, honest, outcome

from polyrule.verification import Verification, rule_ensemble


@pytest.mark.parametrize("kind", KINDS)
def test_no_forgery_escapes(kind: str) -> None:
    lines: list[str] = []
    tally = campaign([kind], 40, 0, lines.append)
    assert not [line for line in lines if line.split(" ")[-1].isupper()]
    assert not [what for what in tally if what.isupper()], lines
    assert tally["found"] + tally["refused"] + tally["left"] >= 15


def test_what_escapes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyrule.verification.verify_ensemble", lambda model, data, learn: Verification(len(model)))
    monkeypatch.setattr(
        forgeries, "forge", lambda document, rng: ("unit", json.loads(json.dumps(document)) | {"unit": 3.0})
    )
    honest.cache_clear()
    assert outcome("ensemble", 0, 0)[0] == "ESCAPES"


def test_an_error_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest("ensemble", 0)
    monkeypatch.setattr(rule_ensemble, "check_data", lambda model, data: 1 // 0)
    what, _, details = outcome("ensemble", 0, 0)
    assert (what, "ZeroDivisionError" in details) == ("ENDS IN AN ERROR", True)
