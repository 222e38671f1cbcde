"""`polyrule studio` says in one sentence what it cannot do."""

from __future__ import annotations

import pytest
from tests.cli.helpers import run
from tests.studio.conftest import songs

from polyrule.studio.project_file import sole_writer


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing.csv"], "no such file"),
        (["nothing.studio.json"], "no such file"),
        (["songs.csv", "--test", "nothing.csv"], "no such file"),
    ],
)
def test_what_is_not_there_is_said(tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "songs.csv").write_text(songs(30), encoding="utf-8")
    done = run("studio", *words, "--no-browser")
    assert done.exit_code == 1
    assert told in done.stderr


@pytest.mark.parametrize("words", [("songs.csv", "--project", "none/here.json"), ("none/here.studio.json",)])
def test_a_project_in_no_folder_is_refused_by_its_name(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "songs.csv").write_text(songs(30), encoding="utf-8")
    assert f"Error: {words[-1]}: cannot be written (there is no folder none)" in run("studio", *words).stderr


def test_a_project_that_is_open_elsewhere_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "songs.csv").write_text(songs(30), encoding="utf-8")
    with sole_writer(tmp_path / "songs.studio.json"):
        done = run("studio", "songs.csv", "--no-browser")
    assert done.exit_code == 1
    assert "has this project open" in done.stderr
