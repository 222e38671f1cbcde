"""Columns of numbers with units, currencies and separators are told from codes, lists and texts."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from polyrule import RuleListClassifier
from polyrule.data import read, to_table
from polyrule.data.written_numbers import find_quantities
from polyrule.errors import DataWarning

NUMBERS = {
    "units": (["90 min", "120 min", "7 min"], [("x (min)", 90.0)]),
    "two units": (["90 min", "1 Season", "3 Seasons", "45 min"], [("x (Seasons)", np.nan), ("x (min)", 90.0)]),
    "a currency": (["$1,200", "$5", "$30.50"], [("x ($)", 1200.0)]),
    "shares": (["12 %", "5%", "7.5 %"], [("x (%)", 12.0)]),
    "groups": (["7,750", "338", "12"], [("x", 7750.0)]),
    "groups and points": (["1,234.50", "3.10", "12.00"], [("x", 1234.5)]),
    "decimal commas": (["3,25", "1,5", "2"], [("x", 3.25)]),
    "euros": (["1.234,50 €", "3,00 €", "2 €"], [("x (€)", 1234.5)]),
    "blanks between groups": (["1 234,5", "12 345,0", "3,2"], [("x", 1234.5)]),
}
OTHERS = {
    "codes": ["W01", "W02", "W03"],
    "codes of digits": ["01234", "10115", "80331"],
    "codes with letters": ["3A", "4B", "3B", "5C"],
    "ordinals": ["1st", "2nd", "3rd"],
    "times": ["9 AM", "10 AM", "11 PM"],
    "ranges": ["12-14", "15-18", "19-24"],
    "telephones": ["555-1234", "555-2222", "555-3333"],
    "pressures": ["120/80", "110/70", "130/90"],
    "versions": ["v1.2", "v1.3", "v2.0"],
    "groups beside long numbers": ["7,750", "12000", "3"],
    "digits as text": ["5", "10", "20"],
    "too few": ["3 kg", "4 kg"],
    "comparisons": [">3 kg", "4 kg", "5 kg"],
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers(case):
    cells, expected = NUMBERS[case]
    table = to_table(pd.DataFrame({"x": cells * 9}))
    named = dict(zip(table.feature_names, table.values[0].tolist(), strict=True))
    assert named == pytest.approx(dict(expected), nan_ok=True)


@pytest.mark.parametrize("case", OTHERS)
def test_what_are_no_numbers(case):
    cells = OTHERS[case]
    assert find_quantities("x", cells, [9] * len(cells)) == []


def test_few_words_among_many_numbers_are_missing():
    cells = [*map(str, range(50)), "unknown"]
    (quantity,) = find_quantities("x", cells, [2] * 51)
    assert np.isnan(quantity.values(["unknown"])).all()
    with pytest.warns(DataWarning, match="is read as numbers, and 'unknown' as missing; nominal='x' reads all"):
        assert to_table(pd.DataFrame({"x": cells * 2})).features[0].kind == "numeric"
    assert find_quantities("x", cells, [*[2] * 50, 30]) == []
    assert find_quantities("x", [*cells, "12-14"], [2] * 52) == []


def test_files_frames_and_options_agree():
    text = b"price,y\n" + b'"$1,200",1\n$5,0\n$30.50,1\n' * 9
    data = read(io.BytesIO(text), labels="y")
    assert data.features[0].name == "price ($)"
    assert data.X.column(0)[:3].tolist() == [1200.0, 5.0, 30.5]
    assert read(io.BytesIO(text), labels="y", nominal="price").features[0].kind == "nominal"
    again = read(io.BytesIO(b"price,y\n$7,1\n"), labels="y", like=data.features)
    assert again.features == data.features
    assert again.X.column(0).tolist() == [7.0]


def test_models_read_new_cells_of_other_kinds():
    rng = np.random.default_rng(0)
    minutes = rng.integers(40, 140, 400)
    frame = pd.DataFrame({"length": [f"{m} min" for m in minutes]})
    y = pd.DataFrame({"long": minutes > 90})
    model = RuleListClassifier().fit(frame, y).model_
    assert "length (min) >" in str(model)
    new = pd.DataFrame({"length": ["100 min", "20 min", "95", None, "3 seasons"]})
    assert model.predict(new).ravel().tolist() == [1, 0, 1, 0, 0]
    assert model.predict(pd.DataFrame({"length": [100.0, 20.0]})).ravel().tolist() == [1, 0]


def test_numbers_with_units_stand_beside_dates():
    frame = pd.DataFrame({"x": ["3 kg", "4 kg", "5 kg"] * 9, "on": ["2021-03-05", "May 3, 2021", None] * 9})
    table = to_table(frame)
    assert table.feature_names == ("x (kg)", "on", "on year", "on month", "on weekday")
    np.testing.assert_array_equal(table.values[0], [3, 18691, 2021, 2, 4])
    again = to_table(frame[["on", "x"]], table.features, others="skip")
    np.testing.assert_array_equal(again.values, table.values)


def test_a_name_that_another_column_has_is_not_taken():
    frame = pd.DataFrame({"x": ["3 kg", "4 kg", "5 kg"] * 9, "x (kg)": [1.0, 2.0, 3.0] * 9})
    assert to_table(frame).features[0].kind == "nominal"
