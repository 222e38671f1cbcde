"""Reports opened in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.worlds import random_data, random_model

from polyrule.report import Report, build


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a report; whatever the page complains about or asks the network for fails the test."""
    troubles: list[str] = []
    contexts: list[Any] = []

    def open_page(report: Report, section: str = "", **options: Any) -> Any:
        path = tmp_path / f"report{len(contexts)}.html"
        report.save(path)
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on(
            "console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith("file:") else troubles.append(asked.url))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri() + (f"#{section}" if section else ""))
        return page

    open_page.troubles = troubles  # type: ignore[attr-defined]  # for a test that provokes one
    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def sample() -> Report:
    """Two models over the same made-up training and test data."""
    first, second = random_model(27, rules=50), random_model(27, rules=20)
    return build(
        {"long": first, "short": second},
        data=random_data(first, 150, 1, name="training part"),
        test=random_data(first, 90, 2, name="test part"),
        title="A sample",
    )
