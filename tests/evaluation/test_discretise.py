import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, OptionError
from polyrule.evaluation.encoding import EqualFrequencyDiscretiser, equal_frequency_cuts

numbers = st.lists(st.sampled_from([-2.5, 0.0, 0.25, 1.0, 3.0, 7.0, 8.0, 1e9]), min_size=1, max_size=40)


def test_the_middle_of_huge_values_is_finite():
    assert equal_frequency_cuts(np.array([1e308, 1.7e308]), 2).tolist() == [1.35e308]


@given(numbers, st.integers(2, 12))
@settings(max_examples=150, deadline=None)
def test_cuts_lie_between_distinct_values(values, bins):
    values = np.array(values)
    cuts = equal_frequency_cuts(values, bins)
    distinct = np.unique(values)
    assert len(cuts) == min(bins, len(distinct)) - 1 or len(cuts) < bins
    assert (np.diff(cuts) > 0).all()
    for cut in cuts:
        assert cut not in distinct
        below, above = distinct[distinct < cut].max(), distinct[distinct > cut].min()
        assert cut == (below + above) / 2
    counts = np.bincount(np.searchsorted(cuts, values), minlength=len(cuts) + 1)
    assert (counts > 0).all()


@given(st.integers(1, 60), st.integers(2, 12))
@settings(max_examples=100, deadline=None)
def test_without_ties_the_intervals_differ_by_at_most_one(n, bins):
    cuts = equal_frequency_cuts(np.random.default_rng(n).permutation(n).astype(float), bins)
    sizes = np.diff(np.concatenate([[-1], np.floor(cuts), [n - 1]]))
    assert sizes.sum() == n
    assert len(cuts) == min(bins, n) - 1
    assert sizes.max() - sizes.min() <= 1


def test_the_fair_share_adapts_to_what_is_left():
    # half of the values are equal: they fill one interval, and the rest is still split evenly
    assert equal_frequency_cuts(np.array([0.0] * 6 + [1, 2, 3, 4, 5, 6]), 4).tolist() == [0.5, 2.5, 4.5]


def test_missing_values_stay_missing_and_nominal_features_pass():
    hue = Feature("hue", "nominal", ("red", "blue"))
    table = Table.from_array([[1.0, 0], [2.0, 1], [np.nan, np.nan], [4.0, 1]], [Feature("size"), hue])
    result = EqualFrequencyDiscretiser(2).fit(table).transform(table)
    assert (
        result.features[0] == Feature("size", "nominal", ("<= 1.5", "> 1.5")) or len(result.features[0].categories) == 2
    )
    assert result.features[1] == hue
    assert np.isnan(result.column(0)[2])
    assert np.array_equal(result.column(1), table.column(1), equal_nan=True)
    assert not np.isnan(table.column(0)[0])


def test_cuts_come_from_the_fitted_examples_only():
    train = Table.from_array(np.arange(10.0)[:, None])
    model = EqualFrequencyDiscretiser(5).fit(train)
    cuts = model.cuts_[0].copy()
    far = model.transform(Table.from_array([[-100.0], [4.5], [1e6]]))
    assert far.column(0).tolist() == [0.0, 2.0, 4.0]
    assert (model.cuts_[0] == cuts).all()


def test_a_value_on_a_cut_belongs_below():
    model = EqualFrequencyDiscretiser(2).fit(Table.from_array([[0.0], [1.0]]))
    assert model.transform(Table.from_array([[0.5]])).column(0).tolist() == [0.0]


def test_a_constant_feature_has_one_value():
    model = EqualFrequencyDiscretiser(4).fit(Table.from_array([[3.0], [3.0]]))
    assert model.transform(Table.from_array([[9.0]])).features[0].categories == ("any",)


def test_bad_input():
    with pytest.raises(OptionError, match="bins must be at least 2"):
        EqualFrequencyDiscretiser(1).fit(Table.from_array([[0.0]]))
    with pytest.raises(DataError, match="sparse table"):
        EqualFrequencyDiscretiser().fit(Table.from_array(sp.csr_array([[0.0, 1.0]])))
    with pytest.raises(DataError, match="differ"):
        EqualFrequencyDiscretiser().fit(Table.from_array([[0.0], [1.0]])).transform(Table.from_array([[0.0, 1.0]]))
