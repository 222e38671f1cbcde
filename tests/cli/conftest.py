from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.helpers import READING, ok, write_songs


@pytest.fixture(scope="session")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_songs(tmp_path_factory.mktemp("songs"))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, songs: Path) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.json"
    ok("train", songs, *READING, "--preset", "paper", "-o", path, "-q")
    return path


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A model file of its own for every test, so that a test may change it."""
    copy = tmp_path / "model.json"
    copy.write_bytes(trained.read_bytes())
    return copy
