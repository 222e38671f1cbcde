import numpy as np
import pytest
from scipy import stats

from polyrule.errors import OptionError
from polyrule.evaluation.statistics import mean_interval


def test_is_students_t():
    values = [0.2, 0.4, 0.9, 0.1]
    interval = mean_interval(values)
    assert (interval.low, interval.high) == pytest.approx(stats.t.interval(0.95, 3, np.mean(values), stats.sem(values)))


def test_overlapping_training_parts_widen_it():
    values = [0.2, 0.4, 0.9, 0.1]
    plain, corrected = mean_interval(values), mean_interval(values, test_share=1 / 3)
    ratio = (corrected.high - corrected.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(np.sqrt((1 / 4 + 1 / 3) / (1 / 4)))


def test_one_value_has_no_interval():
    assert np.isnan(mean_interval([0.5]).low)
    assert str(mean_interval([0.5])) == "0.500"


def test_bad_options():
    with pytest.raises(OptionError, match="no values"):
        mean_interval([])
    with pytest.raises(OptionError, match="level"):
        mean_interval([1, 2], level=1.5)


def test_it_can_be_cut_off_where_values_end():
    low = mean_interval([0.0, 0.1, 0.5], within=(0, 1))
    high = mean_interval([1.0, 0.9, 0.5], within=(0, 1))
    assert (low.low, high.high) == (0, 1)
    assert low.high == pytest.approx(mean_interval([0.0, 0.1, 0.5]).high)
