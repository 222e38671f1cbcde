"""Files become data sets: `read` whole, `read_chunks` in bounded memory."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.data.assemble import Assembler, FileLayout, undeclared
from polyrule.data.columns import listing
from polyrule.data.dataset import Dataset
from polyrule.data.dates import day_of
from polyrule.data.derive.columns import add_derived, derive
from polyrule.data.formats.arff import ArffReader
from polyrule.data.formats.blocks import TIMES, ColumnKind, FileColumn, Reader, SparseBlock
from polyrule.data.formats.delimited import MISSING, DelimitedOptions, DelimitedReader
from polyrule.data.formats.encoders import KindConflict, Place, parse_numbers
from polyrule.data.formats.jsonlines import JsonLinesReader
from polyrule.data.formats.libsvm import LibsvmReader
from polyrule.data.formats.number_style import NumberStyle, other_style
from polyrule.data.formats.parquet import ParquetReader
from polyrule.data.formats.xlsx import Workbook, XlsxReader
from polyrule.data.labelspec import is_auto
from polyrule.data.recognize import recognize
from polyrule.data.roles import Roles, make_layout, unread
from polyrule.data.sniff import ending, find_format, unpacked_name
from polyrule.data.sources import Source
from polyrule.data.table import TEXTUAL, Feature
from polyrule.data.tags import warn_about_strange_tags, warn_about_tags
from polyrule.errors import DataError, DataWarning, OptionError
from polyrule.utils.messages import argument, depth_of_caller, did_you_mean


def read(
    path: Any,
    *,
    labels: Any = "auto",
    label_file: Any = None,
    format: str | None = None,
    drop: Any = (),
    nominal: Any = (),
    ordinal: Mapping[str, Sequence[str]] | None = None,
    numeric: Any = (),
    date: Any = (),
    identifier: str | int | None = None,
    weights: str | int | None = None,
    tags: str | int | None = None,
    tag_separator: str | None = None,
    features: Sequence[Feature] | None = None,
    like: Sequence[Feature] | None = None,
    words: Any = (),
    lists: Any = (),
    list_separator: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] = MISSING,
    decimal: str = ".",
    thousands: str | None = None,
    dates: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
    max_bytes: int | None = None,
    name: str | None = None,
) -> Dataset:
    r"""Read a file into a data set.

    Parameters
    ----------
    path : path, ``"-"`` for standard input, or a binary stream
        ARFF (dense or sparse), CSV, TSV, Parquet, JSON lines, a sheet of a workbook (xlsx), LIBSVM or
        extreme-classification format; compressed with gzip, bzip2, xz or zstandard or not at all.
    labels : specification of columns, ``"auto"`` or None
        A list of names or positions, a compiled pattern, a range, the path of a MULAN XML file, or a text such as
        ``"red,green"``, ``"last:14"``, ``"red..black"``, ``"mood_*"``, ``"/^Class/"`` or ``"@labels.xml"``
        (see `polyrule.data.labelspec`). ``"auto"`` takes what the file itself says: the MULAN list beside it, MEKA's
        ``-C n`` in the relation name, or the labels of a LIBSVM file. None: there are no labels.
    label_file : path, optional
        A second file with the same rows whose columns are all labels.
    format : {"arff", "csv", "tsv", "parquet", "jsonl", "libsvm", "xlsx"}, optional
        Found by content and ending by default.
    ordinal : dict of str to sequence of str, optional
        Columns whose values ascend, and these values, lowest first: ``{"plan": ["basic", "plus", "pro"]}``.
    words, lists, list_separator : specifications of columns, and a separator
        Columns of running text, whose words rules test, and of lists, whose members rules test. Without these options
        both are recognized by their cells, and the separator among ``|``, ``;`` and ``,``.
    drop, nominal, numeric, date : specifications of columns
        Columns to leave out, and columns whose kind is declared. Dates that are declared may also be written 31.12.2021
        or 20211231.
    identifier, weights : column
        The column with the names of the examples, and that with their weights.
    tags, tag_separator : column and separator
        Labels come from this column: ``jazz|calm`` or, in JSON and Parquet, a list. The separator is found among ``|``,
        ``;`` and ``,`` in the first rows. `labels` may then give the names of all labels, such as those of a model:
        tags that are none of them are counted in a warning, labels that no row has are absent.
    features : sequence of Feature, optional
        The features of a model: the columns are picked by name and encoded against them, other columns are skipped, and
        a category the model does not know becomes a missing value.
    like : sequence of Feature, optional
        The features of a model: its columns are read as what they were in training, and no column is skipped, so that
        the data can be compared with the model.
    delimiter, header, missing, decimal, thousands, dates
        How delimited text is written (see `polyrule.data.formats.delimited.DelimitedOptions`).
    sheet : str, optional
        The sheet of a workbook; the first that is not hidden by default.
    encoding : str, optional
        Text encoding; UTF-8, UTF-16 with a byte order mark and Windows-1252 are detected automatically.
    max_bytes : int, optional
        Most bytes the file may expand to, unpacked and as a table. By default that grows with the file, so that a small
        one cannot fill the memory; `polyrule.limits` sets limits for everything in a block.
    name : str, optional
        What to call the data set; the file's name by default.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        In one sentence: the file, the line, the column, and what is wrong.

    Warns
    -----
    UnseenCategoryWarning
        Where the file holds categories that `features` does not have.

    Examples
    --------
    >>> import io
    >>> data = read(io.BytesIO(b"size,hue,red,calm\n1.5,dark,1,0\n?,light,0,1\n"), labels="red,calm")
    >>> data.features
    (Feature(name='size', kind='numeric', categories=()),
     Feature(name='hue', kind='nominal', categories=('dark', 'light')))
    >>> data.Y.tolist()
    [[1, 0], [0, 1]]
    """
    if label_file is not None:
        if not (labels is None or is_auto(labels)) or tags is not None:
            raise OptionError(
                f"{argument('label_file')} cannot be combined with {argument('labels')} or {argument('tags')}"
            )
        labels = None
    roles = Roles(
        *(labels, drop, nominal, ordinal, numeric, date, identifier, weights, tags, tag_separator, features),
        *(words, lists, list_separator, like),
    )
    delimited = DelimitedOptions(delimiter, header, missing, decimal, thousands, dates, sheet)
    opened = _Opened(path, roles, delimited, format, encoding, max_bytes, name)
    dataset = _read_whole(opened)
    return dataset if label_file is None else _with_label_file(dataset, opened, label_file)


def read_chunks(path: Any, *, rows: int = 10_000, **options: Any) -> Iterator[Dataset]:
    r"""Read a file piece by piece: data sets of at most `rows` examples, in order, in bounded memory.

    Options are those of `read`, except `label_file`. All pieces have the same features; unless `features` is given or
    the format declares them, a first pass over the file finds kinds and categories.

    Parameters
    ----------
    path : path, ``"-"`` for standard input, or a binary stream
        As in `read`.
    rows : int
        Most examples of one piece.
    **options
        As in `read`.

    Examples
    --------
    >>> import io
    >>> text = b"size,red\n" + b"1,0\n" * 5
    >>> [len(part) for part in read_chunks(io.BytesIO(text), labels=["red"], rows=2)]
    [2, 2, 1]
    """
    if rows < 1:
        raise OptionError(f"rows must be at least 1, got {rows}")
    opened = _Opened.with_options(path, options)
    if opened.roles.features is None:
        _refuse_lists(opened)
    reader, layout = opened.reader, _final_layout(opened)
    assembler = Assembler(layout, opened.name, opened.source.budget)
    names = [encoder.name for encoder in layout.encoders.values()]
    timed = [column.name for column in reader.columns if column.remark == TIMES]
    for block in reader.blocks(layout.numeric()):
        assembler.add(block)
        whole = _with_dates(assembler.dataset(), opened.roles, names, timed)
        for start in range(0, len(whole), rows):
            yield whole if len(whole) <= rows else whole[start : start + rows]
    _warn(layout)


def _refuse_lists(opened: _Opened) -> None:
    """Refuse lists that are no text, and columns declared as words or lists: their items are chosen from all rows."""
    encoders, columns = opened.layout().encoders, opened.reader.columns
    for j, encoder in encoders.items():
        if encoder.kind == "nominal" and columns[j].remark and not encoder.declared:
            raise unread(opened.reader, columns[j])
    if names := [encoder.name for encoder in encoders.values() if encoder.kind in TEXTUAL]:
        raise DataError(
            f"{opened.reader.name}: column {names[0]!r} holds texts or lists, whose items are chosen from "
            f"all rows; drop it ({argument('drop')}) or declare it nominal ({argument('nominal')})"
        )


def column_names(path: Any, **options: Any) -> list[str]:
    r"""Return the names of a file's columns, whatever part they play; options are those of `read`.

    Examples
    --------
    >>> import io
    >>> column_names(io.BytesIO(b"id,size,red\n1,2,0\n"))
    ['id', 'size', 'red']
    """
    return [column.name for column in file_columns(path, **options)]


def sheet_names(path: Any) -> tuple[str, ...]:
    """Return the names of the sheets that a workbook shows; a file of another format has none."""
    source = Source(path)
    if find_format(source, None) != "xlsx":
        return ()
    with contextlib.closing(Workbook(source.seekable(), source.budget)) as book:
        return book.sheets


def file_columns(path: Any, **options: Any) -> list[FileColumn]:
    """Return the columns as the file describes them, before roles are assigned."""
    return list(_Opened.with_options(path, options).reader.columns)


class _Opened:
    """A file that has been opened, and what the caller said about it."""

    def __init__(
        self,
        path: Any,
        roles: Roles,
        delimited: DelimitedOptions,
        format: str | None = None,
        encoding: str | None = None,
        max_bytes: int | None = None,
        name: str | None = None,
    ) -> None:
        self.roles, self.delimited, self.encoding, self.max_bytes = roles, delimited, encoding, max_bytes
        self.source = path if isinstance(path, Source) else Source(path, max_bytes, encoding)
        self.reader = open_reader(self.source, format, delimited)
        _number_duplicates(self.reader)
        self.name = name or _plain_name(self.source)

    @classmethod
    def with_options(cls, path: Any, options: dict[str, Any]) -> _Opened:
        """Open a file with the options of `read` by name; what is not given has the defaults of `read`."""
        rest = dict(options)
        roles = Roles(**{f.name: rest.pop(f.name) for f in fields(Roles) if f.name in rest})
        delimited = DelimitedOptions(**{f.name: rest.pop(f.name) for f in fields(DelimitedOptions) if f.name in rest})
        for name in sorted(rest.keys() - {"format", "encoding", "max_bytes", "name"}):
            raise OptionError(f"there is no option {name!r}{did_you_mean(name, inspect.signature(read).parameters)}")
        return cls(path, roles, delimited, **rest)

    def layout(self) -> FileLayout:
        """Decide which column plays which part."""
        return make_layout(self.reader, self.roles, self.source)


def _number_duplicates(reader: Reader) -> None:
    """Rename columns of equal names, with a warning: the second ``rating`` becomes ``rating (2)``."""
    names = [column.name for column in reader.columns]
    if len(set(names)) == len(names):
        return
    names_in_use, seen, columns, twice = set(names), Counter[str](), [], list[str]()
    for column in reader.columns:
        seen[column.name] += 1
        if seen[column.name] > 1:
            number = seen[column.name]
            while (name := f"{column.name} ({number})") in names_in_use:
                number += 1
            names_in_use.add(name)
            twice.append(name)
            column = replace(column, name=name)
        columns.append(column)
    reader.columns = columns
    warnings.warn(
        f"{reader.name}: columns of equal names are told apart by numbers: {listing(twice)}",
        DataWarning,
        stacklevel=depth_of_caller(),
    )


def open_reader(source: Source, format: str | None = None, options: DelimitedOptions | None = None) -> Reader:
    """Find the format of a source and open it."""
    format_of_file = find_format(source, format)
    if options is not None and options.sheet is not None and format_of_file != "xlsx":
        raise OptionError(f"{argument('sheet')} is for workbooks (.xlsx), and {source.name} is none")
    own_missing = [] if options is None else [text for text in options.missing if text not in MISSING]
    if own_missing and format_of_file not in ("csv", "tsv", "xlsx"):
        # No error: a model remembers the option from its training data, and this file may say itself what is missing.
        message = (
            f"{source.name}: {format_of_file} says itself which values are missing, "
            f"so {', '.join(own_missing)} is read as a value"
        )
        warnings.warn(message, DataWarning, stacklevel=depth_of_caller())
    if format_of_file == "arff":
        return ArffReader(source)
    if format_of_file == "parquet":
        return ParquetReader(source)
    if format_of_file == "jsonl":
        return JsonLinesReader(source, options)
    if format_of_file == "libsvm":
        return LibsvmReader(source)
    if format_of_file == "xlsx":
        return XlsxReader(source, options)
    return DelimitedReader(source, options, ".tsv" if format_of_file == "tsv" else ending(source))


def _read_whole(opened: _Opened) -> Dataset:
    try:
        return _pass(opened)
    except KindConflict:
        _find_kinds(opened.reader)
        return _pass(opened)


def _pass(opened: _Opened) -> Dataset:
    reader, layout = opened.reader, opened.layout()
    assembler = Assembler(layout, opened.name, opened.source.budget)
    for block in reader.blocks(layout.numeric()):
        assembler.add(block)
    _warn(layout)
    dataset = assembler.dataset()
    if layout.tags is not None and layout.tags_column is not None and layout.tags.strange is None:
        column = reader.columns[layout.tags_column]
        warn_about_tags(dataset.label_names, layout.tags.separator, reader.name, column.name)
    declared = [encoder.name for encoder in layout.encoders.values() if encoder.frozen or encoder.declared]
    return _with_dates(dataset, opened.roles, declared)


def _warn(layout: FileLayout) -> None:
    """Warn once of what a model, or a list of labels, does not contain."""
    layout.unseen.warn(layout.reader.name)
    if layout.tags is not None and layout.tags.strange is not None:
        warn_about_strange_tags(layout.tags.strange, layout.reader.name)


def _with_dates(
    data: Dataset, roles: Roles, declared: Collection[str] = (), timed: Collection[str] | None = None
) -> Dataset:
    """Return the data with the columns that are derived from it, or with those that a model needs."""
    if roles.features is not None:
        X = derive(data.X, tuple(roles.features))
    else:
        X = add_derived(recognize(data.X, declared, roles.quantities), timed)
    return data if X is data.X else replace(data, X=X)


def _final_layout(opened: _Opened) -> FileLayout:
    """A layout whose kinds and categories hold for the whole file."""
    reader, layout = opened.reader, opened.layout()
    encoders = layout.encoders
    open_kinds = any(
        not encoder.frozen and (encoder.kind == "nominal" or encoder.tentative) for encoder in encoders.values()
    )
    if not open_kinds and (layout.tags is None or layout.tags.is_known):
        return layout
    if any(encoder.tentative for encoder in encoders.values()):
        _find_kinds(reader)
        layout = opened.layout()
    for block in reader.blocks(layout.numeric()):
        for j, encoder in layout.encoders.items():
            if encoder.kind == "nominal" and not encoder.frozen:
                if isinstance(block, SparseBlock):
                    raise undeclared(reader.name, encoder.name)
                encoder.encode(block.cells[j], layout.place(j, block.lines))
        if layout.tags is not None and (cells := layout.tag_cells(block)) is not None:
            layout.tags.learn(cells, layout.place(layout.tags_column, block.lines))
    for encoder in layout.encoders.values():
        encoder.freeze()
    if layout.tags is not None:
        layout.tags.freeze()
    return layout


def _find_kinds(reader: Reader) -> None:
    """Find in one pass over the file which columns are numeric throughout."""
    parsed_kinds: dict[ColumnKind, ColumnKind] = {"auto": "numeric", "auto-date": "date"}
    open_columns = {j for j, column in enumerate(reader.columns) if column.kind in parsed_kinds}
    textual: set[int] = set()
    for block in reader.blocks([True] * len(reader.columns)):
        for j in open_columns - textual:
            cells = block.cells[j]
            if isinstance(cells, np.ndarray):
                continue
            if reader.columns[j].kind == "auto":
                fits = not isinstance(parse_numbers(cells), int)
            else:
                form = reader.columns[j].date_form
                fits = all(cell is None or day_of(cell, form) is not None for cell in cells)
            if not fits:
                _refuse_other_style(reader, j, cells, block.lines)
                textual.add(j)
    reader.columns = [
        replace(column, kind="nominal" if j in textual else parsed_kinds[column.kind]) if j in open_columns else column
        for j, column in enumerate(reader.columns)
    ]


def _refuse_other_style(reader: Reader, j: int, cells: Sequence[Any], lines: Sequence[int]) -> None:
    """Refuse a number that is written in another way than those above it: it would make all of them categories."""
    for row, cell in enumerate(cells):
        other = other_style([cell], NumberStyle()) if isinstance(cell, str) else None
        if other is not None:
            place = Place(reader.name, reader.columns[j].name, lines, reader.unit)
            nominal = f"or declare it nominal ({argument('nominal')})"
            raise place.error(row, f"{other[0]} among other numbers; {other[1]}, {nominal}")


def _with_label_file(data: Dataset, opened: _Opened, label_file: Any) -> Dataset:
    second = _Opened(
        label_file, Roles(), replace(opened.delimited, sheet=None), None, opened.encoding, opened.max_bytes, data.name
    )
    second.roles = Roles(labels=list(range(len(second.reader.columns))))
    label_data = _read_whole(second)
    if len(label_data) != len(data):
        raise DataError(
            f"{second.reader.name}: {len(label_data)} rows of labels for the {len(data)} examples of {data.name}"
        )
    return replace(data, Y=label_data.Y, label_names=label_data.label_names)


def _plain_name(source: Source) -> str:
    if source.path is None:
        return source.name
    return Path(unpacked_name(source.path.name)).stem
