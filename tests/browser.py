"""A real browser for pages: Debian's Chromium, driven by Playwright. One for all tests of a process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZE = {"width": 1280, "height": 900}


def absent(what: str) -> NoReturn:
    """Skip, or where everything must be there, fail."""
    message = f"browser tests need {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        absent("Debian's chromium (apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright (pip install playwright)")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def shared_window(browser: Any) -> Iterator[Any]:
    """The window of all tests that ask for an ordinary one: a new window takes a second of computing."""
    context = browser.new_context(viewport=SIZE)
    yield context.new_page()
    context.close()


@contextmanager
def windows(shared: Any, listeners: dict[str, Callable[[Any], Any]]) -> Iterator[Callable[..., Any]]:
    """Yield what opens windows, whose events go to `listeners`; in the end nothing is left of what they show."""
    own: list[Any] = []
    taken = changed = False

    def opened(**options: Any) -> Any:
        nonlocal taken, changed
        page = shared
        if taken or not options.keys() <= {"viewport", "color_scheme"}:  # the second of a test, or unlike others
            own.append(shared.context.browser.new_context(**({"viewport": SIZE} | options)))
            page = own[-1].new_page()
        else:
            taken, changed = True, bool(options)
            page.mouse.move(0, 0)
            if changed:
                _set(page, **options)
        for event, listener in listeners.items():
            page.on(event, listener)
        return page

    yield opened
    for context in own:
        context.close()
    if taken:
        shared.title()  # what the page has told before this answer is heard
        for event, listener in listeners.items():
            shared.remove_listener(event, listener)
        shared.goto("about:blank")
    if changed:
        _set(shared)


def _set(page: Any, viewport: dict[str, int] = SIZE, color_scheme: str = "light") -> None:
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=color_scheme)
