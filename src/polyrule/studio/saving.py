"""The files a person takes away: model, report, predictions, code, and the script that repeats the work."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from polyrule.data.labels import dense_labels
from polyrule.errors import OptionError
from polyrule.export import export
from polyrule.model.columns import without_unused_items
from polyrule.model.files import dumps
from polyrule.report import build
from polyrule.studio.new_rows import predictions_table
from polyrule.studio.session import Session
from polyrule.utils.names import safe_cell


def _report(session: Session) -> str:
    model, train, test = session.parts()
    return build({"model": model}, train, test).html()


def _predictions(session: Session) -> str:
    """Every example with its part, what was predicted and what is true."""
    model, train, test = session.parts()
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [safe_cell(name) for name in model.label_names]
    writer.writerow(["example", "part", *names, *(f"true {name}" for name in names)])
    for part, data in (("training", train), ("held out", test)):
        truth = dense_labels(data.Y)
        for row, predicted in enumerate(model.predict(data.X).tolist()):
            row_id = str(row + 1) if data.row_ids is None else safe_cell(data.row_ids[row])
            true_values = ["" if value == 2 else int(value) for value in truth[row]]
            writer.writerow([row_id, part, *predicted, *true_values])
    return stream.getvalue()


def _new_predictions(session: Session) -> str:
    """The table that was dropped to be predicted."""
    if session.new_rows is None:
        raise OptionError("there is no table to predict yet; drop one")
    return predictions_table(session.new_rows, session.project.model)


def _code(language: str) -> Callable[[Session], str | bytes]:
    return lambda session: export(session.finished(), language)


FILES: dict[str, tuple[str, Callable[[Session], str | bytes]]] = {
    "model.json": ("application/json", lambda session: dumps(session.finished())),
    "report.html": ("text/html", _report),
    "predictions.csv": ("text/csv", _predictions),
    "new-predictions.csv": ("text/csv", _new_predictions),
    "rules.txt": ("text/plain", lambda session: f"{session.finished()}\n"),
    "model.py": ("text/x-python", _code("python")),
    "model.sql": ("application/sql", _code("sql")),
    "model.js": ("text/javascript", _code("javascript")),
    "model.c": ("text/x-c", _code("c")),
    "model.onnx": ("application/octet-stream", _code("onnx")),
    "script.py": ("text/x-python", lambda session: session.script()),
    "opened.json": (
        "application/json",
        lambda session: dumps(without_unused_items(session.project.versions[session.project.path()[0]].model)),
    ),
}
"""Name of every file, its type, and what makes it."""


def make_file(session: Session, name: str) -> str | bytes:
    """Return the content of a file; names are those of `FILES`, nothing else is ever made."""
    return FILES[name][1](session)
