"""Bins of all features of a table, between thresholds that rules can show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from polyrule.binning.code_tests import ABOVE, AT_MOST, CATEGORY, AnyTest, BinGroup, BinTest
from polyrule.binning.thresholds import short_thresholds
from polyrule.conditions import Condition, FeatureCondition, GroupCondition, NominalCondition, NumericCondition
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.utils.arrays import Codes, Floats, Ints


@dataclass(frozen=True, eq=False)
class Binning:
    """Thresholds between the bins of all features of the training data.

    Parameters
    ----------
    features : tuple of Feature
    thresholds : tuple of ndarray
        Per feature, ascending; empty for a nominal one. ``value <= thresholds[b]`` is ``code <= b``.
    """

    features: tuple[Feature, ...]
    thresholds: tuple[npt.NDArray[np.float64], ...]

    @classmethod
    def of(cls, table: Table, max_bins: int, conditions: Iterable[Condition] = (), *, readable: bool = True) -> Binning:
        """Place thresholds between distinct values, at quantiles if there are more than `max_bins` values.

        The thresholds of `conditions` are added. Thresholds that are never shown need not be `readable`.

        Examples
        --------
        >>> Binning.of(Table.from_array([[1.0], [1.75], [9.0]]), 64).thresholds
        (array([1.4, 5. ]),)
        >>> Binning.of(Table.from_array([[1.0], [2.0], [9.0]]), 64).thresholds
        (array([1., 6.]),)
        """
        thresholds = [
            np.empty(0)
            if feature.is_nominal
            else _thresholds(*table.spans(j), max_bins, readable, whole=not feature.is_stepped)
            for j, feature in enumerate(table.features)
        ]
        for condition in conditions:
            if isinstance(condition, NumericCondition):
                j = condition.feature
                thresholds[j] = np.union1d(thresholds[j], [condition.threshold])
        return cls(table.features, tuple(thresholds))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of bins of each feature; a missing value has this number as its code."""
        pairs = zip(self.features, self.thresholds, strict=True)
        return tuple(len(f.categories) if f.is_nominal else len(thresholds) + 1 for f, thresholds in pairs)

    def count(self, feature: int) -> int:
        """Number of bins of one feature."""
        return self.counts[feature]

    def absent(self, feature: int, counts: Ints) -> int:
        """Return the code that means "absent", by the number of rows of each code; -1 if there is none.

        It is that of the number 0, or of a category "0", if at least a quarter of the rows have it; of other categories
        that of the majority.
        """
        total, kind = counts.sum(), self.features[feature]
        if kind.is_nominal and "0" not in kind.categories:
            common = int(np.argmax(counts))
            return common if 2 * counts[common] > total and common < self.count(feature) else -1
        zero = kind.categories.index("0") if kind.is_nominal else int(np.searchsorted(self.thresholds[feature], 0.0))
        return zero if zero < min(len(counts), self.count(feature)) and 4 * counts[zero] >= total > 0 else -1

    def columns(self, table: Table) -> Iterator[Codes]:
        """Yield the codes of one feature after the other."""
        for j in range(len(self.features)):
            yield self.column(j, table)

    def codes(self, table: Table) -> Codes:
        """Return the code of every value, one row per feature."""
        codes = np.empty((len(self.features), len(table)), dtype=np.uint16)
        for j, column in enumerate(self.columns(table)):
            codes[j] = column
        return codes

    def column(self, feature: int, table: Table) -> Codes:
        """Return the codes of one feature."""
        return table.apply(feature, partial(self.encode, feature))

    def encode(self, feature: int, values: npt.NDArray[np.float64]) -> Codes:
        """Return the code of each value of one feature."""
        count = self.count(feature)
        missing = np.isnan(values)
        if self.features[feature].is_nominal:
            valid = ~missing & (values >= 0) & (values < count)
            return np.where(valid, np.where(valid, values, 0), count).astype(np.uint16)
        places = np.searchsorted(self.thresholds[feature], values, side="left")
        return np.where(missing, count, places).astype(np.uint16)

    def condition(self, test: AnyTest) -> Condition:
        """Return the condition on values that a test on codes stands for."""
        if isinstance(test, BinGroup):
            return GroupCondition(tuple(self._plain(member) for member in test.members), test.least)
        return self._plain(test)

    def _plain(self, test: BinTest) -> FeatureCondition:
        if test.kind == CATEGORY:
            return NominalCondition(test.feature, test.bin)
        threshold = float(self.thresholds[test.feature][test.bin])
        return NumericCondition(test.feature, "<=" if test.kind == AT_MOST else ">", threshold)

    def test(self, condition: Condition) -> AnyTest:
        """Return the test on codes of a condition on one of the thresholds; the inverse of `condition`."""
        if isinstance(condition, GroupCondition):
            return BinGroup(tuple(self._single(member) for member in condition.members), condition.least)
        return self._single(condition)

    def _single(self, condition: Condition) -> BinTest:
        if isinstance(condition, NumericCondition):
            place = int(np.searchsorted(self.thresholds[condition.feature], condition.threshold))
            return BinTest(condition.feature, AT_MOST if condition.op == "<=" else ABOVE, place)
        if isinstance(condition, NominalCondition):
            return BinTest(condition.feature, CATEGORY, condition.value)
        raise ModelError(f"an ensemble cannot go on from a condition such as {condition!r}")


def _thresholds(lows: Floats, highs: Floats, counts: Ints, max_bins: int, readable: bool, whole: bool) -> Floats:
    """Return thresholds between spans of values, see `Table.spans`; whole numbers between `whole` ones."""
    if len(counts) <= max_bins:
        below = np.arange(len(counts) - 1)
        above = below + 1
    else:
        # Any threshold within a quarter of a bin around the quantile is good; the shortest decimal is taken.
        middle, reach = np.arange(1, max_bins) * (counts.sum() / max_bins), counts.sum() / max_bins / 4
        below = np.searchsorted(np.cumsum(counts), middle - reach)
        above = np.maximum(np.searchsorted(np.cumsum(counts), middle + reach), below + 1)
        above = np.minimum(above, len(counts) - 1)
        below = np.minimum(below, above - 1)
    if not readable:
        return np.unique(highs[below])
    thresholds = short_thresholds(highs[below], lows[above])
    if highs is not lows:  # a threshold inside a span moves behind it
        spans = np.searchsorted(highs, thresholds, side="right")
        inside = lows[spans] <= thresholds
        thresholds[inside] = short_thresholds(highs[spans[inside]], lows[spans[inside] + 1])
    if whole and np.array_equal(highs, np.floor(highs)):
        thresholds = np.floor(thresholds)  # "more than 60", not "more than 60.5"; no value is between
    return np.unique(thresholds)
