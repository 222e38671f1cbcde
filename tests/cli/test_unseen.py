"""Categories that a model never saw are warned of where its rules test them, and nowhere else."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.cli.helpers import ok, run

from polyrule import datasets
from polyrule.data import read
from polyrule.errors import UnseenCategoryWarning
from polyrule.model import Literal, NominalCondition, Rule, RuleList
from polyrule.model.files import load
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


def test_an_example_of_a_benchmark_is_explained_with_its_own_categories(benchmark_root, tmp_path):
    data = datasets.load("flags", part="train")
    zone = data.feature_names.index("zone")
    known = replace(data.features[zone], categories=("1", "2", "3"))
    rule = Rule((Literal(0, 1),), (NominalCondition(0, 0),))
    RuleList((rule,), (known,), data.label_names).save(tmp_path / "model.json")
    others = np.flatnonzero(data.X.column(zone) == 3)
    done = run("explain", tmp_path / "model.json", "flags:train", "--row", others[0] + 1)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == "warning: zone = '4' is a category that the model does not know, and counts as missing\n"
    first = np.flatnonzero(data.X.column(zone) != 3)[0]
    assert run("explain", tmp_path / "model.json", "flags:train", "--row", first + 1).stderr == ""
