"""Categories that ascend by their words or numbers are ordinal."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from polyrule.data import read, to_table
from polyrule.data.orders import SCALES, find_order

ORDERED = [
    ("low", "medium", "high"),
    ("Never", "Rarely", "Sometimes", "Often", "Always"),
    ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"),
    ("Weak", "Somewhat light", "Medium", "Somewhat strong", "Very strong"),
    ("Less than high school", "High school graduate", "Bachelor's degree", "Master's degree"),
    ("<18 years old", "18-24 years old", "25-34 years old", ">65 years old"),
    ("Less than $20", "$20-$50", "$500-$1000", "More than $1,000"),
    ("None", "1", "2", "3", "More than 3"),
    ("Less than 1", "1", "2", "More than 4"),
    ("0-9", "10-19", "20+"),
    ("Under 18", "18 to 24", "25 or older"),
    ("never", "1-2 times", "3-4 times", "5 or more times"),
    ("January", "March", "December"),
]
UNORDERED = [
    ("low", "high"),
    ("red", "low", "high"),
    ("1", "2", "3"),
    ("W01", "W02", "W03"),
    ("18-24", "20-30", "31-40"),
    ("18-24 years", "25-34 years", "5-10 kg"),
    ("Coffee A", "Coffee B", "Coffee C"),
    ("<5", "<5 ", "6-7"),
]


@pytest.mark.parametrize("ascending", ORDERED)
def test_orders(ascending):
    assert find_order(ascending[::-1]) == ascending == find_order(sorted(ascending))


@pytest.mark.parametrize("categories", UNORDERED)
def test_no_order(categories):
    assert find_order(categories) == ()


def test_scales_have_no_word_twice():
    for scale in SCALES:
        words = [word.strip() for word in scale.split(",")]
        assert len(words) == len(set(words))
        assert all(word == word.lower() for word in words)


def test_columns_are_read_in_order_unless_declared():
    cells = ["high", "low", "medium", "low"] * 5
    table = to_table(pd.DataFrame({"risk": cells}))
    assert table.features[0].kind == "ordinal"
    assert table.features[0].categories == ("low", "medium", "high")
    assert table.column(0)[:4].tolist() == [2.0, 0.0, 1.0, 0.0]
    assert to_table(pd.DataFrame({"risk": pd.Categorical(cells)})).features[0].kind == "nominal"
    text = b"risk,y\n" + b"high,1\nlow,0\nmedium,1\n" * 9
    assert read(io.BytesIO(text), labels="y").features[0].kind == "ordinal"
    assert read(io.BytesIO(text), labels="y", nominal="risk").features[0].kind == "nominal"
