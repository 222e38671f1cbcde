"""Structures in Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages."""

from __future__ import annotations

from typing import Any

_STOP, _LIST, _SET, _STRUCT = 0, 9, 10, 12
_DEEPEST = 16


class BrokenHeader(ValueError):
    """Bytes that are not what they should be."""


def read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """A number of 7 bits per byte, and where it ends. IndexError: the bytes are not all there."""
    number = shift = 0
    while True:
        byte = raw[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at
        if shift > 63:
            raise BrokenHeader("a number in it has no end")


def read_signed(raw: bytes, at: int) -> tuple[int, int]:
    """A number that may be below 0, and where it ends."""
    number, at = read_varint(raw, at)
    return (number >> 1) ^ -(number & 1), at


def read_struct(raw: bytes) -> tuple[dict[int, Any], int]:
    """The fields of a structure by number, and where it ends. Texts are passed over. IndexError: bytes are missing."""
    reader = _Compact(raw)
    return reader.struct(0), reader.at


class _Compact:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def struct(self, depth: int) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise BrokenHeader("a header is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (mark := self._byte()) & 15 != _STOP:
            number = number + (mark >> 4) if mark >> 4 else self._integer()
            kind = mark & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)  # no bytes of their own
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (1, 2, 3):
            return self._skip(1)
        if kind == 7:
            return self._skip(8)
        if kind == 8:
            length, self.at = read_varint(self.raw, self.at)
            return self._skip(length)
        if kind in (_LIST, _SET):
            return self._list(depth)
        raise BrokenHeader(f"a header has a field of type {kind}")  # maps: there are none in it

    def _list(self, depth: int) -> list[Any]:
        mark = self._byte()
        count = mark >> 4
        if count == 15:
            count, self.at = read_varint(self.raw, self.at)
        if depth > _DEEPEST:
            raise BrokenHeader("a header is nested too deeply")
        if count > len(self.raw) - self.at:
            raise IndexError  # each takes a byte at least
        return [self._value(mark & 15, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _integer(self) -> int:
        number, self.at = read_signed(self.raw, self.at)
        return number

    def _skip(self, size: int) -> None:
        self.at += size
        if self.at > len(self.raw):
            raise IndexError
