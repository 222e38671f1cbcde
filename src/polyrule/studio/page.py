"""The page: the report's own modules with those of the studio behind them, as one script and one style."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from polyrule.report.page import SCRIPTS, STYLES

# What the studio says in its own way; all other modules of the report are here, and hold what the server last said.
_OWN_WAY = ("overview.js", "browse.js", "matters.js", "compare.js", "main.js")
_REPORT = tuple(name for name in SCRIPTS if name not in _OWN_WAY)
_STUDIO = (
    "api.js",
    "guess.js",
    "data.js",
    "learn.js",
    "editor.js",
    "write.js",
    "work.js",
    "ask.js",
    "compare.js",
    "save.js",
    "main.js",
)


@cache
def script() -> str:
    """Return everything the page runs, in one scope of its own."""
    parts = [*(_read("report", name) for name in _REPORT), *(_read("studio", name) for name in _STUDIO)]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"


@cache
def style() -> str:
    """Return the style of the report and what the studio adds."""
    return "\n".join([*(_read("report", name) for name in STYLES), _read("studio", "studio.css")])


@cache
def html() -> str:
    """Return the document; everything in it comes by script."""
    return _read("studio", "studio.html")


def _read(stage: str, name: str) -> str:
    return (files(f"polyrule.{stage}") / "assets" / name).read_text(encoding="utf-8")
