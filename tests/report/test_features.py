import json

import numpy as np
import pytest

from polyrule.data import Feature
from polyrule.report.examples import BINS, histogram, plain


def test_many_values_are_binned_without_losing_any():
    values = np.random.default_rng(0).normal(size=500)
    entry = histogram(Feature("x"), np.append(values, [np.nan, np.nan]))
    assert len(entry["counts"]) == BINS
    assert sum(entry["counts"]) == 500
    assert entry["missing"] == 2
    edges = np.linspace(values.min(), values.max(), BINS + 1)
    assert np.abs(np.array(entry["counts"]) - np.histogram(values, edges)[0]).sum() <= 2  # rounding at an edge


def test_huge_and_infinite_values_do_not_overflow():
    entry = histogram(Feature("x"), np.append(np.linspace(-1, 1, 60) * 1.7e308, [np.inf]))
    assert sum(entry["counts"]) == 60
    json.dumps(entry, allow_nan=False)


def test_an_all_missing_feature_has_no_bars():
    assert histogram(Feature("x"), np.full(3, np.nan)) == {"missing": 3, "counts": []}


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e300, -5e-324, 2.0**60, 3.0, -0.5])
def test_numbers_read_back_exactly(value):
    assert float(json.loads(json.dumps(plain(value)))) == value


def test_what_json_lacks_is_written_another_way():
    assert [plain(v) for v in (np.nan, np.inf, -np.inf)] == [None, "Infinity", "-Infinity"]
