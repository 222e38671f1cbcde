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
    """Pack dask collections where they lie; labels and weights may be partitioned otherwise than X."""
    max_bins = check_max_bins(max_bins)
    given = {"y": y} if weights is None else {"y": y, "sample_weight": weights}
    if any(not hasattr(one, "dask") for one in (X, *given.values())):
        raise DataError("polyrule.dask fits a dask frame or array X with its labels y, or a Store")
    parts = parts_of(X)[0]
    columns = [parts, *(_alike(client, parts, name, one) for name, one in given.items())]
    read = [dask.delayed(_read)(label_names, *part) for part in zip(*columns, strict=True)]
    pieces = client.compute(read)
    described = client.gather(client.map(_describe, pieces, pure=False))
    filled = [index for index, found in enumerate(described) if found[2]]  # of what is empty nobody knows the kinds
    features, names = agreed((f"partition {index}", *described[index][:2]) for index in filled)
    read, pieces = [read[index] for index in filled], [pieces[index] for index in filled]
    highs = _cuts(client, pieces, features, max_bins)
    lows = client.gather(_map(client, _lows, pieces, highs))
    bins = tuple(
        nominal_bins(feature) if feature.is_nominal else Bins(np.min([low[j] for low in lows], axis=0), highs[j])
        for j, feature in enumerate(features)
    )
    rows, weight = (sum(found[place] for found in described) for place in (2, 3))
    known = [pieces]

    def blocks() -> list[Any]:
        """Encode the partitions; where they are lost with everything else, read them again."""
        found = known.pop() if known else client.compute(read)
        encoded = _map(client, _encode, found, features, bins, keep_values)
        wait(encoded)
        return encoded

    return Remote(features, bins, names, (), client, blocks, rows, weight)


def _map(client: Client, function: Callable[..., Any], pieces: list[Any], *shared: Any) -> list[Any]:
    """Call a function for every partition with arguments that are sent once.

    `Client.map` makes a task of a large keyword argument and gives it the keyword as its key, under which the next
    call, or another fit, finds something else.
    """
    sent = [client.submit(_itself, value, pure=False) for value in shared]
    return list(client.map(function, pieces, *([value] * len(pieces) for value in sent), pure=False))


def _itself(value: Any) -> Any:
    return value


@dataclass(frozen=True, eq=False)
class Remote(Packed):
    """Packed data whose blocks lie on workers: only their number of rows is known here."""

    client: Client
    encode: Callable[[], list[Any]]
    rows: int
    weight: int
    held: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return self.rows

    def shares(self) -> list[Any]:
        """Encode the blocks and put those of one worker together."""
        return block_shares(self.client, self.encode(), len(self.label_names))

    def each(self, function: Callable[..., Any], *given: Sequence[Any], threads: int = 1) -> list[Any]:
        """Have the workers call a function with every block; what they have lost is encoded again."""

        def count() -> list[Any]:
            if not self.held:
                self.held.extend(self.encode())
            return list(self.client.gather(self.client.map(function, self.held, *given, pure=False)))

        return again(count, self.held.clear)

    def fetched(self) -> Packed:
        """Return the data with all blocks in this process."""
        return Packed(self.features, self.bins, self.label_names, self.client.gather(self.encode()))

    @property
    def total_weight(self) -> int:
        """Weight of all examples."""
        return self.weight


def parts_of(collection: Any) -> tuple[list[Any], list[Any]]:
    """Delayed pieces of rows and their lengths, NaN where nobody knows."""
    if hasattr(collection, "npartitions") and not hasattr(collection, "chunks"):
        parts = list(collection.to_delayed())
        return parts, [np.nan] * len(parts)
    whole = collection.rechunk({1: -1}) if collection.ndim == 2 else collection
    return list(whole.to_delayed().ravel()), list(whole.chunks[0])


def _alike(client: Client, parts: list[Any], name: str, collection: Any) -> list[Any]:
    """Chunks of another collection with as many rows each as those of X."""
    others = parts_of(collection)[0]
    lengths = [dask.delayed(len)(part) for part in (*parts, *others)]
    found = client.gather(client.compute(lengths))
    wanted, there = found[: len(parts)], found[len(parts) :]
    if wanted == there:
        return others
    if sum(wanted) != sum(there):
        raise DataError(f"X has {sum(wanted)} rows but {name} has {sum(there)}")
    starts, pieces = np.cumsum([0, *there]), []
    for end, length in zip(np.cumsum(wanted).tolist(), wanted, strict=True):
        first = end - length
        cut = [
            dask.delayed(_rows)(part, max(0, first - start), end - start)
            for part, start, size in zip(others, starts.tolist(), there, strict=False)
            if start < end and first < start + size
        ]
        pieces.append(dask.delayed(_joined)(cut or [dask.delayed(_rows)(others[0], 0, 0)]))
    return pieces


def _rows(part: Any, first: int, last: int) -> Any:
    return part.iloc[first:last] if hasattr(part, "iloc") else part[first:last]


def _joined(parts: list[Any]) -> Any:
    return pd.concat(parts) if hasattr(parts[0], "iloc") else np.concatenate(parts)


def _read(label_names: Any, X: Any, y: Any, weights: Any = None) -> Dataset:
    """Read the examples of a partition that count."""
    with recognition_off():
        table = as_categories(to_table(X))
    truth, names = to_labels(y.to_frame() if isinstance(y, pd.Series) else y, label_names)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64).ravel()
        if not are_whole(weights, _MOST_WEIGHT):
            raise DataError(
                f"sample_weight: a cluster counts in whole numbers up to {_MOST_WEIGHT}; scale and round them"
            )
    return of_positive_weight(Dataset(table, truth, names, weights=weights))


def _describe(piece: Dataset) -> tuple[tuple[Feature, ...], tuple[str, ...], int, int]:
    """Features, labels, rows and their weight."""
    return (
        piece.features,
        piece.label_names,
        len(piece),
        len(piece) if piece.weights is None else int(piece.weights.sum()),
    )


def _cuts(client: Client, pieces: list[Any], features: tuple[Feature, ...], max_bins: int) -> list[Floats]:
    """Exact quantiles of whole columns, in three rounds: fences, counts between them, values around the ranks."""
    samples = client.gather(client.map(_sample, pieces, [max(SAMPLE, max_bins)] * len(pieces), pure=False))
    fences = [np.unique(np.concatenate([sample[j][0] for sample in samples])) for j in range(len(features))]
    every = client.submit(add_up, _map(client, _between, pieces, fences), pure=False).result()
    ends = np.cumsum([len(fence) for fence in fences])
    counts = [
        ColumnCounts.up_to(fence, own, alone=all(sample[j][1] for sample in samples))
        for j, (fence, own) in enumerate(zip(fences, np.split(every, ends[:-1]), strict=True))
    ]
    wanted = {j: inside for j, column in enumerate(counts) if (inside := column.unresolved(max_bins)).any()}
    finer = {j: ColumnCounts(sys.maxsize) for j in wanted}
    if wanted:
        for found in client.gather(_map(client, _inside, pieces, {j: counts[j] for j in wanted}, wanted)):
            for j, (values, times) in found.items():
                finer[j].add_counted(values, times)
    for j, inside in wanted.items():
        counts[j].replace(inside, finer[j])
    return [column.quantiles(max_bins) for column in counts]


_MOST_WEIGHT = 2**31 - 1
SAMPLE = 4096


def _sample(piece: Dataset, most: int) -> list[tuple[Floats, bool]]:
    """Evenly spaced values of every column, the ends included; whether these are all there are."""
    found = []
    for column in numbers(piece):
        distinct = np.unique(column[~np.isnan(column)])
        few = len(distinct) <= most
        found.append((distinct if few else distinct[np.linspace(0, len(distinct) - 1, most).astype(int)], few))
    return found


def _between(piece: Dataset, fences: list[Floats]) -> Ints:
    """How many values lie up to each fence and above the one before, column after column."""
    counts = [
        np.bincount(np.searchsorted(fence, column[~np.isnan(column)]), minlength=len(fence))
        for column, fence in zip(numbers(piece), fences, strict=True)
    ]
    return np.concatenate(counts)


def _inside(piece: Dataset, counts: dict[int, ColumnCounts], wanted: dict[int, Bools]) -> dict[int, Any]:
    """The values in the wanted intervals of some columns, and how often they occur."""
    found, columns = {}, numbers(piece)
    for j, inside in wanted.items():
        finer = ColumnCounts(sys.maxsize)
        finer.add(columns[j], counts[j], inside)
        found[j] = finer.highs, finer.counts
    return found


def _lows(piece: Dataset, highs: list[Floats]) -> list[Floats]:
    """Return the least value of every bin in one partition."""
    columns = zip(numbers(piece), highs, strict=True)
    return [min_values(Bins(high, high).codes(column), column, len(high))[:-1] for column, high in columns]


def _encode(piece: Dataset, features: tuple[Feature, ...], bins: tuple[Bins, ...], keep_values: bool) -> Block:
    weights = None if piece.weights is None else piece.weights.astype(np.int64)
    return encoded(to_table(piece.X, features), bins, piece.Y, weights, keep_values)
