"""Runs the ``python`` blocks of pages that are plain Markdown, so that no example on the site is unexecuted.

Pages with code cells are run by myst-nb. All other pages are run here, in one process of their own: every page in a
folder with a few small files, its blocks one after the other, those with ``>>>`` as doctests. A block that
needs something the build does not have stands after a comment that says so: ``<!-- not run: why -->``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*\Z")


@dataclass(frozen=True)
class Block:
    """One example: the line it starts on, and its code."""

    line: int
    code: str


def blocks_of(text: str) -> list[Block]:
    """Return the examples of a page that are to be run, in order."""
    found = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()]
        if not _NOT_RUN.search(before):
            found.append(Block(before.count("\n") + 2, match.group(1)))
    return found


def is_notebook(text: str) -> bool:
    """Whether myst-nb runs the page."""
    return text.startswith("---") and "mystnb" in text.split("---")[1]


def run_pages(app: Sphinx) -> None:
    """Run all plain pages; every failure is a warning, and so fails a strict build."""
    pages = {}
    for name in app.project.discover(app.config.exclude_patterns, app.config.include_patterns):
        path = Path(app.env.doc2path(name))
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md" and not is_notebook(text):
            blocks = [(block.line, block.code) for block in blocks_of(text)]
            if blocks:
                pages[str(path)] = blocks
    runner = Path(__file__).with_name("run_blocks_child.py")
    done = subprocess.run(
        [sys.executable, runner], input=json.dumps(pages), capture_output=True, text=True, check=False
    )
    if done.returncode:
        logger.warning("the examples could not be run: %s", done.stderr.strip())
        return
    for path, line, message in json.loads(done.stdout.splitlines()[-1]):
        logger.warning("example failed: %s", message, location=f"{path}:{line}")
    logger.info("ran the examples of %d plain pages", len(pages))


def setup(app: Sphinx) -> dict[str, bool]:
    """Run the examples before the pages are read."""
    app.connect("builder-inited", run_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
