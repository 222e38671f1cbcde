"""What the footer and the pages of a Parquet file say about themselves.

The footer's sums may be untrue, and Arrow allocates what a page's own header asks for. Headers are small structures,
each before its page; reading them takes one step per page and unpacks nothing. The footer is read here as well, because
pyarrow ends the process when it is asked about some broken columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from polyrule.data.formats.thrift import BrokenHeader, read_struct

LONGEST_HEADER = 1 << 24
"""Bytes; statistics of long texts are part of a header."""
PLAIN, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY = 0, 6, 7
"""Ways of storing values; the last two are for texts."""


@dataclass(frozen=True)
class Chunk:
    """What the footer says about the values of a column in a group of rows; `codec` is how they are compressed."""

    column: int
    codec: int
    values: int
    unpacked: int
    packed: int
    start: int


@dataclass(frozen=True)
class Page:
    """What a page says about itself.

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


def chunks(file: IO[bytes], columns: int) -> list[Chunk]:
    """The chunks of all columns, as the footer tells; every group of rows has one of each."""
    end = file.seek(0, os.SEEK_END) - 8
    file.seek(max(0, end))
    size = int.from_bytes(file.read(4), "little")
    file.seek(max(0, end - size))
    try:
        footer, _ = read_struct(file.read(size))
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
            if isinstance(dictionary, int) and 0 < dictionary < first:
                first = dictionary
            codec, values, unpacked, packed = (_size(about.get(number)) for number in (4, 5, 6, 7))
            found.append(Chunk(j, codec, values, unpacked, packed, first))
    return found


def pages(file: IO[bytes], start: int, size: int) -> Iterator[Page]:
    """The pages of a column chunk of `size` bytes from `start` on."""
    at, end = start, start + size
    while at < end:
        header, length = _read_header(file, at, end)
        details = header.get(5, header.get(8))  # of a data page, old or new; dictionaries have none
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
        try:
            return read_struct(file.read(min(room, end - at)))
        except IndexError:
            if room >= min(end - at, LONGEST_HEADER):
                raise BrokenHeader("a page header has no end") from None
            room *= 16
