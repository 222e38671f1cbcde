"""What every test may use, and the rule that data tests must not be skipped where the data is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from tests.browser import browser as browser  # one for all tests

# Fixed draws: a green main stays green for everyone. `make campaign` looks for new worlds.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    # scikit-learn 1.6 parametrizes its checks with a generator, of which pytest 9 warns
    config.addinivalue_line("filterwarnings", "ignore:Passing a non-Collection iterable to parametrize")


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    report = yield
    needs_data = item.get_closest_marker("benchmark_data") or "benchmark_root" in getattr(item, "fixturenames", ())
    if needs_data and report.skipped and not hasattr(report, "wasxfail") and _benchmark_root() is not None:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped although the benchmark data is there"
    return report
