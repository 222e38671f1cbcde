"""Groups of alternatives: what they mean, how they are written and read."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.conditions.evaluate import evaluate
from polyrule.conditions.text import Names
from polyrule.data import Feature, Table
from polyrule.errors import ModelError
from polyrule.model import GroupCondition, MissingCondition, NumericCondition, parse_rule
from polyrule.model.printing import Formatter

ROAD = (
    Feature("jam", "nominal", ("0", "1")),
    Feature("queue"),
    Feature("size (cm)"),
    Feature("any of us"),
    Feature("odd)"),
    Feature("TP x"),
)


@pytest.mark.parametrize(
    "text",
    [
        "red <- any of {jam, queue}",
        "red <- any of {jam, ¬queue}, size (cm) > 5",
        'red <- any of "road words" {jam, queue}',
        "red <- at least 2 of (jam, size (cm) > 5, queue > 2.5), queue is known",
        "red <- any of (¬jam, size (cm) > 5), jam",
        "red <- any of(size (cm) <= 5, queue is missing)  (TP 3, FP 1) [stop]",
        'red <- any of ("any of us" > 5, "odd)" > 5)',
        "red <- any of (TP x > 1, queue > 2)",
        'red <- "any of us" > 2',
    ],
)
def test_a_group_reads_back(text: str) -> None:
    rule = parse_rule(text, ROAD, ["red"])
    shown = Formatter(Names(ROAD, ["red"])).rule(rule, counts=False)
    assert parse_rule(shown, ROAD, ["red"]).body == rule.body
    assert shown == text.replace("of(", "of (").split("  (")[0]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("any of {jam}", "no choice"),
        ("at least 2 of {jam, queue}", "must all hold"),
        ("at least 0 of {jam, queue}", "no choice"),
        ("any of {jam, jam}", "twice"),
        ("any of (red, jam = 1)", "no condition on a feature"),
        ("any of (2 < queue <= 5, jam = 1)", "two conditions"),
        ("any of jam, queue", "is written"),
        ("any of {jam, queue", "is written"),
        ("any of (jam = 1, queue > 2", "is written"),
        ("any of {jam, queue}, any of {jam, queue}", "at most one group"),
        ("any of {}", "nothing stands"),
        ("any of (any of {jam, queue}, jam = 1)", "a set is written"),
    ],
)
def test_what_is_no_group_is_refused_in_a_sentence(body: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        parse_rule(f"red <- {body}", ROAD, ["red"])


def test_a_group_holds_where_enough_members_do_and_a_missing_value_is_no_member() -> None:
    members = NumericCondition(0, ">", 1), NumericCondition(1, ">", 1), MissingCondition(0, True)
    table = Table.from_array(np.array([[2, 2], [2, 0], [np.nan, 2], [np.nan, 0], [0, 0.0]]))
    assert evaluate(GroupCondition(members), table).tolist() == [True, True, True, True, False]
    assert evaluate(GroupCondition(members, 2), table).tolist() == [True, False, True, False, False]


@pytest.mark.parametrize("least", [0, 3, 4])
def test_what_is_no_choice_is_no_group(least: int) -> None:
    with pytest.raises(ModelError, match="no group"):
        GroupCondition(tuple(NumericCondition(j, ">", 1) for j in range(3)), least)
