"""Packing dask collections on the workers: the bins are exact quantiles of whole columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from dask.distributed import Client, wait

import dask
from polyrule.binning.bins import Bins, check_max_bins, min_values, nominal_bins
from polyrule.binning.quantiles import ColumnCounts
from polyrule.dask.counter import again, block_shares
from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.labels import to_labels
from polyrule.data.recognize import as_categories, recognition_off
from polyrule.data.table import Feature
from polyrule.errors import DataError
from polyrule.search.counted.workers import add_up
from polyrule.store import Block, Packed
from polyrule.store.chunks import agreed, are_whole, numbers, of_positive_weight
from polyrule.store.packed import encoded
from polyrule.utils.arrays import Bools, Floats, Ints


def pack_collections(
    client: Client,
    X: Any,
    y: Any,
    max_bins: int,
    keep_values: bool,
    label_names: Sequence[str] | None = None,
    weights: Any = None,
) -> Remote:
    """Pack dask collections on the workers; labels and weights may be partitioned otherwise than X."""
    max_bins = check_max_bins(max_bins)
    columns_of_rows = {"y": y} if weights is None else {"y": y, "sample_weight": weights}
    if any(not hasattr(one, "dask") for one in (X, *columns_of_rows.values())):
        raise DataError("polyrule.dask fits a dask frame or array X with its labels y, or a Store")
    parts = parts_of(X)[0]
    columns = [parts, *(_alike(client, parts, name, one) for name, one in columns_of_rows.items())]
    read = [dask.delayed(_read)(label_names, *part) for part in zip(*columns, strict=True)]
    partitions = client.compute(read)
    described = client.gather(client.map(_describe, partitions, pure=False))
    filled = [index for index, facts in enumerate(described) if facts[2]]  # empty ones have no kinds of features
    features, names = agreed((f"partition {index}", *described[index][:2]) for index in filled)
    read, partitions = [read[index] for index in filled], [partitions[index] for index in filled]
    highs = _cuts(client, partitions, features, max_bins)
    lows = client.gather(_map(client, _lows, partitions, highs))
    bins = tuple(
        nominal_bins(feature) if feature.is_nominal else Bins(np.min([low[j] for low in lows], axis=0), highs[j])
        for j, feature in enumerate(features)
    )
    rows, weight = (sum(facts[place] for facts in described) for place in (2, 3))
    first_read = [partitions]

    def blocks() -> list[Any]:
        """Encode the partitions; read them again if the cluster lost them."""
        parts = first_read.pop() if first_read else client.compute(read)
        packed = _map(client, _encode, parts, features, bins, keep_values)
        wait(packed)
        return packed

    return Remote(features, bins, names, (), client, blocks, rows, weight)


def _map(client: Client, function: Callable[..., Any], partitions: list[Any], *shared: Any) -> list[Any]:
    """Call a function for every partition with arguments that are sent once.

    `Client.map` makes a task of a large keyword argument with the keyword as its key, which the next call would reuse.
    """
    sent = [client.submit(_itself, value, pure=False) for value in shared]
    return list(client.map(function, partitions, *([value] * len(partitions) for value in sent), pure=False))


def _itself(value: Any) -> Any:
    return value


@dataclass(frozen=True, eq=False)
class Remote(Packed):
    """Packed data whose blocks are on workers; the client has their number of rows."""

    client: Client
    encode: Callable[[], list[Any]]
    rows: int
    weight: int
    futures: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return self.rows

    def shares(self) -> list[Any]:
        """Encode the blocks and join those of one worker."""
        return block_shares(self.client, self.encode(), len(self.label_names))

    def each(self, function: Callable[..., Any], *arguments: Sequence[Any], threads: int = 1) -> list[Any]:
        """Call a function with each block on the workers; lost blocks are encoded again."""

        def count() -> list[Any]:
            if not self.futures:
                self.futures.extend(self.encode())
            return list(self.client.gather(self.client.map(function, self.futures, *arguments, pure=False)))

        return again(count, self.futures.clear)

    def fetched(self) -> Packed:
        """Return the data with all blocks in this process."""
        return Packed(self.features, self.bins, self.label_names, self.client.gather(self.encode()))

    @property
    def total_weight(self) -> int:
        """Weight of all examples."""
        return self.weight


def parts_of(collection: Any) -> tuple[list[Any], list[Any]]:
    """Return delayed partitions and their lengths, NaN if unknown."""
    if hasattr(collection, "npartitions") and not hasattr(collection, "chunks"):
        parts = list(collection.to_delayed())
        return parts, [np.nan] * len(parts)
    whole = collection.rechunk({1: -1}) if collection.ndim == 2 else collection
    return list(whole.to_delayed().ravel()), list(whole.chunks[0])


def _alike(client: Client, parts: list[Any], name: str, collection: Any) -> list[Any]:
    """Return partitions of another collection with the lengths of those of X."""
    column_parts = parts_of(collection)[0]
    lengths = [dask.delayed(len)(part) for part in (*parts, *column_parts)]
    all_lengths = client.gather(client.compute(lengths))
    rows_of_X, rows_of_column = all_lengths[: len(parts)], all_lengths[len(parts) :]
    if rows_of_X == rows_of_column:
        return column_parts
    if sum(rows_of_X) != sum(rows_of_column):
        raise DataError(f"X has {sum(rows_of_X)} rows but {name} has {sum(rows_of_column)}")
    starts, aligned = np.cumsum([0, *rows_of_column]), []
    for end, length in zip(np.cumsum(rows_of_X).tolist(), rows_of_X, strict=True):
        first = end - length
        cut = [
            dask.delayed(_rows)(part, max(0, first - start), end - start)
            for part, start, size in zip(column_parts, starts.tolist(), rows_of_column, strict=False)
            if start < end and first < start + size
        ]
        aligned.append(dask.delayed(_joined)(cut or [dask.delayed(_rows)(column_parts[0], 0, 0)]))
    return aligned


def _rows(part: Any, first: int, last: int) -> Any:
    return part.iloc[first:last] if hasattr(part, "iloc") else part[first:last]


def _joined(parts: list[Any]) -> Any:
    return pd.concat(parts) if hasattr(parts[0], "iloc") else np.concatenate(parts)


def _read(label_names: Any, X: Any, y: Any, weights: Any = None) -> Dataset:
    """Read the examples of positive weight of a partition."""
    with recognition_off():
        table = as_categories(to_table(X))
    truth, names = to_labels(y.to_frame() if isinstance(y, pd.Series) else y, label_names)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64).ravel()
        if not are_whole(weights, _MAX_WEIGHT):
            raise DataError(
                f"sample_weight: a cluster counts in whole numbers up to {_MAX_WEIGHT}; scale and round them"
            )
    return of_positive_weight(Dataset(table, truth, names, weights=weights))


def _describe(partition: Dataset) -> tuple[tuple[Feature, ...], tuple[str, ...], int, int]:
    """Return features, labels, rows and their weight."""
    return (
        partition.features,
        partition.label_names,
        len(partition),
        len(partition) if partition.weights is None else int(partition.weights.sum()),
    )


def _cuts(client: Client, partitions: list[Any], features: tuple[Feature, ...], max_bins: int) -> list[Floats]:
    """Exact quantiles of whole columns, in three rounds: fences, counts between them, values around the ranks."""
    samples = client.gather(client.map(_sample, partitions, [max(SAMPLE, max_bins)] * len(partitions), pure=False))
    fences = [np.unique(np.concatenate([sample[j][0] for sample in samples])) for j in range(len(features))]
    counts_between = client.submit(add_up, _map(client, _between, partitions, fences), pure=False).result()
    ends = np.cumsum([len(fence) for fence in fences])
    counts = [
        ColumnCounts.up_to(fence, column, alone=all(sample[j][1] for sample in samples))
        for j, (fence, column) in enumerate(zip(fences, np.split(counts_between, ends[:-1]), strict=True))
    ]
    unresolved = {j: inside for j, column in enumerate(counts) if (inside := column.unresolved(max_bins)).any()}
    finer = {j: ColumnCounts(sys.maxsize) for j in unresolved}
    if unresolved:
        for values_of in client.gather(
            _map(client, _inside, partitions, {j: counts[j] for j in unresolved}, unresolved)
        ):
            for j, (values, times) in values_of.items():
                finer[j].add_counted(values, times)
    for j, inside in unresolved.items():
        counts[j].replace(inside, finer[j])
    return [column.quantiles(max_bins) for column in counts]


_MAX_WEIGHT = 2**31 - 1
SAMPLE = 4096


def _sample(partition: Dataset, size: int) -> list[tuple[Floats, bool]]:
    """Return evenly spaced values of each column with both ends, and True if these are all."""
    samples = []
    for column in numbers(partition):
        distinct = np.unique(column[~np.isnan(column)])
        few = len(distinct) <= size
        samples.append((distinct if few else distinct[np.linspace(0, len(distinct) - 1, size).astype(int)], few))
    return samples


def _between(partition: Dataset, fences: list[Floats]) -> Ints:
    """Return the number of values up to each fence and above the one before, column after column."""
    counts = [
        np.bincount(np.searchsorted(fence, column[~np.isnan(column)]), minlength=len(fence))
        for column, fence in zip(numbers(partition), fences, strict=True)
    ]
    return np.concatenate(counts)


def _inside(partition: Dataset, counts: dict[int, ColumnCounts], unresolved: dict[int, Bools]) -> dict[int, Any]:
    """The values in the unresolved intervals of some columns, and how often they occur."""
    values_of, columns = {}, numbers(partition)
    for j, inside in unresolved.items():
        finer = ColumnCounts(sys.maxsize)
        finer.add(columns[j], counts[j], inside)
        values_of[j] = finer.highs, finer.counts
    return values_of


def _lows(partition: Dataset, highs: list[Floats]) -> list[Floats]:
    """Return the smallest value of each bin in one partition."""
    columns = zip(numbers(partition), highs, strict=True)
    return [min_values(Bins(high, high).codes(column), column, len(high))[:-1] for column, high in columns]


def _encode(partition: Dataset, features: tuple[Feature, ...], bins: tuple[Bins, ...], keep_values: bool) -> Block:
    weights = None if partition.weights is None else partition.weights.astype(np.int64)
    return encoded(to_table(partition.X, features), bins, partition.Y, weights, keep_values)
