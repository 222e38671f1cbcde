r"""Text in blocks of whole lines: valid UTF-8, ``\n`` line ends, line numbers kept."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from polyrule.data.sources import BLOCK_BYTES, Source
from polyrule.errors import DataError

LONGEST_LINE = 1 << 26


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines, and the number (counted from 1) of the first of them."""

    first: int
    text: bytes

    def lines(self) -> list[str]:
        """Return the lines without their line ends."""
        lines = self.text.decode().split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return lines


def line_blocks(source: Source, block_bytes: int | None = None) -> Iterator[LineBlock]:
    """Cut a source into blocks of whole lines.

    A file that is not valid UTF-8 is read as Windows-1252, unless it already showed valid UTF-8 beyond ASCII: then it
    is neither, and the caller must say what it is.
    """
    block_bytes = min(block_bytes or BLOCK_BYTES, BLOCK_BYTES)
    with source.open() as stream:
        decoder = _Utf8(source.name, source.encoding)
        held: list[bytes] = []  # a line that goes on in the next block
        holding = 0
        waiting, number, done = b"", 1, False
        while not done:
            chunk = stream.read(max(block_bytes, 4) if number == 1 else block_bytes)  # a byte order mark in one piece
            done = not chunk
            text = waiting + decoder.feed(chunk, done)
            text, waiting = _unix_ends(text, done) if b"\r" in text else (text, b"")
            end = len(text) if done else text.rfind(b"\n") + 1
            if end or done:
                whole = b"".join([*held, text[:end]])
                held, text, holding = [], text[end:], 0
                if whole:
                    yield LineBlock(number, whole)
                    number += whole.count(b"\n")
            held.append(text)
            holding += len(text)
            if holding > LONGEST_LINE:
                raise DataError(
                    f"{source.name}, line {number}: the line is longer than {LONGEST_LINE >> 20} MiB; "
                    "this does not look like a text data file"
                )


def _unix_ends(text: bytes, done: bool) -> tuple[bytes, bytes]:
    r"""Turn every line end into ``\n``; a final ``\r`` waits for what follows it."""
    tail = b""
    if text.endswith(b"\r") and not done:
        text, tail = text[:-1], b"\r"
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), tail


class _Utf8:
    """Bytes of some encoding in, UTF-8 out."""

    def __init__(self, name: str, encoding: str | None) -> None:
        self._name, self._given = name, encoding
        self._started = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._beyond_ascii = False
        if encoding is not None:
            try:
                if not codecs.lookup(encoding)._is_text_encoding:  # hex, zlib and others turn bytes into bytes
                    raise LookupError(encoding)
                self._decoder = codecs.getincrementaldecoder(encoding)("strict")
            except (LookupError, ValueError) as problem:
                raise DataError(f"{name}: unknown text encoding {encoding!r}") from problem

    def feed(self, chunk: bytes, final: bool) -> bytes:
        if not self._started:
            self._started = True
            if self._decoder is None:
                chunk = self._choose(chunk)
        assert self._decoder is not None
        if self._given is None and chunk.isascii() and not self._decoder.getstate()[0]:
            return chunk  # plain ASCII needs no decoding
        return self._decode(chunk, final)

    def _choose(self, chunk: bytes) -> bytes:
        if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = codecs.getincrementaldecoder("utf-16")("strict")
            self._given = "utf-16"
            return chunk
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        return chunk.removeprefix(codecs.BOM_UTF8)

    def _decode(self, chunk: bytes, final: bool) -> bytes:
        assert self._decoder is not None
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(chunk, final)
            self._beyond_ascii |= not text.isascii()  # what waits for its next byte has shown nothing yet
            return text.encode()
        except UnicodeError as problem:
            if self._given is not None or self._beyond_ascii:
                what = f"not valid {self._given}" if self._given else "neither UTF-8 nor one other encoding throughout"
                raise DataError(f"{self._name}: the text is {what}; pass encoding= to say what it is") from problem
            self._given = "windows-1252"
            self._decoder = codecs.getincrementaldecoder("cp1252")("strict")
            pending = state[0] if isinstance(state[0], bytes) else b""
            return self._decode(pending + chunk, final)
