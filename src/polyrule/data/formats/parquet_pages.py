"""What the pages of a Parquet file say about themselves.

The footer's sums may be untrue, and Arrow allocates what a page's own header asks for. Headers are small structures of
Thrift's compact protocol, each before its page; reading them takes one step per page and unpacks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

LONGEST_HEADER = 1 << 24
"""Bytes; statistics of long texts are part of a header."""
_STRUCT, _STOP = 12, 0
_DEEPEST = 16


@dataclass(frozen=True)
class Page:
    """Bytes of a page once unpacked and as it lies in the file, and how many values it holds."""

    unpacked: int
    packed: int
    values: int


class BrokenHeader(ValueError):
    """Bytes that are no page header."""


def pages(file: IO[bytes], start: int, size: int) -> Iterator[Page]:
    """The pages of a column chunk of `size` bytes from `start` on."""
    at, end = start, start + size
    while at < end:
        header, length = _read_header(file, at, end)
        details = header.get(5, header.get(8))  # of a data page, old or new; dictionaries have none
        values = details.get(1) if isinstance(details, dict) else 0
        page = Page(_size(header.get(2)), _size(header.get(3)), _size(values))
        yield page
        at += length + page.packed


def _size(number: object) -> int:
    if not isinstance(number, int) or number < 0:
        raise BrokenHeader("a page does not say how large it is")
    return number


def _read_header(file: IO[bytes], at: int, end: int) -> tuple[dict[int, Any], int]:
    """The fields of the header at an offset, and how long it is."""
    room = 256
    while True:
        file.seek(at)
        reader = _Compact(file.read(min(room, end - at)))
        try:
            return reader.struct(0), reader.at
        except IndexError:
            if room >= min(end - at, LONGEST_HEADER):
                raise BrokenHeader("a page header has no end") from None
            room *= 16


class _Compact:
    """Reads integers and structures; passes over everything else. IndexError: the bytes are not all there."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def struct(self, depth: int) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise BrokenHeader("a page header is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (mark := self._byte()) & 15 != _STOP:
            number = number + (mark >> 4) if mark >> 4 else self._integer()
            fields[number] = self._value(mark & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # true and false have no bytes of their own
            return kind == 1
        if kind in (4, 5, 6):
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == 3:
            return self._skip(1)
        if kind == 7:
            return self._skip(8)
        if kind == 8:
            return self._skip(self._varint())
        raise BrokenHeader(f"a page header has a field of type {kind}")  # lists and maps: there are none in it

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
            if shift > 63:
                raise BrokenHeader("a number in a page header has no end")

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _skip(self, size: int) -> None:
        self.at += size
        if self.at > len(self.raw):
            raise IndexError
