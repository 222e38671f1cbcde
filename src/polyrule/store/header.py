"""The header of a store, ``header.json``: what its files hold, written and decoded into types in this one place."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.binning.bins import MAX_BINS, Bins, code_type, nominal_bins, word_count
from polyrule.data.documents import JsonNode, checksum, feature_record, is_sealed, parse, read_feature, sealed
from polyrule.data.table import Feature
from polyrule.errors import DataError
from polyrule.utils.budget import current_limits

FORMAT, VERSION = "polyrule-store", 1
HEADER = "header.json"
#: What a block is made of; weights and the original values may be absent.
PARTS = ("codes", "labels", "weights", "values")
#: Rows of a block have numbers of 32 bits; sums of weights are exact as doubles, too.
MOST_ROWS, MOST_WEIGHT = 2**32 - 1, 2**53


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Size of a file, and a checksum of everything that is read at a time: all of it, or each column of values."""

    size: int
    crc32: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """Rows of a block, what they weigh, and its files by part."""

    rows: int
    weight: int
    files: dict[str, FileRecord]

    def plain(self) -> dict[str, Any]:
        """Return the record in plain values."""
        files = {part: {"bytes": file.size, "crc32": list(file.crc32)} for part, file in self.files.items()}
        return {"rows": self.rows, "weight": self.weight, "files": files}


@dataclass(frozen=True, eq=False)
class Header:
    """What a store holds.

    Examples
    --------
    >>> files = {"codes": FileRecord(2, ("00000000",)), "labels": FileRecord(16, ("00000000",))}
    >>> bins = Bins(np.array([1.0]), np.array([2.0]))
    >>> header = Header((Feature("x"),), (bins,), ("a",), "|u1", (BlockRecord(2, 2, files),))
    >>> decode(header.text, "header.json").examples
    2
    """

    features: tuple[Feature, ...]
    bins: tuple[Bins, ...]  # one per feature
    labels: tuple[str, ...]
    codes: str  # one of "|u1", "<u2"; type of a code
    blocks: tuple[BlockRecord, ...]

    @property
    def examples(self) -> int:
        """Number of rows."""
        return sum(block.rows for block in self.blocks)

    @property
    def weight(self) -> int:
        """Weight of all rows."""
        return sum(block.weight for block in self.blocks)

    @property
    def size(self) -> int:
        """Bytes of all blocks."""
        return sum(file.size for block in self.blocks for file in block.files.values())

    def layout(self, part: str, rows: int) -> tuple[str, tuple[int, ...]]:
        """Return type and shape of one part of a block."""
        return {
            "codes": (self.codes, (len(self.features), rows)),
            "labels": ("<u8", (rows, word_count(len(self.labels)))),
            "weights": ("<i8", (rows,)),
            "values": ("<f8", (len(self.features), rows)),
        }[part]

    @property
    def text(self) -> str:
        """The text of the file; its last member is the digest."""
        return sealed(self._document)

    @cached_property
    def digest(self) -> str:
        """A checksum of everything above, and so of the checksums of all blocks."""
        return checksum(self._document)

    @property
    def _document(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "examples": self.examples,
            "weight": self.weight,
            "codes": self.codes,
            "labels": list(self.labels),
            "features": [_feature_record(f, b) for f, b in zip(self.features, self.bins, strict=True)],
            "blocks": [block.plain() for block in self.blocks],
        }


def read_header(folder: Path) -> Header:
    """Read the header of a store, and hold what it announces against the limits in force."""
    place, allowed = folder / HEADER, current_limits()
    try:
        with open(place, "rb") as stream:
            raw = stream.read() if allowed.max_bytes is None else stream.read(allowed.max_bytes + 1)
        allowed.check_bytes(str(place), len(raw))
        allowed.check_time(str(place))
        header = decode(raw.decode("utf-8"), str(place))
    except FileNotFoundError:
        raise DataError(f"{folder}: there is no packed store; make one with 'polyrule pack'") from None
    except UnicodeDecodeError as problem:
        raise DataError(f"{place}: not a header of a packed store (not UTF-8 at byte {problem.start})") from problem
    except OSError as problem:
        raise DataError(f"{place}: cannot be read ({problem.strerror})") from problem
    allowed.check_bytes(str(folder), header.size)
    allowed.check_cells(str(folder), header.examples * (len(header.features) + len(header.labels)))
    return header


def decode(text: str, source: str) -> Header:
    """Return the header that a text describes; whatever does not fit together is refused by name."""
    document = parse(text, source, "header of a packed store")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"{source}: this is not the header of a packed store")
    root = JsonNode(document, source)
    version = root.member("version")
    if version.value != VERSION or isinstance(version.value, bool):
        version.fail(f"of the format must be {VERSION}; pack the data again, or use the polyrule that packed it")
    if not is_sealed(document):
        raise DataError(
            f"{source}: the content does not match its checksum, so it was changed or damaged; pack the data again"
        )
    named = ("format", "version", "examples", "weight", "codes", "labels", "features", "blocks", "checksum")
    members = root.fields(named)
    codes = members["codes"].choice("|u1", "<u2")
    labels = tuple(node.text() for node in members["labels"])
    described = [read_feature_and_bins(node) for node in members["features"]]
    for name, entries in (("labels", labels), ("features", described)):
        if not entries:
            members[name].fail("must name at least one")
    widest = max(len(bins) for _, bins in described)
    if np.dtype(codes).itemsize < np.dtype(code_type(widest)).itemsize:
        members["codes"].fail(f"must be '<u2', because a feature has {widest} bins")
    features, bins = zip(*described, strict=True)
    header = Header(features, bins, labels, codes, ())
    header = replace(header, blocks=tuple(read_block(node, header) for node in members["blocks"]))
    if not header.blocks:
        members["blocks"].fail("must list at least one")
    for name in ("examples", "weight"):
        if members[name].whole(0, MOST_WEIGHT) != getattr(header, name):
            members[name].fail(f"must be {getattr(header, name)}, what the blocks add up to")
    return header


def read_feature_and_bins(node: JsonNode) -> tuple[Feature, Bins]:
    """Return a feature and its bins: one for every category, or intervals that ascend."""
    feature = read_feature(node, ("lows", "highs"))
    lows, highs = node.member("lows"), node.member("highs")
    if feature.is_nominal:
        if lows.value is not None or highs.value is not None:
            node.fail("is nominal and has lows or highs")
        if len(feature.categories) > MAX_BINS:
            node.fail(f"has {len(feature.categories)} categories; at most {MAX_BINS} can be packed")
        return feature, nominal_bins(feature)
    bins = Bins(lows.numbers(), highs.numbers())
    if len(bins.lows) != len(bins) or len(bins) > MAX_BINS:
        node.fail(f"must have as many lows ({len(bins.lows)}) as highs ({len(bins)}), at most {MAX_BINS}")
    if (bins.lows > bins.highs).any() or (bins.lows[1:] <= bins.highs[:-1]).any():
        node.fail("has bins that do not ascend")
    ends = np.concatenate([bins.lows, bins.highs])
    if feature.is_stepped and (ends != np.floor(ends)).any():
        node.fail(f"is {feature.kind} and has bins that do not end at whole numbers")
    if feature.has_categories and ((ends < 0) | (ends >= len(feature.categories))).any():
        node.fail(f"has bins outside its {len(feature.categories)} categories")
    return feature, bins


def read_block(node: JsonNode, header: Header) -> BlockRecord:
    """Return the record of one block; its files must have the sizes that follow from the header."""
    members = node.fields(("rows", "weight", "files"))
    rows = members["rows"].whole(1, MOST_ROWS)
    files = {}
    for part, file in members["files"].fields(PARTS[:2], PARTS[2:]).items():
        if part in PARTS[:2] or file.value is not None:
            files[part] = _read_file(file, part, rows, header)
    weight = members["weight"].whole(rows, MOST_WEIGHT)
    if "weights" not in files and weight != rows:
        members["weight"].fail(f"must be {rows}, the number of rows, where there are no weights")
    return BlockRecord(rows, weight, files)


def _read_file(node: JsonNode, part: str, rows: int, header: Header) -> FileRecord:
    members = node.fields(("bytes", "crc32"))
    dtype, shape = header.layout(part, rows)
    size, due = members["bytes"].whole(0, 2**63), np.dtype(dtype).itemsize * math.prod(shape)
    if size != due:
        members["bytes"].fail(f"must be {due} for {rows} rows, found {size}")
    sums = members["crc32"].items()
    expected = len(header.features) if part == "values" else 1
    if len(sums) != expected:
        members["crc32"].fail(f"must list {expected}, found {len(sums)}")
    for one in sums:
        if not re.fullmatch(r"[0-9a-f]{8}", one.text()):
            one.fail("must be eight hexadecimal digits")
    return FileRecord(size, tuple(one.value for one in sums))


def _feature_record(feature: Feature, bins: Bins) -> dict[str, Any]:
    record = feature_record(feature)
    if feature.is_nominal:
        return record
    return record | {"lows": bins.lows.tolist(), "highs": bins.highs.tolist()}
