"""The ceilings of private words: what is counted, and that they only fall."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "words_check.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words_check", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_private_words_are_counted(tool, tmp_path):
    (tmp_path / "src" / "polyrule" / "room").mkdir(parents=True)
    file = tmp_path / "src" / "polyrule" / "room" / "a.py"
    file.write_text('def f(found):\n    """Whether somebody did."""\n    return found  # by itself\n', encoding="utf-8")
    files = tool.files_of(tmp_path)
    assert sorted(files[file].hits.items()) == [
        (("fillers", "found"), 2),
        (("openings", "<Whether>"), 1),
        (("prose", "<by itself/themselves>"), 1),
        (("prose", "<somebody/nobody>"), 1),
    ]
    assert tool.packages(files, tmp_path) == {"room": 5 * 1000 / 3}


def test_ceilings_only_fall(tool):
    figures = {"a": 31.23, "b": 80.0, "new": 12.0}
    assert tool.lowered(figures, {"a": 100.0, "b": 80.0, "gone": 3.0}) == {"a": 31.3, "b": 80.0, "new": 12.0}
    assert tool.too_high({"a": 31.23, "new": 61.0}, {"a": 31.2}) == [
        "a: 31.2 private words per 1,000 lines, above its ceiling of 31.2",
        "new: 61.0 private words per 1,000 lines, above its ceiling of 60",
    ]
