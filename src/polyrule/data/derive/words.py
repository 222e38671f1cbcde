"""Words of texts: 0/1 features such as ``plot has zombie``.

A word is a maximal run of letters, digits and marks, in lower case; which characters these are is stored in
`unicode_table`, so that exported code finds the same words. A missing text has no words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyrule.data.derive.base import Derivation
from polyrule.data.derive.unicode_table import LOWER_RUNS, WORD_RANGES, lower_case, word_ranges
from polyrule.data.table import Feature
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import JsonNode

_ASCII_WORD = re.compile(r"[a-z0-9]+")


@cache
def _word_pattern() -> re.Pattern[str]:
    ranges = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in word_ranges())
    return re.compile(f"[{ranges}]+")


@cache
def _lower_table() -> dict[int, int]:
    return lower_case()


def split_words(text: str) -> list[str]:
    """Return the words of a text, in lower case.

    >>> split_words("Zombies' 2nd ÉTÉ, re-told")
    ['zombies', '2nd', 'été', 're', 'told']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _word_pattern().findall(text.translate(_lower_table()))


_KNOWN = '''

def _known(cell):
    """0.0, or NaN if a cell is missing."""
    return float("nan") if cell is None or cell != cell else 0.0
'''


@dataclass(frozen=True, slots=True)
class Cell(Derivation):
    """The column of texts or lists itself, of which only is known if a cell is missing: 0, or NaN.

    Parameters
    ----------
    column : str
        Name of the column.
    separator : str
        The character between the members of a list; empty for texts.

    Examples
    --------
    >>> Cell("plot").values(["A film", None]).tolist()
    [0.0, nan]
    """

    separator: str = ""

    KEY: ClassVar[str] = "cell"
    SOURCE: ClassVar[str] = "text"
    HELPERS: ClassVar[Mapping[str, str]] = {"python": _KNOWN}

    def feature(self) -> Feature:
        """Return a feature with the name of the column."""
        return Feature(self.column, derived=self)

    def values(self, *sources: Any) -> Floats:
        """Return 0 for each text and NaN for None."""
        return np.array([np.nan if text is None else 0.0 for text in sources[0]])

    def phrase_value(self, value: float) -> str | None:
        """Return the text for a cell that is not missing."""
        return "known"

    def to_json(self) -> str:
        """Return the separator."""
        return self.separator

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the derivation for the column `name`."""
        return cls(name, node.text())

    def code(self, language: str, *cells: str) -> str:
        """Return an expression that is 0, or missing."""
        (cell,) = cells
        if language == "python":
            return f"_known({cell})"
        if language == "javascript":
            return f"({cell} === null || {cell} === undefined || {cell} !== {cell} ? NaN : 0)"
        if language == "sql":
            return f"CASE WHEN {cell} IS NULL THEN NULL ELSE 0.0e0 END"
        return super(Cell, self).code(language, *cells)


_PYTHON = f'''

_WORD_RANGES = "{WORD_RANGES}"
_LOWER_RUNS = "{LOWER_RUNS}"


def _word_tables():
    import re

    numbers = [int(digits, 36) for digits in _WORD_RANGES.split()]
    last, pattern = 0, ""
    for distance, length in zip(numbers[::2], numbers[1::2]):
        pattern += "\\\\U%08x-\\\\U%08x" % (last + distance, last + distance + length)
        last += distance + length
    parts, lower = _LOWER_RUNS.split(), {{}}
    for start, length, difference in zip(parts[::3], parts[1::3], parts[2::3]):
        step = 2 if length.endswith("'") else 1
        for number in range(int(length.rstrip("'"), 36)):
            code = int(start, 36) + step * number
            lower[code] = code + int(difference, 36)
    return re.compile("[" + pattern + "]+"), lower


_WORDS, _LOWER = _word_tables()


def _has_word(cell, word):
    """1.0 if a text contains a word, in any case; a missing one contains none."""
    if cell is None or cell != cell:
        return 0.0
    return float(word in _WORDS.findall(str(cell).translate(_LOWER)))
'''

_JAVASCRIPT = f"""\
  const [wordRanges, lowerCase] = (() => {{
    const numbers = "{WORD_RANGES}".split(" ").map((digits) => parseInt(digits, 36));
    const ranges = [], lower = new Map();
    for (let i = 0, last = 0; i < numbers.length; i += 2) {{
      ranges.push([last + numbers[i], last += numbers[i] + numbers[i + 1]]);
    }}
    const parts = "{LOWER_RUNS}".split(" ");
    for (let i = 0; i < parts.length; i += 3) {{
      const step = parts[i + 1].endsWith("'") ? 2 : 1, difference = parseInt(parts[i + 2], 36);
      for (let n = 0, code = parseInt(parts[i], 36); n < parseInt(parts[i + 1], 36); n++, code += step) {{
        lower.set(code, code + difference);
      }}
    }}
    return [ranges, lower];
  }})();
  const isWordCode = (code) => {{
    let low = 0, high = wordRanges.length;
    while (low < high) {{
      const middle = (low + high) >> 1;
      if (wordRanges[middle][1] < code) low = middle + 1; else high = middle;
    }}
    return low < wordRanges.length && wordRanges[low][0] <= code;
  }};
  // 1 if a text contains a word, in any case; a missing one contains none.
  const hasWord = (cell, word) => {{
    if (cell === null || cell === undefined || cell !== cell) return 0;
    let current = "";
    for (const character of String(cell) + " ") {{
      const code = character.codePointAt(0), lower = lowerCase.get(code) ?? code;
      if (isWordCode(lower)) current += String.fromCodePoint(lower);
      else if (current === word) return 1;
      else current = "";
    }}
    return 0;
  }};
"""

_SQL_MARKS = "\t\n\r!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u00a0«»¡¿–—‘’‚“”„…"
"""Characters between words that SQL knows."""
_MARKS_PER_TABLE = 10
_QUOTES = {"'": "''"}


@dataclass(frozen=True, slots=True)
class Word(Derivation):
    """1 if a text contains a word, else 0.

    Parameters
    ----------
    column : str
        Name of the column of texts.
    word : str
        In lower case.

    Examples
    --------
    >>> has = Word("plot", "zombie")
    >>> has.feature().name, has.values(["A ZOMBIE comedy", "Zombies", None]).tolist()
    ('plot has zombie', [1.0, 0.0, 0.0])
    """

    word: str

    KEY: ClassVar[str] = "word"
    SOURCE: ClassVar[str] = "text"
    HELPERS: ClassVar[Mapping[str, str]] = {"python": _PYTHON, "javascript": _JAVASCRIPT}

    def feature(self) -> Feature:
        """Return the feature ``column has word``, which is 0 or 1."""
        return Feature(f"{self.column} has {self.word}", derived=self, flag=True)

    def values(self, *sources: Any) -> Floats:
        """Return 1 for each text that contains the word."""
        return self.columns([self], *sources)[0]  # type: ignore[no-any-return]

    @classmethod
    def columns(cls, derivations: Sequence[Self], *sources: Any) -> list[Any]:
        """Return a column for each word; each text is split once."""
        places: dict[str, list[int]] = {}
        for number, derivation in enumerate(derivations):
            places.setdefault(derivation.word, []).append(number)
        columns = [np.zeros(len(sources[0])) for _ in derivations]
        for row, text in enumerate(sources[0]):
            if text is not None:
                for word in places.keys() & split_words(text):
                    for number in places[word]:
                        columns[number][row] = 1.0
        return columns

    def to_json(self) -> str:
        """Return the word; the name of the feature contains that of the column."""
        return self.word

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the word of the column after which the feature is named."""
        word = node.text()
        if split_words(word) != [word] or not name.endswith(f" has {word}"):
            node.fail(f"must be a word in lower case with which the name {name!r} ends, found {word!r}")
        return cls(name.removesuffix(f" has {word}"), word)

    def code(self, language: str, *cells: str) -> str:
        """Return a call of the helper, or SQL: there, other signs than the usual ones do not separate words.

        SQL compares lower case as its engine makes it: SQLite does so for the letters a to z only.
        """
        (cell,) = cells
        if language == "sql":
            text = _sql_blanks(f"LOWER(CAST({cell} AS TEXT))")
            return f"CASE WHEN ' ' || {text} || ' ' LIKE '% {self.word} %' THEN 1.0e0 ELSE 0.0e0 END"
        if language == "python":
            return f"_has_word({cell}, {self.word!a})"
        if language == "javascript":
            return f"hasWord({cell}, {json.dumps(self.word)})"
        return super(Word, self).code(language, *cells)

    @property
    def item(self) -> str:
        """The word."""
        return self.word


def _sql_blanks(text: str) -> str:
    """Return SQL in which blanks stand in place of marks; nested tables, as SQLite limits the depth of expressions."""
    table = ""
    for start in range(0, len(_SQL_MARKS), _MARKS_PER_TABLE):
        for mark in _SQL_MARKS[start : start + _MARKS_PER_TABLE]:
            text = f"REPLACE({text}, '{_QUOTES.get(mark, mark)}', ' ')"
        table = f"(SELECT {text} AS x FROM {table} AS u)" if table else f"(SELECT {text} AS x)"
        text = "u.x"
    return f"(SELECT x FROM {table} AS u)"
