"""One HTML file of a summary that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

STYLES = ("tokens.css", "layout.css", "controls.css", "rules.css", "sections.css", "print.css")
SCRIPTS = (
    "dom.js",
    "format.js",
    "numbers.js",
    "rules.js",
    "relations.js",
    "cells.js",
    "flips.js",
    "ensemble.js",
    "charts.js",
    "state.js",
    "filter.js",
    "cards.js",
    "detail.js",
    "overview.js",
    "browse.js",
    "graph.js",
    "labels.js",
    "outcome.js",
    "whatif.js",
    "matters.js",
    "compare.js",
    "groups.js",
    "story.js",
    "shell.js",
    "main.js",
)


#: characters of each printed model that readers without scripts get
MOST_TEXT = 200_000


def render(summary: dict[str, Any]) -> str:
    """Fill the template.

    Every name from the data enters the page as JSON inside a data block; the scripts put it into the document as text
    only. The content security policy allows exactly the page's own script and style, and no connection to anywhere.
    """
    style, script = _bundle(STYLES), _script()
    parts = {
        "title": html.escape(str(summary["title"])),
        "policy": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:",
        "style": style,
        "script": script,
        "plain": html.escape("\n\n".join(f"{model['name']}\n{_cut(model['text'])}" for model in summary["models"])),
        "data": embed(without_text(summary)),
    }
    page = _asset("report.html")
    # One pass over the template, so that nothing in the data can look like a place to fill.
    segments = page.split("@@")
    return "".join(parts[segment] if index % 2 else segment for index, segment in enumerate(segments))


def embed(value: Any) -> str:
    r"""JSON that cannot end the script element it stands in.

    >>> embed({"name": "</script><!--"})
    '{"name":"\\u003c/script\\u003e\\u003c!--"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII only: U+2028 and the like are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def notebook_frame(page: str) -> str:
    """Return the page inside a separate frame, so that neither its style nor its script touches a notebook."""
    return (
        f'<iframe title="polyrule report" srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-modals" '
        'style="width:100%;height:760px;border:1px solid #8888;border-radius:8px"></iframe>'
    )


def without_text(summary: dict[str, Any]) -> dict[str, Any]:
    """The printed lists stand in the page once already, for readers without scripts."""
    models = [{key: value for key, value in model.items() if key != "text"} for model in summary["models"]]
    return summary | {"models": models}


def _cut(text: str) -> str:
    lines = text.splitlines()
    while sum(map(len, lines)) > MOST_TEXT:
        lines = lines[: len(lines) * 2 // 3]
    left = len(text.splitlines()) - len(lines)
    return "\n".join([*lines, f"… and {left} more lines"] if left else lines)


def _script() -> str:
    return f'(() => {{\n"use strict";\n{_bundle(SCRIPTS)}\n}})();'


@cache
def _bundle(names: tuple[str, ...]) -> str:
    return "\n".join(_asset(name) for name in names)


@cache
def _asset(name: str) -> str:
    return (files("polyrule.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
