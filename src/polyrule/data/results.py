"""Results as data frames, text tables and tables of notebooks.

A frame is pandas' where that is installed, else polars' or pyarrow's. In a notebook every name is escaped text, never
markup.
"""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.data.labels import UNKNOWN, dense_labels
from polyrule.errors import PolyruleError

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset


class MissingExtraError(PolyruleError, ImportError):
    """Error for a request that needs a package which is not installed."""


def make_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Build a data frame from named columns with the first of pandas, polars and pyarrow that is installed.

    Examples
    --------
    >>> make_frame({"label": ["red", "blue"], "f1": [0.5, 1.0]}).shape
    (2, 2)
    """
    for module, constructor in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            build = getattr(import_module(module), constructor)
        except ImportError:
            continue
        return build({name: list(values) for name, values in columns.items()})
    raise MissingExtraError("a data frame needs pandas, polars or pyarrow: install one of them")


def frame_of_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """Build a data frame from dictionaries; a key that a row lacks becomes a missing value."""
    table = [dict(row) for row in rows]
    names = list(columns) if columns is not None else list(dict.fromkeys(key for row in table for key in row))
    return make_frame({name: [row.get(name) for row in table] for name in names})


def csv_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Write dictionaries as comma-separated values; `columns` are those of a table without rows."""
    stream = io.StringIO(newline="")
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(stream, names or columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Format cells in aligned columns: the first `left` columns to the left, the others to the right.

    Examples
    --------
    >>> print(text_table(["label", "f1"], [["red", "0.5"], ["orange", "1"]]))
    label    f1
    red     0.5
    orange    1
    """
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    return "\n".join(line(row) for row in cells)


MOST_ROWS, MOST_COLUMNS = 5, 10


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], above: Iterable[str] = (), below: Iterable[str] = ()
) -> str:
    """Return a table with lines of text above and below it; long names break, so that it fits into its cell.

    Examples
    --------
    >>> html_table(["a"], [["<b>"]], below=["2 more"]).split("<table>")[1]
    '<thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table><p>2 more</p></div>'
    """
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    lines = ["".join(f"<p>{html.escape(line)}</p>" for line in text) for text in (above, below)]
    return f'<div style="overflow-wrap: anywhere">{lines[0]}{table}{lines[1]}</div>'


def html_dataset(data: Dataset) -> str:
    """Show the first examples of a data set: some features, and the labels that are present."""
    rows, columns = data.X.shape
    features = data.X.features[:MOST_COLUMNS]
    first_rows = np.asarray(data.X[: min(rows, MOST_ROWS)])
    labels = dense_labels(data.Y[: min(rows, MOST_ROWS)])
    lines = []
    for number, values in enumerate(first_rows):
        name = str(number) if data.row_ids is None else data.row_ids[number]
        cells = [_cell(feature, value) for feature, value in zip(features, values, strict=False)]
        there = [data.label_names[at] for at in np.flatnonzero(labels[number] == 1)]
        if unknown := int((labels[number] == UNKNOWN).sum()):
            there.append(f"{unknown} unknown")
        lines.append([name, *cells, *(["…"] if columns > len(features) else []), ", ".join(there) or "none"])
    head = ["", *(feature.name for feature in features), *(["…"] if columns > len(features) else []), "labels"]
    counts = f"{rows} examples, {columns} features, {len(data.label_names)} labels"
    return html_table(head, lines, above=[f"{data.name}: {counts}"])


def _cell(feature: Any, value: float) -> str:
    if np.isnan(value):
        return "missing"
    return feature.categories[int(value)] if feature.has_categories else f"{value:.6g}"
