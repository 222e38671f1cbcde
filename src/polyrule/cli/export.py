"""``polyrule export``: a model as code that needs no polyrule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import load_model, model_argument
from polyrule.cli.command import command, output_option
from polyrule.cli.output import check_place, note, print_json, write_file, write_text
from polyrule.errors import OptionError

_LANGUAGES = ["python", "sql", "javascript", "c", "onnx"]
_ENDINGS = {
    ".py": "python",
    ".sql": "sql",
    ".js": "javascript",
    ".mjs": "javascript",
    ".c": "c",
    ".h": "c",
    ".onnx": "onnx",
}


@command("export")
@model_argument
@click.option("--to", "language", type=click.Choice(_LANGUAGES), help="Language [by ending].")
@output_option("Write to a file.")
@click.option("--table", metavar="NAME", help="SQL: the table to read [data].")
@click.option("--key", "keys", multiple=True, metavar="COLUMN", help="SQL: a column to pass through.")
@click.option("--prefix", metavar="NAME", help="C: what names in the code start with [polyrule].")
@click.option("--json", "as_json", is_flag=True, help="Print the code inside a JSON object.")
def export(
    model: Path,
    language: str | None,
    output: Path | None,
    table: str | None,
    keys: tuple[str, ...],
    prefix: str | None,
    as_json: bool,
) -> None:
    r"""Turn MODEL into code that predicts the same labels and needs nothing but its language.

    SQL is one query: for every row of --table the --key columns, then a 0/1 column per label. ONNX is a file for any
    runtime of that format; writing it needs the package onnx.

    \b
    Examples:
      polyrule export model.json -o model.py
      polyrule export model.json --to sql --table songs --key id | sqlite3 music.db
      polyrule export model.json -o model.js
      polyrule export model.json -o model.onnx
    """
    from polyrule.export import OPTIONS
    from polyrule.export import export as export_model

    check_place(output, model)
    target = language or _ENDINGS.get(output.suffix.lower() if output else "")
    if target is None:
        raise click.UsageError("say which language with --to, or give -o a file ending in .py, .sql, .js, .c or .onnx")
    options: dict[str, Any] = {"table": table, "keys": list(keys) or None, "prefix": prefix}
    settings = {name: value for name, value in options.items() if value is not None}
    for name in sorted(settings.keys() - set(OPTIONS.get(target, ()))):
        raise OptionError(f"--{name.rstrip('s') if name == 'keys' else name} is no option of the export to {target}")
    if target == "onnx" and (output is None or str(output) == "-" or as_json):  # it is no text, so it goes nowhere else
        raise OptionError("an ONNX model is written to a file: give -o, and no --json")
    code = export_model(load_model(model), target, **settings)
    if isinstance(code, bytes):
        assert output is not None
        write_file(output, lambda stream: stream.write(code), mode="wb")
        return
    if target == "sql" and not keys:
        note("without --key the query does not say which row is which; --key COLUMN passes a column through")
    if as_json:
        print_json({"language": target, "code": code}, output)
    else:
        write_text(code, output)
