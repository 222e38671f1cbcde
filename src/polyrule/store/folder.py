"""A store on disk: one folder of column blocks, each file with its size and checksum in a readable header.

::

    store/
      header.json      format, features with their bins, label names, blocks with sizes and checksums
      000000.codes     features x rows, one or two bytes a code
      000000.labels    rows x words of 64 label bits
      000000.weights   whole-number weights, where there are any
      000000.values    features x rows of doubles, where the original values are kept
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from polyrule.data.table import Feature
from polyrule.errors import DataError
from polyrule.store.bins import Bins
from polyrule.store.packed import Block, Packed, word_count

FORMAT, VERSION = "polyrule-store", 1
HEADER = "header.json"
PARTS = ("codes", "labels", "weights", "values")


class Store(Packed):
    """A packed data set in a folder; its blocks are mapped, not read, and checked when they are first used.

    Parameters
    ----------
    path : path
        The folder that `polyrule.pack` or ``polyrule pack`` made.
    """

    path: Path
    header: dict[str, Any]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        folder = Path(path)
        header = read_header(folder)
        features, bins = zip(*(_feature(record) for record in header["features"]), strict=True)
        super().__init__(features, bins, tuple(header["labels"]), _MappedBlocks(folder, header))
        object.__setattr__(self, "path", folder)
        object.__setattr__(self, "header", header)

    def __len__(self) -> int:
        return int(self.header["examples"])

    def __repr__(self) -> str:
        return (
            f"Store({str(self.path)!r}: {len(self)} examples x {len(self.features)} features, "
            f"{len(self.label_names)} labels)"
        )

    @property
    def total_weight(self) -> int:
        """Weight of all examples."""
        return int(self.header["weight"])

    @property
    def has_values(self) -> bool:
        """Whether the original values are kept beside the codes."""
        return bool(self.header["values"])

    @property
    def fingerprint(self) -> str:
        """A short text that changes with the data."""
        blocks = [[file["crc32"] for file in block["files"].values()] for block in self.header["blocks"]]
        return f"{zlib.crc32(json.dumps([self.header['features'], self.header['labels'], blocks]).encode()):08x}"

    def verify(self) -> None:
        """Read every block and hold it against its checksum."""
        for _ in self.blocks:
            pass


def is_store(path: Any) -> bool:
    """Whether a path is a folder with the header of a store."""
    return isinstance(path, (str, os.PathLike)) and (Path(path) / HEADER).is_file()


def read_header(folder: Path) -> dict[str, Any]:
    """Read and check the header of a store."""
    place = folder / HEADER
    try:
        header: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{folder}: there is no packed store; make one with 'polyrule pack'") from None
    except (OSError, ValueError) as problem:
        raise DataError(f"{place}: not a readable header ({problem}); pack the data again") from problem
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DataError(f"{place}: this is not the header of a packed store")
    if header.get("version") != VERSION:
        raise DataError(f"{place}: version {header.get('version')!r} of the format is not known; update polyrule")
    return header


def described(feature: Feature) -> dict[str, Any]:
    """Describe a feature in plain values."""
    record: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    record |= {"categories": list(feature.categories)} if feature.has_categories else {}
    return record | ({"part": feature.part} if feature.part else {})


def from_description(record: dict[str, Any]) -> Feature:
    """Return the feature that `described` described."""
    return Feature(record["name"], record["kind"], tuple(record.get("categories", ())), record.get("part", ""))


def feature_record(feature: Feature, bins: Bins) -> dict[str, Any]:
    """Describe a feature and its bins in plain values."""
    record = described(feature)
    if feature.is_nominal:
        return record
    return record | {"lows": bins.lows.tolist(), "highs": bins.highs.tolist()}


def _feature(record: dict[str, Any]) -> tuple[Feature, Bins]:
    feature = from_description(record)
    if feature.is_nominal:
        index = np.arange(len(feature.categories), dtype=np.float64)
        return feature, Bins(index, index)
    lows, highs = (np.array(record[end], dtype=np.float64) for end in ("lows", "highs"))
    return feature, Bins(lows, highs)


def block_file(folder: Path, index: int, part: str) -> Path:
    """Name of one file of a block."""
    return folder / f"{index:06d}.{part}"


def write_file(path: Path, data: Any) -> dict[str, Any]:
    """Write an array under a temporary name, then give it its own; return its size and checksum."""
    contiguous = np.ascontiguousarray(data)
    temporary = path.with_name(path.name + ".part")
    contiguous.tofile(temporary)
    os.replace(temporary, path)
    return {"bytes": contiguous.nbytes, "crc32": f"{zlib.crc32(_bytes(contiguous)):08x}"}


def write_store(folder: Path, packed: Packed, blocks: Iterable[Block]) -> None:
    """Write blocks of codes that are known already into a folder; `packed` says what they are codes of."""
    folder.mkdir(parents=True)
    records: list[dict[str, Any]] = []
    rows = weight = 0
    dtype = np.dtype(np.uint8)
    for index, block in enumerate(blocks):
        parts = {"codes": block.codes, "labels": block.truth, "weights": block.weights, "values": block.values}
        files = {
            part: write_file(block_file(folder, index, part), array)
            for part, array in parts.items()
            if array is not None
        }
        records.append({"rows": len(block), "files": files})
        rows += len(block)
        weight += len(block) if block.weights is None else int(block.weights.sum())
        dtype = block.codes.dtype
    header = {
        "format": FORMAT,
        "version": VERSION,
        "examples": rows,
        "weight": weight,
        "codes": dtype.str,
        "values": bool(records) and "values" in records[0]["files"],
        "labels": list(packed.label_names),
        "features": [feature_record(f, b) for f, b in zip(packed.features, packed.bins, strict=True)],
        "blocks": records,
    }
    (folder / HEADER).write_text(json.dumps(header, indent=1, ensure_ascii=False), encoding="utf-8")


def _bytes(array: Any) -> Any:
    """Return the bytes of an array where they lie."""
    return array.reshape(-1).view(np.uint8)


@dataclass
class _MappedBlocks(Sequence[Block]):
    """The blocks of a folder, mapped when they are asked for."""

    folder: Path
    header: dict[str, Any]

    def __post_init__(self) -> None:
        self._checked: set[int] = set()
        self._mapped: dict[int, Block] = {}

    def __len__(self) -> int:
        return len(self.header["blocks"])

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | Sequence[Block]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        if index not in self._mapped:
            self._mapped[index] = self._map(range(len(self))[index])
        return self._mapped[index]

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "header": self.header, "_checked": set(), "_mapped": {}}

    def _map(self, index: int) -> Block:
        record, header = self.header["blocks"][index], self.header
        rows, features = int(record["rows"]), len(header["features"])
        shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
            "codes": (header["codes"], (features, rows)),
            "labels": ("<u8", (rows, word_count(len(header["labels"])))),
            "weights": ("<i8", (rows,)),
            "values": ("<f8", (features, rows)),
        }
        parts = {part: self._part(index, part, record["files"][part], *shapes[part]) for part in record["files"]}
        self._checked.add(index)
        return Block(parts["codes"], parts["labels"], parts.get("weights"), parts.get("values"))

    def _part(self, index: int, part: str, file: dict[str, Any], dtype: Any, shape: tuple[int, ...]) -> Any:
        place = block_file(self.folder, index, part)
        try:
            size = place.stat().st_size
            if size != file["bytes"] or size != int(np.prod(shape)) * np.dtype(dtype).itemsize:
                raise DataError(
                    f"{place}: the block is damaged ({size} bytes instead of {file['bytes']}); pack it again"
                )
            mapped = np.memmap(place, dtype=dtype, mode="r", shape=shape) if size else np.zeros(shape, dtype)
        except OSError as problem:
            raise DataError(f"{place}: the block cannot be read ({problem.strerror}); pack the data again") from problem
        if index not in self._checked and f"{zlib.crc32(_bytes(mapped)):08x}" != file["crc32"]:
            raise DataError(f"{place}: the block is damaged (its checksum differs); pack the data again")
        return mapped
