"""What search engines and link previews are told of a page: its title, its first paragraph, a picture."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 200
PICTURE = "_static/card.png"


def description_of(document: nodes.document | None) -> str:
    """Return the first paragraph in one line, cut after a sentence or a word."""
    for paragraph in [] if document is None else document.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        inside = paragraph.parent
        if len(text) < 30 or not isinstance(inside, nodes.section):
            continue
        if len(text) <= LONGEST:
            return text
        cut = text[:LONGEST]
        sentence = re.match(r".*[.!?](?= )", cut)
        return sentence.group() if sentence and len(sentence.group()) > LONGEST // 3 else cut.rpartition(" ")[0] + " …"
    return ""


def add_meta(app: Sphinx, page: str, _template: str, context: dict[str, Any], document: nodes.document | None) -> None:
    """Append the tags to those of the theme; a picture needs a whole address, so it waits for ``html_baseurl``."""
    base = app.config.html_baseurl
    title = re.sub(r"<[^>]+>", "", context.get("title", "")) or app.config.project
    title = title if page == app.config.root_doc else f"{title} · {app.config.project}"
    tags = {
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": html.unescape(title),
        "og:description": description_of(document),
        "og:url": f"{base}{app.builder.get_target_uri(page)}" if base else "",
        "og:image": f"{base}{PICTURE}" if base else "",
    }
    lines = [f'<meta property="{name}" content="{html.escape(text)}">' for name, text in tags.items() if text]
    lines.append('<meta name="twitter:card" content="summary_large_image">')
    if tags["og:description"]:
        lines.insert(0, f'<meta name="description" content="{html.escape(tags["og:description"])}">')
    context["metatags"] = context.get("metatags", "") + "\n".join(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the tags to every page."""
    app.connect("html-page-context", add_meta)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
