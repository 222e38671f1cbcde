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
        for link in list(self.document.findall(addnodes.pending_xref)):
            if link.get("refdomain") != "doc":
                continue
            target = (page / f"{link['reftarget']}.md").resolve()
            if target.exists() and not target.is_relative_to(Path(self.env.srcdir).resolve()):
                relative = os.path.relpath(target, page)
                text = link.astext()
                inner = nodes.literal(text, text) if any(link.findall(nodes.literal)) else nodes.inline(text, text)
                link.replace_self(
                    addnodes.download_reference("", "", inner, reftarget=relative, refdoc=self.env.docname)
                )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(OutsideLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
