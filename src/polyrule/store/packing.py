"""Packing: two or three streaming passes from any source into a store."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.data.dataset import Dataset
from polyrule.data.table import Feature
from polyrule.errors import DataError
from polyrule.store.bins import Bins, check_max_bins, code_type, nominal_bins
from polyrule.store.cuts import CutFinder
from polyrule.store.folder import (
    FORMAT,
    HEADER,
    VERSION,
    Store,
    block_file,
    described,
    feature_record,
    from_description,
    write_file,
)
from polyrule.store.packed import label_words
from polyrule.store.sources import Pieces, open_pieces

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
        The folder to make. It appears when it is complete. An interrupted packing of the same files is resumed.
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
    check_max_bins(max_bins)
    target = Path(out)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target}: there is something already; choose another folder or remove it first")
    pieces = open_pieces(data, y, labels, weights, **options)
    packer = _Packer(pieces, target, max_bins, keep_values, block_rows, progress or (lambda what, rows: None))
    packer.run()
    return Store(target)


class _Packer:
    def __init__(
        self, pieces: Pieces, target: Path, max_bins: int, keep_values: bool, block_rows: int, progress: Progress
    ) -> None:
        self.pieces, self.target, self.max_bins = pieces, target, max_bins
        self.keep_values, self.block_rows, self.progress = keep_values, block_rows, progress
        self.folder = target.with_name(target.name + ".part")

    def run(self) -> None:
        plan = self._known_plan()
        if plan is None:
            plan = self._make_plan()
        features = tuple(map(from_description, plan["features"]))
        highs = [
            None if f.is_nominal else np.array(c, dtype=float) for f, c in zip(features, plan["cuts"], strict=True)
        ]
        blocks = self._encode(features, highs, tuple(plan["labels"]))
        self._finish(features, highs, tuple(plan["labels"]), blocks)

    # -- the plan: features and cuts -------------------------------------------------------------------------------

    def _key(self) -> Any:
        return [self.pieces.identity, self.max_bins, self.keep_values, self.block_rows]

    def _known_plan(self) -> Any:
        """Return the plan of an interrupted packing of the same source."""
        try:
            plan = json.loads((self.folder / PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if self.pieces.identity is None or plan["key"] != json.loads(json.dumps(self._key())):
            return None
        logger.info("%s: going on with an interrupted packing", self.folder)
        return plan

    def _make_plan(self) -> Any:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        finder: CutFinder | None = None
        rows = 0

        def look(piece: Dataset) -> None:
            nonlocal finder, rows
            finder = finder or CutFinder(piece.X.shape[1], self.max_bins)
            kept = _positive(piece)
            none = np.zeros(0)  # of categories
            finder.add([none if f.is_nominal else kept.X.column(j) for j, f in enumerate(kept.features)])
            rows += len(piece)
            self.progress("counting values", rows)

        features, labels = self.pieces.settle(look)
        assert finder is not None
        finder.end_of_pass()
        while finder.unfinished:
            rows = 0
            for piece in self.pieces.read(features):
                look(piece)
            finder.end_of_pass()
        cuts = [None if f.is_nominal else highs.tolist() for f, highs in zip(features, finder.cuts, strict=True)]
        records = [described(feature) for feature in features]
        plan = {"key": self._key(), "features": records, "labels": list(labels), "cuts": cuts}
        _write_json(self.folder / PLAN, plan)
        return plan

    # -- the blocks ------------------------------------------------------------------------------------------------

    def _encode(
        self, features: tuple[Feature, ...], highs: list[Floats | None], labels: tuple[str, ...]
    ) -> list[dict[str, Any]]:
        bins = [nominal_bins(f) if h is None else Bins(h, h) for f, h in zip(features, highs, strict=True)]
        dtype = code_type(max(map(len, bins), default=0))
        blocks: list[dict[str, Any]] = []
        waiting: list[Dataset] = []
        rows = 0
        for piece in self.pieces.read(features):
            waiting.append(_positive(piece))
            rows += len(piece)
            while sum(map(len, waiting)) >= self.block_rows:
                waiting = self._write_first(waiting, blocks, bins, dtype, labels)
                self.progress("packing", rows)
        if sum(map(len, waiting)):
            self._write_first(waiting, blocks, bins, dtype, labels)
        self.progress("packing", rows)
        if not blocks:
            raise DataError("there are no rows to pack")
        return blocks

    def _write_first(
        self, waiting: list[Dataset], blocks: list[dict[str, Any]], bins: list[Bins], dtype: Any, labels: Any
    ) -> list[Dataset]:
        """Write one block of the rows that wait; return the rest."""
        taken: list[Dataset] = []
        missing = self.block_rows
        while waiting and missing:
            piece, waiting = waiting[0], waiting[1:]
            if len(piece) > missing:
                waiting = [piece[missing:], *waiting]
                piece = piece[:missing]
            taken.append(piece)
            missing -= len(piece)
        blocks.append(self._write(len(blocks), taken, bins, dtype))
        return waiting

    def _write(self, index: int, pieces: list[Dataset], bins: list[Bins], dtype: Any) -> dict[str, Any]:
        done = block_file(self.folder, index, "json")
        if done.is_file():
            record: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
            return record
        rows = sum(map(len, pieces))
        codes = np.empty((len(bins), rows), dtype=dtype)
        values = np.empty((len(bins), rows)) if self.keep_values else None
        lows: list[Any] = []
        for j, of_column in enumerate(bins):
            column = np.concatenate([piece.X.column(j) for piece in pieces])
            codes[j] = of_column.codes(column)
            least = np.full(len(of_column), np.inf)
            known = ~np.isnan(column)
            np.minimum.at(least, codes[j][known], column[known])
            lows.append([low if np.isfinite(low) else None for low in least.tolist()])
            if values is not None:
                values[j] = column
        files = {
            "codes": write_file(block_file(self.folder, index, "codes"), codes),
            "labels": write_file(
                block_file(self.folder, index, "labels"), np.concatenate([label_words(p.Y) for p in pieces])
            ),
        }
        if any(piece.weights is not None for piece in pieces):
            weights = np.concatenate([_weights(piece) for piece in pieces])
            files["weights"] = write_file(block_file(self.folder, index, "weights"), weights)
        if values is not None:
            files["values"] = write_file(block_file(self.folder, index, "values"), values)
        weight = sum(int(_weights(piece).sum()) for piece in pieces)
        record = {"rows": rows, "weight": weight, "files": files, "lows": lows}
        _write_json(done, record)
        return record

    def _finish(
        self,
        features: tuple[Feature, ...],
        highs: list[Floats | None],
        labels: tuple[str, ...],
        blocks: list[dict[str, Any]],
    ) -> None:
        records = []
        for j, (feature, ends) in enumerate(zip(features, highs, strict=True)):
            if ends is None:
                records.append(feature_record(feature, nominal_bins(feature)))
                continue
            found = [[np.inf if low is None else low for low in block["lows"][j]] for block in blocks]
            lows = np.min(np.array(found), axis=0) if len(ends) else ends
            records.append(feature_record(feature, Bins(lows, ends)))
        widest = max(len(f.categories) if h is None else len(h) for f, h in zip(features, highs, strict=True))
        header = {
            "format": FORMAT,
            "version": VERSION,
            "examples": sum(block["rows"] for block in blocks),
            "weight": sum(block["weight"] for block in blocks),
            "codes": np.dtype(code_type(widest)).str,
            "values": self.keep_values,
            "labels": list(labels),
            "features": records,
            "blocks": [{"rows": block["rows"], "files": block["files"]} for block in blocks],
        }
        for index in range(len(blocks)):
            block_file(self.folder, index, "json").unlink()
        _write_json(self.folder / HEADER, header)
        (self.folder / PLAN).unlink()
        if self.target.is_dir():
            self.target.rmdir()
        os.replace(self.folder, self.target)


def _positive(piece: Dataset) -> Dataset:
    """Leave out examples of weight 0, as a fit does."""
    if piece.weights is None or (piece.weights > 0).all():
        return piece
    return piece[piece.weights > 0]


def _weights(piece: Dataset) -> Any:
    if piece.weights is None:
        return np.ones(len(piece), dtype="<i8")
    whole = piece.weights.astype("<i8")
    if (whole != piece.weights).any() or (whole < 0).any():
        raise DataError(f"{piece.name}: a store needs whole numbers as weights; multiply them by a common factor first")
    return whole


def _write_json(path: Path, content: Any) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    os.replace(temporary, path)
