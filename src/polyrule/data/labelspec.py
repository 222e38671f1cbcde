"""Which columns are labels: by name, pattern, range, position or list file.

A text specification is a comma-separated list; each item is tried in this order:

==============  =========================================================================
``red``         the column of that name (names win over every other reading)
``@file``       names from a MULAN XML list, or from a text file with one name per line
``first:6``     the first 6 columns
``last:14``     the last 14 columns
``/^Class/``    every column whose name matches the regular expression
``red..black``  the columns from one name to another, both included
``mood_*``      every column whose name matches the shell pattern
``19:26``       columns by position, counted from 0, the end excluded
==============  =========================================================================
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from operator import index
from typing import Any
from xml.parsers import expat

from polyrule.data.columns import listing, shorten
from polyrule.data.sources import Source, line_blocks
from polyrule.errors import DataError, OptionError
from polyrule.utils.messages import did_you_mean


class NoColumnError(DataError):
    """An option names a column that the data does not have."""

    def __init__(self, message: str, option: str) -> None:
        super().__init__(message, parameter=option)


class Specs(tuple[Any, ...]):
    """Several specifications that add up, such as those of an option that is repeated."""


def is_auto(spec: Any) -> bool:
    """True if a specification leaves the labels to the file."""
    return isinstance(spec, str) and spec == "auto"


def choose_columns(spec: Any, names: Sequence[str], what: str = "labels") -> list[int]:
    """Find the columns a specification means; see the module's table for texts. `what` is the option's name in
    messages.

    Examples
    --------
    >>> names = ["size", "hue", "red", "green", "blue"]
    >>> choose_columns("red..blue", names), choose_columns(["blue", "red"], names), choose_columns("last:2", names)
    ([2, 3, 4], [4, 2], [3, 4])
    """
    return choose_labels(spec, names, what)[0]


def choose_labels(spec: Any, names: Sequence[str], what: str = "labels") -> tuple[list[int], dict[str, str]]:
    """Find the columns a specification means, and for a nested list in a file the parent of each label."""
    if isinstance(spec, Specs):
        return _all_of(spec, names, what)
    columns = _Columns(names, what)
    parents: dict[str, str] = {}
    if (path := columns.listed_in(spec)) is not None:
        positions, parents = names_file(path, columns.index)
    elif isinstance(spec, str):
        positions = columns.of_text(spec)
    elif isinstance(spec, re.Pattern):
        positions = [j for j, name in enumerate(names) if spec.search(name)]
    elif isinstance(spec, slice):
        positions = list(range(len(names)))[spec]
    elif isinstance(spec, (list, tuple, range, set, frozenset)) or hasattr(spec, "__iter__"):
        is_set = isinstance(spec, (set, frozenset))
        items = sorted(spec, key=lambda item: (isinstance(item, str), item)) if is_set else list(spec)
        positions = [columns.position(item) for item in items]
    else:
        raise OptionError(parameter=what, value=spec, allowed="text, a list of names, a pattern or a range")
    if not positions and not (isinstance(spec, (list, tuple)) and not spec):
        raise DataError(f"{shorten(spec)} matches no column; the columns are {listing(names)}", parameter=what)
    if len(set(positions)) != len(positions):
        twice = next(j for j in positions if positions.count(j) > 1)
        raise DataError(f"column {names[twice]!r} is named twice", parameter=what)
    return positions, parents


def _all_of(specs: Specs, names: Sequence[str], what: str) -> tuple[list[int], dict[str, str]]:
    """Find the columns of several specifications; a column that two of them mean counts once."""
    positions: dict[int, None] = {}
    parents: dict[str, str] = {}
    for spec in specs:
        columns, parents_in = choose_labels(spec, names, what)
        positions |= dict.fromkeys(columns)
        parents |= parents_in
    return list(positions), parents


def columns_by_name(spec: Any, names: Sequence[str]) -> set[int]:
    """Return the columns that a specification names in full, not by a pattern, range or file.

    >>> columns_by_name("red,b*", ["red", "blue"]), columns_by_name(Specs(["red", ["blue"]]), ["red", "blue"])
    ({0}, {0, 1})
    """
    if isinstance(spec, Specs):
        return {position for one in spec for position in columns_by_name(one, names)}
    if isinstance(spec, str):
        items: list[Any] = [spec, *(item.strip() for item in spec.split(","))]
    else:
        items = list(spec) if isinstance(spec, (list, tuple, set, frozenset)) else [spec]
    positions = {name: position for position, name in enumerate(names)}
    return {positions[item] for item in items if isinstance(item, str) and item in positions}


def some_columns(spec: Any, names: Sequence[str], what: str) -> set[int]:
    """Positions of the columns that an option names; none where it is None or empty.

    >>> some_columns("size", ["size", "hue"], "drop"), some_columns(None, ["size", "hue"], "drop")
    ({0}, set())
    """
    if spec is None or (hasattr(spec, "__len__") and len(spec) == 0):
        return set()
    return set(choose_columns(spec, names, what))


def names_file(path: Any, index: dict[str, int]) -> tuple[list[int], dict[str, str]]:
    """Read label names from a file and find them among the columns; they keep the order of the columns, as in MULAN."""
    source = Source(path)
    if source.head(4096).lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\x00").startswith(b"<"):
        names, parents = read_label_list(source)
    else:
        lines = [line.strip() for block in line_blocks(source) for line in block.lines()]
        names, parents = [line for line in lines if line and not line.startswith("#")], {}
    positions = []
    for name in names:
        position = index.get(name, index.get(name.replace("\\", "")))
        if position is None:
            raise DataError(
                f"{source.name}: the label {shorten(name)} is not a column of the data{did_you_mean(name, index)} "
                f"(the columns are {listing(index)})"
            )
        positions.append(position)
    return sorted(positions), parents


class _Columns:
    """The columns that items of a text may mean; `what` is the option's name in messages."""

    def __init__(self, names: Sequence[str], what: str) -> None:
        self.names, self.what = names, what
        self.index = {name: position for position, name in enumerate(names)}

    def listed_in(self, spec: Any) -> str | None:
        """The file with names that is meant, if one is; names of columns win."""
        if isinstance(spec, os.PathLike):
            return str(os.fspath(spec))
        if isinstance(spec, str) and spec not in self.index and (spec[:1] == "@" or spec.lower().endswith(".xml")):
            return spec.removeprefix("@")
        return None

    def of_text(self, spec: str) -> list[int]:
        if spec in self.index:
            return [self.index[spec]]
        items = [spec] if _is_regex(spec) else [item.strip() for item in spec.split(",")]
        return list(dict.fromkeys(j for item in items for j in self._item(item)))

    def _item(self, item: str) -> list[int]:
        positions = range(len(self.names))
        if item in self.index:
            return [self.index[item]]
        if _is_regex(item):
            try:
                pattern = re.compile(item[1:-1])
            except re.error as problem:
                raise OptionError(f"{item} is not a regular expression ({problem})", parameter=self.what) from problem
            return self._at_least_one([j for j in positions if pattern.search(self.names[j])], item)
        if match := re.fullmatch(r"(first|last):(\d{1,9})", item, re.ASCII):
            count = int(match[2])
            if count > len(positions):
                raise DataError(f"{count} columns asked for, but the file has {len(positions)}", parameter=self.what)
            return list(positions[:count] if match[1] == "first" else positions[len(positions) - count :])
        if ".." in item:
            first, last = (self.position(end.strip()) for end in item.split("..", 1))
            return self._at_least_one(list(range(first, last + 1)), item)
        if any(char in item for char in "*?["):
            return self._at_least_one([j for j in positions if fnmatch.fnmatchcase(self.names[j], item)], item)
        if match := re.fullmatch(r"(\d{1,9}):(\d{1,9})", item, re.ASCII):
            if int(match[2]) > len(positions):
                raise DataError(f"{item} goes past the last of {len(positions)} columns", parameter=self.what)
            return self._at_least_one(list(range(int(match[1]), int(match[2]))), item)
        return [self.position(item)]

    def _at_least_one(self, positions: list[int], item: str) -> list[int]:
        if not positions:
            raise DataError(f"{item!r} matches no column; the columns are {listing(self.names)}", parameter=self.what)
        return positions

    def position(self, item: Any) -> int:
        names, what = self.names, self.what
        if isinstance(item, str):
            if item in self.index:
                return self.index[item]
            hint = did_you_mean(item, names)
            raise NoColumnError(f"there is no column {shorten(item)}{hint} (the columns are {listing(names)})", what)
        try:
            if isinstance(item, bool):
                raise TypeError
            position = index(item)
        except TypeError:
            raise OptionError(f"{shorten(item)} is neither a column name nor a position", parameter=what) from None
        if not -len(names) <= position < len(names):
            raise DataError(f"there is no column {position}; the file has {len(names)} columns", parameter=what)
        return position % len(names)


def _is_regex(text: str) -> bool:
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


LARGEST_XML = 1 << 26
DEEPEST_NESTING = 200


class _Refused(Exception):
    """Stops the parser at something that is not allowed."""


class _Labels:
    """Gathers label names and, where labels are nested, the parent of each."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parents: dict[str, str] = {}
        self._open: list[str | None] = []
        self._seen_names: set[str] = set()

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= DEEPEST_NESTING:
            raise _Refused(f"labels are nested more than {DEEPEST_NESTING} deep")
        local = tag.rpartition(":")[2]
        if not self._open:
            if local != "labels":
                raise _Refused(f"expected a <labels> element, found <{shorten(tag)[1:-1]}>")
            self._open.append(None)
            return
        if local != "label":
            raise _Refused(f"expected <label> elements, found <{shorten(tag)[1:-1]}>")
        name = attributes.get("name")
        if not name:
            raise _Refused("a <label> has no name")
        if name in self._seen_names:
            raise _Refused(f"label {shorten(name)} is listed twice")
        self.names.append(name)
        self._seen_names.add(name)
        if self._open[-1] is not None:
            self.parents[name] = self._open[-1]
        self._open.append(name)

    def end(self, _: str) -> None:
        self._open.pop()


def read_label_list(source: Source) -> tuple[list[str], dict[str, str]]:
    """Return the names of a label list in document order, and for a nested label the one that contains it.

    Examples
    --------
    >>> import io
    >>> xml = b'<labels><label name="birds"><label name="owl"/></label></labels>'
    >>> read_label_list(Source(io.BytesIO(xml)))
    (['birds', 'owl'], {'owl': 'birds'})
    """
    with source.open() as stream:
        text = stream.read(LARGEST_XML + 1)
    if len(text) > LARGEST_XML:
        raise DataError(f"{source.name}: a label list of more than {LARGEST_XML >> 20} MiB is not read")
    labels = _Labels()
    parser = expat.ParserCreate()
    parser.StartElementHandler = labels.start
    parser.EndElementHandler = labels.end
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(text, True)
    except expat.ExpatError as problem:
        reason = expat.errors.messages.get(problem.code, str(problem))
        raise DataError(
            f"{source.name}, line {problem.lineno}, column {problem.offset}: not well-formed XML ({reason})"
        ) from problem
    except (_Refused, ValueError, LookupError) as problem:
        raise DataError(f"{source.name}, line {parser.CurrentLineNumber}: {problem}") from problem
    if not labels.names:
        raise DataError(f"{source.name}: the label list names no label")
    return labels.names, labels.parents


def _refuse_entities(*_: object) -> None:
    raise _Refused("entity declarations are refused, because they can blow up or reach outside the file")
