"""Setup of a table: a first look at a file, the options of its columns, and the split."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.data import Dataset, read, to_table
from polyrule.data.dates import DATE_FORMS
from polyrule.data.documents import JsonNode
from polyrule.data.formats.blocks import TIMES, FileColumn
from polyrule.data.formats.number_style import NumberStyle
from polyrule.data.labels import arrange_labels, dense_labels
from polyrule.data.reading import file_columns, sheet_names
from polyrule.data.sniff import ENDINGS, PACKED, unpacked_name
from polyrule.data.splits import train_test_split
from polyrule.datasets import load as load_benchmark
from polyrule.errors import DataError, LimitError, OptionError
from polyrule.utils.arrays import Ints
from polyrule.utils.names import visible

#: examples up to which the held-out part is stratified; beyond them chance spreads labels well enough, and at once
MOST_STRATIFIED = 50_000
SHARE = 1 / 3


@dataclass(frozen=True)
class Origin:
    """Source of data; `path` is chosen by this program, never by the page."""

    kind: str  # one of "file", "benchmark", "python"
    name: str  # what a person calls it: the name of the file, or of the benchmark
    path: str = ""  # where it is read from; empty for data that came from Python
    digest: str = ""  # SHA-256 of the file, by which it is known again
    sheet: str = ""  # of a workbook with several; empty for everything else

    @classmethod
    def of_file(cls, path: Path, name: str | None = None) -> Origin:
        """Return a file with its digest."""
        with open(path, "rb") as stream:
            return cls("file", name or path.name, str(path), hashlib.file_digest(stream, "sha256").hexdigest())


@dataclass(frozen=True)
class Setup:
    """Options of the columns of a file, for `polyrule.data.read` and for the split."""

    # Options for `polyrule.data.read` that differ from its defaults
    reading: dict[str, Any] = field(default_factory=dict)
    # Features that may count in one direction only, "up" or "down"; an option of learning
    monotone: dict[str, str] = field(default_factory=dict)
    # share, seed: the held-out part
    share: float = SHARE
    seed: int = 0
    # Columns to learn from although they tell rows apart; an option of learning
    keep: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Any) -> Setup:
        """Read what the page or a project file says."""
        members = JsonNode(value, "setup").fields((), (*READING, "monotone", "share", "seed", "keep"))
        reading = {
            name: value_of_option for name, read in READING.items() if (value_of_option := members[name].maybe(read))
        }
        if "tag_separator" in reading and "tags" not in reading:
            del reading["tag_separator"]
        directions = members["monotone"].maybe(JsonNode.mapping) or {}
        monotone = {key: members["monotone"].member(key).choice("up", "down") for key in directions}
        share = members["share"].maybe(JsonNode.number)
        if share is not None and not 0.05 <= share <= 0.9:
            raise OptionError("the held-out part must be between 5 % and 90 % of the examples")
        seed = members["seed"].maybe(lambda n: n.whole(0, 2**31 - 1)) or 0
        keep = tuple(members["keep"].maybe(_texts) or ())
        return cls(reading, monotone, SHARE if share is None else share, seed, keep)

    def to_json(self) -> dict[str, Any]:
        """Return the plain values that `from_json` reads."""
        members = {**self.reading, "monotone": self.monotone, "share": self.share, "seed": self.seed}
        return members | ({"keep": list(self.keep)} if self.keep else {})

    def kept(self) -> set[str]:
        """Return the columns that are learned from although they tell rows apart."""
        return {*self.keep, *self.monotone}


def _texts(node: JsonNode) -> list[str]:
    return [item.text() for item in node]


#: how the page says each option of `polyrule.data.read`; what is empty is left to its default
READING: dict[str, Callable[[JsonNode], Any]] = {
    **dict.fromkeys(("labels", "drop", "nominal", "numeric", "date", "words", "lists"), _texts),
    **dict.fromkeys(("tags", "tag_separator", "identifier", "weights"), JsonNode.text),
    "ordinal": lambda node: {name: _texts(node.member(name)) for name in node.mapping()},
    "decimal": lambda node: node.choice(".", ",").strip("."),
    "thousands": lambda node: node.choice(*",. '"),
    "dates": lambda node: node.choice(*DATE_FORMS),
}


def thinned(rows: Ints, max_rows: int) -> Ints:
    """Return at most `max_rows` examples, evenly spread."""
    return rows if len(rows) <= max_rows else rows[np.linspace(0, len(rows) - 1, max_rows).astype(np.int64)]


def file_ending(name: str) -> str:
    """Return the ending by which a dropped file is read, one of those that are known; else nothing.

    >>> file_ending("Songs.TSV.gz"), file_ending("../../etc/passwd")
    ('.tsv.gz', '')
    """
    name = name.lower()
    packed = next((mark for mark in PACKED if name.endswith(mark)), "")
    plain = next((mark for mark in ENDINGS if name.removesuffix(packed).endswith(mark)), "")
    return plain + packed


@dataclass(frozen=True, eq=False)
class Look:
    """Data as it was first seen: every column a feature, but for labels that the file itself names."""

    data: Dataset
    named: tuple[str, ...]  # labels that the file itself names
    setup: Setup  # what has to be said so that the file can be read at all
    odd: tuple[FileColumn, ...] = ()  # columns about which something has to be said
    timed: tuple[str, ...] = ()  # columns of dates with times of day
    styles: frozenset[str] = frozenset()  # how columns of numbers are written, as the reader advises it
    sheets: tuple[str, ...] = ()  # the sheets among which a workbook lets one choose


def sheets_of(origin: Origin) -> tuple[str, ...]:
    """Return the sheets of a workbook that has several; of everything else none."""
    if origin.kind != "file":
        return ()
    with shown_as(origin):
        names = sheet_names(origin.path)
    return names if len(names) > 1 else ()


def first_look(origin: Origin) -> tuple[Origin, Look]:
    """Read a file without options; from a workbook the selected sheet, or the first that can be read."""
    sheets, problems = sheets_of(origin), []
    for sheet in (origin.sheet,) if origin.sheet or not sheets else sheets:
        candidate = replace(origin, sheet=sheet)
        try:
            return candidate, replace(_first_look(candidate), sheets=sheets)
        except LimitError:
            raise
        except DataError as problem:  # a title page, for example
            problems.append(problem)
    raise problems[0]


def _first_look(origin: Origin) -> Look:
    """Read a table of which nothing is known; how its numbers are written is found out."""
    try:
        look = _look(origin, {})
    except DataError as problem:
        try:
            return _look(origin, {"decimal": ","})
        except DataError:
            raise problem from None
    if len(look.styles) != 1:  # as written in Python, or in several ways
        return look
    try:
        other = _look(origin, _STYLES[next(iter(look.styles))])
    except DataError:
        return look
    return look if other.styles else other


#: how numbers may be written, by the advice that the reader gives
_STYLES: dict[str, dict[str, Any]] = {
    NumberStyle(".", ",").advice(): {"thousands": ","},
    NumberStyle(".", "'").advice(): {"thousands": "'"},
    NumberStyle(".", " ").advice(): {"thousands": " "},
    NumberStyle(",").advice(): {"decimal": ","},
    NumberStyle(",", ".").advice(): {"decimal": ",", "thousands": "."},
    NumberStyle(",", " ").advice(): {"decimal": ",", "thousands": " "},
}


def _look(origin: Origin, reading: dict[str, Any]) -> Look:
    with shown_as(origin):
        columns = [] if origin.kind == "benchmark" else file_columns(origin.path, **_sheet(origin), **reading)
    odd = [column for column in columns if column.kind in ODD and column.kind != "nested"]
    nested = [column for column in columns if column.kind == "nested"]
    timed = tuple(column.name for column in columns if column.remark == TIMES)
    while True:
        options = dict(reading)
        for option in ("nominal", "words", "drop"):
            if names := [column.name for column in odd if ODD[column.kind] == option]:
                options[option] = names
        try:
            data, named = _load_unlabelled(origin, options)
            break
        except DataError as problem:  # lists can be read, records cannot
            refused = next((column for column in nested if f"column {column.name!r}" in str(problem)), None)
            if refused is None:
                raise
            nested.remove(refused)
            odd.append(refused)
    if not len(data):
        raise DataError(f"{origin.name}: has no rows")
    styles = frozenset(column.advice for column in columns) & _STYLES.keys()
    return Look(data, named, Setup(options), tuple(odd), timed, styles)


def _load_unlabelled(origin: Origin, reading: dict[str, Any]) -> tuple[Dataset, tuple[str, ...]]:
    """Return the data and the labels that the file itself names; without these, every column is a feature."""
    try:
        data = load(origin, Setup(reading))
        return data, data.label_names
    except DataError:  # the file does not say which columns are labels, or not clearly
        return load(origin, Setup({"labels": None, **reading})), ()


#: what is done with columns that cannot be read as they are, until a person says something else
ODD = {"mixed": "nominal", "string": "words", "nested": "drop", "relational": "drop"}


def load(origin: Origin, setup: Setup, features: Any = None) -> Dataset:
    """Read the data with its setup."""
    if origin.kind == "benchmark":
        name, _, part = origin.name.partition(":")
        data = load_benchmark(name, part=part or None)  # type: ignore[arg-type]
        return data if features is None else replace(data, X=to_table(data.X, features, others="skip"))
    encoded = {} if features is None else {"features": features}
    with shown_as(origin):
        return read(
            origin.path, name=Path(unpacked_name(origin.name)).stem, **_sheet(origin), **setup.reading, **encoded
        )


def _sheet(origin: Origin) -> dict[str, Any]:
    return {"sheet": origin.sheet} if origin.sheet else {}


@contextmanager
def shown_as(origin: Origin) -> Iterator[None]:
    """Name a file in errors as a person names it, instead of by the place where the studio keeps it."""
    try:
        yield
    except DataError as problem:
        message = str(problem).replace(origin.path, visible(origin.name))
        raise (LimitError if isinstance(problem, LimitError) else DataError)(message) from problem


def split(data: Dataset, setup: Setup) -> tuple[Dataset, Dataset]:
    """Set a part aside, at once and for good."""
    return train_test_split(data, setup.share, setup.seed, stratified=len(data) <= MOST_STRATIFIED)


def numbered(data: Dataset) -> Dataset:
    """Return data whose examples can be found again after a split: by their name, or by their row in the file."""
    return data if data.row_ids is not None else replace(data, row_ids=tuple(map(str, range(1, len(data) + 1))))


def check_learnable(data: Dataset) -> None:
    """Refuse data from which nothing can be learned, in words for a person who looks at a page."""
    if not data.label_names:
        raise DataError("Choose at least one label: a column of 0 and 1, or a column with tags.")
    if not data.features:
        raise DataError("Every column is a label or left out; leave at least one to learn from.")
    if len(data) < 6:
        raise DataError(f"{data.name} has {len(data)} examples; a part of them cannot be held out")


def aligned(data: Dataset, names: tuple[str, ...]) -> Dataset:
    """Return data with these labels in this order; one that the data does not have is absent throughout."""
    found = arrange_labels(dense_labels(data.Y), data.label_names, names)
    if len(found.lacking) == len(names):
        raise DataError(f"{data.name}: has none of the labels of the training data")
    return replace(data, Y=found.Y, label_names=names)
