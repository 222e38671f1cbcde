"""The columns of a table as a person first sees them: kinds, histograms, what is odd, and what each may be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from polyrule.data import Dataset
from polyrule.data.formats.blocks import TIMES, Column
from polyrule.data.tags import likely_separator
from polyrule.report.examples import feature_entry
from polyrule.studio.setup import ODD, Look, thinned
from polyrule.utils.arrays import Floats
from polyrule.utils.names import visible

#: examples in which odd things are looked for
MOST_DESCRIBED = 50_000
#: columns that a page is told of at once
MOST_COLUMNS = 200
#: columns that are looked at to guess which are labels
MOST_GUESSED = 5000
#: categories of a column that a page is told of
MOST_CATEGORIES = 60


def describe_columns(look: Look, start: int = 0, find: str = "") -> dict[str, Any]:
    """Return columns with their kind, histogram and missing values, and what each looks like."""
    data, named = look.data, look.named
    lists = [column for column in look.odd if ODD[column.kind] == "drop"]
    columns = [j for j, feature in enumerate(data.features) if not feature.part]
    mixed = {column.name for column in look.odd} - {column.name for column in lists}
    entries = [partial(_entry, data, j, mixed) for j in columns if find.lower() in data.features[j].name.lower()]
    entries += [partial(_odd_entry, column) for column in lists if find.lower() in column.name.lower()]
    # Columns that the page is not shown at once: labels often stand at the end of a wide table.
    beyond = [] if start or find else columns[MOST_COLUMNS:MOST_GUESSED]
    return {
        "name": visible(data.name),
        "examples": len(data),
        "columns": [make() for make in entries[start : start + MOST_COLUMNS]],
        "beyond": [{"name": data.features[j].name, "looks": looks_like(data, j)} for j in beyond],
        "start": start,
        "found": len(entries),
        "total": len(columns) + len(lists) + len(named),
        "named": list(named),
        "findings": [
            *_number_words(look.setup.reading),
            *(_remark(column) for column in look.odd if column.kind != "nested"),
            *(
                visible(f"column {name!r} holds {TIMES}: rules see the day, year, month and weekday")
                for name in look.timed
            ),
            *findings(data, names_seen=True),
        ],
    }


def _entry(data: Dataset, j: int, mixed: set[str]) -> dict[str, Any]:
    """One column as the page shows it; `mixed` ones are read as categories only until a person says what they are."""
    entry = feature_entry(data.features[j], j, data.X)
    if len(entry.get("categories", ())) > MOST_CATEGORIES:
        entry["more"] = len(entry["categories"]) - MOST_CATEGORIES
        entry["categories"] = entry["categories"][:MOST_CATEGORIES]
        entry["histogram"]["counts"] = entry["histogram"]["counts"][:MOST_CATEGORIES]
    name = data.features[j].name
    looks = "" if name in mixed else looks_like(data, j)
    return {**entry, "looks": looks, "shown": visible(name), "odd": name in mixed}


def _odd_entry(column: Column) -> dict[str, Any]:
    """A column that no rule can test; lists may still be tags."""
    return {
        "name": column.name,
        "shown": visible(column.name),
        "kind": column.kind,
        "histogram": {"counts": [], "missing": 0},
        "looks": "tags" if column.kind == "nested" else "text",
    }


def _number_words(reading: dict[str, Any]) -> list[str]:
    """Say how numbers are read, where that is not as Python writes them."""
    decimal, thousands = reading.get("decimal", "."), reading.get("thousands", "")
    example = f"1{thousands}234{decimal}5"
    return [] if example == "1234.5" else [f"numbers are read as in {example}; change that below"]


def _remark(column: Column) -> str:
    if column.kind != "mixed":
        return visible(f"column {column.name!r} holds {column.kind} values, which rules cannot test; it is left out")
    said = "say how dates are written" if "dates" in column.remark else "say what it is"
    return visible(f"column {column.name!r} holds {column.remark}; it is read as categories until you {said}")


def findings(data: Dataset, test: Dataset | None = None, names_seen: bool = False) -> list[str]:
    """Return what in the data would mislead a learner; of very large data a part is looked at.

    Where the page proposes a column as the name of the examples, or as tags (`names_seen`), there is no need to warn of
    it: an example may have no tag.
    """
    if len(data) > MOST_DESCRIBED:
        some = data[thinned(np.arange(len(data)), MOST_DESCRIBED)]
        return [f"of {MOST_DESCRIBED:,} examples: {text}" for text in findings(some, names_seen=names_seen)]
    found = data.describe(test).findings
    if not names_seen:
        return [visible(one.message) for one in found]
    place = {feature.name: j for j, feature in enumerate(data.features)}
    proposed = {"identifier-like feature": "identifier", "missing values": "tags"}
    return [
        visible(one.message)
        for one in found
        if one.kind not in proposed or any(looks_like(data, place[name]) != proposed[one.kind] for name in one.names)
    ]


def looks_like(data: Dataset, column: int) -> str:
    r"""Guess the part a column plays.

    "label" (0 and 1), "answer" (yes and no), "tags", "identifier" (a value of its own for every row), or nothing.

    Examples
    --------
    >>> import io
    >>> from polyrule.data import read
    >>> rows = [f"p{i},{i % 2},{('a|b', 'b|c', 'a', 'c')[i % 4]},{i / 7},{i + 85}" for i in range(30)]
    >>> table = read(io.BytesIO("\n".join(["id,sick,tags,age,row", *rows]).encode()), labels=None)
    >>> [looks_like(table, j) for j in range(5)]
    ['identifier', 'label', 'tags', '', 'identifier']
    """
    feature, values = data.features[column], data.X.column(column)
    known = values[~np.isnan(values)]
    if not len(known):
        return ""
    if feature.has_categories:
        words = {name.lower() for name in feature.categories}
        if words <= {"0", "1"}:
            return "label"
        if words <= {"yes", "no"} or words <= {"true", "false"}:
            return "answer"
        if _lists_tags(feature.categories):
            return "tags"
        return "identifier" if len(feature.categories) > 0.9 * len(known) >= 18 else ""
    if feature.kind != "numeric":
        return ""
    if len(known) > 1 and bool(np.isin(known, (0, 1)).all()):
        return "label"
    return "identifier" if _counts_rows(feature.name, known, len(values)) else ""


def _lists_tags(texts: Sequence[str]) -> bool:
    """Whether texts list tags: parts recur, and some texts have more of them than others, unlike "Linux; Firefox"."""
    mark = likely_separator(texts, "|;,")
    return mark is not None and len({text.count(mark) for text in texts}) > 1


def _counts_rows(name: str, known: Floats, rows: int) -> bool:
    """Whether numbers only tell rows apart: whole, all different, and in order, without a gap or named so."""
    if len(known) < max(20, rows) or bool((known != np.floor(known)).any()) or len(np.unique(known)) < rows:
        return False
    ordered = bool((np.diff(known) > 0).all())
    return ordered or float(known.max() - known.min()) == rows - 1 or _NUMBER_NAME.search(name.lower()) is not None


_NUMBER_NAME = re.compile(r"(^|[ _.-])(id|nr|no|number|index|key|row|rownames|unnamed: 0)$")
