"""``polyrule studio``: work on a model in the browser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import benchmark_name, load_model
from polyrule.cli.command import command
from polyrule.cli.output import check_place, note
from polyrule.errors import DataError, OptionError

_MODEL, _PROJECT = "polyrule-model", "polyrule-studio"


@command("studio")
@click.argument("what", metavar="[DATA | MODEL | PROJECT]", required=False)
@click.option("--data", metavar="DATA", help="The data of MODEL, with the labels it knows.")
@click.option("--test", metavar="DATA", help="Examples to hold out [a third of DATA].")
@click.option(
    "--project",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the history is kept [the name of DATA or MODEL with .studio.json, or studio.json, in this folder].",
)
@click.option("--by", metavar="NAME", help="Who works here, for the history [the user's name].")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port [a free one].")
@click.option("--jobs", type=int, metavar="N", help="Threads for learning; -1 is all cores [1].")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
def studio(
    what: str | None,
    data: str | None,
    test: str | None,
    project: Path | None,
    by: str | None,
    port: int,
    jobs: int | None,
    browser: bool,
) -> None:
    r"""Learn, question, change and save a model in the browser.

    The page is served by this program, to this machine alone. Everything is saved after every change in one project
    file; give it again to go on. Without an argument, drop a table on the page.

    \b
    Examples:
      polyrule studio songs.csv
      polyrule studio model.json --data songs.csv
      polyrule studio songs.studio.json
      polyrule studio emotions:train --test emotions:test
    """
    try:
        from polyrule.studio.launch import Studio, user_name
        from polyrule.studio.session import Session
    except ModuleNotFoundError as problem:
        raise OptionError(
            f'the studio needs the package {problem.name}; install it with pip install "polyrule[studio]"'
        ) from problem
    if jobs == 0:
        raise OptionError("--jobs must not be 0; -1 takes all processors")
    kind = _kind(what)
    path = _project_path(kind, what, project)
    check_place(path)
    session = Session(path, user_name() if by is None else by, jobs)
    with Studio(session, port, remember=True) as running:
        _fill(session, kind, what, data, test)
        running.start()
        note(f"the studio is at {running.url}")
        note(f"its history is kept in {path}; end it with Ctrl-C")
        if browser:
            running.open()
        running.wait()


def _fill(session: Any, kind: str, what: str | None, data: str | None, test: str | None) -> None:
    """Open the files of the command line in a session."""
    if data is not None and kind != "model":
        raise OptionError("--data is the data of a MODEL; name other data itself: polyrule studio DATA")
    named = what if kind == "data" else data
    if session.path.exists():
        session.resume()
        note(f"going on with {session.path} ({len(session.project.versions)} versions)")
        intake = session.intake
        if intake.origin is not None and named is not None and not _is_same(named, intake.origin):
            raise OptionError(f"{session.path}: is about {intake.origin.name}, not {named}; give --project FILE")
        if test is not None and not _is_same(test, intake.test_origin):
            test_name = "a part of its data" if intake.test_origin is None else intake.test_origin.name
            raise OptionError(f"{session.path}: holds out {test_name}, not {test}; give --project FILE")
        return
    if kind == "project":
        raise DataError(f"{what}: no such file")
    if kind == "model":
        assert what is not None
        session.wait_for_data(load_model(Path(what)))
    if named is not None:
        session.begin(_origin(named), None if test is None else _origin(test))
    elif test is not None:
        raise OptionError("--test needs DATA, too")


def _origin(text: str) -> Any:
    from polyrule.studio.setup import Origin

    if benchmark_name(text) is not None:
        return Origin("benchmark", text)
    path = Path(text)
    if path.is_dir():
        from polyrule.store import is_store

        if is_store(path):
            raise DataError(f"{text}: a store holds codes to train on, not examples; name the data it was packed from")
    if not path.is_file():
        raise DataError(f"{text}: no such file, and no data set of that name ('polyrule data --list' lists them)")
    return Origin.of_file(path.resolve(), path.name)


def _is_same(text: str, used: Any) -> bool:
    """Return True if the named data is that of the project, whichever its sheet."""
    return used is not None and _origin(text) == replace(used, sheet="")


def _kind(what: str | None) -> str:
    """Return "data", "model" or "project" for a word; models and projects state it in the file."""
    if what is None:
        return "nothing"
    path = Path(what)
    if path.name.endswith(".studio.json"):
        return "project"
    if path.suffix != ".json" or not path.is_file():
        return "data"
    try:
        with open(path, encoding="utf-8") as stream:
            head = stream.read(200)
    except (OSError, UnicodeDecodeError):
        return "data"
    named = {_MODEL: "model", _PROJECT: "project"}
    return next((kind for mark, kind in named.items() if json.dumps(mark) in head), "data")


def _project_path(kind: str, what: str | None, project: Path | None) -> Path:
    if kind == "project":
        if project is not None:
            raise OptionError(f"--project: {what} is a project already")
        return Path(what or "")
    if project is not None:
        return project
    if what is None:
        return Path("studio.json")
    name = what.replace(":", "-") if benchmark_name(what) is not None else Path(what).name
    return Path(f"{name.split('.')[0] or 'table'}.studio.json")
