"""The files a person takes away: model, report, predictions, code, and the script that repeats the work."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from polyrule.kinds import export, export_onnx
from polyrule.model.files import dumps
from polyrule.names import safe_cell
from polyrule.report import build
from polyrule.studio.session import Session

FILES = {
    "model.json": "application/json",
    "report.html": "text/html",
    "predictions.csv": "text/csv",
    "rules.txt": "text/plain",
    "model.py": "text/x-python",
    "model.sql": "application/sql",
    "model.js": "text/javascript",
    "model.c": "text/x-c",
    "model.onnx": "application/octet-stream",
    "script.py": "text/x-python",
    "opened.json": "application/json",
}
"""Name of every file, and its type."""

_LANGUAGES = {"model.py": "python", "model.sql": "sql", "model.js": "javascript", "model.c": "c"}


def make_file(session: Session, name: str) -> str | bytes:
    """Return the content of a file; names are those of `FILES`, nothing else is ever made."""
    if name == "model.onnx":
        return export_onnx(session.finished())
    if name in _LANGUAGES:
        return export(session.finished(), _LANGUAGES[name])
    makers: dict[str, Callable[[Session], str]] = {
        "model.json": lambda one: dumps(one.finished()),
        "report.html": _report,
        "predictions.csv": _predictions,
        "rules.txt": lambda one: f"{one.finished()}\n",
        "script.py": lambda one: one.script(),
        "opened.json": lambda one: dumps(one.project.versions[one.project.path()[0]].model),
    }
    return makers[name](session)


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
        truth: Any = data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y
        for row, said in enumerate(model.predict(data.X).tolist()):
            own = str(row + 1) if data.row_ids is None else safe_cell(data.row_ids[row])
            known = ["" if value == 2 else int(value) for value in truth[row]]
            writer.writerow([own, part, *said, *known])
    return stream.getvalue()
