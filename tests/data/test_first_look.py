"""The first look names what each column is read as, and an option that changes it works."""

from __future__ import annotations

import io

import numpy as np
import pytest

from polyrule.data import read
from polyrule.data.first_look import column_readings, folded, guesses

ROWS = 60
HEADER = "key,length,risk,plot,shops,on,size,hue,y"
PLOTS = ("A zombie eats the whole town", "Two friends find love in Paris", "The police hunt a murderer at night")


def table() -> bytes:
    rng = np.random.default_rng(0)
    lines = [HEADER]
    for row in range(ROWS):
        shops = "; ".join(sorted(rng.choice(["Market", "Online", "Kiosk"], rng.integers(1, 4), replace=False)))
        plot = f"{PLOTS[row % 3]} number {row}"
        length = f"{row + 40} min" if row % 2 else f"{row % 5 + 1} Seasons"
        risk, hue = ("low", "medium", "high")[row % 3], ("red", "blue")[row % 2]
        on = f"{('January', 'May')[row % 2]} {row % 28 + 1}, 2020 {row % 24}:15"
        lines.append(f'K-{row},{length},{risk},{plot},{shops},"{on}",{row / 7},{hue},{row % 2}')
    return "\n".join(lines).encode()


def look(**options):
    return {one.name: one for one in column_readings(read(io.BytesIO(table()), labels="y", **options))}


def test_every_role():
    readings = look()
    assert {name: one.role for name, one in readings.items()} == {
        "key": "left out",
        "length": "number",
        "risk": "ordered",
        "plot": "words",
        "shops": "list",
        "on": "date",
        "size": "number",
        "hue": "category",
    }
    assert readings["key"].detail == "identifies rows: 60 values, such as K-0"
    assert readings["length"].detail == "1 to 5 Seasons, 41 to 99 min"
    assert readings["risk"].detail == "low < medium < high"
    assert readings["plot"].detail == "60 texts of 8 words"
    assert readings["shops"].detail.startswith("separated by ';', such as Kiosk")
    assert readings["on"].detail == "2020-01-01 to 2020-05-28, month in words: month, weekday, hour"
    assert readings["hue"].detail == "blue, red"


@pytest.mark.parametrize("name", ["length", "risk", "plot", "shops"])
def test_the_option_changes_the_reading(name):
    option, value = look()[name].option.split("=")
    assert look(**{option: value.strip("'")})[name].role in ("category", "left out")


def test_texts_of_new_rows_are_their_own():
    train = read(io.BytesIO(table()), labels="y")
    lines = table().decode().splitlines()
    rows = [lines[0], *(line.replace("zombie", "dragon") for line in lines[:0:-1])]
    test = read(io.BytesIO("\n".join(rows).encode()), labels="y", features=train.features)
    place = test.X.feature_names.index("plot")
    texts = [test.features[place].categories[int(code)] for code in test.X.column(place)]
    assert texts == [f"{PLOTS[row % 3]} number {row}".replace("zombie", "dragon") for row in range(ROWS)][::-1]


def test_guesses_are_one_line():
    readings = list(look().values())
    assert guesses(readings) == (
        "words of plot; members of shops; order of risk; dates of on; length as 1 to 5 Seasons, 41 to 99 min"
    )
    assert guesses([one for one in readings if one.name in ("size", "hue", "key")]) == ""


def test_only_runs_of_plain_columns_are_folded():
    data = read(io.BytesIO(b"a,b,c,d,e\n1,2,3,x,1\n4,5,6,y,0\n"), labels="e")
    assert [one.name for one in folded(column_readings(data))] == ["a … c", "d"]
    assert [one.role for one in folded(column_readings(data))] == ["number", "category"]
