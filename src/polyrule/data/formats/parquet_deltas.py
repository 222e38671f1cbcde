"""How large the texts of a Parquet page become that are stored as differences from the text before (DELTA_BYTE_ARRAY).

A page of a few bytes can hold gigabytes that way. What it will become is the sum of two lists of lengths: of what each
text takes over from the one before, and of what it adds. Both stand at the beginning, packed; only they are decoded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyrule.data.formats.parquet_pages import Page
from polyrule.data.formats.thrift import BrokenHeader, read_signed, read_varint

_ROWS = 4096  # lengths decoded at a time, however many a block holds
_MASK = (1 << 32) - 1
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


def unpacked_texts(page: Page, packed: bytes, leaf: Any, codec: int) -> int:
    """Bytes of all texts of a page; `leaf` is its column in the schema, `codec` how Parquet numbers compressions."""
    import pyarrow

    levels = page.levels or 0  # of a page of the second kind, before what is compressed
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
    taken, at = _sum_of_lengths(values, at, page.values)
    added, _ = _sum_of_lengths(values, at, page.values)
    return taken + added


def _sum_of_lengths(raw: bytes, at: int, most: int) -> tuple[int, int]:
    """The sum of a list of lengths packed as DELTA_BINARY_PACKED, at most `most` of them, and where the list ends."""
    try:
        block, at = read_varint(raw, at)
        parts, at = read_varint(raw, at)
        count, at = read_varint(raw, at)
        first, at = read_signed(raw, at)
        if not parts or block % (32 * parts) or not block or count > most:
            raise BrokenHeader("a page of texts has lengths that cannot be read")
        last = np.int64(_check(np.array([first & _MASK]))[0]) if count else np.int64(0)
        total, left = int(last), count - 1
        while left > 0:
            least, at = read_signed(raw, at)
            widths, at = raw[at : at + parts], at + parts
            for width in widths:
                size = block // parts
                for start in range(0, min(size, left), _ROWS):
                    rows = min(_ROWS, size - start, left - start)
                    deltas = _unpack(raw, at + start * width // 8, rows, width)
                    lengths = _check((last + np.cumsum(deltas + (least & _MASK))) & _MASK)
                    last = lengths[-1]
                    total += int(lengths.sum())
                at += size * width // 8
                left -= size
                if left <= 0:
                    break
            if len(widths) < parts:
                raise IndexError
    except IndexError:
        raise BrokenHeader("a page of texts ends within its lengths") from None
    return total, at


def _unpack(raw: bytes, at: int, rows: int, width: int) -> Any:
    """Numbers of `width` bits each."""
    if width > 32:
        raise BrokenHeader("a page of texts has lengths that cannot be read")
    if at + (rows * width + 7) // 8 > len(raw):
        raise IndexError
    if not width:
        return np.zeros(rows, dtype=np.int64)
    bits = np.unpackbits(np.frombuffer(raw, np.uint8, (rows * width + 7) // 8, at), bitorder="little")
    return bits[: rows * width].reshape(rows, width) @ (np.int64(1) << np.arange(width, dtype=np.int64))


def _check(lengths: Any) -> Any:
    """Numbers of 32 bits with a sign, as Arrow takes them: a length below 0 is refused."""
    if np.any(lengths >> 31):
        raise BrokenHeader("a page of texts has lengths below 0")
    return lengths
