"""The directive ``{gallery}``: a card with a picture, made by ``docs/pictures.py``, for every page beside it."""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def cards(folder: Path) -> list[str]:
    """Return the lines of a grid: the part of a title before the colon is the card's, the rest its text."""
    lines = ["::::{grid} 1 2 2 3", ":gutter: 3", ""]
    for page in sorted(folder.glob("*.md")):
        title = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        if page.stem == "index" or title is None:
            continue
        name, _, text = title.group(1).partition(": ")
        lines += [f":::{{grid-item-card}} {name}", f":link: {page.stem}", ":link-type: doc"]
        lines += [f":img-top: thumbnails/{page.stem}.png", "", text[:1].upper() + text[1:], ":::"]
    return [*lines, "::::"]


class Gallery(SphinxDirective):
    """Renders the cards of the folder that the page is in."""

    def run(self) -> list[nodes.Node]:
        """Write the cards as Markdown and let the page's own parser read them."""
        return self.parse_text_to_nodes("\n".join(cards(Path(self.env.doc2path(self.env.docname)).parent)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
