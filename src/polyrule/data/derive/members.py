"""Members of lists in cells: 0/1 features such as ``purchase has Supermarket``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyrule.data.derive.base import Derivation
from polyrule.data.table import Feature
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import JsonNode

JSON_LISTS = "[]"
"""In place of a separator: cells such as ``["a", "b"]``."""

LISTED = "\x1f"
"""Joins the members of lists that are no text."""

BLANKS = " \t\r\n\u00a0"
"""Stripped from both ends of a member."""


def split_members(text: str, separator: str) -> list[str]:
    """Return the members of a list, without blanks around them; a separator in parentheses separates nothing.

    >>> split_members("Supermarket, National chain (e.g. A, B)", ","), split_members('["a", "b"]', "[]")
    (['Supermarket', 'National chain (e.g. A, B)'], ['a', 'b'])
    """
    if separator == JSON_LISTS:
        return _json_members(text)
    if not separator:
        return [text.strip(BLANKS)] if text.strip(BLANKS) else []
    parts = text.split(separator)
    if "(" in text:
        parts = _joined(parts, separator)
    return [member for part in parts if (member := part.strip(BLANKS))]


def _joined(parts: Sequence[str], separator: str) -> list[str]:
    """Join pieces again that were separated between parentheses."""
    joined: list[str] = []
    depth = 0
    for part in parts:
        if depth > 0:
            joined[-1] += separator + part
        else:
            joined.append(part)
        depth = max(0, depth + part.count("(") - part.count(")"))
    return joined


def _json_members(text: str) -> list[str]:
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [str(member) for member in members if member is not None] if isinstance(members, list) else []


_PYTHON = '''

def _has_member(cell, member, separator):
    """1.0 if a list contains a member; the cell is a list, or text with a separator. A missing one contains none."""
    if cell is None or cell != cell:
        return 0.0
    if not isinstance(cell, str):
        return float(member in [str(one).strip(" \\t\\r\\n\\u00a0") for one in cell])
    if separator == "[]":
        import json

        return float(member in map(str, json.loads(cell)))
    pieces, depth = [], 0
    for piece in cell.split(separator) if separator else [cell]:
        if depth > 0:
            pieces[-1] += separator + piece
        else:
            pieces.append(piece)
        depth = max(0, depth + piece.count("(") - piece.count(")"))
    return float(member in [piece.strip(" \\t\\r\\n\\u00a0") for piece in pieces])
'''

_JAVASCRIPT = """\
  // 1 if a list contains a member; the cell is an array, or text with a separator. A missing one contains none.
  const trimBlanks = (text) => String(text).replace(/^[ \\t\\r\\n\\u00a0]+|[ \\t\\r\\n\\u00a0]+$/g, "");
  const hasMember = (cell, member, separator) => {
    if (cell === null || cell === undefined || cell !== cell) return 0;
    if (Array.isArray(cell)) return Number(cell.some((one) => trimBlanks(one) === member));
    if (separator === "[]") return Number(JSON.parse(cell).map(String).includes(member));
    const pieces = [], count = (text, mark) => text.split(mark).length - 1;
    let depth = 0;
    for (const piece of separator ? String(cell).split(separator) : [String(cell)]) {
      if (depth > 0) pieces[pieces.length - 1] += separator + piece; else pieces.push(piece);
      depth = Math.max(0, depth + count(piece, "(") - count(piece, ")"));
    }
    return Number(pieces.some((piece) => trimBlanks(piece) === member));
  };
"""


@dataclass(frozen=True, slots=True)
class Member(Derivation):
    """1 if a list contains a member, else 0; a missing list has no members.

    Parameters
    ----------
    column : str
        Name of the column of lists.
    member : str
    separator : str
        The character between members, or "[]" if cells are written in JSON.

    Examples
    --------
    >>> has = Member("purchase", "Supermarket", ",")
    >>> has.feature().name, has.values(["Online, Supermarket", "Online", None]).tolist()
    ('purchase has Supermarket', [1.0, 0.0, 0.0])
    """

    member: str
    separator: str = ","

    KEY: ClassVar[str] = "member"
    SOURCE: ClassVar[str] = "text"
    HELPERS: ClassVar[Mapping[str, str]] = {"python": _PYTHON, "javascript": _JAVASCRIPT}

    def feature(self) -> Feature:
        """Return the feature ``column has member``, which is 0 or 1."""
        return Feature(f"{self.column} has {self.member}", derived=self, flag=True)

    def values(self, *sources: Any) -> Floats:
        """Return 1 for each list that contains the member."""
        return self.columns([self], *sources)[0]  # type: ignore[no-any-return]

    @classmethod
    def columns(cls, derivations: Sequence[Self], *sources: Any) -> list[Any]:
        """Return a column for each member; each list is split once for each separator."""
        columns = [np.zeros(len(sources[0])) for _ in derivations]
        for separator in dict.fromkeys(derivation.separator for derivation in derivations):
            places: dict[str, list[int]] = {}
            for number, derivation in enumerate(derivations):
                if derivation.separator == separator:
                    places.setdefault(derivation.member, []).append(number)
            for row, text in enumerate(sources[0]):
                if text is not None:
                    for member in places.keys() & split_members(text, separator):
                        for number in places[member]:
                            columns[number][row] = 1.0
        return columns

    def to_json(self) -> dict[str, str]:
        """Return the member and the separator; the name of the feature contains that of the column."""
        return {"member": self.member, "separator": self.separator}

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the member of the column after which the feature is named."""
        members = node.fields(("member", "separator"))
        member, separator = members["member"].text(), members["separator"].text()
        if not member or not name.endswith(f" has {member}"):
            node.fail(f"must have a member with which the name {name!r} ends, found {member!r}")
        return cls(name.removesuffix(f" has {member}"), member, separator)

    def code(self, language: str, *cells: str) -> str:
        """Return a call of the helper, or SQL, which finds members that blanks at most separate from separators."""
        (cell,) = cells
        if language == "python":
            return f"_has_member({cell}, {self.member!a}, {self.separator!r})"
        if language == "javascript":
            member = json.dumps(self.member).replace("<", "\\u003c")
            return f"hasMember({cell}, {member}, {json.dumps(self.separator)})"
        if language == "sql":
            return self._sql(cell)
        return super(Member, self).code(language, *cells)

    def _sql(self, cell: str) -> str:
        text = f"CAST({cell} AS TEXT)"
        if self.separator == JSON_LISTS:
            searched = _sql_string(json.dumps(self.member, ensure_ascii=False))
        else:
            # Blanks beside separators go, and both ends get one, so that a member is between two of them.
            mark = _sql_string(self.separator)
            for _ in range(3):
                text = f"REPLACE(REPLACE({text}, {_sql_string(self.separator + ' ')}, {mark}), " + (
                    f"{_sql_string(' ' + self.separator)}, {mark})"
                )
            text = f"{mark} || TRIM({text}) || {mark}"
            member = self.member
            for _ in range(3):
                member = member.replace(f"{self.separator} ", self.separator).replace(
                    f" {self.separator}", self.separator
                )
            searched = _sql_string(f"{self.separator}{member}{self.separator}")
        return f"CASE WHEN REPLACE({text}, {searched}, '') <> {text} THEN 1.0e0 ELSE 0.0e0 END"

    @property
    def item(self) -> str:
        """The member."""
        return self.member


def _sql_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
