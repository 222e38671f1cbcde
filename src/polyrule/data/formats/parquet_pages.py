"""Sizes that the footer and the pages of a Parquet file state, compared with the budget before pyarrow unpacks any.

The footer's sums may be untrue, and Arrow allocates what a page's own header asks for: pyarrow 26 reads a file of 3 kB
into 3.4 GB. Headers are small structures, each before its page; reading them takes one step per page and unpacks
nothing. The footer is read here as well, because pyarrow 26 still ends the process when it reads some broken
columns ("terminate called after throwing an instance of 'parquet::ParquetException'").

Both are structures in Thrift's compact protocol. A page of texts stored as differences from the text before
(DELTA_BYTE_ARRAY) can hold gigabytes in a few bytes. What it will become is the sum of two lists of lengths: of what
each text takes over from the one before, and of what it adds. Both stand at the beginning, packed; only they are
decoded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

LONGEST_HEADER = 1 << 24
"""Bytes; statistics of long texts are part of a header."""
PLAIN, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY = 0, 6, 7
"""Ways of storing values; the last two are for texts."""


@dataclass(frozen=True)
class ColumnChunk:
    """Description by the footer of the values of a column in a group of rows; `codec` is their compression."""

    column: int
    codec: int
    values: int
    unpacked: int
    packed: int
    start: int


@dataclass(frozen=True)
class Page:
    """Header of a page.

    `unpacked` and `packed` are its bytes once unpacked and as they lie in the file from `start` on. `levels` is the
    size of what lies before the values and is never compressed; None for old pages, where it is compressed with them.
    """

    unpacked: int
    packed: int
    values: int
    start: int
    encoding: int
    levels: int | None
    compressed: bool


def chunks(file: IO[bytes], columns: int) -> list[ColumnChunk]:
    """The chunks of all columns, as the footer tells; every group of rows has one of each."""
    end = file.seek(0, os.SEEK_END) - 8
    file.seek(max(0, end))
    size = int.from_bytes(file.read(4), "little")
    file.seek(max(0, end - size))
    try:
        footer = Compact(file.read(size)).struct()
    except IndexError:
        raise BrokenHeader("its footer has no end") from None
    found = []
    for group in _dicts(footer.get(4, [])):
        members = _dicts(group.get(1))
        if len(members) != columns:
            raise BrokenHeader("a group of rows lacks columns")
        for j, member in enumerate(members):
            about = member.get(3)
            if not isinstance(about, dict):
                raise BrokenHeader("its footer does not describe a column")
            first, dictionary = _size(about.get(9)), about.get(11)
            codec, values, unpacked, packed = (_size(about.get(number)) for number in (4, 5, 6, 7))
            if not values and not first:  # a group without rows has no pages of data, and Arrow reads none
                continue
            if isinstance(dictionary, int) and 0 < dictionary < first:
                first = dictionary
            found.append(ColumnChunk(j, codec, values, unpacked, packed, first))
    return found


def pages(file: IO[bytes], start: int, size: int) -> Iterator[Page]:
    """The pages of a column chunk of `size` bytes from `start` on."""
    at, end = start, start + size
    while at < end:
        header, length = _read_header(file, at, end)
        details = header.get(5, header.get(8))  # entries for data pages, old or new; dictionaries have none
        details = details if isinstance(details, dict) else {1: 0}
        page = Page(
            unpacked=_size(header.get(2)),
            packed=_size(header.get(3)),
            values=_size(details.get(1)),
            start=at + length,
            encoding=_size(details.get(2 if 5 in header else 4, PLAIN)),
            levels=None if 5 in header else _size(details.get(5, 0)) + _size(details.get(6, 0)),
            compressed=details.get(7) is not False,
        )
        yield page
        at += length + page.packed


def _dicts(value: object) -> list[dict[int, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BrokenHeader("its footer does not describe its groups of rows")
    return value


def _size(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise BrokenHeader("a page or column does not say how large it is")
    return number


def _read_header(file: IO[bytes], at: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the header at an offset, and how long it is."""
    room = 256
    while True:
        file.seek(at)
        reader = Compact(file.read(min(room, end - at)))
        try:
            return reader.struct(), reader.at
        except IndexError:
            if room >= min(end - at, LONGEST_HEADER):
                raise BrokenHeader("a page header has no end") from None
            room *= 16


_STOP, _LIST, _SET, _STRUCT = 0, 9, 10, 12
_DEEPEST = 16


class BrokenHeader(ValueError):
    """Bytes that are not what they should be."""


class Compact:
    """Reads Thrift's compact protocol from bytes, from `at` on. IndexError: the bytes are not all there."""

    def __init__(self, raw: bytes, at: int = 0) -> None:
        self.raw, self.at = raw, at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read the fields of a structure by number; texts are passed over."""
        if depth > _DEEPEST:
            raise BrokenHeader("a header is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (mark := self.take(1)[0]) & 15 != _STOP:
            number = number + (mark >> 4) if mark >> 4 else self.signed()
            kind = mark & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)  # without bytes
        return fields

    def varint(self) -> int:
        """Read a number of 7 bits per byte."""
        number = shift = 0
        while shift <= 63:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
        raise BrokenHeader("a number in it has no end")

    def signed(self) -> int:
        """Read a number that may be below 0."""
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def take(self, size: int) -> bytes:
        """Read `size` bytes."""
        self.at += size
        if self.at > len(self.raw):
            raise IndexError
        return self.raw[self.at - size : self.at]

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self.signed()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth)
        sizes = {1: 1, 2: 1, 3: 1, 7: 8}
        if kind not in (*sizes, 8):
            raise BrokenHeader(f"a header has a field of type {kind}")  # maps: there are none in it
        self.take(self.varint() if kind == 8 else sizes[kind])
        return None

    def _list(self, depth: int) -> list[Any]:
        mark = self.take(1)[0]
        count = mark >> 4 if mark >> 4 < 15 else self.varint()
        if depth > _DEEPEST:
            raise BrokenHeader("a header is nested too deeply")
        if count > len(self.raw) - self.at:
            raise IndexError  # each takes a byte at least
        return [self._value(mark & 15, depth + 1) for _ in range(count)]


_ROWS = 4096  # lengths decoded at a time, however many a block holds
_MASK = (1 << 32) - 1
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


def unpacked_texts(page: Page, packed: bytes, leaf: Any, codec: int) -> int:
    """Bytes of all texts of a page; `leaf` is its column in the schema, `codec` how Parquet numbers compressions."""
    import pyarrow

    levels = page.levels or 0  # in a page of the second kind, before the compressed part
    values = packed[levels:]
    if codec and page.compressed:
        if codec not in _CODECS:
            raise BrokenHeader("texts stored as differences are compressed in a way that is not read")
        size = max(0, page.unpacked - levels)
        values = pyarrow.Codec(_CODECS[codec]).decompress(values, decompressed_size=size, asbytes=True)
    at = 0
    if page.levels is None:
        for deepest in (leaf.max_repetition_level, leaf.max_definition_level):
            if deepest:
                at += 4 + int.from_bytes(values[at : at + 4], "little")
    reader = Compact(values, at)
    return _sum_of_lengths(reader, page.values) + _sum_of_lengths(reader, page.values)


def _sum_of_lengths(reader: Compact, most: int) -> int:
    """The sum of a list of lengths packed as DELTA_BINARY_PACKED, at most `most` of them."""
    try:
        block, parts, count, first = reader.varint(), reader.varint(), reader.varint(), reader.signed()
        if not parts or block % (32 * parts) or not block or count > most:
            raise BrokenHeader("a page of texts has lengths that cannot be read")
        last = np.int64(_check(np.array([first & _MASK]))[0]) if count else np.int64(0)
        total, left, size = int(last), count - 1, block // parts
        while left > 0:
            least = reader.signed()
            for width in reader.take(parts):
                packed = reader.at
                for start in range(0, min(size, left), _ROWS):
                    rows = min(_ROWS, size - start, left - start)
                    deltas = _unpack(reader.raw, packed + start * width // 8, rows, width)
                    lengths = _check((last + np.cumsum(deltas + (least & _MASK))) & _MASK)
                    last = lengths[-1]
                    total += int(lengths.sum())
                reader.at = packed + size * width // 8
                left -= size
                if left <= 0:
                    break
    except IndexError:
        raise BrokenHeader("a page of texts ends within its lengths") from None
    return total


def _unpack(raw: bytes, at: int, rows: int, width: int) -> Any:
    """Numbers of `width` bits each."""
    if width > 32:
        raise BrokenHeader("a page of texts has lengths that cannot be read")
    if at + (rows * width + 7) // 8 > len(raw):
        raise IndexError
    bits = np.unpackbits(np.frombuffer(raw, np.uint8, (rows * width + 7) // 8, at), bitorder="little")
    return bits[: rows * width].reshape(rows, width) @ (np.int64(1) << np.arange(width, dtype=np.int64))


def _check(lengths: Any) -> Any:
    """Numbers of 32 bits with a sign, as Arrow takes them: a length below 0 is refused."""
    if np.any(lengths >> 31):
        raise BrokenHeader("a page of texts has lengths below 0")
    return lengths
