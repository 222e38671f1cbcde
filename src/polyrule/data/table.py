"""The one form in which features reach the learner: a matrix of numbers with a name and a kind for every column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from polyrule.data.sparse import check_sparse
from polyrule.errors import DataError
from polyrule.utils.arrays import Array, Bools, Floats, Ints, Words
from polyrule.utils.compute import native

if TYPE_CHECKING:
    from polyrule.data.derive.base import Derivation

FeatureKind = Literal["numeric", "nominal", "ordinal", "date", "text", "list"]
TEXTUAL = ("text", "list")
"""Kinds of columns of data whose words or members become features when a model is fitted; no model has them."""
CODED = ("nominal", "ordinal", *TEXTUAL)
"""Kinds of features whose values are positions among their categories."""
KEPT = frozenset(np.dtype(kind) for kind in "fdbBhHi")
"""Types a dense table keeps its numbers in; each of them is exact as float64."""
_CHECKED_CELLS = 1 << 20
"""Looked at at once for infinite numbers."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Name and kind of one column.

    A nominal feature lists its values in their declared order, which is also the canonical order of its conditions.

    Parameters
    ----------
    name : str
        What rules call it.
    kind : {"numeric", "nominal", "ordinal", "date", "text", "list"}
        Compared with thresholds, or with categories. The values of an ordinal feature are categories that ascend in
        their declared order; those of a date are whole days since 1970-01-01. Both are compared like numbers. Texts and
        lists are columns of data only: the features of a model are their words and members.
    categories : tuple of str
        The values of a nominal or ordinal feature, and the cells of texts and lists; empty for any other.
    derived : Derivation or None
        How the feature is computed from a column that the user has, such as the year of a date.
    flag : bool
        Whether a numeric feature of a model had no other values than 0 and 1 in training: rules print its name alone.
        Not part of what makes two features equal.
    separator : str
        The character between the members of a list.
    form : str
        How dates are written, if not as 2021-12-31; not part of what makes two features equal.

    Examples
    --------
    >>> Feature("stripes")
    Feature(name='stripes', kind='numeric', categories=())
    >>> Feature("religion", "nominal", ("catholic", "hindu")).categories[1]
    'hindu'
    """

    name: str
    kind: FeatureKind = "numeric"
    categories: tuple[str, ...] = ()
    derived: Derivation | None = field(default=None, repr=False)
    flag: bool = field(default=False, repr=False, compare=False)
    separator: str = field(default="", repr=False)
    form: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in get_args(FeatureKind):
            allowed = ", ".join(map(repr, get_args(FeatureKind)))
            raise DataError(f"feature {self.name!r}: kind must be one of {allowed}, not {self.kind!r}")
        if self.categories and not self.has_categories:
            raise DataError(f"feature {self.name!r}: a {self.kind} feature has no categories")
        categories: Any = self.categories
        if isinstance(categories, str):
            raise DataError(f"feature {self.name!r}: categories must be a tuple of names, not one text")
        if not isinstance(categories, tuple):
            object.__setattr__(self, "categories", () if categories is None else tuple(categories))

    @property
    def is_nominal(self) -> bool:
        """True if conditions on this feature are equalities."""
        return self.kind == "nominal"

    @property
    def has_categories(self) -> bool:
        """True if values are positions among `categories`."""
        return self.kind in CODED

    @property
    def is_stepped(self) -> bool:
        """True if values are whole numbers that stand for something else, so that rules never show the numbers."""
        return self.kind in ("ordinal", "date")

    @property
    def source_kind(self) -> str:
        """Kind of feature as which the source column is read: of a date and its parts, "date"."""
        return self.kind if self.derived is None else self.derived.SOURCE

    @property
    def column(self) -> str:
        """Name of the column of the data to which it belongs: the source of a derived feature, else itself.

        >>> from polyrule.data.derive.dates import DatePart
        >>> DatePart("signup", "year").feature().column
        'signup'
        """
        return self.name if self.derived is None else self.derived.column

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns of the data from which it is read."""
        return (self.name,) if self.derived is None else self.derived.sources


def as_features(items: Iterable[Any]) -> tuple[Feature, ...]:
    """Return features as a tuple, after checking their type."""
    features = tuple(items)
    for one in features:
        if not isinstance(one, Feature):
            raise DataError(f"features must be of the class Feature, as Feature('size') is, not {one!r:.60}")
    return features


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Features of all examples: a dense or sparse matrix plus one `Feature` per column.

    Nominal values are stored as their index in `Feature.categories`; NaN is a missing value. In a sparse table an
    entry that is not stored is 0: the number zero, or the first category.

    Parameters
    ----------
    values : ndarray, or scipy.sparse.csc_array of float64
        A dense matrix of floating-point numbers or integers of at most 32 bits keeps its type, so that large data is
        not copied; other numbers become float64. Any order will do.
    features : tuple of Feature
        One per column.

    Examples
    --------
    >>> hue = Feature("hue", "nominal", ("red", "blue"))
    >>> table = Table.from_array([[1.0, 0.0], [2.0, 1.0]], [Feature("size"), hue])
    >>> table.shape
    (2, 2)
    >>> table[[1]].column(1)
    array([1.])
    """

    values: Array | sp.csc_array
    features: tuple[Feature, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.values.ndim != 2:
            raise DataError(f"a table needs a 2-dimensional matrix, got {self.values.ndim} dimension(s)")
        if sp.issparse(self.values):
            layout = getattr(self.values, "format", None)
            if layout != "csc":
                raise DataError(f"a sparse table needs a csc_array, got {layout}; Table.from_array takes any")
            check_sparse(self.values, "the table")
        if self.values.shape[1] != len(self.features):
            raise DataError(f"{self.values.shape[1]} column(s) but {len(self.features)} feature description(s)")

    @classmethod
    def from_array(cls, values: Any, features: Sequence[Feature] | None = None) -> Table:
        """Wrap a dense or sparse matrix; without `features`, columns are numeric and named x0, x1, …"""
        matrix: Any
        if sp.issparse(values):
            matrix = sp.csc_array(check_sparse(values), dtype=np.float64)
            if not matrix.has_canonical_format or not np.all(matrix.data):
                matrix = matrix.copy()  # the caller's matrix is never sorted or thinned in place
                matrix.sum_duplicates()
                matrix.eliminate_zeros()
        else:
            try:
                matrix = as_kept(np.asarray(unmasked(values)))
            except (TypeError, ValueError) as problem:
                raise DataError(f"a table holds numbers only, so use polyrule.data.to_table ({problem})") from problem
        if features is None:
            width = matrix.shape[1] if matrix.ndim == 2 else 0
            features = [Feature(f"x{j}") for j in range(width)]
        return cls(matrix, as_features(features))

    def check_values(self) -> None:
        """Refuse numbers that no condition can mean: infinite ones, and codes that are no category."""
        matrix: Any = self.check_finite().values
        coded, counts = self.coded, self.category_counts
        if not coded.any():
            return
        if self.is_sparse:
            columns = np.repeat(np.arange(len(counts)), np.diff(matrix.indptr))
            codes, n_categories = matrix.data[coded[columns]], counts[columns[coded[columns]]]
        else:
            codes, n_categories = (matrix, counts) if coded.all() else (matrix[:, coded], counts[coded])
        with np.errstate(invalid="ignore"):
            whole = codes.astype(np.uint32, copy=False)
        same = whole == codes
        largest = whole if self.is_sparse else whole.max(axis=0, initial=0)
        if same.all() and (largest < n_categories).all():
            return
        if not np.all((same & (whole < n_categories)) | np.isnan(codes)):
            raise DataError(
                "the table holds nominal values that are no category: they are positions among the categories of their "
                "feature, counted from 0, or NaN"
            )

    def check_finite(self) -> Table:
        """Return the table; an infinite number is refused by column and row."""
        values: Any = self.values
        stored = values.data.reshape(-1, 1) if self.is_sparse else values
        blocks = row_blocks(len(stored), stored.shape[1], _CHECKED_CELLS) if stored.dtype.kind == "f" else []
        if any(np.isinf(stored[rows]).any() for rows in blocks):
            for j, feature in enumerate(self.features):
                check_finite(self.column(j), feature.name)
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Number of examples and of features."""
        rows, columns = self.values.shape
        return int(rows), int(columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Table({rows} examples x {columns} features, {'sparse' if self.is_sparse else 'dense'})"

    @property
    def is_sparse(self) -> bool:
        """True if only the entries that differ from 0 are stored."""
        return bool(sp.issparse(self.values))

    @cached_property
    def coded(self) -> Bools:
        """Mask of the columns whose values are positions among categories."""
        return np.array([feature.kind in CODED for feature in self.features], dtype=np.bool_)

    @cached_property
    def category_counts(self) -> Ints:
        """Number of categories, by column."""
        return np.array([len(feature.categories) for feature in self.features], dtype=np.int64)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple([feature.name for feature in self.features])

    def column(self, index: int) -> Floats:
        """Return one column as a dense array; a view where the table is a dense one of float64."""
        values: Any = self.values
        if self.is_sparse:
            start, end = values.indptr[index], values.indptr[index + 1]
            column = np.zeros(values.shape[0])
            column[values.indices[start:end]] = values.data[start:end]
            return column
        return np.asarray(values[:, index], dtype=np.float64)

    def apply(self, index: int, function: Callable[[Floats], Array]) -> Array:
        """Return a function of every value of a column, independent of the other values.

        Packed data asks it of bins, which are few.

        Examples
        --------
        >>> Table.from_array([[1.0], [4.0]]).apply(0, np.sqrt)
        array([1., 2.])
        """
        return function(self.column(index))

    def apply_to_places(self, index: int, function: Callable[[Floats], Array]) -> Array:
        """Return a function of the place of every value in its column; see `places`."""
        return function(places(self.column(index)))

    def added(self, function: Callable[[Floats, Any], Words], keys: Words) -> Words:
        """Return per example the sum, modulo 2**64, of a function of its values and the keys of the columns.

        Examples
        --------
        >>> say = lambda column, key: column.astype(np.uint64) * key
        >>> Table.from_array([[1.0, 2.0], [3.0, 4.0]]).added(say, np.array([10, 1], dtype=np.uint64))
        array([12, 34], dtype=uint64)
        """
        sums = np.zeros(len(self), dtype=np.uint64)
        for number, key in enumerate(keys):
            sums += function(self.column(number), key)
        return sums

    def spans(self, index: int) -> tuple[Floats, Floats, Ints]:
        """Smallest and largest of the values that a column does not tell apart, ascending, and how often they occur.

        Here every value is distinct; packed data only contains bins.
        """
        values = self.column(index)
        distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        return distinct, distinct, counts

    def neighbours(self, index: int, thresholds: Floats) -> list[tuple[float, float] | None]:
        """Return, by ascending threshold, the largest value of a column up to it and the smallest above it.

        They are infinite where there is no such value. None where it is not known: in packed data, within a bin.

        Examples
        --------
        >>> Table.from_array([[1.0], [4.0], [float("nan")]]).neighbours(0, np.array([2.5, 5.0]))
        [(1.0, 4.0), (4.0, inf)]
        """
        column = self.column(index)
        below = np.searchsorted(thresholds, column)
        largest = np.full(len(thresholds) + 1, -np.inf)
        np.fmax.at(largest, below, column)
        smallest = np.full(len(thresholds) + 1, np.inf)
        np.fmin.at(smallest, below, column)
        up_to, above = np.maximum.accumulate(largest), np.minimum.accumulate(smallest[::-1])[::-1]
        return list(zip(up_to[:-1].tolist(), above[1:].tolist(), strict=True))

    def gaps(self) -> Ints:
        """Return the columns in which values are missing.

        Examples
        --------
        >>> Table.from_array([[1.0, np.nan], [2.0, 3.0]]).gaps()
        array([1])
        """
        values: Any = self.values
        if self.is_sparse:
            return np.unique(np.repeat(np.arange(values.shape[1]), np.diff(values.indptr))[np.isnan(values.data)])
        return np.flatnonzero(np.isnan(values).any(axis=0))

    def with_columns(self, columns: Sequence[Floats], features: Sequence[Feature]) -> Table:
        """Return the table with more columns behind its own.

        Examples
        --------
        >>> Table.from_array([[1.0], [2.0]]).with_columns([np.array([3.0, 4.0])], [Feature("more")]).column(1)
        array([3., 4.])
        """
        if not columns:
            return self
        values: Any = self.values
        more, all_features = np.column_stack(columns), (*self.features, *features)
        if self.is_sparse:
            return Table.from_array(sp.hstack([values, sp.csc_array(more)], format="csc"), all_features)
        return Table(np.asfortranarray(np.hstack([values, more])), all_features)

    def rearranged(
        self, order: Sequence[int], features: Sequence[Feature], changed: Mapping[int, Floats] | None = None
    ) -> Table:
        """Return a table of the columns in `order`, described by `features`; the values of some may be `changed`.

        Examples
        --------
        >>> table = Table.from_array([[1.0, 2.0], [3.0, 4.0]])
        >>> table.rearranged([1, 0], [Feature("b"), Feature("a")], {1: np.array([9.0, np.nan])}).values
        array([[ 2.,  9.],
               [ 4., nan]])
        """
        values, changed = self.values[:, order], changed or {}
        if self.is_sparse:
            if changed:
                columns = {j: sp.csc_array(column.reshape(-1, 1)) for j, column in changed.items()}
                values = sp.hstack([columns.get(j, values[:, [j]]) for j in range(len(features))], format="csc")
            return Table.from_array(values, features)
        if changed:
            dtype = values.dtype if values.dtype.kind == "f" else np.float64  # a missing value is no integer
            values = np.array(values, dtype=dtype, order="F")
        for j, column in changed.items():
            values[:, j] = column
        return Table(values, tuple(features))

    def emptied(self, kept: Bools) -> Table:
        """Return the table with the other columns emptied, so that nothing can be learned from them."""
        if kept.all():
            return self
        if self.is_sparse:
            keep = sp.diags_array(kept.astype(np.float64), format="csc")
            return Table.from_array(sp.csc_array(self.values @ keep), self.features)
        dtype = self.values.dtype if self.values.dtype.kind == "f" else np.float64
        values: Array = np.array(self.values, dtype=dtype, order="F", copy=True)
        values[:, ~kept] = np.nan
        return Table(values, self.features)

    def decoded(self, features: Iterable[int] | None = None) -> Table:
        """Return the table with a number for every value, at least of some `features`; packed data holds codes."""
        return self

    def __getitem__(self, rows: Any) -> Table:
        """Select rows by slice, index array or boolean mask, as scikit-learn's splitters do."""
        if isinstance(rows, (int, np.integer)):
            rows = [int(rows)]
        if self.is_sparse:
            values: Any = sp.csc_array(sp.csr_array(self.values)[rows])
        else:
            values = np.asfortranarray(self.values[rows])
        return Table(values, self.features)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        values: Any = self.values
        dense = values.toarray() if self.is_sparse else values
        return np.array(dense, dtype=dtype, copy=True if copy is None else copy)


def check_finite(values: Floats, name: str) -> None:
    """Name the first row of a column that holds an infinite number; NaN is a missing value and allowed."""
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise DataError(
            f"column {name!r}, row {row}: the value is infinite; "
            "use NaN for a missing value or clip it to a finite number"
        )


def as_array(values: Any, ragged: str) -> Array:
    """Make an array without making numbers of a mixed list text; `ragged` describes rows that differ in length."""
    try:
        array = np.asarray(unmasked(values))
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            array = np.array(values, dtype=object)
    except ValueError as problem:
        raise DataError(ragged) from problem
    return array


def unmasked(values: Any) -> Any:
    """Return a masked array as one in which what is masked is missing; NumPy itself would show what is behind the mask.

    >>> unmasked(np.ma.masked_array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    missing: Any = np.nan if values.dtype.kind in "fiu" else None
    return np.where(values.mask, missing, values.data)


def places(values: Floats) -> Floats:
    """Return the place of every value among the distinct ones, ascending: rules do not see how far apart two are.

    Examples
    --------
    >>> places(np.array([7.0, -0.0, np.nan, 0.0, 9.0]))
    array([ 1.,  0., nan,  0.,  2.])
    """
    order = np.argsort(values)
    ascending, ranks = values[order], np.empty(len(values))
    ranks[order] = np.cumsum(np.append(0, ascending[1:] != ascending[:-1])[: len(values)])
    ranks[np.isnan(values)] = np.nan
    return ranks


def as_kept(array: Array) -> Array:
    """Return an array of numbers in a type that tables keep, without copying one that already is.

    Examples
    --------
    >>> as_kept(np.array([1, 2], dtype=np.int64)).dtype, as_kept(np.array([1, 2], dtype=np.int8)).dtype
    (dtype('float64'), dtype('int8'))
    """
    dtype = array.dtype if array.dtype in KEPT else np.dtype(np.float32 if array.dtype == np.float16 else np.float64)
    return np.asarray(array, dtype=dtype)


def looked_up(codes: Any, tables: Words, sizes: Sequence[int] | Ints) -> Words:
    """Return per row the sum, modulo 2**64, of the entries of each column's table for its codes.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (columns, rows)
    tables : ndarray of uint64
        One after the other.
    sizes : sequence of int
        Numbers in each of them.

    Examples
    --------
    >>> codes = np.array([[0, 1, 1], [2, 0, 1]], dtype=np.uint8)
    >>> looked_up(codes, np.array([1, 2, 10, 20, 30], dtype=np.uint64), [2, 3])
    array([31, 12, 22], dtype=uint64)
    """
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    sums = np.zeros(codes.shape[1], dtype=np.uint64)
    if native is not None and codes.dtype in (np.uint8, np.uint16):
        native.add_looked_up(codes, tables, starts, sums)
        return sums
    for column, start, end in zip(codes, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        sums += tables[start:end][column]
    return sums


def row_blocks(rows: int, columns: int, cells: int, least: int = 1) -> list[slice]:
    """Cut rows into blocks of at most `cells` cells, but no fewer than `least` rows, to bound memory.

    Examples
    --------
    >>> row_blocks(5, 3, 6)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    step = max(least, cells // max(1, columns))
    return [slice(first, first + step) for first in range(0, rows, step)]


def packed_bits(rows: Any) -> Words:
    """Return truth values as bits, 64 to a word, along the last axis; bits behind the end are 0.

    Examples
    --------
    >>> packed_bits(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    bits = np.packbits(np.ascontiguousarray(rows, dtype=bool), axis=-1, bitorder="little")
    words = np.zeros((*bits.shape[:-1], -(-bits.shape[-1] // 8) * 8), dtype=np.uint8)
    words[..., : bits.shape[-1]] = bits
    return words.view("<u8").astype(np.uint64, copy=False)


def unpacked_bits(words: Words, count: int) -> Bools:
    """Return the truth values that were packed, so many along the last axis.

    Examples
    --------
    >>> unpacked_bits(np.array([[5]], dtype=np.uint64), 3)
    array([[ True, False,  True]])
    """
    little = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    return np.unpackbits(little, axis=-1, count=count, bitorder="little").view(bool)
