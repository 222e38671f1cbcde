"""Packing dask collections on the workers: the bins are exact quantiles of whole columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, wait

from polyrule.arrays import Floats, Ints
from polyrule.cluster.counter import again, block_shares
from polyrule.data.encode import to_table
from polyrule.data.labels import to_labels
from polyrule.data.table import Feature
from polyrule.errors import DataError
from polyrule.scale.workers import add_up
from polyrule.store import Block, Packed
from polyrule.store.bins import Bins, check_max_bins, nominal_bins, quantiles, ranks
from polyrule.store.packed import encoded
from polyrule.store.pieces import join_features


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
    check_max_bins(max_bins)
    given = {"y": y} if weights is None else {"y": y, "sample_weight": weights}
    if any(not hasattr(one, "dask") for one in (X, *given.values())):
        raise DataError("polyrule.dask fits a dask frame or array X with its labels y, or a Store")
    parts = parts_of(X)[0]
    columns = [parts, *(_alike(client, parts, name, one) for name, one in given.items())]
    read = [dask.delayed(_read)(label_names, *part) for part in zip(*columns, strict=True)]
    pairs = client.compute(read)
    described = client.gather(client.map(_describe, pairs, pure=False))
    features = _settled([found[0] for found in described])
    names = described[0][1]
    if any(found[1] != names for found in described):
        raise DataError("the partitions of y have different labels")
    highs = _cuts(client, pairs, features, max_bins)
    lows = client.gather(_map(client, _lows, pairs, features, highs))
    bins = tuple(
        nominal_bins(feature) if feature.is_nominal else Bins(np.min([low[j] for low in lows], axis=0), highs[j])
        for j, feature in enumerate(features)
    )
    sizes = client.gather(client.map(_size, pairs, pure=False))
    filled = [index for index, (size, _) in enumerate(sizes) if size]
    rows, weight = (sum(column) for column in zip(*sizes, strict=True))
    known = [pairs]

    def blocks() -> list[Any]:
        """Encode the partitions; where they are lost with everything else, read them again."""
        found = known.pop() if known else client.compute(read)
        encoded = _map(client, _encode, [found[index] for index in filled], features, bins, keep_values)
        wait(encoded)
        return encoded

    return Remote(features, bins, names, (), client, blocks, rows, weight)


def _map(client: Client, function: Callable[..., Any], pairs: list[Any], *shared: Any) -> list[Any]:
    """Call a function for every partition with arguments that are sent once.

    `Client.map` makes a task of a large keyword argument and gives it the keyword as its key, under which the next
    call, or another fit, finds something else.
    """
    sent = [client.submit(_itself, value, pure=False) for value in shared]
    return list(client.map(function, pairs, *([value] * len(pairs) for value in sent), pure=False))


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

        def ask() -> list[Any]:
            if not self.held:
                self.held.extend(self.encode())
            return list(self.client.gather(self.client.map(function, self.held, *given, pure=False)))

        return again(ask, self.held.clear)

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
    """Pieces of another collection with as many rows each as those of X."""
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


def _read(label_names: Any, X: Any, y: Any, weights: Any = None) -> Any:
    table = to_table(X)
    truth, names = to_labels(y.to_frame() if isinstance(y, pd.Series) else y, label_names)
    if weights is None:
        return table, truth, names, None
    counted = np.asarray(weights, dtype=np.float64).ravel()
    if not np.all((counted >= 0) & (counted == np.floor(counted)) & (counted < 2**31)):
        raise DataError("sample_weight: a cluster counts in whole numbers below 2147483648; scale and round them")
    kept = np.flatnonzero(counted)
    return table[kept], truth[kept], names, counted[kept].astype(np.int64)


def _describe(pair: Any) -> Any:
    return pair[0].features, pair[2]


def _settled(found: list[tuple[Feature, ...]]) -> tuple[Feature, ...]:
    features = list(found[0])
    for number, other in enumerate(found[1:], start=1):
        features = join_features(features, other, f"partition {number} of X")
    return tuple(features)


def _cuts(client: Client, pairs: list[Any], features: tuple[Feature, ...], max_bins: int) -> list[Floats]:
    """Exact quantiles of whole columns, in three rounds: fences, counts between them, values around the ranks."""
    samples = client.gather(client.map(_sample, pairs, pure=False))
    fences = [np.unique(np.concatenate([sample[j] for sample in samples])) for j in range(len(features))]
    counts = client.submit(add_up, _map(client, _between, pairs, fences), pure=False).result()
    wanted = []
    for counted in counts:
        running = np.cumsum(counted)
        places = np.searchsorted(running, ranks(int(running[-1]), max_bins)) if running[-1] else np.zeros(0, dtype=int)
        wanted.append(np.unique(places))
    inside = client.gather(_map(client, _inside, pairs, fences, wanted))
    return [
        _quantiles([part[j] for part in inside], counts[j], fences[j], wanted[j], max_bins)
        for j in range(len(features))
    ]


SAMPLE = 4096


class _Sums(list):  # type: ignore[type-arg]
    """Arrays of different lengths that add up one by one."""

    def __add__(self, other: Any) -> _Sums:
        return _Sums(a + b for a, b in zip(self, other, strict=True))


def _column(pair: Any, j: int) -> Floats:
    column = pair[0].column(j)
    return np.asarray(np.sort(column[~np.isnan(column)]))


def _sample(pair: Any) -> list[Floats]:
    """Evenly spaced values of every column, the ends included; all of them where there are few."""
    found = []
    for j in range(pair[0].shape[1]):
        distinct = np.unique(_column(pair, j))
        places = np.unique(np.linspace(0, len(distinct) - 1, SAMPLE).astype(int)) if len(distinct) > SAMPLE else ...
        found.append(distinct[places])
    return found


def _between(pair: Any, fences: list[Floats]) -> _Sums:
    """How many values lie in each interval (fence before, fence]; all values are at most the last fence."""
    return _Sums(
        np.bincount(np.searchsorted(fence, _column(pair, j)), minlength=max(1, len(fence)))
        for j, fence in enumerate(fences)
    )


def _inside(pair: Any, fences: list[Floats], wanted: list[Ints]) -> list[tuple[Floats, Ints]]:
    found = []
    for j, (fence, places) in enumerate(zip(fences, wanted, strict=True)):
        column = _column(pair, j)
        values, counts = np.unique(column[np.isin(np.searchsorted(fence, column), places)], return_counts=True)
        found.append((values, counts))
    return found


def _quantiles(parts: Any, counts: Ints, fence: Floats, wanted: Ints, max_bins: int) -> Floats:
    """Put the values of the wanted intervals beside the fences of the others; ranks then fall on values."""
    if not counts.sum():
        return np.zeros(0)
    others = np.setdiff1d(np.flatnonzero(counts), wanted)
    values = np.concatenate([part[0] for part in parts] + [fence[others]])
    weights = np.concatenate([part[1] for part in parts] + [counts[others]])
    distinct, position = np.unique(values, return_inverse=True)
    total = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(total, position, weights)
    return quantiles(distinct, total, max_bins)


def _size(pair: Any) -> tuple[int, int]:
    """Rows and their weight."""
    return len(pair[0]), len(pair[0]) if pair[3] is None else int(pair[3].sum())


def _lows(pair: Any, features: tuple[Feature, ...], highs: list[Floats]) -> list[Floats]:
    """Return the least value of every bin in one partition."""
    found = []
    for j, feature in enumerate(features):
        if feature.is_nominal:
            found.append(np.zeros(0))
            continue
        column = pair[0].column(j)
        known = column[~np.isnan(column)]
        least = np.full(len(highs[j]), np.inf)
        np.minimum.at(least, Bins(highs[j], highs[j]).codes(known), known)
        found.append(least)
    return found


def _encode(pair: Any, features: tuple[Feature, ...], bins: tuple[Bins, ...], keep_values: bool) -> Block:
    return encoded(to_table(pair[0], features), bins, pair[1], pair[3], keep_values)
