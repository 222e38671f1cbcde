"""Links of the site: the check that `make docs` runs, and where words of the glossary lead."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def check(site: Path) -> list[str]:
    spec = importlib.util.spec_from_file_location("check_links", ROOT / "tools" / "check_links.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.broken_links(site)


def test_links_that_lead_nowhere_are_named(tmp_path):
    (tmp_path / "howto").mkdir()
    (tmp_path / "index.html").write_text('<a href="howto/a.html#there">x</a><a href="https://elsewhere/">y</a>')
    good = '<p id="there"></p><a href="../index.html">x</a><a href="#there">y</a><img src="../p.png">'
    (tmp_path / "howto" / "a.html").write_text(good)
    (tmp_path / "p.png").write_bytes(b"x")
    assert check(tmp_path) == []
    bad = '<a href="explain/glossary.html#term-head">x</a><a href="a.html#nowhere">y</a><a href="/index.html">z</a>'
    (tmp_path / "howto" / "b.html").write_text(bad)
    assert check(tmp_path) == [
        "howto/b.html: explain/glossary.html#term-head leads to no file",
        "howto/b.html: a.html#nowhere leads to no place on that page",
    ]


def test_words_of_the_glossary_are_linked_from_the_page_on_which_they_stand():
    """A reference that does not name its page is resolved as if it stood in the root of the site."""
    text = (ROOT / "docs" / "_ext" / "glossary_links.py").read_text(encoding="utf-8")
    assert re.search(r"refdoc=docname", text)
    assert 'refdoc=""' not in text


def test_the_site_is_built_with_the_check():
    assert "check_links.py build/site" in (ROOT / "Makefile").read_text(encoding="utf-8")
