"""What an ensemble asks about all rows, answered by a GPU: the same digits as the compiled and the NumPy kernels.

Columns, covers, targets and slopes stay on the device; lists of rows, weights of rules and answers travel.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from polyrule.binning.binned_table import BinnedTable
from polyrule.search.counted.requests import on_host
from polyrule.search.gpu import device
from polyrule.utils.arrays import Bools, Floats, Ints, Ints32, Matrix

_NAMES = (
    *("gather", "place_rows", "add_up", "best_conditions"),
    *("derivatives<false>", "derivatives<true>", "write_gradients", "shared_curvature"),
)
_NONE = np.uint64(0)  # in place of an array
_TOGETHER = 1000  # entries that a block of threads reads at a time, as in gradients.cu
_SHARED = 98_304  # bytes that a block of threads takes at most, so that two of them share a multiprocessor
_PAIR = 24  # bytes of two sums, in 64 bits and in 32
_CHUNK = 1024  # rows of a block of threads
_LARGEST_TABLE = 1 << 28  # bytes of sums at a time
_MOST_FEATURES = 1 << 15  # at a time
_BLOCKS = 8  # of threads for each multiprocessor


@cache
def kernels() -> dict[str, Any]:
    """Return the compiled kernels by name; nothing is fused, so that every digit is that of the processor."""
    return device.compiled(("gradients.h", "gradients.cu"), _NAMES, ("--fmad=false",))


class GpuKernels:
    """The functions of the extension that go through all rows, for the one that `Compute` names."""

    def __init__(self) -> None:
        self.xp = device.cupy()
        self._columns: WeakKeyDictionary[BinnedTable, _Columns] = WeakKeyDictionary()

    def to_host(self, array: Any) -> Any:
        """Return an array of the device as NumPy's."""
        return on_host(array)

    def gradient_sums(self, gradient: Any, curvature: Any, rows: Ints32) -> Ints:
        """Gradients, then curvatures of every label over `rows`."""
        _, total = self._gathered(gradient, curvature, self._rows(rows, len(gradient)), len(rows), None)
        return np.asarray(self.to_host(total).reshape(-1, 2).T.ravel())

    def best_conditions(
        self,
        table: BinnedTable,
        rows: Ints32,
        gradient: Any,
        curvature: Any,
        judges: Ints,
        features: Ints,
        root: Ints,
        offset: Ints,
        ridge: float,
        cost: float,
        sign: int,
        min_rows: int,
    ) -> tuple[Floats, Ints, Ints]:
        """Per one of `features` gain, bin and kind of test of the best condition; see `polyrule.ensemble.gain`."""
        if table not in self._columns:
            self._columns[table] = _Columns(self.xp, table)
        columns, xp, wide = self._columns[table], self.xp, len(judges)
        chosen = self._rows(rows, table.rows)
        slopes, total = self._gathered(gradient, curvature, chosen, len(rows), judges)
        looked_at = (self._places(chosen, len(rows), table), chosen, np.int64(len(rows)), slopes, np.int32(wide))
        given = xp.asarray(np.concatenate([root[judges], offset[:, judges].T.ravel()]))
        found = xp.empty((len(features), 2), dtype=np.int64)
        for some in _ranges(table.count[features], wide):
            part = features[some]
            at = np.concatenate([[0], np.cumsum(table.count[part] + 1, dtype=np.int64)])
            sums = xp.zeros(int(at[-1]) * 2 * wide, dtype=np.int64)
            for small, places, labels in _portions(table.count[part], wide):
                columns.add_up(part[places], at[places], labels, small, looked_at, sums)
            kernels()["best_conditions"](
                (len(part),),
                (device.TUNING.deciders,),
                (
                    *(*columns.of_features, xp.asarray(part.astype(np.int32)), xp.asarray(at), total),
                    *(given[:wide], given[wide:], np.float64(ridge), np.float64(cost), np.int32(wide), np.int32(sign)),
                    *(np.int64(min_rows), sums, found[some]),
                ),
            )
        gains, tests = np.ascontiguousarray(self.to_host(found).T)
        gains = gains.view(np.float64)
        bins, kinds = np.where(gains < 0, [[-1], [0]], np.divmod(tests, 4))
        return gains, bins.astype(np.int32), kinds.astype(np.uint8)

    def logistic_gradients(
        self, covers: Any, targets: Any, weights: Any, labels: Ints, coefficients: Matrix, support: Bools, unit: float,
        threads: int = 1,
    ) -> Floats:  # fmt: skip
        """Derivatives of each label's loss by its weights, shaped like `coefficients`."""
        found = np.zeros(coefficients.shape)
        sizes = support.sum(axis=0)
        sums = self._derivatives(
            "derivatives<false>", sizes, unit, covers, targets, weights, labels, coefficients, support
        )
        found.T[support.T] = sums.astype(np.float64) / unit
        return found

    def logistic_hessians(
        self, covers: Any, targets: Any, weights: Any, labels: Ints, coefficients: Matrix, support: Bools, unit: float,
        threads: int = 1,
    ) -> Floats:  # fmt: skip
        """Second derivatives, one matrix after the other."""
        sizes = support.sum(axis=0)
        sums = self._derivatives(
            "derivatives<true>", sizes**2, unit, covers, targets, weights, labels, coefficients, support
        )
        for size, end in zip(sizes.tolist(), np.cumsum(sizes**2).tolist(), strict=True):
            matrix = sums[end - size * size : end].reshape(size, size)
            matrix += np.tril(matrix, -1).T
        return sums.astype(np.float64) / unit

    def write_gradients(
        self, covers: Any, targets: Any, weights: Any, labels: Ints, coefficients: Matrix, support: Bools, scale: float,
        gradient: Any, curvature: Any, threads: int = 1,
    ) -> None:  # fmt: skip
        """Write first and second derivatives by every score into the labels' columns."""
        across = -(-covers.shape[1] // device.TUNING.deciders)
        kernels()["write_gradients"](
            (across, len(labels)),
            (device.TUNING.deciders,),
            (
                *self._fit(covers, targets, weights, labels, coefficients, support),
                *(np.float64(scale), np.int64(gradient.shape[1]), gradient, curvature),
            ),
        )

    def shared_curvature(self, covers: Any, rows: Ints32, curvature: Any, labels: Ints) -> Ints:
        """Curvature of some labels that each rule shares with the rows, shape (rules, labels)."""
        xp, size = self.xp, len(covers)
        found = xp.zeros((len(labels), size), dtype=np.int64)
        words, chunk, shared = _rows_of_a_block(size)
        if len(rows):
            kernels()["shared_curvature"](
                (-(-len(rows) // chunk), len(labels)),
                (device.TUNING.deciders,),
                (
                    *(covers, np.int64(covers.shape[1]), np.int32(size), xp.asarray(rows), np.int64(len(rows))),
                    *(
                        curvature,
                        np.int64(curvature.shape[1]),
                        xp.asarray(labels),
                        np.int32(words),
                        np.int32(chunk),
                        found,
                    ),
                ),
                shared_mem=shared,
            )
        return np.asarray(self.to_host(found).T)

    def _derivatives(self, kernel: str, sizes: Ints, unit: float, covers: Any, *fit: Any) -> Ints:
        """Sums of one kind of derivatives, `sizes` of them for each label."""
        xp, support = self.xp, fit[-1]
        ends = np.cumsum(sizes)
        found = xp.zeros(int(ends[-1]), dtype=np.int64)
        words, chunk, shared = _rows_of_a_block(int(support.sum(axis=0).max()))
        kernels()[kernel](
            (-(-covers.shape[1] // chunk), len(sizes)),
            (device.TUNING.deciders,),
            (
                *self._fit(covers, *fit),
                *(np.float64(unit), np.int32(words), np.int32(chunk), xp.asarray(ends - sizes), found),
            ),
            shared_mem=shared,
        )
        return np.asarray(self.to_host(found))

    def _fit(
        self, covers: Any, targets: Any, weights: Any, labels: Ints, coefficients: Matrix, support: Bools
    ) -> tuple[Any, ...]:
        """Return what the kernels are told of a fit: the rules of each label are listed."""
        _, rules = np.nonzero(support.T)
        starts = np.concatenate([[0], np.cumsum(support.sum(axis=0))])
        listed = self.xp.asarray(np.concatenate([labels, starts, rules]))
        ends = np.cumsum([len(labels), len(starts)]).tolist()
        parts = listed[: ends[0]], listed[ends[0] : ends[1]], listed[ends[1] :]
        return (covers, targets, weights, np.int64(covers.shape[1]), *parts, self.xp.asarray(coefficients.T[support.T]))

    def _rows(self, rows: Ints32, examples: int) -> Any:
        return _NONE if len(rows) == examples else self.xp.asarray(np.ascontiguousarray(rows))

    def _gathered(self, gradient: Any, curvature: Any, rows: Any, count: int, judges: Ints | None) -> tuple[Any, Any]:
        """Return the slopes of some rows and labels side by side, and their sums; of all labels only the sums."""
        xp, labels = self.xp, gradient.shape[1]
        named = np.arange(labels) if judges is None else judges
        slopes = _NONE if judges is None else xp.empty((count, 2 * len(judges)), dtype=np.int32)
        total = xp.zeros(2 * len(named), dtype=np.int64)
        if count:
            kernels()["gather"](
                (-(-count // _CHUNK),),
                (device.TUNING.deciders,),
                (
                    *(gradient, curvature, np.int64(labels), rows, np.int64(count), xp.asarray(named)),
                    *(np.int32(len(named)), np.int32(_CHUNK), slopes, total),
                ),
            )
        return slopes, total

    def _places(self, rows: Any, count: int, table: BinnedTable) -> Any:
        """Return where each example stands among the rows, -1 for nowhere, if any feature asks for it."""
        if rows is _NONE or not len(table.listed_rows):
            return _NONE
        place = self.xp.full(table.rows, -1, dtype=np.int32)
        if count:
            size = device.TUNING.deciders
            kernels()["place_rows"]((-(-count // size),), (size,), (rows, np.int64(count), place))
        return place


def kernels_of(name: str) -> GpuKernels:
    """Return the kernels of a device that is no processor."""
    device.check_device(name)
    return GpuKernels()


class _Columns:
    """A table on the device, as two kernels are told about it."""

    def __init__(self, xp: Any, table: BinnedTable) -> None:
        self._xp, self._table = xp, ref(table)
        slot, count = xp.asarray(table.slot), xp.asarray(table.count)
        entries = xp.asarray(table.starts), xp.asarray(table.listed_rows), xp.asarray(table.listed_codes)
        self._of_rows = (xp.asarray(table.dense), np.int64(table.rows), slot, count, *entries)
        told = (table.nominal, table.common, table.direction, table.forbidden)
        self.of_features = (slot, count, *map(xp.asarray, told))

    def add_up(
        self, features: Ints, at: Ints, labels: range, small: bool, looked_at: tuple[Any, ...], sums: Any
    ) -> None:
        """Add slopes up by the bins of some features, which begin `at`; in shared memory where they are `small`."""
        xp, table = self._xp, self._table()
        assert table is not None
        size = _TOGETHER * 8
        if small:
            size += (int(table.count[features].max()) + 1) * len(labels) * _PAIR
        dense = bool((table.slot[features] >= 0).any())
        longest = max(int(np.diff(table.starts)[features].max()), int(looked_at[2]) if dense else 0)
        parts = min(-(-longest // _TOGETHER), -(-_BLOCKS * device.processors() // len(features)))
        kernel = kernels()["add_up"]
        kernel.max_dynamic_shared_size_bytes = max(size, 49152)
        kernel(
            (max(1, parts), len(features)),
            (device.TUNING.deciders,),
            (
                *(*self._of_rows, xp.asarray(features.astype(np.int32)), xp.asarray(at), *looked_at),
                *(np.int32(labels.start), np.int32(len(labels)), np.int32(not small), sums),
            ),
            shared_mem=size,
        )


def _ranges(counts: Any, wide: int) -> Iterator[slice]:
    """Features whose sums are made at a time."""
    most, start, bins = _LARGEST_TABLE // (16 * wide), 0, 0
    for feature, count in enumerate(counts.tolist()):
        if feature > start and (bins + count + 1 > most or feature - start == _MOST_FEATURES):
            yield slice(start, feature)
            start, bins = feature, 0
        bins += count + 1
    if len(counts):
        yield slice(start, len(counts))


def _portions(counts: Any, wide: int) -> Iterator[tuple[bool, Ints, range]]:
    """Places of features, and labels, whose sums fit into shared memory; False with features too large for it."""
    room = (min(device.shared_limit(), _SHARED) - _TOGETHER * 8) // _PAIR
    fits = (counts + 1) * min(wide, 8) <= room
    if fits.any():
        step = min(wide, room // (int(counts[fits].max()) + 1))
        for first in range(0, wide, step):
            yield True, np.flatnonzero(fits), range(first, min(wide, first + step))
    if not fits.all():
        yield False, np.flatnonzero(~fits), range(wide)


def _rows_of_a_block(rules: int) -> tuple[int, int, int]:
    """Words that say by which rules a row is covered, rows that a block of threads looks at, and their bytes."""
    words = -(-rules // 64)
    chunk = max(1, min(_CHUNK, min(device.shared_limit(), 49152) // (8 + 8 * words)))
    return words, chunk, chunk * (8 + 8 * words)
