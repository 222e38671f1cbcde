"""The columns of a table as a person first sees them: kinds, histograms, what is odd, and what each may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from polyrule.data import Dataset
from polyrule.data.describe import Finding
from polyrule.data.formats.blocks import TIMES, FileColumn
from polyrule.data.identifiers import find_identifiers
from polyrule.report.examples import feature_entry
from polyrule.studio.label_choice import MAX_COLUMNS, label_choices, tag_separator
from polyrule.studio.setup import ODD, Look, thinned
from polyrule.utils.names import visible

_LIKE_NAMES = "identifier-like feature"
#: examples in which odd things are looked for
MOST_DESCRIBED = 50_000
#: maximum number of columns that a page gets at once
MOST_COLUMNS = 200
#: maximum number of categories of a column that a page gets
MOST_CATEGORIES = 60
#: words of a title on average
MAX_TITLE_WORDS = 4


def describe_columns(look: Look, start: int = 0, find: str = "") -> dict[str, Any]:
    """Return columns with their kind, histogram and missing values, and what each looks like."""
    data, named = look.data, look.named
    untestable = [column for column in look.odd if ODD[column.kind] == "drop"]
    columns = list(file_columns(data))
    undecided = {column.name for column in look.odd if ODD[column.kind] == "nominal"}
    entries = [partial(_entry, data, j, undecided) for j in columns if find.lower() in data.features[j].column.lower()]
    entries += [partial(_odd_entry, column) for column in untestable if find.lower() in column.name.lower()]
    # Of all columns, not only of those that the page is shown at once: labels often stand at the end of a wide table.
    looks = {} if start or find else {data.features[j].column: looks_like(data, j) for j in columns[:MAX_COLUMNS]}
    looks |= dict.fromkeys(undecided, "")
    looks |= {column.name: "text" for column in untestable}
    remarks: Sequence[Finding] = ()
    choices = None
    if not start and not find:
        remarks = _remarks(data)
        alike = [name for one in remarks if one.kind == _LIKE_NAMES for name in one.names]
        looks |= {name: "text" for name in alike if name not in undecided and not looks.get(name)}
        choices = label_choices(look, looks)
    return {
        "name": visible(data.name),
        "examples": len(data),
        "columns": [make() for make in entries[start : start + MOST_COLUMNS]],
        "choices": choices,
        "start": start,
        "found": len(entries),
        "total": len(columns) + len(untestable) + len(named),
        "named": list(named),
        "findings": [
            *_number_words(look.setup.reading),
            *(_remark(column) for column in look.odd if ODD[column.kind] != "words"),
            *(
                visible(f"column {name!r} holds {TIMES}: rules see the month, weekday and hour, and days between dates")
                for name in look.timed
            ),
            *(_told(data, _open_remarks(remarks, choices["parts"])) if choices else ()),
        ],
    }


def file_columns(data: Dataset) -> Iterator[int]:
    """Yield the positions of the columns of a file: the first feature of a column that became others, such as units."""
    names = set(data.X.feature_names)
    for j, feature in enumerate(data.features):
        if feature.derived is None:
            yield j
        elif feature.column not in names:
            names.add(feature.column)
            yield j


def _entry(data: Dataset, j: int, undecided: set[str]) -> dict[str, Any]:
    """Return one column for the page; `undecided` ones are read as categories until a person decides."""
    entry = feature_entry(data.features[j], j, data.X)
    if len(entry.get("categories", ())) > MOST_CATEGORIES:
        entry["more"] = len(entry["categories"]) - MOST_CATEGORIES
        entry["categories"] = entry["categories"][:MOST_CATEGORIES]
        entry["histogram"]["counts"] = entry["histogram"]["counts"][:MOST_CATEGORIES]
    name = data.features[j].column
    items = [feature.name for feature in data.features if feature.derived is not None and feature.column == name]
    if data.features[j].derived is not None:
        entry |= {"name": name, "becomes": items}
    looks = "" if name in undecided else looks_like(data, j)
    return {**entry, "looks": looks, "shown": visible(name), "odd": name in undecided}


def _odd_entry(column: FileColumn) -> dict[str, Any]:
    """A column that no rule can test."""
    return {
        "name": column.name,
        "shown": visible(column.name),
        "kind": column.kind,
        "histogram": {"counts": [], "missing": 0},
        "looks": "text",
    }


def _number_words(reading: dict[str, Any]) -> list[str]:
    """Return a sentence on the number format, if it is not that of Python."""
    decimal, thousands = reading.get("decimal", "."), reading.get("thousands", "")
    example = f"1{thousands}234{decimal}5"
    return [] if example == "1234.5" else [f"numbers are read as in {example}; change that below"]


def _remark(column: FileColumn) -> str:
    if column.kind != "mixed":
        return visible(f"column {column.name!r} holds {column.kind} values, which rules cannot test; it is left out")
    advice = "say how dates are written" if "dates" in column.remark else "say what it is"
    return visible(f"column {column.name!r} holds {column.remark}; it is read as categories until you {advice}")


def findings(data: Dataset, test: Dataset | None = None) -> list[str]:
    """Return findings that would mislead a learner; very large data is sampled."""
    return _told(data, _remarks(data, test))


def _remarks(data: Dataset, test: Dataset | None = None) -> Sequence[Finding]:
    if len(data) <= MOST_DESCRIBED:
        return data.describe(test).findings
    return data[thinned(np.arange(len(data)), MOST_DESCRIBED)].describe().findings


def _told(data: Dataset, remarks: Sequence[Finding]) -> list[str]:
    part = f"of {MOST_DESCRIBED:,} examples: " if len(data) > MOST_DESCRIBED else ""
    return [part + visible(one.message) for one in remarks]


#: parts with which a finding needs no warning: the proposal has settled it
_SETTLED = {_LIKE_NAMES: ("identifier", "drop", "tags"), "missing values": ("tags", "drop")}


def _open_remarks(remarks: Sequence[Finding], parts: Mapping[str, str]) -> Sequence[Finding]:
    """Return the findings that the parts proposed for the columns do not settle."""
    return [
        one
        for one in remarks
        if one.kind not in _SETTLED or any(parts.get(name) not in _SETTLED[one.kind] for name in one.names)
    ]


def looks_like(data: Dataset, column: int) -> str:
    r"""Guess the part a column plays.

    "label" (0 and 1), "answer" (yes and no), "tags", "identifier" (learners leave it out), "title" (short texts, all
    different), or nothing.

    Examples
    --------
    >>> import io
    >>> from polyrule.data import read
    >>> rows = [f"p{i},{i % 2},{('a|b', 'b|c', 'a', 'c')[i % 4]},{i / 7},{i + 85}" for i in range(100)]
    >>> table = read(io.BytesIO("\n".join(["id,sick,tags,age,row", *rows]).encode()), labels=None)
    >>> [looks_like(table, j) for j in range(5)]
    ['identifier', 'label', 'tags', '', 'identifier']
    """
    feature, values = data.features[column], data.X.column(column)
    observed = values[~np.isnan(values)]
    if not len(observed):
        return ""
    if feature.has_categories:
        words = {name.lower() for name in feature.categories}
        if words <= {"0", "1"}:
            return "label"
        if words <= {"yes", "no"} or words <= {"true", "false"}:
            return "answer"
        if feature.kind == "list" or (feature.kind == "nominal" and tag_separator(feature.categories)):
            return "tags"
        if feature.kind == "text":
            words_in_all = sum(len(text.split()) for text in feature.categories)
            short = words_in_all <= MAX_TITLE_WORDS * len(feature.categories)
            return "title" if short and len(feature.categories) == len(observed) else ""
    elif feature.kind == "numeric" and len(observed) > 1 and bool(np.isin(observed, (0, 1)).all()):
        return "label"
    return "identifier" if find_identifiers(data.X.rearranged([column], [feature])) else ""
