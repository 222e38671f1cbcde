"""Cells are split into number and unit, and digits in no order are no number."""

from __future__ import annotations

import time

import pytest

from polyrule.data.derive.quantities import Quantity, quantities, split_quantity
from polyrule.data.documents import JsonNode, feature_record, read_feature
from polyrule.errors import DataError


@pytest.mark.parametrize(
    ("cell", "style", "expected"),
    [
        ("90 min", (".", ""), (90.0, "min")),
        ("-$1,234.50", (".", ","), (-1234.5, "$")),
        ("1.234,5 €/m²", (",", "."), (1234.5, "€/m²")),
        ("12 %", (".", ""), (12.0, "%")),
        ("1,23", (".", ","), None),
        ("1.5", (",", "."), None),
        ("12-14 years", (".", ""), None),
        ("1 h 30 min", (".", ""), None),
        ("12\n13", (".", ""), None),
        ("min", (".", ""), None),
        ("", (".", ""), None),
        ("١٢ min", (".", ""), None),
    ],
)
def test_number_and_unit(cell, style, expected):
    assert split_quantity(cell, *style) == expected


def test_a_number_without_a_unit_has_the_only_one():
    (only,) = quantities("size", [("kg", ["kg"])], ".", "")
    assert only.values(["3 kg", "4", "5 lb"])[:2].tolist() == [3.0, 4.0]
    first, second = quantities("size", [("kg", ["kg"]), ("lb", ["lb"])], ".", "")
    assert (first.units, second.units) == (("kg",), ("lb",))


def test_long_cells_take_no_time():
    for cell in (" " * 100_000 + "x", "1" * 100_000 + ".", "1,111" * 20_000, "-" * 100_000, "€" * 100_000):
        start = time.perf_counter()
        split_quantity(cell, ".", ",")
        assert time.perf_counter() - start < 1


def test_a_broken_record_is_refused():
    record = feature_record(Quantity("size", ("kg",), "kg").feature())
    record["quantity"]["unit"] = "lb"
    with pytest.raises(DataError, match="must name a unit with which the name 'size \\(kg\\)' ends"):
        read_feature(JsonNode(record, "model.json"))
