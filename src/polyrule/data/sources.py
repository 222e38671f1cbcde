"""Where bytes come from: files, standard input and open streams, compressed or not, as clean UTF-8 and whole lines."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from polyrule.errors import DataError, LimitError
from polyrule.utils.budget import Budget
from polyrule.utils.messages import argument

BLOCK_BYTES = 1 << 20

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstandard"}
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, OSError, ValueError)


class Source:
    """Something that can be read from its beginning as often as needed.

    ``-`` is standard input. A stream is copied to a temporary file first, so that a second pass is possible. By default
    the content, and what is built from it, may have 2 GiB for a small compressed source and 32 times its size for a
    large one; text is UTF-8 (or UTF-16 with a byte order mark), else Windows-1252.
    """

    def __init__(self, origin: Any, max_bytes: int | None = None, encoding: str | None = None) -> None:
        self._max_bytes = max_bytes
        self.encoding = encoding
        self.path: Path | None = None
        self._copy: IO[bytes] | None = None
        if origin == "-":
            self.name = "standard input"
            self.budget = self._keep(sys.stdin.buffer)
        elif hasattr(origin, "read"):
            self.name = str(getattr(origin, "name", "stream"))
            self.budget = self._keep(origin)
        else:
            self.path = Path(os.fspath(origin))
            self.name = str(self.path)
            self.budget = Budget(self.name, _file_size(self.path), max_bytes)

    def _keep(self, stream: IO[bytes]) -> Budget:
        """Copy a stream that can be read only once to a temporary file, on disk if it is large."""
        self._copy = tempfile.SpooledTemporaryFile(max_size=1 << 26)  # noqa: SIM115 (closed with the source)
        weakref.finalize(self, self._copy.close)
        budget, total = Budget(self.name, 0, self._max_bytes), 0
        while block := stream.read(BLOCK_BYTES):
            if not isinstance(block, bytes):
                raise DataError("a stream to read data from must be opened in binary mode")
            total += len(block)
            budget.tick()
            if budget.limits_content:
                budget.bytes(total, "a stream")
            self._copy.write(block)
        return Budget(self.name, total, self._max_bytes)

    def _open_raw(self) -> AbstractContextManager[IO[bytes]]:
        """Open the bytes as they are stored; a copy stays open for the next pass."""
        if self._copy is not None:
            self._copy.seek(0)
            return nullcontext(self._copy)
        assert self.path is not None
        try:
            return self.path.open("rb")
        except OSError as problem:
            raise DataError(f"{self.name}: cannot be opened ({problem.strerror})") from problem

    @property
    def compression(self) -> str | None:
        """Name of the compression, found in the first bytes."""
        with self._open_raw() as raw:
            start = raw.read(6)
        return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)

    def open(self) -> Bytes:
        """Open the content, decompressed."""
        compression = self.compression
        with ExitStack() as opened:
            stream: Any = opened.enter_context(self._open_raw())
            if compression is not None:
                stream = opened.enter_context(closing(_decompress(stream, compression, self.name)))
            return Bytes(stream, opened.pop_all(), compression, self.budget)

    def seekable(self) -> Any:
        """Return the path, or a decompressed copy, for formats that are read from their end."""
        if self.path is not None and self.compression is None:
            return self.path
        copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the source)
        weakref.finalize(self, copy.close)
        with self.open() as stream:
            while block := stream.read():
                copy.write(block)
        copy.seek(0)
        return copy

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first bytes of the decompressed content; damaged compression gives what can be read."""
        with self.open() as stream:
            return stream.read(size)


class Bytes:
    """A decompressed byte stream that stops with a clear error at damage or at the size limit."""

    def __init__(self, stream: Any, opened: ExitStack, compression: str | None, budget: Budget) -> None:
        self._stream, self._opened = stream, opened
        self._name, self._compression, self._budget = budget.name, compression, budget
        limited = compression is not None or budget.limits_content
        self._limit = budget.most_bytes if limited else sys.maxsize
        self._total = 0

    def read(self, size: int = BLOCK_BYTES) -> bytes:
        """Read up to `size` bytes; fewer only at the end."""
        self._budget.tick()
        parts, remaining = [], size
        while remaining > 0:
            try:
                part = self._stream.read(remaining)
            except MemoryError:
                raise
            except Exception as problem:
                if self._compression and (isinstance(problem, _DAMAGE) or type(problem).__name__ == "ZstdError"):
                    raise DataError(
                        f"{self._name}: the {self._compression} data is damaged or cut off "
                        f"after {self._total} bytes of content ({problem})"
                    ) from problem
                raise DataError(f"{self._name}: cannot be read ({problem})") from problem
            if not part:
                break
            parts.append(part)
            remaining -= len(part)
            self._total += len(part)
            if self._total > self._limit:
                what = f"the {self._compression} data expands to" if self._compression else "the file holds"
                raise LimitError(
                    f"{self._name}: {what} more than {self._limit} bytes; pass a larger max_bytes if you trust the file"
                )
        return b"".join(parts)

    def __enter__(self) -> Bytes:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def _file_size(path: Path) -> int:
    try:
        status = path.stat()
    except FileNotFoundError as problem:
        raise DataError(f"{path}: no such file") from problem
    except (OSError, ValueError) as problem:  # no permission on the way there, a name with a zero byte
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{path}: cannot be opened ({reason})") from problem
    if stat.S_ISDIR(status.st_mode):
        raise DataError(f"{path}: is a directory, expected a file")
    return status.st_size


def _decompress(raw: IO[bytes], compression: str, name: str) -> Any:
    if compression == "gzip":
        return gzip.GzipFile(mode="rb", fileobj=raw)
    if compression == "bzip2":
        return bz2.BZ2File(raw)
    if compression == "xz":
        return lzma.LZMAFile(raw)
    try:
        import zstandard
    except ImportError as problem:
        raise DataError(
            f"{name}: reading zstandard files needs the package zstandard; pip install polyrule[files]"
        ) from problem
    return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False)


LONGEST_LINE = 1 << 26


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines, and the number (counted from 1) of the first of them."""

    first: int
    text: bytes

    def below(self, line: int) -> LineBlock:
        """Return the lines from this one on; none where all stand above it."""
        if line <= self.first:
            return self
        parts = self.text.split(b"\n", line - self.first)
        return LineBlock(line, parts[-1] if len(parts) > line - self.first else b"")

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
        parts: list[bytes] = []  # a line that goes on in the next block
        holding = 0
        waiting, number, done = b"", 1, False
        while not done:
            chunk = stream.read(max(block_bytes, 4) if number == 1 else block_bytes)  # a byte order mark in one piece
            done = not chunk
            text = waiting + decoder.feed(chunk, done)
            text, waiting = _unix_ends(text, done) if b"\r" in text else (text, b"")
            end = len(text) if done else text.rfind(b"\n") + 1
            if end or done:
                whole = b"".join([*parts, text[:end]])
                parts, text, holding = [], text[end:], 0
                if whole:
                    yield LineBlock(number, whole)
                    number += whole.count(b"\n")
            parts.append(text)
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
        self._name, self._encoding = name, encoding
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
        if self._encoding is None and chunk.isascii() and not self._decoder.getstate()[0]:
            return chunk  # plain ASCII needs no decoding
        return self._decode(chunk, final)

    def _choose(self, chunk: bytes) -> bytes:
        if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = codecs.getincrementaldecoder("utf-16")("strict")
            self._encoding = "utf-16"
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
            if self._encoding is not None or self._beyond_ascii:
                what = "neither UTF-8 nor one other encoding throughout"
                if self._encoding:
                    what = f"not valid {self._encoding}"
                raise DataError(
                    f"{self._name}: the text is {what}; pass {argument('encoding')} to say what it is"
                ) from problem
            self._encoding = "windows-1252"
            self._decoder = codecs.getincrementaldecoder("cp1252")("strict")
            pending = state[0] if isinstance(state[0], bytes) else b""
            return self._decode(pending + chunk, final)
