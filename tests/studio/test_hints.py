"""Hints on rules that go against a direction, or against most examples."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.data import Dataset, Feature, Table
from polyrule.model import RuleList
from polyrule.studio.hints import hints
from polyrule.studio.workbench import Workbench

AGE = np.arange(100.0)
FEATURES = (Feature("age"), Feature("noise"))
DATA = Dataset(
    Table.from_array(np.column_stack([AGE, AGE % 7]), FEATURES),
    np.column_stack([AGE > 60, AGE % 2]).astype(np.uint8),
    ("sick", "odd"),
)
BENCH = Workbench(DATA, DATA)


def hints_on(text: str, **directions: str) -> list[str]:
    return hints(BENCH, RuleList((), FEATURES, DATA.label_names).insert(0, text).rules[0], directions)


@pytest.mark.parametrize("text", ["sick <- age > 50", "¬sick <- age <= 50", "odd <- age > 50", "sick <- true"])
def test_a_rule_that_agrees_with_the_examples_needs_no_hint(text):
    assert hints_on(text) == []
    assert hints_on(text, age="up") == []


def test_most_evidence_may_point_the_other_way():
    (hint,) = hints_on("¬sick <- age > 50, noise > -1")
    assert hint.startswith("sick is present in 80% of the training examples where age is above 50, and in 0% of the")
    assert len(hints_on("sick <- age <= 50")) == 1


def test_a_direction_is_what_a_person_said():
    (hint,) = hints_on("sick <- age > 50", age="down")
    assert hint == "You said that less age speaks for labels; here “age is above 50” speaks for sick."
    assert hints_on("¬sick <- age > 50", age="down") == []
