"""Reports opened in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser import windows
from tests.report.worlds import random_data, random_model

from polyrule.report import Report, build


@pytest.fixture
def visit(shared_window: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a report; whatever the page complains about or asks the network for fails the test."""
    troubles: list[str] = []
    saved: list[Path] = []
    listeners: dict[str, Callable[[Any], Any]] = {
        "console": lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None,
        "pageerror": lambda error: troubles.append(str(error)),
        "request": lambda asked: None if asked.url.startswith("file:") else troubles.append(asked.url),
        "dialog": lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()),
    }
    with windows(shared_window, listeners) as open_window:

        def open_page(report: Report, section: str = "", **options: Any) -> Any:
            saved.append(tmp_path / f"report{len(saved)}.html")
            report.save(saved[-1])
            page = open_window(**options)
            page.set_default_timeout(10_000)
            page.goto(saved[-1].as_uri() + (f"#{section}" if section else ""))
            return page

        open_page.troubles = troubles  # type: ignore[attr-defined]  # for a test that provokes one
        yield open_page
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
