"""Relations between labels: one implies another, at most or exactly one of a group is present."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from polyrule.errors import OptionError
from polyrule.utils.messages import did_you_mean

RelationKind = Literal["implies", "at-most-one", "exactly-one"]
KINDS: tuple[RelationKind, ...] = get_args(RelationKind)
HOW_TO = "write 'a => b', 'a, b: at most one' or 'a, b: exactly one'"

_GROUP_WORDS: dict[RelationKind, str] = {"at-most-one": "at most one", "exactly-one": "exactly one"}
_GROUP = re.compile(r"(?s)(.*):\s*(at most one|exactly one)\s*$")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(rf"{_QUOTED}|=>|,|[^\",=]+|[=\"]")
_PLAIN = re.compile(r'[^\s,"](?:(?!=>|: at most one|: exactly one)[^,"\n])*')


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation between labels, given by their numbers.

    Parameters
    ----------
    kind : {"implies", "at-most-one", "exactly-one"}
        `implies`: if the first of two labels is present, so is the second.
    labels : tuple of int
        Two labels, or the members of a group.

    Examples
    --------
    >>> Relation("implies", (0, 1)).text(("pneumonia", "lung disease"))
    'pneumonia => lung disease'
    """

    kind: RelationKind
    labels: tuple[int, ...]

    def text(self, names: Sequence[str]) -> str:
        """Return the relation as `read_text` reads it."""
        words = [quoted(names[label]) for label in self.labels]
        return " => ".join(words) if self.kind == "implies" else f"{', '.join(words)}: {_GROUP_WORDS[self.kind]}"


def quoted(name: str) -> str:
    """Return a name as relations are written: in double quotes if a text would be read otherwise.

    >>> quoted("lung disease"), quoted("heart, left")
    ('lung disease', '"heart, left"')
    """
    plain = _PLAIN.fullmatch(name) and name == name.strip()
    return name if plain else json.dumps(name, ensure_ascii=False)


def read_text(text: str, names: Sequence[str]) -> list[Relation]:
    """Return the relations of one line; ``a => b, c`` and ``a => b => c`` are two.

    Examples
    --------
    >>> read_text("benign, malignant: at most one", ("benign", "malignant"))
    [Relation(kind='at-most-one', labels=(0, 1))]
    """
    group = _GROUP.match(text)
    sides = _split(group[1] if group else text)
    if group and len(sides) == 1:
        kind: RelationKind = "at-most-one" if group[2] == "at most one" else "exactly-one"
        return [group_of(kind, sides[0], names)]
    if group or len(sides) < 2 or any(len(side) != 1 for side in sides[:-1]):
        raise OptionError(f"cannot read the relation {text.strip()!r}: {HOW_TO}")
    chain = [side[0] for side in sides[:-1]]
    pairs = [*pairwise(chain), *((chain[-1], name) for name in sides[-1])]
    return [implication(one, other, names) for one, other in pairs]


def group_of(kind: RelationKind, members: Sequence[str], names: Sequence[str]) -> Relation:
    """Return the relation between the members of a group."""
    labels = [place_of(name, names) for name in members]
    shown = f"{', '.join(map(quoted, members))}: {_GROUP_WORDS[kind]}"
    if len(set(labels)) < len(labels):
        raise OptionError(f"relations: a label occurs twice in {shown!r}")
    if len(labels) < 2:
        raise OptionError(f"relations: {shown!r} needs at least two labels")
    return Relation(kind, tuple(labels))


def implication(name: str, implied: str, names: Sequence[str]) -> Relation:
    """Return the relation that one label implies another."""
    if name == implied:
        raise OptionError(f"relations: {name!r} implies itself; leave this out")
    return Relation("implies", (place_of(name, names), place_of(implied, names)))


def place_of(name: str, names: Sequence[str]) -> int:
    """Return the number of a label."""
    if names.count(name) == 1:
        return names.index(name)
    if name in names:
        raise OptionError(f"relations: several labels are named {name!r}; rename them")
    known = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    raise OptionError(f"relations: there is no label {name!r}{did_you_mean(name, names)} (known: {known or 'none'})")


def _split(text: str) -> list[list[str]]:
    """Return the names between commas, on each side of an arrow."""
    sides: list[list[str]] = [[""]]
    for token in _TOKEN.findall(text):
        if token == "=>":
            sides.append([""])
        elif token == ",":
            sides[-1].append("")
        else:
            sides[-1][-1] += token
    read = [[_name(name.strip(), text) for name in side] for side in sides]
    if any(not name for side in read for name in side):
        raise OptionError(f"cannot read the relation {text.strip()!r}: a label is missing; {HOW_TO}")
    return read


def _name(text: str, whole: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        raise OptionError(f"relations: {text} is not a well-formed quoted name in {whole.strip()!r}") from None
