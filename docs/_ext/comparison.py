"""The directive ``{comparison}``: the learners in one table, read from the results and never copied by hand."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "results"))
from means import OURS, SOURCES, means


class Comparison(SphinxDirective):
    """Renders the means, ours in bold."""

    def run(self) -> list[nodes.Node]:
        """Write the table as Markdown and let the page's own parser read it."""
        lines = ["| | size | micro F1 | without genbase |", "| --- | --- | ---: | ---: |"]
        for name, size, *values in means():
            bold = "**" if name in OURS else ""
            lines.append(f"| {bold}{name}{bold} | {size} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
        for source in SOURCES:
            self.env.note_dependency(f"results/{source}")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("comparison", Comparison)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
