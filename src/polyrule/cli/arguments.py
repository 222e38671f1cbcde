"""Data and models named on the command line."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from polyrule.cli.command import Option
from polyrule.cli.output import note
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.utils.messages import did_you_mean, parameter_name

if TYPE_CHECKING:
    from polyrule.data import Dataset, Feature

DATE_FORMS = ("day/month/year", "month/day/year")  # as in polyrule.data.dates, which help need not import
FORMATS = ("arff", "csv", "tsv", "parquet", "jsonl", "libsvm", "xlsx")

SECTION = "Reading DATA (a file, - for standard input, or a name such as emotions:test)"


def _added_up(ctx: click.Context, param: click.Parameter, specs: tuple[str, ...]) -> Any:
    """Return the specification of an option of columns: None, one text, or several that add up."""
    if len(specs) < 2:
        return specs[0] if specs else None
    from polyrule.data.labelspec import Specs

    return Specs(dict.fromkeys(specs))


def _one_only(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the value of an option that names one thing; refuse two different ones."""
    if len(set(values)) > 1:
        raise OptionError(f"{param.opts[0]} names one {str(param.metavar).lower()}, not {' and '.join(values)}")
    return values[0] if values else None


_option = partial(click.option, cls=Option, section=SECTION)
_columns = partial(_option, metavar="SPEC", multiple=True, callback=_added_up)
_one = partial(_option, multiple=True, callback=_one_only)

_OPTIONS = (
    _columns(
        "--labels",
        help="Label columns: names, a*, /regex/, a..b, first:N, last:N, @FILE. This and other SPEC may be repeated.",
    ),
    _one("--label-file", metavar="FILE", help="A second file with the same rows, all of it labels."),
    _one("--tags", metavar="COLUMN", help="Column that lists the labels of a row, such as jazz|calm."),
    _option("--tag-separator", metavar="TEXT", help="What separates tags [| ; or , by content]."),
    _columns("--drop", help="Columns to leave out."),
    _columns("--nominal", help="Columns to read as categories."),
    _option("--ordinal", multiple=True, metavar="NAME=A,B,..", help="A column whose values ascend, lowest first."),
    _columns("--numeric", help="Columns to read as numbers."),
    _columns("--date", help="Columns to read as dates, also as 20211231."),
    _columns("--words", help="Columns of text whose words rules test [by content]."),
    _columns("--lists", help="Columns of lists whose members rules test [by content]."),
    _option("--list-separator", metavar="TEXT", help="What separates members of --lists [| ; or , by content]."),
    _one("--id", "identifier", metavar="COLUMN", help="Column that names the rows; never a feature."),
    _one("--weights", metavar="COLUMN", help="Column with example weights."),
    _option("--format", "format_", type=click.Choice(FORMATS), help="Format of the data [by content]."),
    _option("--delimiter", metavar="TEXT", help="What separates columns of a text file [by content]."),
    _option("--header/--no-header", default=None, help="Whether the first line holds names [by content]."),
    _option("--missing", multiple=True, metavar="TEXT", help="What stands for a missing value [?, NA, ...]."),
    _option("--decimal", metavar="CHARACTER", help="Decimal sign [.]."),
    _option("--thousands", metavar="CHARACTER", help="What parts groups of three digits, such as , in 7,750 [none]."),
    _option("--dates", type=click.Choice(DATE_FORMS), help="How dates such as 3/4/2021 are written [by content]."),
    _option("--sheet", metavar="NAME", help="Sheet of a workbook [the first that is not hidden]."),
    _option("--encoding", metavar="NAME", help="Text encoding [UTF-8, UTF-16 or Windows-1252]."),
)

#: where a model remembers the column that names the rows
ID_COLUMN = "id_column"
#: where it remembers how its data was written, and what of that
READING = "reading"
_REMEMBERED = (
    *("tags", "tag_separator", "delimiter", "header", "missing", "decimal", "thousands", "dates", "encoding"),
)
_LABELS = ("labels", "label_file", "tags", "tag_separator")


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to read data; the command gets them as ``**reading``.

    Options that are not given are taken from the file of decisions beside the data, if there is one.
    """

    @functools.wraps(function)
    def with_decisions(*args: Any, **values: Any) -> Any:
        ctx = click.get_current_context()
        decided = _decisions(ctx)
        ctx.params |= decided
        return function(*args, **{**values, **{name: decided[name] for name in decided if name in values}})

    command: Callable[..., Any] = with_decisions
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _decisions(ctx: click.Context) -> dict[str, Any]:
    """Return the values of options that the file of decisions beside the data has, and nobody gave."""
    paths = ctx.params.get("data") or ctx.params.get("files")
    path = paths[0] if isinstance(paths, (tuple, list)) else paths
    if path is None or not Path(path).is_file():
        return {}
    from polyrule.data.decisions_file import read_decisions

    options = {_file_name(param): param for param in ctx.command.params if getattr(param, "section", "") == SECTION}
    limits = {str(param.name): param for param in ctx.command.params if param.name == "keep_columns"}
    decided = read_decisions(path, {*options, "keep_columns"})
    is_given = {name: ctx.get_parameter_source(name) != ParameterSource.DEFAULT for name in ctx.params}
    labels_given = any(is_given.get(name) for name in _LABELS)
    values = {}
    for name, value in decided.items():
        param = {**options, **limits}.get(name)
        if param is None or is_given.get(str(param.name)) or (labels_given and name in _LABELS):
            continue
        several = getattr(param, "multiple", False) and not isinstance(value, list)
        values[str(param.name)] = param.process_value(ctx, [value] if several else value)
    return values


def decided_options(reading: dict[str, Any]) -> dict[str, Any]:
    """Return options that were given, under the names and as the values that a file of decisions has."""
    names = {"identifier": "id", "format_": "format"}
    given = {name: value for name, value in reading.items() if value is not None and value not in ((), [])}
    return {
        names.get(name, name): [str(one) for one in value] if isinstance(value, (tuple, list)) else value
        for name, value in given.items()
    }


def _file_name(param: click.Parameter) -> str:
    """Return the name under which a file has an option."""
    return {"identifier": "id", "format_": "format"}.get(str(param.name), str(param.name))


def reading_names(command: click.Command) -> list[str]:
    """Names under which a command gets the options that `data_options` adds."""
    return [str(param.name) for param in command.params if getattr(param, "section", "") == SECTION]


def data_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument DATA: a file, ``-`` for standard input, or a benchmark data set such as ``emotions:train``."""
    return click.argument("data", metavar="DATA", shell_complete=complete_data)(function)


def model_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument MODEL: a model file."""
    return click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))(function)


def complete_data(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Offer files and the names of the benchmark data sets."""
    from click.shell_completion import CompletionItem

    from polyrule.datasets.registry import ENTRIES

    names = [CompletionItem(name) for name in ENTRIES if name.startswith(incomplete)] if incomplete else []
    return [*names, CompletionItem(incomplete, type="file")]


def load_model(path: Path, *, check: bool = True) -> Any:
    """Read a model file of any kind; with `check`, one that matches its checksum."""
    from polyrule.model.files import load

    if not path.exists():
        hint = did_you_mean(path.name, _beside(path, "*.json"))
        raise ModelError(f"{path}: there is no such model file{hint}")
    return load(path, check=check)


def load_kind(kind: str, path: Path) -> Any:
    """Read a model file that must hold a rule-list, or a rule-ensemble."""
    model = load_model(path)
    if kind != model.KIND:
        raise ModelError(f"{path}: this needs a {kind.replace('-', ' ')}, but the file holds a {model.KIND}")
    return model


def check_known(option: str, requested: Iterable[str], names: Collection[str], what: str) -> None:
    """Refuse what an option names and the model does not have."""
    for name in requested:
        if name not in names:
            raise OptionError(f"{option}: the model has no {what} {name!r}{did_you_mean(name, names)}")


def reading_options(reading: dict[str, Any]) -> dict[str, Any]:
    """Options of the command line under the names that `polyrule.data.read` has for them."""
    values_of = {name: value for name, value in reading.items() if value is not None and value != ()}
    if "ordinal" in values_of:
        ascending: dict[str, list[str]] = {}
        for column, values in map(_ordered, values_of["ordinal"]):
            if ascending.setdefault(column, values) != values:
                raise OptionError(f"--ordinal says two orders of {column}; give one")
        values_of["ordinal"] = ascending
    return {"format" if name == "format_" else name: value for name, value in values_of.items()}


def _ordered(text: str) -> tuple[str, list[str]]:
    column, sign, values = text.rpartition("=")
    if not sign or not column:
        raise OptionError(f"--ordinal is written NAME=A,B,.., such as plan=basic,plus,pro, not {text!r}")
    return column, [value.strip() for value in values.split(",")]


def benchmark_name(text: str) -> tuple[str, Any] | None:
    """Split ``emotions:train`` into name and part; None if it is a file, or no data set's name."""
    from polyrule.datasets.registry import ENTRIES

    if text == "-" or Path(text).exists():
        return None
    name, _, part = text.partition(":")
    entries = {entry.lower(): entry for entry in [*ENTRIES, "paper-example"]}
    if name.lower() not in entries:
        return None
    if part not in ("", "train", "test"):
        raise DataError(f"{text}: a data set has the parts train and test, not {part!r}")
    return entries[name.lower()], part or None


def load_data(
    text: str,
    reading: dict[str, Any],
    features: tuple[Feature, ...] | None = None,
    *,
    unlabelled: bool = False,
    opened: Any = None,
) -> Dataset:
    """Read a data set from a file, standard input or the benchmarks.

    With `unlabelled`, a file where nothing says which columns are labels is read without any, and a note says so.
    Standard input that was read before comes as `opened`.
    """
    from polyrule.data import read, to_table
    from polyrule.data.roles import LabelsUnknownError
    from polyrule.data.sources import Source
    from polyrule.datasets import load

    options = reading_options(reading)
    benchmark = benchmark_name(text)
    if benchmark is None:
        _check_exists(text)
        with naming(text):
            # Opened here, because standard input can be read only once.
            source = opened or Source(text, encoding=options.get("encoding"))
            try:
                return read(source, features=features, **options)
            except LabelsUnknownError:
                if not unlabelled:
                    raise
            note("nothing says which columns are labels, so all are taken for features; --labels says it")
            return read(source, features=features, **{**options, "labels": None})
    name, part = benchmark
    for option in sorted(set(options) - {"drop"}):
        raise DataError(f"{text}: {parameter_name(option)} is for files; the columns of this data set are known")
    with naming(text):
        data = load(name, part, drop=options.get("drop", ()))
        return data if features is None else replace(data, X=to_table(data.X, features, others="skip"))


def remember_reading(model: Any, reading: dict[str, Any]) -> None:
    """Let a model know how its data was written, so that nobody has to say it again for data of the same kind."""
    if reading["identifier"] is not None:
        model.info[ID_COLUMN] = reading["identifier"]
    set_options = {name: reading[name] for name in _REMEMBERED if reading[name] is not None and reading[name] != ()}
    if set_options:
        model.info[READING] = set_options | (
            {"missing": list(set_options["missing"])} if "missing" in set_options else {}
        )


def with_known(text: str, reading: dict[str, Any], model: Any, source: Any = None) -> dict[str, Any]:
    """Return the reading options with those the model was trained with, unless others are given.

    The names of the columns of standard input are known only where it has been opened as `source`.
    """
    if benchmark_name(text) is not None:
        return reading
    remembered = {name: value for name, value in model.info.get(READING, {}).items() if name in _REMEMBERED}
    if any(reading.get(name) for name in ("labels", "label_file", "tags")):
        remembered = {name: value for name, value in remembered.items() if name not in _LABELS}
    open_ = {name: value for name, value in remembered.items() if reading.get(name) is None or reading[name] == ()}
    return _with_known_id(text, {**reading, **open_}, model, source)


def _with_known_id(text: str, reading: dict[str, Any], model: Any, source: Any) -> dict[str, Any]:
    """Return the reading options with the --id column the model was trained with, where the file has that column."""
    remembered = model.info.get(ID_COLUMN)
    if reading.get("identifier") is not None or not remembered or not (source is not None or Path(text).is_file()):
        return reading
    from polyrule.data.reading import column_names

    options = reading_options(reading)
    files = {name: options[name] for name in ("format", "encoding", "delimiter", "header") if name in options}
    with naming(text):
        columns = column_names(source or text, **files)
    return {**reading, "identifier": remembered} if remembered in columns else reading


@contextlib.contextmanager
def naming(text: str, identifier: str = "identifier") -> Iterator[None]:
    """Let errors name the data, and the option that gave the column of identifiers.

    If several files are read, `text` is empty: errors then name the file themselves.
    """
    from polyrule.data.columns import listing
    from polyrule.data.roles import LabelsUnknownError

    name = "standard input" if text == "-" else text
    try:
        yield
    except LabelsUnknownError as error:
        raise DataError(
            f"{name or error.file}: nothing says which columns are labels; say it with --labels (names, a pattern such "
            f"as 'mood_*', last:3, @labels.xml), --tags or --label-file (the columns are {listing(error.columns, 8)})"
        ) from error
    except (DataError, OptionError) as error:
        if error.parameter == "identifier":
            error.parameter = identifier
        if name not in str(error):
            error.source = name
        raise


def open_once(text: str, reading: dict[str, Any], model: Any) -> Any:
    """Open standard input, so that it can be read more than once; None for everything else."""
    from polyrule.data.sources import Source

    encoding = reading.get("encoding") or model.info.get(READING, {}).get("encoding")
    return Source(text, encoding=encoding) if text == "-" else None


def load_chunks(text: str, reading: dict[str, Any], model: Any, rows: int, source: Any = None) -> Iterator[Dataset]:
    """Read data for a model in pieces of bounded size, without its labels; `with_known` says how it is written."""
    from polyrule.data import read_chunks

    if benchmark_name(text) is not None:
        whole = load_data(text, reading, model.features)
        for start in range(0, len(whole), rows):
            yield whole[start : start + rows]
        return
    _check_exists(text)
    options = {name: value for name, value in reading_options(reading).items() if name not in _LABELS}
    with naming(text):
        yield from read_chunks(source or text, rows=rows, labels=None, features=model.features, **options)


def load_column(text: str, reading: dict[str, Any], model: Any, name: str, rows: int) -> Iterator[str]:
    """Read the cells of one column that --keep names, as they are written, in pieces of bounded size."""
    from polyrule.data import read_chunks

    if text == "-":
        raise OptionError("--keep reads DATA once more, which standard input does not allow; give a file")
    if benchmark_name(text) is not None:
        raise OptionError(f"{text}: --keep is for files; the columns of this data set are known")
    options_read = with_known(text, reading, model) | dict.fromkeys(_KINDS)
    options_read["identifier"] = name
    options = {key: value for key, value in reading_options(options_read).items() if key not in _LABELS}
    with naming(text, identifier="keep"):
        for part in read_chunks(text, rows=rows, labels=None, features=(), **options):
            yield from part.row_ids or ()


def _check_exists(text: str) -> None:
    path = Path(text)
    if path.is_dir():
        from polyrule.store import is_store

        if is_store(path):
            raise DataError(f"{text}: a store holds codes to train on, not features; name the data it was packed from")
    if text == "-" or path.exists():
        return
    from polyrule.datasets.registry import ENTRIES

    _, colon, part = text.partition(":")
    hint = did_you_mean(text, (f"{entry}{colon}{part}" for entry in ENTRIES))
    hint = hint or did_you_mean(path.name, _beside(path, "*"))
    raise DataError(f"{text}: no such file, and no data set of that name ('polyrule data --list' lists them){hint}")


def _beside(path: Path, pattern: str) -> list[str]:
    """Names of files in the folder of a path that does not exist."""
    return [other.name for other in path.parent.glob(pattern)] if path.parent.is_dir() else []


def load_labelled(text: str, reading: dict[str, Any], model: Any, *others: Any) -> Dataset:
    """Read data with the labels of a model, in the model's order.

    Categories that it does not know are warned of in the columns that its rules test, or those of the other models.
    """
    from polyrule.data.columns import hold_unseen
    from polyrule.model.columns import names_in_rules

    with hold_unseen() as warn_of:
        data = _load_labelled(text, reading, model)
    warn_of([name for one in (model, *others) for name in names_in_rules(one)])
    return data


def _load_labelled(text: str, reading: dict[str, Any], model: Any) -> Dataset:
    from polyrule.data.preparation import is_prepared, of_columns

    reading, features = with_known(text, reading, model), model.features
    if not is_prepared(features):
        return _load_with_labels(text, reading, model, features)
    # The texts themselves, as they were when the model was learned: by them the data is recognized.
    declared = reading if benchmark_name(text) is not None else reading | {"like": features}
    data = _load_with_labels(text, declared, model, None)
    return replace(data, X=of_columns(data.X, features))


_KINDS = ("nominal", "ordinal", "numeric", "date", "words", "lists", "list_separator")


def _load_with_labels(text: str, reading: dict[str, Any], model: Any, features: tuple[Feature, ...] | None) -> Dataset:
    from polyrule.data.columns import listing
    from polyrule.data.labelspec import NoColumnError

    if reading.get("tags"):
        return load_tagged(text, reading, model.label_names, features)
    if benchmark_name(text) is not None or any(reading.get(name) for name in ("labels", "label_file")):
        return align_labels(load_data(text, reading, features), model)
    try:
        data = load_data(text, {**reading, "labels": list(model.label_names)}, features)
    except NoColumnError as error:
        if error.parameter != "labels":
            raise
        raise DataError(
            f"{text}: the model's labels ({listing(model.label_names)}) are not all columns of it; say where they "
            "stand with --labels, --tags or --label-file"
        ) from error
    return align_labels(data, model)


def load_tagged(
    text: str, reading: dict[str, Any], label_names: tuple[str, ...], features: tuple[Feature, ...] | None
) -> Dataset:
    """Read data whose rows list their labels, with these labels; a note says which of them no row has."""
    from polyrule.data.columns import listing

    if reading.get("labels"):
        raise OptionError("--labels and --tags: the labels are those of the model; leave --labels out")
    data = load_data(text, {**reading, "labels": list(label_names)}, features)
    there = data.Y.sum(axis=0)
    nowhere = [name for name, count in zip(label_names, there, strict=True) if not count]
    if nowhere:
        note(f"{text}: no row has the label(s) {listing(nowhere)}, which count as absent")
    return data


def align_labels(data: Dataset, model: Any) -> Dataset:
    """Bring the labels of a data set into the order of the model."""
    from polyrule.data.labels import arrange_labels

    if data.label_names == model.label_names:
        return data
    arranged = arrange_labels(data.Y, data.label_names, model.label_names)
    if arranged.lacking:
        more = f" and {len(arranged.lacking) - 1} more" if len(arranged.lacking) > 1 else ""
        hint = did_you_mean(arranged.lacking[0], data.label_names)
        raise DataError(f"{data.name}: the label {arranged.lacking[0]!r}{more} of the model is not in the data{hint}")
    return replace(data, Y=arranged.Y, label_names=model.label_names)


def load_all_columns(data: str, reading: dict[str, Any], model: Any, option: str) -> Dataset:
    """Read labelled data with all columns, not only those that a model tests; `option` is why."""
    if data == "-":
        raise OptionError(f"{option} reads other columns than those of the model, so DATA must be a file")
    options = with_known(data, reading, model)
    has_labels = any(options.get(name) for name in ("labels", "label_file", "tags"))
    if benchmark_name(data) is None and not has_labels:
        options = {**options, "labels": list(model.label_names)}
    return align_labels(load_data(data, options), model)
