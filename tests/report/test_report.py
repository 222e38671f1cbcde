import os
import re
import stat

import pytest
from click.testing import CliRunner
from tests.report.worlds import random_data, random_model

from polyrule.cli.app import app
from polyrule.model import files
from polyrule.report import Report, build
from polyrule.report.page import SCRIPTS, STYLES


def test_the_file_needs_nothing_else(sample):
    text = sample.html()
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\((?!#)""", text)
    assert "default-src 'none'" in text
    assert text.isascii() or "charset" in text


def test_every_asset_is_in_the_page_and_none_is_forgotten():
    folder = os.path.join(os.path.dirname(build.__globals__["__file__"]), "assets")
    assert set(os.listdir(folder)) == {*SCRIPTS, *STYLES, "report.html"}


def test_scripts_never_make_markup_from_text():
    folder = os.path.join(os.path.dirname(build.__globals__["__file__"]), "assets")
    for name in SCRIPTS:
        with open(os.path.join(folder, name), encoding="utf-8") as stream:
            text = stream.read()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            name
        )


def test_saving_replaces_the_file_whole_or_not_at_all(sample, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(Report, "_page", property(lambda self: (_ for _ in ()).throw(RuntimeError)))
    with pytest.raises(RuntimeError):
        sample.save(path)
    assert path.read_text() == "old"
    monkeypatch.undo()
    sample.save(path)
    assert path.read_text().startswith("<!doctype html>")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_the_command_writes_a_page(tmp_path):
    runner = CliRunner()
    for name, measure in (("one", "f0.5"), ("two", "precision")):
        done = runner.invoke(
            app,
            ["train", "emotions:train", "--max-rules", "3", "--measure", measure, "-o", str(tmp_path / f"{name}.json")],
        )
        assert done.exit_code == 0, done.output
    page = tmp_path / "page.html"
    words = [
        "report",
        str(tmp_path / "one.json"),
        str(tmp_path / "two.json"),
        "--data",
        "emotions:train",
        "--test",
        "emotions:test",
    ]
    done = runner.invoke(app, [*words, "-o", str(page), "--title", "Songs", "--names", "a, b"])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "<title>Songs</title>" in text
    assert '"name":"a"' in text
    assert str(page) in done.stderr


def test_the_command_says_what_is_wrong(tmp_path):
    runner = CliRunner()
    model = random_model(3, rules=2)
    path = tmp_path / "m.json"
    files.save(model, path)
    done = runner.invoke(app, ["report", str(path), "--names", "a,b", "-o", str(tmp_path / "x.html")])
    assert done.exit_code == 1
    assert "--names lists 2" in done.stderr
    assert not (tmp_path / "x.html").exists()
    done = runner.invoke(app, ["report", str(path), "-o", str(tmp_path / "nowhere" / "x.html")])
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr
    done = runner.invoke(app, ["report", str(tmp_path / "none.json")])
    assert done.exit_code == 1
    assert "none.json" in done.stderr


def test_readers_without_scripts_get_the_rules_as_text(monkeypatch):
    model = random_model(3, rules=60)
    assert "label 1" in build(model).html().partition("<noscript>")[2].partition("</noscript>")[0]
    monkeypatch.setattr("polyrule.report.page.MOST_TEXT", 500)
    short = build(model).html().partition("<noscript>")[2].partition("</noscript>")[0]
    assert "more lines" in short
    assert len(short) < 1200


def test_a_report_looks_well_in_a_terminal():
    model = random_model(3, rules=2)
    assert repr(build({"mine": model}, random_data(model, 5, 1, name="songs"))) == "Report('Rules for songs': mine)"
