"""Check that every link inside a built site leads to a file and an anchor that exist: ``check_links.py build/site``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Links and anchors of one page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.is_report = False  # its sections are made by its script

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)
            self.is_report = self.is_report or (tag == "script" and name == "id" and value == "data")
            if value and name in ("href", "src") and tag in ("a", "img", "script", "link", "iframe"):
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """Return a sentence for each link that leads nowhere; links to other sites are not followed."""
    site = site.resolve()
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            base = site if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            where = path.relative_to(site)
            if not target.is_file():
                found.append(f"{where}: {link} leads to no file")
            elif not parts.fragment or target not in pages or pages[target].is_report:
                continue
            elif unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where}: {link} leads to no place on that page")
    return found


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def main() -> int:
    """Print every broken link; the exit status is 1 if there are any."""
    found = broken_links(Path(sys.argv[1]))
    print("\n".join(found) or "every link leads somewhere")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
