"""`polyrule studio` says in one sentence what it cannot do."""

from __future__ import annotations

import pytest
from tests.cli.helpers import run
from tests.data.formats.test_xlsx import book_of, sheet
from tests.studio.conftest import LABELS, songs

from polyrule.studio.launch import Studio
from polyrule.studio.project_file import sole_writer
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin


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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["songs.csv", "--data", "songs.csv"], "--data is the data of a MODEL"),
        (["--data", "songs.csv"], "--data is the data of a MODEL"),
        (["--test", "songs.csv"], "--test needs DATA, too"),
        (["songs.csv", "--jobs", "0"], "--jobs must not be 0; -1 takes all processors"),
        (["begun.studio.json", "--data", "songs.csv"], "--data is the data of a MODEL"),
        (["begun.studio.json", "--test", "other.csv"], "holds out a part of its data, not other.csv; give --project"),
        (["other.csv", "--project", "begun.studio.json"], "is about songs.csv, not other.csv; give --project"),
    ],
)
def test_no_option_is_passed_over(tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("songs.csv", 0), ("other.csv", 1)):
        (tmp_path / name).write_text(songs(30, seed), encoding="utf-8")
    session = Session(tmp_path / "begun.studio.json")
    session.begin(Origin.of_file(tmp_path / "songs.csv"))
    session.prepare({"labels": LABELS})
    done = run("studio", *words, "--no-browser")
    assert done.exit_code == 1
    assert told in done.stderr


def test_a_workbook_is_known_again_whichever_sheet_was_chosen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [["age", "sick"], *([number % 40, int(number % 40 > 25)] for number in range(60))]
    (tmp_path / "ward.xlsx").write_bytes(book_of(Cover=sheet(["Study"], [None, "internal"]), Patients=sheet(*rows)))
    session = Session(tmp_path / "ward.studio.json")
    session.begin(Origin.of_file(tmp_path / "ward.xlsx"))
    session.prepare({"labels": ["sick"]})
    monkeypatch.setattr(Studio, "wait", lambda studio: None)
    done = run("studio", "ward.xlsx", "--no-browser")
    assert (done.exit_code, "going on with ward.studio.json" in done.stderr) == (0, True), done.stderr


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
