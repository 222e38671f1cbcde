"""Categories that a model never saw are warned of where its rules test them, and nowhere else."""

from __future__ import annotations

import warnings

import pytest
from tests.cli.helpers import ok, run

from polyrule.data import read
from polyrule.errors import UnseenCategoryWarning
from polyrule.kinds import load
from polyrule.report import build


@pytest.fixture
def files(tmp_path):
    """Colours follow from the size alone; the shape says nothing."""
    lines = [f"{'big' if n % 2 else 'small'},{'round' if n % 4 < 2 else 'square'},{n % 2}" for n in range(80)]
    names = {"train.csv": lines, "shapes.csv": [line.replace("square", "oval") for line in lines]}
    names["sizes.csv"] = [line.replace("small", "tiny") for line in lines]
    for name, rows in names.items():
        (tmp_path / name).write_text("\n".join(["size,shape,red", *rows]) + "\n")
    ok("train", tmp_path / "train.csv", "--labels", "red", "-q", "-o", tmp_path / "model.json")
    model = load(tmp_path / "model.json")
    assert [feature.name for feature in model.narrowed.features] == ["size"]
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        lambda folder, new: ["train", folder / "train.csv", "--labels", "red", "-q", "--test", new],
        lambda folder, new: ["evaluate", folder / "model.json", new],
        lambda folder, new: ["predict", folder / "model.json", new],
        lambda folder, new: ["edit", "recount", folder / "model.json", new, "-o", folder / "again.json"],
        lambda folder, new: ["report", folder / "model.json", "--data", new, "-o", folder / "report.html"],
        lambda folder, new: ["report", folder / "model.json", "--test", new, "-o", folder / "report.html"],
    ],
    ids=["train", "evaluate", "predict", "recount", "report-data", "report-test"],
)
def test_commands_warn_of_columns_that_rules_test(files, words):
    told = run(*words(files, files / "sizes.csv"))
    assert told.exit_code == 0
    assert told.stderr.count("40 in 'size' ('tiny')") == 1
    silent = run(*words(files, files / "shapes.csv"))
    assert silent.exit_code == 0
    assert "shape" not in silent.stderr.replace("shapes.csv", "")


def test_a_report_made_in_python_does_the_same(files):
    model = load(files / "model.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenCategoryWarning)
        build(model, read(files / "shapes.csv", labels=["red"]))
    with pytest.warns(UnseenCategoryWarning, match="40 in 'size'"):
        build(model, test=read(files / "sizes.csv", labels=["red"]))
