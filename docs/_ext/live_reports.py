"""The directive ``{live-report} NAME``: a report in a frame, made by the build from a real model.

The pages are the library's own reports, interpreter included, written beside the site; nothing needs a server.
"""

from __future__ import annotations

import html
from pathlib import Path

import live_models
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)
FOLDER = "_static/live"


class LiveReport(SphinxDirective):
    """Shows one of the reports of `live_models`."""

    required_arguments = 1
    option_spec = {"section": directives.unchanged, "caption": directives.unchanged}  # noqa: RUF012 - docutils' way

    def run(self) -> list[nodes.Node]:
        """Return the frame and a link to the report on its own."""
        name = self.arguments[0]
        if name not in live_models.REPORTS:
            raise self.error(f"there is no live report {name!r}; there are {', '.join(live_models.REPORTS)}")
        up = "../" * self.env.docname.count("/")
        address = f"{up}{FOLDER}/{name}.html" + (f"#{self.options['section']}" if "section" in self.options else "")
        caption = html.escape(self.options.get("caption", "A report about real models"))
        frame = (
            f'<div class="live-report"><iframe src="{address}" loading="lazy" title="{caption}"></iframe>'
            f'<p>{caption} · <a href="{address}">open it on a page of its own</a></p></div>'
        )
        return [nodes.raw("", frame, format="html")]


def write_reports(app: Sphinx) -> None:
    """Fit the models and write the pages, unless an earlier build has done so."""
    if app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in live_models.REPORTS.items():
        if not (folder / f"{name}.html").exists():
            logger.info("live report: %s", name)
            make().save(folder / f"{name}.html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, and the pages it shows."""
    app.add_directive("live-report", LiveReport)
    app.connect("builder-inited", write_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
