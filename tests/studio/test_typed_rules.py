"""Rules as people type them."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.data import Feature
from polyrule.data.table import Table
from polyrule.errors import PolyruleError
from polyrule.model import RuleList
from polyrule.studio.typed_rules import understand

FEATURES = (
    Feature("lactate"),
    Feature("heart rate"),
    Feature("smoker", "nominal", ("no", "yes")),
    Feature("ward", "nominal", ("north", "south wing", "west")),
    Feature("dark"),
)
MODEL = RuleList((), FEATURES, ("sepsis", "Kidney failure"))
VALUES = np.array(
    [[0.9, 60, 0, 0, 0], [1.4, 71, 1, 1, 1], [2.0, 84, 0, 2, 0], [2.5, 118, 1, 1, 1], [np.nan, 1260, 0, 0, 1]]
)
TABLE = Table(np.array(VALUES), FEATURES)


def read(text: str) -> tuple[str, list[str]]:
    return understand(text, MODEL, TABLE, {"do": "insert", "at": 0, "text": text})


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("sepsis <- lactate > 2", "sepsis <- lactate > 2"),
        ("sepsis if lactate above 2", "sepsis <- lactate > 2"),
        ("If lactate is above 2 then sepsis", "sepsis <- lactate > 2"),
        ("if Lactate > 2, then sepsis and kidney failure.", "sepsis, Kidney failure <- lactate > 2"),
        ("sepsis <- lactate > 2,5", "sepsis <- lactate > 2.5"),
        ("sepsis <- lactate > 2,5, smoker = yes", "sepsis <- lactate > 2.5, smoker = yes"),
        ("sepsis <- lactate > 1 and heart rate <= 100", "sepsis <- lactate > 1, heart rate <= 100"),
        ("sepsis <- heart rate > 1,250", "sepsis <- heart rate > 1250"),
        ("sepsis <- heart rate > 1.250,5", "sepsis <- heart rate > 1250.5"),
        ("no sepsis if lactate at most 1.4 mmol/l", "¬sepsis <- lactate <= 1.4"),
        ("sepsis if lactate at least 2", "sepsis <- lactate > 1.7"),
        ("sepsis if lactate below 2", "sepsis <- lactate <= 1.7"),
        ("sepsis if heart rate between 71 and 84", "sepsis <- 66 < heart rate <= 84"),
        ("sepsis when ward is south wing and smoker is not yes", "sepsis <- ward = south wing, smoker = no"),
        ("sepsis if ward is not west", "sepsis <- ward in {north, south wing}"),
        ("sepsis if lactate is unknown", "sepsis <- lactate is missing"),
        ("sepsis <- dark", "sepsis <- dark > 0.5"),
        ("sepsis if not dark & smoker", "sepsis <- dark <= 0.5, smoker = yes"),
    ],
)
def test_plain_words_are_understood(text, meant):
    assert read(text).text == meant


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "sepsis <- lactate",
            "lactate is a quantity, from 0.9 to 2.5: say above or up to which value, for example lactate > 1.7",
        ),
        ("sepsis if not lactate", "lactate is a quantity"),
        ("sepsis <- any of (lactate, smoker = yes)", "lactate is a quantity"),
        ("sepsis if lactate above 2 or smoker is yes", "“or” is written as a group"),
        ("sepsis if lactat above 2", "did you mean 'lactate'"),
        ("sepsis <- lactat > 2", "did you mean 'lactate'"),
        ("sepsis", "Write a label, if, and conditions"),
        ("sepsis if lactate is not 2", "is a number: say above or up to"),
    ],
)
def test_what_is_unclear_is_answered(text, answer):
    with pytest.raises(PolyruleError, match=answer.replace("(", r"\(")):
        read(text)


def test_what_was_read_in_its_own_way_is_said():
    assert read("sepsis <- lactate > 2,5").notes == ["2,5 is read as 2.5"]
    assert read("sepsis if lactate below 2 mmol").notes == [
        "the unit mmol is left out",
        "below 2 is written <= 1.7, as no value lies between",
    ]
    assert read("sepsis <- lactate > 2").notes == []
