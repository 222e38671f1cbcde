"""Links to Markdown files of the repository that are outside the site become downloads, so that they work in both."""

from __future__ import annotations

import os
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class OutsideLinks(SphinxTransform):
    """Runs before files to download are collected."""

    default_priority = 300

    def apply(self, **_: object) -> None:
        """Replace references to documents that Sphinx does not know but that exist."""
        page = Path(self.env.doc2path(self.env.docname)).parent
        site = Path(self.env.srcdir).resolve()
        for link in list(self.document.findall(addnodes.pending_xref)):
            target = _file(link, page, site.parent)
            if target is not None and not target.is_relative_to(site):
                text = link.astext()
                inner = nodes.literal(text, text) if any(link.findall(nodes.literal)) else nodes.inline(text, text)
                relative = os.path.relpath(target, page)
                link.replace_self(
                    addnodes.download_reference("", "", inner, reftarget=relative, refdoc=self.env.docname)
                )


def _file(link: addnodes.pending_xref, page: Path, root: Path) -> Path | None:
    """The Markdown file a link means: as seen from the page or, on a page that includes one of the root, from there."""
    wanted = str(link.get("reftarget", ""))
    if link.get("refdomain") == "doc":
        wanted += ".md"
    elif link.get("reftype") != "myst" or not wanted.endswith(".md"):
        return None
    found = [place for place in ((page / wanted).resolve(), (root / wanted).resolve()) if place.exists()]
    return found[0] if found else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(OutsideLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
