"""Training data by its content: a short name to check a model against, and an order that does not depend on rows.

Whoever draws examples, deals them into folds or adds up real numbers of them does so in the order `by_content`, and the
model is the same however the rows of a file are shuffled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby
from math import gcd, lcm
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.dataset import Dataset
from polyrule.data.encode import read_target
from polyrule.data.table import Table, looked_up, places, unmasked
from polyrule.errors import DataError
from polyrule.utils.arrays import Array, Bytes, Floats, Ints, Words

_CELLS = 1 << 20
"""How many cells are converted at a time."""


def fingerprint(table: Table, labels: Any, weights: Ints | None = None) -> str:
    """Hash names, kinds, values, labels and weights; equal data gives an equal fingerprint on every machine.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0]])
    >>> fingerprint(table, np.array([[1], [0]], dtype=np.uint8))
    'blake2b:...'
    """
    digest = hashlib.blake2b(digest_size=16)
    # neighbours in a wide table are mostly of one kind: it is named once, with how many there are
    runs = groupby(table.features, attrgetter("kind", "categories"))
    runs_of_kinds = [(kind, len(list(same))) for kind, same in runs]
    digest.update(repr((table.shape, table.feature_names, runs_of_kinds)).encode())
    for array in _parts(table, labels, weights):
        digest.update(np.ascontiguousarray(array).data)
    return f"blake2b:{digest.hexdigest()}"


def is_of_examples(name: object) -> bool:
    """True if a name is a fingerprint of examples, and not that of a store, or none."""
    return isinstance(name, str) and name.startswith("blake2b:")


def examples_of(data: Dataset) -> tuple[Table, Any, Ints, Fraction]:
    """Return the examples of positive weight as learning sees them: features, labels, whole weights and their unit."""
    weights, scale = integer_weights(data.weights, len(data))
    table, truth, has_weight = data.X, read_target(data.Y, data.label_names).truth, weights > 0
    if has_weight.all():
        return table, truth, weights, scale
    return table[has_weight], truth[has_weight], weights[has_weight], scale


def _parts(table: Table, labels: Any, weights: Any) -> Iterator[Array]:
    """All numbers, in pieces: large data is never held twice."""
    values: Any = table.values
    nominal = table.coded
    if sp.issparse(values):
        yield from _sparse_parts(values)
    elif nominal.any():  # categories take less memory, because hashing takes long
        pairs = nominal & (values.max(axis=0, initial=0) < 2)  # nothing but the first two categories, none missing
        categorical = values.T[nominal & ~pairs]
        yield pairs
        yield np.packbits((values.T != 0)[pairs])
        yield np.where(np.isnan(categorical), -1, categorical).astype("<i4").T
        numeric = np.flatnonzero(~nominal)
        step = max(1, _CELLS // max(1, len(numeric)))
        for start in range(0, len(values), step):
            yield values[start : start + step, numeric].astype("<f8")
    else:
        yield from (values[:, j].astype("<f8", copy=False) for j in range(values.shape[1]))
    for matrix in (labels, weights):
        if sp.issparse(matrix):
            yield from _sparse_parts(matrix)
        elif matrix is not None:
            array = np.asarray(matrix)
            yield array.astype(array.dtype.newbyteorder("<"), copy=False).T


def _sparse_parts(matrix: Any) -> Iterator[Array]:
    tidy = sp.csc_array(matrix)
    if not tidy.has_canonical_format:
        tidy = tidy.copy()  # the caller's matrix stays as it is
        tidy.sum_duplicates()
    for part, kind in ((tidy.indptr, "<i8"), (tidy.indices, "<i8"), (tidy.data, "<f8")):
        for start in range(0, len(part), _CELLS):
            yield part[start : start + _CELLS].astype(kind, copy=False)


Hashes = Words
_LABEL_VALUES = 3  # absent, present, unknown


def by_content(table: Table, labels: Bytes, weights: Floats | Ints) -> Ints:
    """Return the rows in the order of a hash of everything that is known about each: features and weight, then labels.

    Rows of the same hash are the same (but for one chance in 2**64 per pair), so that it does not matter which of them
    comes first. A dense and a sparse table of the same numbers are ordered alike, and so are numbers on other scales.

    Examples
    --------
    >>> table = Table.from_array([[1.0, np.nan], [0.0, 2.0], [-0.0, 3.0]])
    >>> labels, weights = np.array([[0], [1], [1]], dtype=np.uint8), np.ones(3)
    >>> first, shuffled = by_content(table, labels, weights), np.array([2, 0, 1])
    >>> again = shuffled[by_content(table[shuffled], labels[shuffled], weights)]
    >>> bool(np.array_equal(first, again))
    True
    """
    feature_hashes, label_hashes = _row_hashes(table, labels, weights, ranked=True)
    return np.lexsort((label_hashes, feature_hashes))


def content_hashes(table: Table, labels: Bytes, weights: Floats | Ints) -> Hashes:
    """Return a hash of everything that is known about each row, which does not depend on the other rows.

    So blocks of rows may be hashed one by one, wherever they lie.

    Examples
    --------
    >>> table, labels = Table.from_array([[1.0], [-0.0], [0.0]]), np.array([[1], [0], [0]], dtype=np.uint8)
    >>> hashes, others = content_hashes(table, labels, np.ones(3)), content_hashes(table[1:], labels[1:], np.ones(2))
    >>> bool(hashes[1] == hashes[2] != hashes[0]), bool((others == hashes[1:]).all())
    (True, True)
    """
    feature_hashes, label_hashes = _row_hashes(table, labels, weights, ranked=False)
    return _mix_bits(feature_hashes + _mix_bits(label_hashes))


def _row_hashes(table: Table, labels: Bytes, weights: Floats | Ints, *, ranked: bool) -> tuple[Hashes, Hashes]:
    """Hashes of features and weight, and of labels; of the values themselves, or of their ranks in the column."""
    width = table.shape[1]
    keys = _mix_bits(np.arange(1, width + labels.shape[1] + 2, dtype=np.uint64)) | np.uint64(1)
    seen = _hashed(weights, keys[-1])
    if table.is_sparse:
        seen += _sparse_hashes(table, keys[:width], ranked)
    elif ranked:
        for number, key in enumerate(keys[:width]):
            seen += table.apply_to_places(number, partial(_hashed, key=key))
    else:
        seen += table.added(_hashed, keys[:width])
    values = np.tile(np.arange(_LABEL_VALUES), labels.shape[1])
    tables = _hashed(values, np.repeat(keys[width:-1], _LABEL_VALUES))
    return seen, looked_up(labels.T.astype(np.uint8, copy=False), tables, [_LABEL_VALUES] * labels.shape[1])


def _sparse_hashes(table: Table, keys: Hashes, ranked: bool) -> Hashes:
    """Hashes of the features of a sparse table: those of its zeros are added up once."""
    values: Any = table.values
    seen, zeros = np.zeros(len(table), dtype=np.uint64), np.zeros(1, dtype=np.uint64)
    for number, key in enumerate(keys):
        stored = slice(values.indptr[number], values.indptr[number + 1])
        rows, column = values.indices[stored], np.append(values.data[stored], 0.0)
        if ranked:
            column = places(column) if len(rows) < len(table) else np.append(places(column[:-1]), 0.0)
        hashes = _hashed(column, key)
        seen[rows] += hashes[:-1] - hashes[-1]
        zeros += hashes[-1]
    return seen + zeros


def _hashed(values: Array, key: np.uint64 | Hashes) -> Hashes:
    """Hashes of numbers, to be added up over the columns."""
    plain = values.astype(np.float64) + 0.0  # there are two zeros
    plain[np.isnan(plain)] = np.nan  # of which there are many
    # Of small whole numbers only the first bits differ, and a product would keep them apart from those of the key.
    return _mix_bits(_mix_bits(plain.view(np.uint64)) * key)


def _mix_bits(bits: Hashes) -> Hashes:
    """Spread every bit over all 64 (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


#: The largest sum of integer weights: it fits the 32-bit counters of the kernels (`native/core/limits.hpp`).
LARGEST_TOTAL = 2**31 - 1
#: Weights that have no such integers are rounded so that they sum to about this, or half of it.
GRID = 2**30


def integer_weights(sample_weight: Any, n: int) -> tuple[Ints, Fraction]:
    """Convert weights to a common integer scale: ``weight = integer * scale``.

    Tried in turn: the decimal numbers the weights print as (0.1 is meant as 1/10), then the exact binary values of the
    floats, each accepted if the integers sum to less than 2**31. Otherwise the weights are rounded to multiples of
    the power of two that is just not below total / 2**30; a positive weight never becomes zero. Equal weights always
    stay equal.

    Parameters
    ----------
    sample_weight : array-like of float, a single number, or None
        None and a single number weigh every example alike.
    n : int
        Number of examples.

    Returns
    -------
    integers : ndarray of int64, shape (n,)
    scale : Fraction
        The weight one integer unit stands for.

    Examples
    --------
    >>> integer_weights([0.1, 0.3, 0.0], 3)
    (array([1, 3, 0]), Fraction(1, 10))
    >>> integer_weights(None, 2)
    (array([1, 1]), Fraction(1, 1))
    """
    if sample_weight is None:
        return np.ones(n, dtype=np.int64), Fraction(1)
    weights = _check(sample_weight, n)
    distinct, position, counts = np.unique(weights, return_inverse=True, return_counts=True)
    values = [float(value) for value in distinct]
    for exact in (_printed, Fraction):
        scaled = _common_scale(values, counts.tolist(), exact)
        if scaled is not None:
            integers, scale = scaled
            return np.array(integers, dtype=np.int64)[position], scale
    rounded, scale = _on_grid(distinct, counts)
    return rounded[position], scale


def unscaled(count: int, scale: Fraction) -> float:
    """Integer weight units back to the user's: an int where it is whole, else the nearest double.

    Examples
    --------
    >>> unscaled(6, Fraction(1, 2)), unscaled(3, Fraction(1, 2))
    (3, 1.5)
    """
    if scale == 1:  # no weights: by far the commonest case, and Fraction arithmetic is slow
        return count
    exact = count * scale
    return exact.numerator if exact.denominator == 1 else float(exact)


def _check(sample_weight: Any, n: int) -> Floats:
    try:
        array = np.asarray(unmasked(sample_weight))
        if array.dtype in (np.float16, np.float32):  # as they are written: a single 0.1 is one tenth, too
            array = array.astype(str)
        if array.dtype.kind == "c":  # their imaginary part would be dropped with no more than a warning
            raise TypeError
        weights = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise DataError("sample_weight must hold numbers") from problem
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise DataError(f"sample_weight has shape {weights.shape}, expected ({n},): one weight per example")
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"sample_weight, row {row}: {weights[row]} is not a weight; weights are finite and at least 0")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise DataError("the weights add up to more than a number can be; divide them all by the same constant")
    if n and not weights.any():
        raise DataError("sample_weight is zero for every example; at least one weight must be positive")
    return weights


def _printed(value: float) -> Fraction:
    return Fraction(repr(value))


def _common_scale(
    values: Sequence[float], counts: Sequence[int], exact: Callable[[float], Fraction]
) -> tuple[list[int], Fraction] | None:
    """Find integers in the ratio of the values, or None once their sum must pass the limit."""
    fractions: list[Fraction] = []
    smallest = exact(next((value for value in values if value), 1.0))
    numerator, denominator = 0, 1
    for value in values:  # ascending; of very many decimals the first few tell that there is no such scale
        fraction = exact(value)
        fractions.append(fraction)
        if not fraction:
            continue
        denominator = lcm(denominator, fraction.denominator)
        numerator = gcd(numerator, fraction.numerator)
        if smallest * denominator > LARGEST_TOTAL * max(numerator, 1):
            return None
    # the greatest common divisor of fractions in lowest terms is gcd(numerators) / lcm(denominators)
    scale = Fraction(numerator or 1, denominator)
    integers = [int(fraction / scale) for fraction in fractions]
    total = sum(integer * count for integer, count in zip(integers, counts, strict=True))
    return (integers, scale) if total <= LARGEST_TOTAL else None


def _on_grid(values: Floats, counts: Ints) -> tuple[Ints, Fraction]:
    shares, powers = np.frexp(values)
    min_power = int(powers.min())
    parts = zip(
        np.ldexp(shares, 53).astype(np.int64).tolist(), (powers - min_power).tolist(), counts.tolist(), strict=True
    )
    total = sum((whole << power) * count for whole, power, count in parts) * Fraction(2) ** (min_power - 53)
    scale = _power_of_two(total / GRID)
    # dividing by a power of two is exact, and half-way cases go to the even number
    steps = np.rint(np.ldexp(values, scale.denominator.bit_length() - scale.numerator.bit_length()))
    return np.where(values > 0, np.maximum(steps, 1), 0).astype(np.int64), scale


def _power_of_two(number: Fraction) -> Fraction:
    """Return the smallest power of two that is not below a positive number.

    >>> _power_of_two(Fraction(5)), _power_of_two(Fraction(1, 4)), _power_of_two(Fraction(1, 5))
    (Fraction(8, 1), Fraction(1, 4), Fraction(1, 4))
    """
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
    while power < number:
        power *= 2
    return power
