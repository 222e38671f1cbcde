"""The nearest value in another cell: the last one that still satisfies a condition, on the scale of the feature."""

import math
from datetime import date

import numpy as np
import pytest

from polyrule.conditions import NumericCondition
from polyrule.conditions.evaluate import evaluate_column
from polyrule.data import Feature
from polyrule.model.region_grid import RegionGrid
from polyrule.model.regions import FeatureRegions
from polyrule.model.rule import Literal, Rule
from polyrule.model.rule_list import RuleList

SIZES = ("small", "medium", "large", "huge", "vast")
DAYS = [date(2013, 12, day).toordinal() for day in (1, 2, 3)]


def cells_of(feature: Feature, thresholds: tuple[float, ...], old: float) -> FeatureRegions:
    return FeatureRegions(0, feature, tuple(NumericCondition(0, "<=", threshold) for threshold in thresholds), old)


def test_an_ordinal_moves_to_the_neighbouring_category():
    size = Feature("size", "ordinal", SIZES)
    low, high = cells_of(size, (1.5, 3.0), 0.0), cells_of(size, (1.5, 3.0), 4.0)
    assert [low.value(cell) for cell in (1, 2)] == [2.0, 4.0]  # large, vast
    assert [high.value(cell) for cell in (0, 1)] == [1.0, 3.0]  # medium, huge


def test_a_date_moves_to_the_neighbouring_day():
    day = Feature("day", "date")
    assert cells_of(day, (float(DAYS[1]),), DAYS[0]).value(1) == DAYS[2]
    assert cells_of(day, (float(DAYS[1]),), DAYS[2]).value(0) == DAYS[1]


def test_a_number_moves_as_little_as_a_number_can():
    length = Feature("length")
    assert cells_of(length, (2.5,), 1.0).value(1) == math.nextafter(2.5, math.inf)
    assert cells_of(length, (2.5,), 3.0).value(0) == 2.5
    assert cells_of(length, (), math.nan).value(0) == 0.0


@pytest.mark.parametrize("kind", ["numeric", "ordinal", "date"])
def test_the_value_of_a_cell_lies_in_it_and_is_the_nearest_there(kind):
    feature = Feature("x", kind, tuple("abcdefgh") if kind == "ordinal" else ())
    conditions = [NumericCondition(0, "<=", threshold) for threshold in (1.0, 2.5, 5.0)]
    model = RuleList(tuple(Rule((Literal(0, 1),), (one,)) for one in conditions), (feature,), ("y",))
    for start in range(8):
        (cells,) = RegionGrid(model, np.array([float(start)])).regions.values()
        for cell in range(cells.count):
            value = cells.value(cell) if cell != cells.present else float(start)
            inside = [bool(evaluate_column(one, np.array([value]))[0]) for one in conditions]
            assert inside == [cell <= place for place in range(3)]
            whole = [x for x in range(8) if sum(x > one.threshold for one in conditions) == cell]
            if kind != "numeric" and cell != cells.present:
                assert value == min(whole, key=lambda x: abs(x - start))
