"""Relations in every form that people have, and one clear sentence for what cannot be read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polyrule.errors import DataError, OptionError
from polyrule.relations import Relation, read

NAMES = ("lung disease", "pneumonia", "asthma", "severe asthma", "heart, left", "x: at most one", '"odd" => name')


def texts(given: object) -> list[str]:
    return [one.text(NAMES) for one in read(given, NAMES)]


def test_texts_with_several_labels() -> None:
    assert texts("severe asthma => asthma => lung disease") == ["severe asthma => asthma", "asthma => lung disease"]
    assert texts("pneumonia => lung disease, asthma") == ["pneumonia => lung disease", "pneumonia => asthma"]
    assert texts("# comment\n\n pneumonia , asthma:exactly one\n") == ["pneumonia, asthma: exactly one"]


@pytest.mark.parametrize(
    "tree",
    [
        {"lung disease": ["pneumonia", "asthma"], "asthma": ["severe asthma"]},
        {"lung disease": {"pneumonia": {}, "asthma": {"severe asthma": None}}},
        {"lung disease": ["pneumonia", {"asthma": "severe asthma"}]},
        [("lung disease", "pneumonia"), ("lung disease", "asthma"), ("asthma", "severe asthma")],
        np.array([["lung disease", "pneumonia", ""], ["lung disease", "asthma", "severe asthma"]], dtype=object),
    ],
)
def test_trees_edges_and_paths_are_the_same_relations(tree: object) -> None:
    assert sorted(texts(tree)) == ["asthma => lung disease", "pneumonia => lung disease", "severe asthma => asthma"]


@pytest.mark.parametrize("seed", range(30))
def test_a_relation_reads_as_it_is_written(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["implies", "at-most-one", "exactly-one"]))
    size = 2 if kind == "implies" else int(rng.integers(2, 6))
    relation = Relation(kind, tuple(rng.choice(len(NAMES), size, replace=False).tolist()))  # type: ignore[arg-type]
    assert read(relation.text(NAMES), NAMES) == (relation,)
    assert read([relation, relation], NAMES) == (relation,)


def test_files(tmp_path) -> None:
    (tmp_path / "r.txt").write_text("pneumonia => lung disease\npneumonia, asthma: at most one\n")
    (tmp_path / "r.json").write_text(json.dumps({"lung disease": ["pneumonia"]}))
    (tmp_path / "r.csv").write_text('lung disease,pneumonia\n"heart, left",asthma,\n')
    assert texts(tmp_path / "r.txt") == ["pneumonia => lung disease", "pneumonia, asthma: at most one"]
    assert texts(str(tmp_path / "r.json")) == ["pneumonia => lung disease"]
    assert texts(tmp_path / "r.csv") == ["pneumonia => lung disease", 'asthma => "heart, left"']
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match=r"bad.json is not valid JSON"):
        texts(tmp_path / "bad.json")
    with pytest.raises(DataError, match=r"none.txt cannot be read"):
        texts(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("pneumonia", "cannot read the relation 'pneumonia': write 'a => b'"),
        ("pneumonia, asthma => lung disease", "cannot read the relation"),
        ("pneumonia => ", "a label is missing"),
        ("pneumonia: at most one", "needs at least two labels"),
        ("asthma, asthma: at most one", "a label occurs twice"),
        ("asthma => asthma", "'asthma' implies itself"),
        ("astma => lung disease", "there is no label 'astma'; did you mean 'asthma'?"),
        ('"asthma => lung disease', "is not a well-formed quoted name"),
        (3, "must be texts, a tree, edges, paths or a file, got int"),
        (Relation("implies", (0, 99)), "names a label that is not there"),
    ],
)
def test_one_sentence_for_what_cannot_be_read(given: object, message: str) -> None:
    with pytest.raises(OptionError) as error:
        texts(given)
    assert message in str(error.value), str(error.value)


def test_labels_of_one_name_are_refused() -> None:
    with pytest.raises(OptionError, match="several labels are named 'a'"):
        read("a => b", ("a", "a", "b"))
