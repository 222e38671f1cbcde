"""The directive ``method-table``: which class has which method, made from the code.

::

    .. method-table:: polyrule.RuleListClassifier polyrule.RuleList

A row per public method or property that at least two of the classes have, a column per class.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


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


class MethodTable(SphinxDirective):
    """Writes the table and has it parsed."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Make a list table."""
        paths = self.arguments[0].split()
        lines = [".. list-table::", "   :header-rows: 1", "   :class: method-table", ""]
        lines += ["   * - method", *(f"     - {path.rpartition('.')[2]}" for path in paths), "     - what it does"]
        for name, text, owners in rows_of([class_of(path) for path in paths]):
            lines += [f"   * - ``{name}``", *(f"     - {'✓' if owns else ''}" for owns in owners), f"     - {text}"]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source="method-table"), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("method-table", MethodTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
