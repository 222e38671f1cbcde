"""Which class has which method: the rows of ``method-table``, without what builds the site."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any


def class_of(path: str) -> Any:
    """Return the class with a dotted name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def own_members(owner: Any) -> dict[str, Any]:
    """Public methods and properties that a class does not have from another library."""
    homes = [home for home in owner.__mro__ if home.__module__.startswith("polyrule.")]
    names = {name for home in homes for name in vars(home) if not name.startswith("_")}
    members = {name: inspect.getattr_static(owner, name) for name in names}
    return {
        name: member
        for name, member in members.items()
        if inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod, property))
    }


def rows_of(classes: list[Any]) -> list[tuple[str, str, list[bool]]]:
    """Name, first sentence and owners of every method that at least two classes have, those of most classes first."""
    members = [own_members(owner) for owner in classes]
    found = []
    for name in sorted({name for some in members for name in some}):
        owners = [name in some for some in members]
        if sum(owners) > 1:
            first = next(some[name] for some in members if name in some)
            text = inspect.getdoc(getattr(first, "__func__", first)) or ""
            found.append((name, text.split("\n\n")[0].split(";")[0].split(":")[0].strip().rstrip("."), owners))
    return sorted(found, key=lambda row: (-sum(row[2]), row[0]))
