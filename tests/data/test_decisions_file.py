"""Decisions beside a table are read back, and what is no decision is refused in a sentence."""

from __future__ import annotations

import pytest

from polyrule.data.decisions_file import decisions_path, read_decisions, write_decisions
from polyrule.errors import DataError

OPTIONS = {"tags": 'mood "x"\\', "nominal": ["a,b", "größe"], "header": False, "missing": ["-999", "\x7f\t"]}


def test_options_are_read_back(tmp_path):
    path = tmp_path / "songs.csv.gz"
    assert read_decisions(path, OPTIONS) == {}
    place = write_decisions(path, OPTIONS, ["size: number,\n0 to 9"])
    assert place == decisions_path(path) == tmp_path / "songs.polyrule.toml"
    assert read_decisions(path, OPTIONS) == OPTIONS
    assert "# size: number, 0 to 9\n" in place.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tags = ", "the file is no TOML"),
        ("nom = 'a'", "there is no option 'nom' \\(options are nominal, tags\\)"),
        ("nominal = 3", "nominal must be a text or a list of texts"),
        ("[nominal]\na = 'b'", "nominal must be a text or a list of texts"),
    ],
)
def test_what_is_no_decision_is_refused(tmp_path, text, message):
    (tmp_path / "songs.polyrule.toml").write_text(text)
    with pytest.raises(DataError, match=message):
        read_decisions(tmp_path / "songs.csv", ("tags", "nominal"))
