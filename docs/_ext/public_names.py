"""The directive ``public-names``: the reference of everything a module exports, so that no public name is forgotten.

It stands in an ``eval-rst`` block, because docstrings are reStructuredText::

    .. public-names:: polyrule.measures
       :kinds: functions
       :first: get, available

``:without:`` names what another page describes. Every class and function names the pages of the gallery and the guides
that use it.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

KINDS = ("functions", "classes", "data")
MOST_PAGES = 6


def kind_of(value: Any) -> str | None:
    """Which kind of entry a name gets; None for a module, which has a page of its own."""
    if inspect.ismodule(value):
        return None
    return "classes" if inspect.isclass(value) else "functions" if inspect.isroutine(value) else "data"


def names_of(module: str, kinds: list[str], first: list[str], without: list[str]) -> list[tuple[str, str]]:
    """Return name and kind of what the module exports: those named first, then functions, classes and data."""
    home = import_module(module)
    found = [(name, kind_of(getattr(home, name))) for name in home.__all__ if not name.startswith("__")]
    chosen = [(name, kind) for name, kind in found if kind in kinds and name not in without]
    order = {name: position for position, name in enumerate(first)}
    return sorted(chosen, key=lambda item: (order.get(item[0], len(order)), KINDS.index(item[1])))  # type: ignore[arg-type]


@cache
def words_in_cells(docs: Path) -> dict[str, set[str]]:
    """Return page -> words of its code, for the gallery, then the guides."""
    pages = [page for folder in ("gallery", "howto") for page in sorted((docs / folder).glob("*.md"))]
    cells = re.compile(r"^```(?:\{code-cell\}|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return {
        f"/{page.parent.name}/{page.stem}": set(re.findall(r"\w+", " ".join(cells.findall(page.read_text("utf-8")))))
        for page in pages
    }


def add_uses(app: Sphinx, what: str, path: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Add the pages that use a class or function to the end of its description."""
    name = path.rpartition(".")[2]
    used = [page for page, words in words_in_cells(Path(app.srcdir)).items() if name in words]
    if used and what in ("class", "function"):
        lines += ["", "In use: " + ", ".join(f":doc:`{page}`" for page in used[:MOST_PAGES]), ""]


class PublicNames(SphinxDirective):
    """Hands every name over to autodoc."""

    required_arguments = 1
    option_spec = dict.fromkeys(("kinds", "first", "without"), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Write the directives of autodoc and parse them."""
        module = self.arguments[0]
        lines: list[str] = []
        kinds = self._words("kinds") or list(KINDS)
        for name, kind in names_of(module, kinds, self._words("first"), self._words("without")):
            entry = {"classes": "autoclass", "functions": "autofunction", "data": "autodata"}[kind]
            lines += [f".. {entry}:: {module}.{name}", ""]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source=f"{module} (public names)"), 0, holder)
        return holder.children

    def _words(self, option: str) -> list[str]:
        return [word.strip() for word in self.options.get(option, "").split(",") if word.strip()]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("public-names", PublicNames)
    app.connect(
        "autodoc-process-docstring", add_uses, priority=900
    )  # after napoleon, which would take it for a section
    return {"parallel_read_safe": True, "parallel_write_safe": True}
