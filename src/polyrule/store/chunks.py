"""Where rows to pack come from: files, frames, arrays, datasets of Arrow and collections of dask, chunk by chunk."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyrule.data.columns import listing
from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.frames import column_names, is_frame, open_frame
from polyrule.data.labels import to_labels
from polyrule.data.labelspec import choose_columns, is_auto
from polyrule.data.preparation import expand
from polyrule.data.reading import read_chunks
from polyrule.data.recognize import as_categories, recognition_off
from polyrule.data.sources import Source
from polyrule.data.table import Feature
from polyrule.errors import DataError, OptionError
from polyrule.utils.arrays import Array, Floats
from polyrule.utils.messages import argument

#: Cells read at a time.
CHUNK_CELLS = 4_000_000


@dataclass(frozen=True)
class Chunks:
    """Rows that can be read from the beginning as often as needed.

    `read(features)` yields data sets; with features, encoded against them. `identity` tells whether two sources are the
    same one, and whether one is still the same (None: it cannot be told, so an unfinished store is begun anew).
    """

    read: Callable[[Sequence[Feature] | None], Iterator[Dataset]]
    identity: Callable[[], Any] = lambda: None


#: What a chunk is called in messages, its features and its labels.
Described = tuple[str, Sequence[Feature], tuple[str, ...]]


def agreed(chunks: Iterable[Described]) -> tuple[tuple[Feature, ...], tuple[str, ...]]:
    """Return features and labels that hold for all chunks, categories of all of them in order."""
    features: list[Feature] = []
    labels: tuple[str, ...] | None = None
    for name, chunk_features, label_names in chunks:
        if labels is None:
            features, labels = list(chunk_features), label_names
            continue
        if label_names != labels:
            raise DataError(f"{name}: its labels are not those of the first chunk; pack data of one kind")
        features = join_features(features, chunk_features, name)
    if labels is None:
        raise DataError("there are no rows to pack")
    if not features or not labels:
        raise DataError(f"there are no {'labels' if features else 'features'} to pack")
    return tuple(features), labels


def join_features(known: Sequence[Feature], other: Sequence[Feature], where: str) -> list[Feature]:
    """Return features that hold for rows seen before and for those `where` others were found.

    Examples
    --------
    >>> join_features([Feature("hue", "nominal", ("red",))], [Feature("hue", "nominal", ("blue", "red"))], "b.csv")
    [Feature(name='hue', kind='nominal', categories=('blue', 'red'))]
    """
    names, other_names = [feature.name for feature in known], [feature.name for feature in other]
    if names != other_names:
        lacking = [name for name in names if name not in other_names]
        lacking_text = f" (it lacks {listing(lacking)})" if lacking else ""
        raise DataError(f"{where}: its columns are not those of the rows before{lacking_text}; all must be of one kind")
    return [_joined(left, right, where) for left, right in zip(known, other, strict=True)]


def _joined(left: Feature, right: Feature, where: str) -> Feature:
    if left == right:
        return left
    if left.kind != right.kind:
        raise DataError(
            f"{where}: column {left.name!r} is {right.kind} here and {left.kind} elsewhere; pass "
            f"{argument('nominal')}, {argument('numeric')} or {argument('ordinal')}, or give the column one type"
        )
    if not left.is_nominal:  # the order is unknown
        raise DataError(
            f"{where}: column {left.name!r} has other ordered values here than elsewhere; pass {argument('ordinal')}, "
            "or give all rows the same ordered categories"
        )
    return replace(left, categories=tuple(sorted({*left.categories, *right.categories})))


def numbers(chunk: Dataset) -> list[Floats]:
    """Return the columns that are cut into bins; those of categories are empty."""
    none = np.zeros(0)
    return [none if feature.is_nominal else chunk.X.column(j) for j, feature in enumerate(chunk.features)]


def are_whole(weights: Floats, max_weight: int) -> bool:
    """Return True if weights are whole numbers from 0 to `most`."""
    return bool(((weights >= 0) & (weights <= max_weight) & (weights == np.floor(weights))).all())


def of_positive_weight(chunk: Dataset) -> Dataset:
    """Leave out examples of weight 0, as a fit does."""
    if chunk.weights is None or (chunk.weights > 0).all():
        return chunk
    return chunk[chunk.weights > 0]


def open_chunks(data: Any, y: Any = None, labels: Any = "auto", weights: Any = None, **options: Any) -> Chunks:
    """Find out what `data` is and how it is read; see `polyrule.pack`."""
    if isinstance(data, Dataset):
        for name, argument_value in {"y": y, "labels": None if is_auto(labels) else labels, "weights": weights}.items():
            if argument_value is not None:
                raise OptionError(f"a Dataset brings its own labels and weights; leave out {name}=")
    elif y is not None and labels is not None and not is_auto(labels):
        raise OptionError("pass labels= or y, not both")
    are_files = isinstance(data, (str, os.PathLike)) or (
        isinstance(data, (list, tuple)) and bool(data) and all(isinstance(item, (str, os.PathLike)) for item in data)
    )
    is_arrow = hasattr(data, "to_batches") and hasattr(data, "schema") and not hasattr(data, "num_columns")
    is_dask_frame = hasattr(data, "dask") and not hasattr(data, "chunks")
    if y is not None and (are_files or is_arrow or is_dask_frame):
        raise OptionError("y is for arrays of features; name the columns with labels, such as labels=")
    if are_files:
        return _files(data, labels, weights, options)
    if options:
        raise OptionError(f"the option {sorted(options)[0]!r} is for reading files")
    if isinstance(data, Dataset):
        words = replace(data, X=expand(data.X))
        return Chunks(lambda features: _slices(words))
    if is_arrow:
        return _frames(lambda: (batch for batch in data.to_batches() if batch.num_rows), labels, weights)
    if is_dask_frame:
        return _frames(lambda: (data.partitions[i].compute() for i in range(data.npartitions)), labels, weights)
    if y is None and is_frame(data):
        return _frames(lambda: iter([data]), labels, weights)
    if y is None:
        raise DataError("an array of features needs its labels: pack(X, y, ...)")
    if hasattr(data, "dask"):
        return _dask_array(data, y, weights)
    return Chunks(lambda features: _slices(_dataset(data, y, weights, features)))


def _slices(data: Dataset) -> Iterator[Dataset]:
    step = max(1, CHUNK_CELLS // max(1, data.X.shape[1]))
    for start in range(0, len(data), step):
        yield data if len(data) <= step else data[start : start + step]


def _dataset(X: Any, y: Any, weights: Any, features: Sequence[Feature] | None) -> Dataset:
    truth, names = to_labels(y)
    with recognition_off():
        table = as_categories(to_table(X)) if features is None else to_table(X, features)
    return Dataset(table, truth, names, "data", None, weights)


def _files(data: Any, labels: Any, weights: Any, options: dict[str, Any]) -> Chunks:
    origins = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    paths: list[Any] = []
    for item in (str(os.fspath(path)) for path in origins):
        matches: list[Any] = sorted(glob.glob(item)) if glob.has_magic(item) and not os.path.exists(item) else [item]
        if not matches:
            raise DataError(f"{item}: no file matches")
        paths += [Source(item)] if item == "-" else matches  # standard input is kept, as it can be read only once

    def read(features: Sequence[Feature] | None) -> Iterator[Dataset]:
        for path in paths:
            name = getattr(path, "name", path)
            arguments = {"labels": labels, "weights": weights, "features": features, "name": name, **options}
            with _naming(name):
                yield from read_chunks(path, rows=1 << 16, **arguments)

    option_texts = {name: repr(value) for name, value in options.items()}

    def identity() -> Any:
        if any(isinstance(path, Source) for path in paths):
            return None
        stats = [[path, os.path.getsize(path), os.stat(path).st_mtime_ns] for path in paths if os.path.exists(path)]
        return [stats, repr(labels), repr(weights), option_texts]

    return Chunks(read, identity)


@contextlib.contextmanager
def _naming(file: str) -> Iterator[None]:
    """Let an error say which of several files it is about."""
    try:
        yield
    except (DataError, OptionError) as error:
        if file not in str(error):
            error.source = file
        raise


def _frames(frames: Callable[[], Iterator[Any]], labels: Any, weights: Any) -> Chunks:
    if labels is None or is_auto(labels):
        raise OptionError("name the columns with labels: labels='y_*', a list of names, ...")

    def read(features: Sequence[Feature] | None) -> Iterator[Dataset]:
        for frame in frames():
            opened = open_frame(frame)
            names = column_names(opened)
            label_columns = choose_columns(labels, names)
            weight = None if weights is None else choose_columns([weights], names, "weights")[0]
            rest = [j for j in range(len(names)) if j not in label_columns and j != weight]
            chunk_weights = None if weight is None else opened[:, weight].to_numpy()
            X, y = (opened[:, positions].to_native() for positions in (rest, label_columns))
            yield from _slices(_dataset(X, y, chunk_weights, features))

    return Chunks(read)


def _dask_array(data: Any, y: Any, weights: Any) -> Chunks:
    """Blocks of rows of a dask array, with their labels."""
    data, y, weights = (_with_lengths(array) for array in (data, y, weights))
    for what, array in (("y", y), ("weights", weights)):
        if array is not None and len(array) != len(data):
            raise DataError(f"X has {len(data)} rows but {what} has {len(array)}")
    ends = np.cumsum(data.chunks[0]).tolist()

    def read(features: Sequence[Feature] | None) -> Iterator[Dataset]:
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            chunk_weights = None if weights is None else _here(weights[start:end])
            yield from _slices(_dataset(_here(data[start:end]), _here(y[start:end]), chunk_weights, features))

    return Chunks(read)


def _with_lengths(array: Any) -> Any:
    """Compute the lengths of blocks, which a dask array made from a frame lacks."""
    unknown = hasattr(array, "chunks") and np.isnan(array.chunks[0]).any()
    return array.copy().compute_chunk_sizes() if unknown else array


def _here(part: Any) -> Array:
    return np.asarray(part.compute() if hasattr(part, "compute") else part)
