"""What every test may use, and the rule that data tests must not be skipped where the data is."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.browser import browser as browser  # one for all tests
from tests.browser import shared_window as shared_window

# Fixed draws: a green main stays green for everyone. `make campaign` looks for new worlds.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    # scikit-learn 1.6 parametrizes its checks with a generator, of which pytest 9 warns
    config.addinivalue_line("filterwarnings", "ignore:Passing a non-Collection iterable to parametrize")


def pytest_collection_finish() -> None:
    # What is there now stays: else every full collection of garbage walks over all modules and thousands of tests again
    gc.collect()
    gc.freeze()


def _benchmark_root() -> Path | None:
    given = os.environ.get("POLYRULE_DATA")
    root = Path(given) if given else ROOT.parent / "shared" / "data"
    return root if (root / "MANIFEST.csv").is_file() else None


@pytest.fixture(scope="session")
def benchmark_root() -> Path:
    root = _benchmark_root()
    if root is None:
        pytest.skip("the benchmark data is not here: set POLYRULE_DATA to its folder")
    return root


@pytest.fixture(scope="session")
def tables_root() -> Path:
    """The folder of tables as people have them, which the project does not carry; a test skips what is absent."""
    given = os.environ.get("POLYRULE_TABLES")
    root = Path(given) if given else ROOT.parent / "shared" / "tables"
    if not root.is_dir():
        pytest.skip("the tables of people are not here: set POLYRULE_TABLES to their folder")
    return root


@pytest.fixture(scope="module")
def few_trees() -> Iterator[None]:
    """Teachers of ensembles grow 12 trees instead of 60 or 100, for modules where nothing hangs on their number."""
    from polyrule.soft_targets.forest import Forest

    grow = Forest.__init__

    def grow_few(self: Any, design: Any, truth: Any, weights: Any, trees: int, *rest: Any, **named: Any) -> None:
        grow(self, design, truth, weights, min(trees, 12), *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Forest, "__init__", grow_few)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    report = yield
    needs_data = item.get_closest_marker("benchmark_data") or "benchmark_root" in getattr(item, "fixturenames", ())
    if needs_data and report.skipped and not hasattr(report, "wasxfail") and _benchmark_root() is not None:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped although the benchmark data is there"
    return report
