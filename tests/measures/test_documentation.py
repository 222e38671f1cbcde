"""The page on measures runs, and its tables say what the code says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from polyrule import measures
from polyrule.measures import AVERAGINGS, SCOPES

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"
SHORT = {"decomposable": "D", "anti-monotone": "A", "neither": "x"}


def test_the_examples_run():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert failed == 0
    assert tried > 20


@pytest.mark.parametrize("nothing_set", [True, False])
def test_the_tables_are_those_of_the_code(nothing_set):
    tables = re.findall(r"\| measure \| scope `head` .*?\n\n", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(tables) == 2
    rows = re.findall(r"\| (`.+?`) \| (.+?) \| (.+?) \| (.+?) \|", tables[0 if nothing_set else 1])
    cells_of = {name: cells for names, *cells in rows for name in re.findall("`(.+?)`", names)}
    assert set(cells_of) >= set(measures.available())
    for name, cells in cells_of.items():
        for scope, cell in zip(SCOPES, cells, strict=True):
            found = [measures.get(name).properties(averaging, scope, True, nothing_set) for averaging in AVERAGINGS]
            said = [SHORT[p.kind] if p.proved or p.kind == "neither" else "?" for p in found]
            assert cell == " ".join(said), (name, scope)
