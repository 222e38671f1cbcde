"""The directive ``method-table``: which class has which method, made from the code.

::

    .. method-table:: polyrule.RuleListClassifier polyrule.RuleList

A row per public method or property that at least two of the classes have, a column per class.
"""

from __future__ import annotations

import re

from docutils import nodes
from docutils.statemachine import StringList
from methods import class_of, rows_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def heading(path: str) -> str:
    """Return the name of a class with marks where a narrow column may break it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "\u200b", path.rpartition(".")[2])


class MethodTable(SphinxDirective):
    """Writes the table and has it parsed."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Make a list table."""
        paths = self.arguments[0].split()
        widths = " ".join(["20", "30", *["10"] * len(paths)])
        lines = [".. list-table::", "   :header-rows: 1", "   :class: method-table", f"   :widths: {widths}", ""]
        lines += ["   * - method", "     - what it does", *(f"     - {heading(path)}" for path in paths)]
        for name, text, owners in rows_of([class_of(path) for path in paths]):
            lines += [f"   * - ``{name}``", f"     - {text}", *(f"     - {'✓' if owns else ''}" for owns in owners)]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source="method-table"), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("method-table", MethodTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
