"""Packing: two or three streaming passes from any source into a store."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.binning.bins import Bins, check_max_bins, code_type, min_values, nominal_bins
from polyrule.binning.quantiles import QuantileFinder
from polyrule.data.dataset import Dataset
from polyrule.data.documents import JsonNode, feature_record, parse, read_feature
from polyrule.data.table import Feature
from polyrule.errors import DataError, OptionError
from polyrule.store.chunks import Chunks, Described, agreed, are_whole, numbers, of_positive_weight, open_chunks
from polyrule.store.folder import Store, StoredBlocks, block_file, write_block, write_bytes, writing
from polyrule.store.header import HEADER, MOST_WEIGHT, VERSION, BlockRecord, Header, read_block
from polyrule.store.packed import Block, label_words
from polyrule.utils.arrays import Floats, Ints
from polyrule.utils.atomic import hold

logger = logging.getLogger(__name__)

BLOCK_ROWS = 1 << 20
PLAN = "plan.json"
Progress = Callable[[str, int], None]


def pack(
    data: Any,
    y: Any = None,
    *,
    out: str | os.PathLike[str],
    labels: Any = "auto",
    weights: Any = None,
    max_bins: int = 255,
    keep_values: bool = False,
    block_rows: int = BLOCK_ROWS,
    progress: Progress | None = None,
    **options: Any,
) -> Store:
    """Pack data of any size into a store that every rule list can be fitted on.

    The cuts are exact quantiles of each whole column, so they depend neither on the order of the rows nor on the size
    of blocks; a feature with no more distinct values than bins loses nothing.

    Parameters
    ----------
    data : path, pattern or list of paths; frame, Arrow dataset, dask frame; Dataset; array or dask array
        What `polyrule.data.read` reads, or columns in memory or elsewhere. Read two or three times.
    y : array or dask array, optional
        Labels of an array of features.
    out : path
        The folder to make. It appears when it is complete. An interrupted packing of the same files is resumed. While
        one process packs into it, others are refused.
    labels, weights
        Which columns are labels, and which holds whole-number weights; as in `polyrule.data.read`.
    max_bins : int
        Most bins of a numeric feature; up to 255 take one byte a value, more take two.
    keep_values : bool
        Whether to keep the original values, too (8 bytes each), which ``refine=True`` needs.
    block_rows : int
        Rows of a block: what is packed, counted and checked at a time.
    progress : callable, optional
        Called with what is being done and the number of rows done so far.
    **options
        More options of `polyrule.data.read`.

    Returns
    -------
    Store

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> store = pack([[1.0, 2.0], [3.0, 2.0]], [[1, 0], [0, 1]], out=folder + "/store")
    >>> len(store), store.label_names, store.blocks[0].codes.tolist()
    (2, ('y0', 'y1'), [[0, 1], [0, 0]])
    """
    max_bins = check_max_bins(max_bins)
    if isinstance(block_rows, bool) or not isinstance(block_rows, (int, np.integer)) or block_rows < 1:
        raise OptionError(f"block_rows must be a whole number of at least 1, got {block_rows!r}")
    target = Path(out)
    with contextlib.ExitStack() as until_done:
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            free = until_done.enter_context(hold(target.with_name(target.name + ".lock")))
        if not free:
            raise DataError(f"{target}: another process is packing into this folder; wait for it, or choose another")
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise DataError(f"{target}: there is something already; choose another folder or remove it first")
        chunks = open_chunks(data, y, labels, weights, **options)
        heard = progress or (lambda what, rows: None)
        packer = _Packer(chunks, target, max_bins, bool(keep_values), int(block_rows), heard)
        packer.run()
        return Store(target)


def _planned(features: tuple[Feature, ...], labels: tuple[str, ...], cuts: list[Floats]) -> Header:
    """What the first passes find out: a header without blocks, of whose bins only the upper ends are known."""
    ends = zip(features, cuts, strict=True)
    bins = tuple(nominal_bins(feature) if feature.is_nominal else Bins(cut, cut) for feature, cut in ends)
    return Header(features, bins, labels, np.dtype(code_type(max(map(len, bins)))).str, ())


class _Packer:
    def __init__(
        self, chunks: Chunks, target: Path, max_bins: int, keep_values: bool, block_rows: int, progress: Progress
    ) -> None:
        self.chunks, self.target, self.max_bins = chunks, target, max_bins
        self.keep_values, self.block_rows, self.progress = keep_values, block_rows, progress
        self.folder = target.with_name(target.name + ".part")
        self.identity = chunks.identity()
        self.key = json.loads(json.dumps([VERSION, self.identity, max_bins, keep_values, block_rows]))

    def run(self) -> None:
        self.plan = self._known_plan() or self._make_plan()
        self.lows = [np.full(len(ends), np.inf) for ends in self._ends()]
        self.blocks: list[BlockRecord] = []
        self._encode()
        self._finish()

    def _header(self, blocks: list[BlockRecord]) -> Header:
        """Return the header of some blocks, with the least value of every bin that was found so far."""
        bins = tuple(
            of_column if feature.is_nominal else Bins(low, of_column.highs)
            for feature, of_column, low in zip(self.plan.features, self.plan.bins, self.lows, strict=True)
        )
        return replace(self.plan, bins=bins, blocks=tuple(blocks))

    def _ends(self) -> list[Floats]:
        """Upper ends of the bins whose lower ends have to be found."""
        plan = self.plan
        return [
            bins.highs[:0] if f.is_nominal else bins.highs for f, bins in zip(plan.features, plan.bins, strict=True)
        ]

    # -- the plan: features and cuts -------------------------------------------------------------------------------

    def _known_plan(self) -> Header | None:
        """Return the plan of an interrupted packing of the same source; one that is spoilt is as good as none."""
        place = self.folder / PLAN
        try:
            root = JsonNode(parse(place.read_text(encoding="utf-8"), str(place), "plan"), str(place))
            members = root.fields(("key", "features", "labels", "cuts"))
            if self.identity is None or members["key"].value != self.key:
                return None
            features = tuple(read_feature(node) for node in members["features"])
            cuts = [node.numbers() for node in members["cuts"]]
            plan = _planned(features, tuple(node.text() for node in members["labels"]), cuts)
        except (OSError, ValueError):
            return None
        logger.info("%s: going on with an interrupted packing", self.folder)
        return plan

    def _make_plan(self) -> Header:
        with writing(self.folder):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
        finder: QuantileFinder | None = None
        rows = 0

        def look(chunk: Dataset) -> None:
            nonlocal finder, rows
            finder = finder or QuantileFinder(chunk.X.shape[1], self.max_bins)
            finder.add(numbers(_weighed(chunk)))
            rows += len(chunk)
            self.progress("counting values", rows)

        def first_pass() -> Iterator[Described]:
            for chunk in self.chunks.read(None):
                yield chunk.name, chunk.features, chunk.label_names  # which are held against those before, and then
                look(chunk)

        features, labels = agreed(first_pass())
        assert finder is not None
        finder.end_of_pass()
        while finder.unfinished:
            rows = 0
            for chunk in self.chunks.read(features):
                look(chunk)
            finder.end_of_pass()
        plan = _planned(features, labels, finder.quantiles)
        records = [feature_record(feature) for feature in features]
        cuts = [cut.tolist() for cut in finder.quantiles]
        _write_json(self.folder / PLAN, {"key": self.key, "features": records, "labels": list(labels), "cuts": cuts})
        return plan

    # -- the blocks ------------------------------------------------------------------------------------------------

    def _encode(self) -> None:
        waiting: list[Dataset] = []
        rows = 0
        for chunk in self.chunks.read(self.plan.features):
            waiting.append(_weighed(chunk))
            rows += len(chunk)
            while sum(map(len, waiting)) >= self.block_rows:
                waiting = self._write_first(waiting)
                self.progress("packing", rows)
        if sum(map(len, waiting)):
            self._write_first(waiting)
        self.progress("packing", rows)
        if not self.blocks:
            raise DataError("there are no rows to pack")

    def _write_first(self, waiting: list[Dataset]) -> list[Dataset]:
        """Write one block of the rows that wait; return the rest."""
        first_rows: list[Dataset] = []
        missing = self.block_rows
        while waiting and missing:
            chunk, waiting = waiting[0], waiting[1:]
            if len(chunk) > missing:
                waiting = [chunk[missing:], *waiting]
                chunk = chunk[:missing]
            first_rows.append(chunk)
            missing -= len(chunk)
        record, lows = self._done(len(self.blocks)) or self._write(len(self.blocks), first_rows)
        self.blocks.append(record)
        self.lows = [np.minimum(a, b) for a, b in zip(self.lows, lows, strict=True)]
        return waiting

    def _done(self, index: int) -> tuple[BlockRecord, list[Floats]] | None:
        """Return what an interrupted packing wrote down about a block, if all of it is there."""
        place = block_file(self.folder, index, "json")
        try:
            root = JsonNode(parse(place.read_text(encoding="utf-8"), str(place), "block"), str(place))
            members = root.fields(("block", "lows"))
            record = read_block(members["block"], self.plan)
            lows = [
                np.array([np.inf if low.value is None else low.number() for low in node]) for node in members["lows"]
            ]
            for low, ends in zip(lows, self._ends(), strict=True):
                is_known = np.isfinite(low)
                if len(low) != len(ends) or (Bins(ends, ends).codes(low)[is_known] != np.flatnonzero(is_known)).any():
                    return None
            StoredBlocks(self.folder, self._header([*self.blocks, record]))[index]
        except (OSError, ValueError):
            return None
        return record, lows

    def _write(self, index: int, chunks: list[Dataset]) -> tuple[BlockRecord, list[Floats]]:
        bins = self.plan.bins
        rows = sum(map(len, chunks))
        codes = np.empty((len(bins), rows), dtype=self.plan.codes)
        values = np.empty((len(bins), rows)) if self.keep_values else None
        lows: list[Floats] = []
        for j, (of_column, ends) in enumerate(zip(bins, self._ends(), strict=True)):
            column = np.concatenate([chunk.X.column(j) for chunk in chunks])
            codes[j] = of_column.codes(column)
            smallest = min_values(codes[j], column, len(ends)) if len(ends) else np.full(1, np.inf)
            if smallest[-1] < np.inf:  # known, and above all values that were counted
                raise self._changed()
            lows.append(smallest[:-1])
            if values is not None:
                values[j] = column
        truth = np.concatenate([label_words(chunk.Y) for chunk in chunks])
        weights = None
        if any(chunk.weights is not None for chunk in chunks):
            weights = np.concatenate([_weights(chunk) for chunk in chunks])
        record = write_block(self.folder, index, Block(codes, truth, weights, values))
        written = [[low if np.isfinite(low) else None for low in smallest.tolist()] for smallest in lows]
        _write_json(block_file(self.folder, index, "json"), {"block": record.plain(), "lows": written})
        return record, lows

    def _finish(self) -> None:
        if self.chunks.identity() != self.identity or any(np.isinf(low).any() for low in self.lows):
            raise self._changed()
        header = self._header(self.blocks)
        if header.weight > MOST_WEIGHT:
            raise DataError(f"the weights add up to {header.weight}; a store holds at most {MOST_WEIGHT}")
        write_bytes(self.folder / HEADER, header.text.encode())
        with writing(self.target):
            for index in range(len(self.blocks)):
                block_file(self.folder, index, "json").unlink()
            (self.folder / PLAN).unlink()
            if self.target.is_dir():
                self.target.rmdir()
            os.replace(self.folder, self.target)

    def _changed(self) -> DataError:
        return DataError(f"{self.target}: the data changed while it was packed; pack it again")


def _weighed(chunk: Dataset) -> Dataset:
    """Return the examples that count."""
    if chunk.weights is not None and not are_whole(chunk.weights, MOST_WEIGHT):
        raise DataError(f"{chunk.name}: a store needs whole numbers as weights; multiply them by a common factor first")
    return of_positive_weight(chunk)


def _weights(chunk: Dataset) -> Ints:
    return np.ones(len(chunk), dtype=np.int64) if chunk.weights is None else chunk.weights.astype(np.int64)


def _write_json(path: Path, content: Any) -> None:
    write_bytes(path, json.dumps(content).encode())
