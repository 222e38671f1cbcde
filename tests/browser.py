"""A real browser for pages: Debian's Chromium, driven by Playwright. One for all tests of a process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
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
