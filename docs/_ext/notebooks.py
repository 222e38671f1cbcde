"""Pages with code cells can be taken home: each ends with a link to itself as a Jupyter notebook."""

from __future__ import annotations

from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from sphinx.application import Sphinx

OURS_ALONE = "POLYRULE_DOCS"  # a page that copies files of the site first runs nowhere else


def can_be_taken(text: str) -> bool:
    """Whether a page is a notebook that runs without the site."""
    return text.startswith("---\nfile_format: mystnb\n") and OURS_ALONE not in text


def add_link(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add the link to the end of the page; the file lies beside it."""
    if can_be_taken(source[0]):
        name = f"{page.rpartition('/')[2]}.ipynb"
        source[0] += f'\n\n<p class="take-home"><a href="{name}" download>Download this page as a notebook</a></p>\n'


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks, without outputs, into the built site."""
    for page in app.env.found_docs if error is None and app.builder.name == "html" else ():
        text = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
        if can_be_taken(text):
            notebook = read_myst_markdown_notebook(text)
            for number, cell in enumerate(notebook.cells):
                cell["id"] = f"cell-{number}"  # the same file from the same page
            nbformat.write(notebook, Path(app.outdir) / f"{page}.ipynb")


def setup(app: Sphinx) -> dict[str, bool]:
    """Add links while reading and files at the end."""
    app.connect("source-read", add_link)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
