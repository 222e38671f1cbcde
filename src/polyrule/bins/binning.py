"""Features cut into a few ordered bins, so that one pass over the examples prices every condition on a feature."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from polyrule.bins.tests import (
    ABOVE,
    AT_MOST,
    CATEGORY,
    AnyTest,
    BinGroup,
    BinTest,
    holds,
    satisfied,
    single_tests,
)
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model.rule import Condition, FeatureCondition, GroupCondition, NominalCondition, NumericCondition
from polyrule.utils.arrays import Bools, Codes, Floats, Ints, Ints32

# A column is listed, not stored whole, where one code holds for at least this share of the rows.
_LISTED_SHARE = 0.75

#: A table looks like text from so many columns on, if so many of their values are the usual ones.
FEWEST_WORDS, USUAL_SHARE = 50, 0.8
_LOOKED_AT = 1000  # examples


@dataclass(frozen=True, eq=False)
class Binning:
    """Where the features of the training data are cut.

    Parameters
    ----------
    features : tuple of Feature
    thresholds : tuple of ndarray
        Per feature, ascending; empty for a nominal one. ``value <= thresholds[b]`` is ``code <= b``.
    """

    features: tuple[Feature, ...]
    thresholds: tuple[npt.NDArray[np.float64], ...]

    @classmethod
    def of(cls, table: Table, max_bins: int, kept: Iterable[Condition] = (), *, readable: bool = True) -> Binning:
        """Cut every numeric feature between distinct values, at quantiles where there are more than `max_bins`.

        Also where the conditions `kept` cut. Cuts that nobody will see need not be `readable`, which takes time.

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
            else _cuts(*table.spans(j), max_bins, readable, whole=not feature.is_stepped)
            for j, feature in enumerate(table.features)
        ]
        for condition in kept:
            if isinstance(condition, NumericCondition):
                j = condition.feature
                thresholds[j] = np.union1d(thresholds[j], [condition.threshold])
        return cls(table.features, tuple(thresholds))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of bins of each feature; a missing value has this number as its code."""
        pairs = zip(self.features, self.thresholds, strict=True)
        return tuple(len(f.categories) if f.is_nominal else len(cuts) + 1 for f, cuts in pairs)

    def count(self, feature: int) -> int:
        """Number of bins of one feature."""
        return self.counts[feature]

    def absent(self, feature: int, tally: Ints) -> int:
        """Return the code that stands for "not there", given how many rows have each code; -1 where there is none.

        It is that of the number 0, or of a category called 0, unless three quarters of the rows have other ones; of
        other categories the one that more than half of the rows have.
        """
        total, kind = tally.sum(), self.features[feature]
        if kind.is_nominal and "0" not in kind.categories:
            common = int(np.argmax(tally))
            return common if 2 * tally[common] > total and common < self.count(feature) else -1
        zero = kind.categories.index("0") if kind.is_nominal else int(np.searchsorted(self.thresholds[feature], 0.0))
        return zero if zero < min(len(tally), self.count(feature)) and 4 * tally[zero] >= total > 0 else -1

    def columns(self, table: Table) -> Iterator[Codes]:
        """Bins of one feature after the other."""
        for j in range(len(self.features)):
            yield self.column(j, table)

    def codes(self, table: Table) -> Codes:
        """Bin of every value, one row per feature, so that a feature is read in one go."""
        codes = np.empty((len(self.features), len(table)), dtype=np.uint16)
        for j, column in enumerate(self.columns(table)):
            codes[j] = column
        return codes

    def column(self, feature: int, table: Table) -> Codes:
        """Bins of one feature."""
        return table.apply(feature, partial(self.encode, feature))

    def encode(self, feature: int, values: npt.NDArray[np.float64]) -> Codes:
        """Bin of each value of one feature."""
        count = self.count(feature)
        missing = np.isnan(values)
        if self.features[feature].is_nominal:
            known = ~missing & (values >= 0) & (values < count)
            return np.where(known, np.where(known, values, 0), count).astype(np.uint16)
        places = np.searchsorted(self.thresholds[feature], values, side="left")
        return np.where(missing, count, places).astype(np.uint16)

    def condition(self, test: AnyTest) -> Condition:
        """Return the condition as it is stored and shown."""
        if isinstance(test, BinGroup):
            return GroupCondition(tuple(self._plain(member) for member in test.members), test.least)
        return self._plain(test)

    def _plain(self, test: BinTest) -> FeatureCondition:
        if test.kind == CATEGORY:
            return NominalCondition(test.feature, test.bin)
        threshold = float(self.thresholds[test.feature][test.bin])
        return NumericCondition(test.feature, "<=" if test.kind == AT_MOST else ">", threshold)

    def test(self, condition: Condition) -> AnyTest:
        """Return the test of a condition that cuts where a feature is cut; the opposite of `condition`."""
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


def _cuts(lows: Floats, highs: Floats, counts: Ints, max_bins: int, readable: bool, whole: bool) -> Floats:
    """Cut between spans of values that are not told apart, see `Table.spans`; whole numbers at `whole` ones."""
    if len(counts) <= max_bins:
        below = np.arange(len(counts) - 1)
        above = below + 1
    else:
        # Anywhere within a quarter of a bin around the quantile will do, so take the shortest number there.
        middle, reach = np.arange(1, max_bins) * (counts.sum() / max_bins), counts.sum() / max_bins / 4
        below = np.searchsorted(np.cumsum(counts), middle - reach)
        above = np.maximum(np.searchsorted(np.cumsum(counts), middle + reach), below + 1)
        above = np.minimum(above, len(counts) - 1)
        below = np.minimum(below, above - 1)
    if not readable:
        return np.unique(highs[below])
    cuts = _simplest(highs[below], lows[above])
    if highs is not lows:  # a cut through a span moves behind it
        spans = np.searchsorted(highs, cuts, side="right")
        torn = lows[spans] <= cuts
        cuts[torn] = _simplest(highs[spans[torn]], lows[spans[torn] + 1])
    if whole and np.array_equal(highs, np.floor(highs)):
        cuts = np.floor(cuts)  # people say "more than 60", not "more than 60.5"; no value lies between
    return np.unique(cuts)


def _simplest(lows: Floats, highs: Floats) -> Floats:
    return np.array([simplest_between(*pair) for pair in zip(lows.tolist(), highs.tolist(), strict=True)], dtype=float)


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Bins of all examples, in the form the search kernels read.

    A feature with one code in most rows (the zeros of word counts, the usual category) only lists the other rows.

    Parameters
    ----------
    dense : ndarray of uint16, shape (slots, rows)
    slot : ndarray of int32
        Per feature, its row in `dense`; -1 where it is listed.
    count : ndarray of int32
        Bins per feature; as a code, "missing".
    nominal : ndarray of uint8
    usual : ndarray of int32
        Per listed feature, the code of the rows that are not listed.
    starts, listed_rows, listed_codes : ndarray
        The listed entries of feature f are ``starts[f]:starts[f + 1]``.
    direction : ndarray of int8
        Per feature, 1 or -1 if scores may only rise or only fall with it, else 0.
    forbidden : ndarray of int32
        Per feature, a code that no condition may hold for, else -1.
    """

    dense: Codes
    slot: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]
    nominal: npt.NDArray[np.uint8]
    usual: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    listed_rows: Ints32
    listed_codes: Codes
    rows: int
    direction: npt.NDArray[np.int8]
    forbidden: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls,
        binning: Binning,
        columns: Iterable[Codes],
        direction: npt.NDArray[np.int8] | None = None,
        presence: bool = False,
    ) -> BinnedTable:
        """Arrange bins; `columns` yields the codes of one feature after the other.

        With `presence`, no condition may hold for the code that stands for "not there": what can be tested is that a
        word is there, not that it is absent.
        """
        features = len(binning.features)
        slot = np.full(features, -1, dtype=np.int32)
        usual = np.full(features, -1, dtype=np.int32)
        forbidden = np.full(features, -1, dtype=np.int32)
        count = np.array(binning.counts, dtype=np.int32)
        dense: list[Codes] = []
        rows: list[Ints32] = []
        codes: list[Codes] = []
        lengths: list[int] = []
        total = 0
        for j, column in enumerate(columns):
            total = len(column)
            tally = np.bincount(column, minlength=1)
            common = int(np.argmax(tally))
            if presence:
                forbidden[j] = binning.absent(j, tally)
            if tally[common] >= _LISTED_SHARE * total:
                usual[j] = common
                others = np.flatnonzero(column != common).astype(np.int32)
                rows.append(others)
                codes.append(column[others])
                lengths.append(len(others))
            else:
                slot[j] = len(dense)
                dense.append(column)
                lengths.append(0)
        return cls(
            dense=np.array(dense, dtype=np.uint16).reshape(len(dense), total),
            slot=slot,
            count=count,
            nominal=np.array([feature.is_nominal for feature in binning.features], dtype=np.uint8),
            usual=usual,
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            listed_rows=np.concatenate(rows).astype(np.int32) if rows else np.empty(0, dtype=np.int32),
            listed_codes=np.concatenate(codes).astype(np.uint16) if codes else np.empty(0, dtype=np.uint16),
            rows=total,
            direction=np.zeros(features, dtype=np.int8) if direction is None else direction,
            forbidden=forbidden,
        )

    def only(self, features: Sequence[int]) -> BinnedTable:
        """Return the table of some features, which are then counted from 0."""
        places = np.asarray(features, dtype=np.int64)
        kept = [np.arange(self.starts[feature], self.starts[feature + 1]) for feature in features]
        entries = np.concatenate([np.arange(0), *kept])  # also where there is no feature
        slot = self.slot[places]
        stored = slot >= 0
        return BinnedTable(
            dense=np.ascontiguousarray(self.dense[slot[stored]]),
            slot=np.where(stored, np.cumsum(stored) - 1, -1).astype(np.int32),
            count=self.count[places],
            nominal=self.nominal[places],
            usual=self.usual[places],
            starts=np.cumsum([0, *map(len, kept)]).astype(np.int64),
            listed_rows=self.listed_rows[entries],
            listed_codes=self.listed_codes[entries],
            rows=self.rows,
            direction=self.direction[places],
            forbidden=self.forbidden[places],
        )

    def sign(self, tests: Iterable[AnyTest]) -> int:
        """Which sign the weights of a body must have, 0 for any.

        A body that is left or entered as a feature rises may only lower or raise scores that rise with this feature.
        The search never combines tests that ask for different signs.
        """
        wanted = [int(self.direction[t.feature]) * (1 if t.kind == ABOVE else -1) for t in single_tests(tests)]
        return next((sign for sign in wanted if sign), 0)

    def opposite(self, test: BinTest) -> BinTest | None:
        """Return the test that holds for all known values but those that `test` holds for; None where there is none."""
        bins = int(self.count[test.feature])
        if test.kind == CATEGORY:
            other = BinTest(test.feature, CATEGORY, 1 - test.bin) if bins == 2 else None
        else:
            other = BinTest(test.feature, ABOVE if test.kind == AT_MOST else AT_MOST, test.bin)
        forbidden = np.array([self.forbidden[test.feature]])
        return None if other is None or (forbidden[0] >= 0 and holds(other, forbidden, bins)[0]) else other

    def column(self, feature: int) -> Codes:
        """Codes of one feature for all rows."""
        if self.slot[feature] >= 0:
            return np.asarray(self.dense[self.slot[feature]])
        column = np.full(self.rows, self.usual[feature], dtype=np.uint16)
        entries = slice(self.starts[feature], self.starts[feature + 1])
        column[self.listed_rows[entries]] = self.listed_codes[entries]
        return column

    def satisfied(self, test: AnyTest) -> Bools:
        """Which rows satisfy a test; a missing value satisfies none."""
        return satisfied(test, lambda feature: (self.column(feature), int(self.count[feature])))

    def covered(self, test: AnyTest, rows: Ints32) -> Ints32:
        """Return those of `rows` that satisfy a test."""
        return rows[self.satisfied(test)[rows]]


def looks_like_text(table: Table) -> bool:
    """Whether a table has many features, most of whose values are the usual ones, as the zeros of word counts are.

    Examples
    --------
    >>> looks_like_text(Table.from_array(np.eye(60))), looks_like_text(Table.from_array(np.eye(20)))
    (True, False)
    """
    if table.shape[1] < FEWEST_WORDS or not len(table):
        return False
    some = table[np.arange(0, len(table), 1 + (len(table) - 1) // _LOOKED_AT)]
    usual = sum(int(some.spans(j)[2].max(initial=0)) for j in range(table.shape[1]))
    return usual >= USUAL_SHARE * len(some) * table.shape[1]


def simplest_between(low: float, high: float) -> float:
    """Return the number t with low <= t < high that has the fewest decimals; of those the one nearest the middle.

    Examples
    --------
    >>> simplest_between(0.3471, 0.3518), simplest_between(3, 4), simplest_between(118.2, 397.9)
    (0.35, 3.5, 300.0)
    """
    low, high = float(low), float(high)
    middle = low + (high - low) / 2
    gap = high - low
    if not math.isfinite(middle) or not gap > 0:
        return low
    coarsest = math.floor(math.log10(gap)) + 1
    for exponent in range(coarsest, coarsest - 3, -1):
        candidate = _rounded(middle, exponent)
        if low < candidate < high:
            return candidate
    return middle if low <= middle < high else low


def _rounded(number: float, exponent: int) -> float:
    """Round to a multiple of 10**exponent, written so that no stray binary digits appear."""
    return float(round(number, -exponent)) if abs(exponent) < 300 else number
