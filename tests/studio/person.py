"""What a person does on the studio's page, as tests do it in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.browser import windows
from tests.studio.conftest import Client, songs

from polyrule.studio.launch import Studio

SECTIONS = [
    ("Data", "data"), ("Learn", "learn"), ("Rules", "rules"), ("Labels", "labels"),
    ("Ask", "ask"), ("What if", "whatif"), ("Compare", "compare"), ("Predict", "predict"), ("Save", "save"),
]  # fmt: skip


@pytest.fixture
def visit(shared_window: Any) -> Iterator[Callable[..., Any]]:
    """Open a studio's page; whatever it complains about, or asks anybody else for, fails the test."""
    troubles: list[str] = []
    own: list[str] = []  # addresses that may be asked
    listeners: dict[str, Callable[[Any], Any]] = {
        "console": lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None,
        "pageerror": lambda error: troubles.append(str(error)),
        "request": lambda asked: None if asked.url.startswith((*own, "data:", "blob:")) else troubles.append(asked.url),
    }
    with windows(shared_window, listeners) as open_window:

        def open_page(studio: Studio, section: str = "", **options: Any) -> Any:
            own.append(studio.url.rsplit("/", 2)[0])
            page = open_window(**options)
            page.set_default_timeout(30_000)
            page.goto(studio.url + (f"#{section}" if section else ""))
            return page

        yield open_page
    # A test may end its studio while the page still asks it something; nobody else is asked, see above.
    assert [trouble for trouble in troubles if "ERR_CONNECTION_REFUSED" not in trouble] == []


def in_section(page: Any, name: str) -> Any:
    section = page.locator(f"#section-{name}:not([hidden])")
    section.wait_for()
    return section


def go(page: Any, words: str, name: str) -> Any:
    page.get_by_role("link", name=words, exact=True).click()
    return in_section(page, name)


def rules(page: Any) -> list[str]:
    return page.evaluate("() => polyrule.data.models[0].rules.map((rule) => rule.text)")


def rules_when_there(page: Any) -> list[str]:
    page.locator("article.rule").first.wait_for()
    return rules(page)


def with_twins(empty: Studio) -> None:
    """Give a studio two rules that can be joined, and one with a group that has a name."""
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=1)
    for text in (
        'calm <- at least 2 of "quiet" (tempo <= 90, level <= -12, genre = jazz)',
        "happy <- genre = folk, level > -30",
        "happy <- tempo > 118, level > -30",
    ):
        client.ask("change", {"step": {"do": "insert", "at": 0, "text": text}})
