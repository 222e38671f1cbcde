"""Which format a file has: by content where that is telling, by its ending otherwise."""

from __future__ import annotations

import re
from typing import Literal, get_args

from polyrule.data.sources import Source
from polyrule.errors import DataError, OptionError
from polyrule.utils.messages import argument

Format = Literal["arff", "csv", "tsv", "parquet", "jsonl", "libsvm", "xlsx"]

ENDINGS: dict[str, Format] = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
}
PACKED = (".gz", ".bz2", ".xz", ".zst")
_ARFF = re.compile(rb"\s*@(relation|attribute)\s", re.IGNORECASE)
_LIBSVM = re.compile(rb"(?:[^\s:#]+|\d+:[-+.\deE]+)?(?:[ \t]+\d+:[-+.\deE]+)*[ \t]*(?:#.*)?")
_XC_HEADER = re.compile(rb"\s*\d+\s+\d+\s+\d+\s*")


def ending(source: Source) -> str:
    """The ending of a file's name without that of its compression, in lower case.

    Examples
    --------
    >>> import io
    >>> ending(Source(io.BytesIO(b"")))
    ''
    """
    name = "" if source.path is None else unpacked_name(source.path.name.lower())
    return name[name.rfind(".") :] if "." in name else ""


def unpacked_name(name: str) -> str:
    """Return the name of a file without the ending of its compression."""
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name


def find_format(source: Source, declared: str | None = None) -> Format:
    """Find the format of a source, or check the one that was given."""
    formats = get_args(Format)
    if declared is not None:
        if declared not in formats:
            raise OptionError(parameter="format", value=declared, allowed=f"one of {', '.join(formats)}")
        return declared  # type: ignore[return-value]
    head = source.head()
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise DataError(
            f"{source.name}: this is a workbook of an old kind or with a password; save it as .xlsx without one"
        )
    return _by_content(head) or ENDINGS.get(ending(source)) or _guess(source)


def _by_content(head: bytes) -> Format | None:
    """Formats that cannot be mistaken for another one."""
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return "xlsx"
    head = _as_utf8(head)
    for line in head.split(b"\n"):
        line = line.strip()
        if not line or line.startswith(b"%"):
            continue
        if _ARFF.match(line + b" "):
            return "arff"
        if line.startswith((b"{", b"[{")) and b":" in line and b'"' in line:
            return "jsonl"
        return None
    return None


def _guess(source: Source) -> Format:
    lines = [line for line in _as_utf8(source.head()).split(b"\n") if line.strip()]
    if not lines:
        raise DataError(f"{source.name}: the file is empty")
    if b"\x00" in lines[0]:
        raise DataError(
            f"{source.name}: this is binary data of no known format; pass {argument('format')} if you know it"
        )
    data = lines[1:6] if _XC_HEADER.fullmatch(lines[0]) and len(lines) > 1 else lines[:5]
    if b":" in b"".join(data) and all(_LIBSVM.fullmatch(_whole_words(line)) for line in data):
        return "libsvm"
    return "tsv" if b"\t" in lines[0] and lines[0].count(b"\t") > lines[0].count(b",") else "csv"


def _whole_words(line: bytes, max_length: int = 4096) -> bytes:
    """The beginning of a line, cut between two words."""
    line = line.rstrip(b"\r")
    return line if len(line) <= max_length else line[:max_length].rpartition(b" ")[0]


def _as_utf8(head: bytes) -> bytes:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "replace").encode()
    return head.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"\n")
