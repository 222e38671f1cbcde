"""Relations between labels on the command line: found, learned with, stated, scored, checked."""

import json

import numpy as np
import pytest
from tests.cli.helpers import ok, ok_json, run

import polyrule


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    size, edge = rng.normal(size=300).round(2), rng.normal(size=300).round(2)
    bad = size + edge + rng.normal(size=300) * 0.4 > 0.5
    rows = zip(size, edge, ~bad & (size < 0.8), bad, bad & (edge > 0.4), strict=True)
    lines = ["size,edge,benign,malignant,severe", *(",".join(str(float(v)) for v in row) for row in rows)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_from_data_to_scores(table, tmp_path):
    found = ok("data", table, "--labels", "last:3")
    assert "relations between labels that hold in all examples" in found
    listed = ok_json("data", table, "--labels", "last:3", "--json")["relations"]
    assert {"severe => malignant", "benign, malignant: at most one"} <= set(listed)
    model = tmp_path / "m.json"
    given = [part for text in listed for part in ("--relation", text)]
    shown = ok("train", table, "--labels", "last:3", *given, "-o", model, "--cv", "2")
    assert f"(always: {'; '.join(listed)})" in shown
    scores = ok("evaluate", model, table)
    assert "hierarchical, each label with those that it implies: precision" in scores
    assert set(ok_json("evaluate", model, table, "--json")["hierarchical"]) == {"precision", "recall", "f1"}
    checked = ok("verify", model, table)
    assert f"{len(listed)} relations between labels hold for every input" in checked


def test_relations_of_a_stored_model_are_edited(table, tmp_path):
    model = tmp_path / "m.json"
    ok("train", table, "--labels", "last:3", "-o", model)
    assert "hierarchical" not in ok("evaluate", model, table)
    changed = ok("edit", "relations", model, "severe => malignant")
    assert "+ (always: severe => malignant)" in changed
    (tmp_path / "tree.json").write_text(json.dumps({"malignant": ["severe"]}))
    ok("edit", "relations", model, tmp_path / "tree.json", "benign, malignant: at most one")
    loaded = polyrule.load(model)
    stated = [one.text(loaded.label_names) for one in loaded.relations]
    assert stated == ["severe => malignant", "benign, malignant: at most one"]
    assert run("verify", model, table).exit_code == 3
    ok("edit", "relations", model, "--none")
    assert polyrule.load(model).relations == ()
    assert "give relations, or --none" in run("edit", "relations", model).stderr


def test_what_is_wrong_is_one_sentence(table, tmp_path):
    wrong = run("train", table, "--labels", "last:3", "--relation", "benign => severe")
    assert wrong.exit_code == 1
    assert "the training data breaks relations: 'benign => severe' in" in wrong.stderr
    wrong = run("train", table, "--labels", "last:3", "--relation", "benin => severe")
    assert "there is no label 'benin'; did you mean 'benign'?" in wrong.stderr
