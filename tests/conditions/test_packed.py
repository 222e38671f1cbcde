"""Kinds of tests are the same numbers in the native header, in Python and on the page."""

from __future__ import annotations

import re
from pathlib import Path

import polyrule
from polyrule.conditions import GroupCondition, LabelCondition, MissingCondition, NominalCondition, SetCondition, packed
from polyrule.data import Feature

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("AT_MOST", "ABOVE", "CATEGORY", "LABEL", "IN", "MISSING", "GROUP")


def test_kinds_are_those_of_the_native_header():
    header = (ROOT / "native" / "predict" / "kinds.h").read_text(encoding="utf-8")
    native = {name: int(value) for name, value in re.findall(r"k(\w+) = (\d+)", header)}
    python = {name.title().replace("_", ""): getattr(packed, name) for name in NAMES}
    assert native == python


def test_kinds_are_those_of_the_page():
    script = (Path(polyrule.__file__).parent / "report" / "assets" / "format.js").read_text(encoding="utf-8")
    page = dict(re.findall(r"\b([A-Z_]+) = (\d)[,;]", script))
    assert {name: int(page[name]) for name in NAMES} == {name: getattr(packed, name) for name in NAMES}


def test_sets_and_groups_as_arrays():
    hue = Feature("hue", "nominal", ("red", "green", "blue"))
    group = GroupCondition((SetCondition(1, (0, 2)), MissingCondition(2, True)))
    features = [Feature("size"), hue, Feature("age")]
    bodies = packed.PackedBodies.of([(LabelCondition(4, 1), group), (), (NominalCondition(1, 2),)], features)
    kinds = [packed.LABEL, packed.GROUP, packed.IN, packed.MISSING, packed.CATEGORY]
    assert bodies.kind.tolist() == kinds
    assert bodies.index.tolist() == [4, 2, 0, 1, 0]  # columns by their position in `used`
    assert bodies.value.tolist() == [1, 1, 0, 1, 2]
    assert bodies.start.tolist() == [0, 4, 4, 5]
    assert bodies.sets.tolist() == [3, 1, 0, 1]
    assert bodies.used.tolist() == [1, 2]
    assert bodies.rules == 3
