"""Files of a session: a first look at them, the setup of their columns, and the examples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from polyrule.data import Dataset
from polyrule.data.documents import JsonNode
from polyrule.errors import DataError, OptionError
from polyrule.studio.column_summary import describe_columns
from polyrule.studio.new_rows import NewRows, read_new_rows
from polyrule.studio.setup import (
    READING,
    Look,
    Origin,
    Setup,
    aligned,
    check_learnable,
    first_look,
    load,
    numbered,
    sheets_of,
    split,
)
from polyrule.utils.names import visible

R = TypeVar("R")


class Intake:
    """Files of a session, the setup of their columns, and the columns as they were first read.

    A second file may be given for the held-out part while others are at work; `read` says that it now is.
    """

    def __init__(self) -> None:
        self.origin: Origin | None = None
        self.test_origin: Origin | None = None  # of the held-out examples at work, if they have a separate file
        self.second: Origin | None = None  # the same, for the examples that are read next
        self.setup = Setup()
        self.looked: Look | None = None
        self._described: dict[tuple[int, str], dict[str, Any]] = {}  # of the current file; a million rows take seconds

    @property
    def file_name(self) -> str | None:
        """Name of the file, as people know it."""
        return _called(self.origin)

    def look(self, origin: Origin, test: Origin | None = None) -> None:
        """Look at a file; it replaces whatever was there before."""
        self.origin, self.looked = _quiet(lambda: first_look(origin))
        self.setup, self._described = self.looked.setup, {}
        self.second = self.test_origin = None if test is None else self._same_sheet(test)

    def read(self, setup: Setup) -> None:
        """Remember how the examples at work were read."""
        self.setup, self.test_origin = setup, self.second

    def hold_out(self, origin: Origin) -> None:
        """Take the held-out part from a second file."""
        if self.looked is None:
            raise OptionError("drop the data to learn from first, then the held-out data")
        self.second = self._same_sheet(origin)

    def _same_sheet(self, origin: Origin) -> Origin:
        """Return another file with the sheet that was chosen in the first; where it has no such one, its first."""
        sheets = sheets_of(origin)
        sheet = "" if self.origin is None else self.origin.sheet
        return replace(origin, sheet=sheet if sheet in sheets else next(iter(sheets), ""))

    def columns(self, start: int = 0, find: str = "") -> dict[str, Any]:
        """Return the columns as they were first read, and their setup."""
        if self.looked is None:
            raise OptionError("there is no data yet")
        sheets = [[name, visible(name)] for name in self.looked.sheets]
        request = max(0, start), find
        if request not in self._described:
            self._described = {request: describe_columns(self.looked, *request)}
        state = {"setup": self.setup.to_json(), "second": _called(self.second), "file": _called(self.origin)}
        return self._described[request] | state | {"sheets": sheets, "sheet": self.origin.sheet if self.origin else ""}

    def examples(self, setup: Setup, model: Any = None) -> tuple[Setup, Dataset, Dataset]:
        """Read the examples to learn from and those held out; a model determines columns and labels.

        Returns the setup, completed by the model, and both parts.
        """
        origin, second = self.origin, self.second
        if origin is None:
            raise OptionError("there is no data yet")
        if model is not None and not setup.reading.get("labels"):
            remembered = {} if setup.reading.get("tags") else self._remembered(model)
            setup = replace(setup, reading=remembered | setup.reading | {"labels": list(model.label_names)})
        features = None if model is None else model.features
        data = numbered(_quiet(lambda: load(origin, setup, features)))
        check_learnable(data)
        if second is None:
            return setup, *_quiet(lambda: split(data, setup))
        test = numbered(_quiet(lambda: load(second, setup, data.features)))
        return setup, data, aligned(test, data.label_names)

    def _remembered(self, model: Any) -> dict[str, Any]:
        """Return the reading options that a model stores, if the page has them."""
        options = {name: value for name, value in model.info.get("reading", {}).items() if name in READING}
        name = model.info.get("id_column")
        return options | ({"identifier": name} if self.looked and name in self.looked.data.feature_names else {})

    def fresh(self, origin: Origin, train: Dataset) -> Dataset:
        """Read examples from a file that is neither learned from nor looked at while rules are changed."""
        used = {one.digest for one in (self.origin, self.test_origin, self.second) if one is not None}
        if origin.digest in used:
            raise OptionError(
                f"{origin.name} is in use here already; a last word needs examples that were not used before"
            )
        file = self._same_sheet(origin)
        data = numbered(_quiet(lambda: load(file, self.setup, train.features)))
        return aligned(data, train.label_names)

    def new_rows(self, origin: Origin, train: Dataset) -> NewRows:
        """Read examples to be predicted, with or without labels."""
        file = self._same_sheet(origin)
        return _quiet(lambda: read_new_rows(file, self.setup, train))

    def forget_files(self, folder: Path) -> None:
        """Remove dropped tables that are not, or no longer, in use."""
        used = {Path(one.path).resolve() for one in (self.origin, self.test_origin, self.second) if one is not None}
        for path in folder.iterdir():
            if path.resolve() not in used and not path.name.startswith("."):
                path.unlink(missing_ok=True)

    def about(self) -> dict[str, Any] | None:
        """Return the description of the data for a project file."""
        if self.origin is None or self.origin.kind == "python":
            return None
        second = None if self.test_origin is None else asdict(self.test_origin)
        return {"origin": asdict(self.origin), "test": second, "setup": self.setup.to_json()}

    def restore(self, about: dict[str, Any], source: str) -> None:
        """Take up what a project file says, if the files are still the same."""
        node = JsonNode(about, source, "data").fields(("origin", "test", "setup"))
        read = partial(_origin, beside=Path(source).parent)
        origin, test = read(node["origin"]), node["test"].maybe(read)
        setup = Setup.from_json(node["setup"].value)
        self.look(origin, test)
        self.setup = setup


def _origin(node: JsonNode, beside: Path) -> Origin:
    """Read where data came from; a file that is not where it was may have come along with the project."""
    members = node.fields(("kind", "name", "path", "digest"), ("sheet",))
    origin = Origin(**{name: member.maybe(JsonNode.text) or "" for name, member in members.items()})
    if origin.kind == "file":
        was = Path(origin.path)
        places = (was, beside / was.name, beside / was.parent.name / was.name)
        place = next((place for place in places if place.is_file()), was)
        try:
            current = Origin.of_file(place, origin.name)
        except OSError as problem:
            raise DataError(f"{origin.path}: the data of the project cannot be read ({problem.strerror})") from problem
        if current.digest != origin.digest:
            raise DataError(f"{place}: the data has changed since the project began; begin a new project")
        origin = replace(origin, path=str(place.resolve()))
    return origin


def _called(origin: Origin | None) -> str | None:
    """Return the name of a file, as people know it."""
    if origin is None:
        return None
    return visible(f"{origin.name}, {origin.sheet}" if origin.sheet else origin.name)


def _quiet(work: Callable[[], R]) -> R:
    """Run without the library's warnings, which the page shows as findings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()
