"""What `benchmarks/peers.py` fits, and where its rows go."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    sys.modules.pop("peers", None)
    return import_module("peers")


def row(data: str, learner: str, size: int, error: str = "") -> dict[str, Any]:
    return {"data": data, "learner": learner, "size": str(size), "error": error}


def asked(**options: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"data": ["flags", "birds"], "sizes": [0, 30], "again": False} | options)


def test_what_is_stored_is_fitted_only_when_asked(peers: Any) -> None:
    rows = [row("flags", "ours", 30), row("birds", "tree", 30), row("birds", "list", 0), row("flags", "ours", 100)]
    given = asked(learners=["ours", "list"])
    assert peers.to_fit(rows, given) == [("birds", "ours", 30), ("flags", "list", 0)]
    given.again = True
    assert peers.to_fit(rows, given) == [("flags", "ours", 30), ("birds", "list", 0)]


def test_a_fit_takes_the_place_of_its_older_rows(peers: Any) -> None:
    rows = [row("flags", "ours", 30), row("flags", "ours", 30), row("flags", "tree", 30)]
    fresh = [row("flags", "ours", 30) | {"micro-f1": score} for score in (".7", ".8")]
    assert peers.put(rows, fresh) == [*fresh, rows[2]]
    assert peers.put(rows, [row("flags", "ours", 30, "more than 1 minutes")]) == rows
    assert peers.put(rows, [row("birds", "ours", 30)]) == [*rows, row("birds", "ours", 30)]


def test_the_picture_shows_the_stored_rows(peers: Any) -> None:
    rows = peers.read(peers.ROWS)
    picture = (ROOT / "docs" / "_static" / "strength.png").read_bytes()
    assert peers.fingerprint(rows).encode() in picture, "make tables draws it anew"
    moved = [row | {"micro-f1": "0.5"} if row["learner"] == "ours" else row for row in rows]
    assert peers.fingerprint(moved) != peers.fingerprint(rows)


def test_the_words_name_the_sets_on_which_a_peer_is_ahead(peers: Any) -> None:
    def rows(learner: str, size: int, score: float) -> list[dict[str, Any]]:
        facts = {"tuned_for": "micro-f1", "micro-f1": score, "conditions": 10}
        return [row(name, learner, size) | facts for name in peers.SETS]

    ours, forest = rows("ours", 30, 0.7), rows("forest", 100, 0.709)
    forest[2]["micro-f1"] = 0.8
    assert peers.behind([*ours, *forest]) == ["birds (label-powerset forest, 100 trees .800, ours .700)"]
    assert peers.behind([*ours, *forest[:2]]) == []
