"""Relations in fits, files, explanations, checks and counterfactuals."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyrule
from polyrule import (
    BinaryRelevanceRuleClassifier,
    RuleEnsembleClassifier,
    RuleListClassifier,
    SeCoClassifier,
)
from polyrule.data import Dataset, to_table
from polyrule.data.documents import sealed
from polyrule.decisions import calibrate, choose_cutoffs
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.relations import find
from polyrule.relations.data import broken

RELATIONS = ["pneumonia => lung disease", "benign, malignant: at most one"]
NAMES = ["lung disease", "pneumonia", "benign", "malignant"]


def rows(count: int = 400, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(count, 4)).round(2), columns=list("pqrs"))
    noise = rng.normal(size=(count, 4)) * 0.5
    pneumonia = X.p + noise[:, 0] > 0.5
    tumor, bad = X.q + noise[:, 1] > 0, X.r + noise[:, 2] > 0
    Y = np.column_stack([pneumonia | (X.s + noise[:, 3] > 1), pneumonia, tumor & ~bad, tumor & bad])
    return Dataset(to_table(X), Y.astype(np.uint8), tuple(NAMES), name="patients")


LEARNERS = {
    "list": RuleListClassifier(simplicity=0.5),
    "paper": SeCoClassifier(max_rules=12),
    "relevance": BinaryRelevanceRuleClassifier(),
    "ensemble": RuleEnsembleClassifier(max_rules=8, decision="per-label", cv=0),
    "subset": RuleEnsembleClassifier(max_rules=8, decision="subset", cv=0),
    "scorecard": RuleEnsembleClassifier(max_rules=8, points=True, cv=0),
}


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: learner.fit(rows(), relations=RELATIONS) for name, learner in LEARNERS.items()}


@pytest.mark.parametrize("kind", LEARNERS)
def test_every_learner_takes_relations_and_they_hold_for_every_input(fitted, kind) -> None:
    model = fitted[kind].model_
    points = np.array(list(product([-9, -0.7, -0.2, 0.2, 0.7, 9, np.nan], repeat=4)))
    labels = fitted[kind].predict(points if kind == "x" else to_table(pd.DataFrame(points, columns=list("pqrs"))))
    assert [broken(one, labels)[0] for one in model.relations] == [0, 0]
    assert [one.text(model.label_names) for one in model.relations] == RELATIONS
    assert f"(always: {'; '.join(RELATIONS)})" in str(model)


@pytest.mark.parametrize("kind", LEARNERS)
def test_files_keep_relations(fitted, kind, tmp_path) -> None:
    model = fitted[kind].model_
    model.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert document["version"] == 2
    expected = [{"if": "pneumonia", "then": "lung disease"}, {"at_most_one": ["benign", "malignant"]}]
    assert document["relations"] == expected
    again = polyrule.load(tmp_path / "m.json")
    assert again.relations == model.relations
    np.testing.assert_array_equal(again.predict(rows(200, 1)), model.predict(rows(200, 1)))
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(document, polyrule.model.files.schema())


def test_files_with_relations_that_contradict_are_refused(fitted) -> None:
    document = fitted["list"].model_.to_dict()
    for wrong, message in (
        ([{"if": "benign", "then": "malignant"}, {"at_most_one": ["benign", "malignant"]}], "can never be present"),
        ([{"if": "benign"}], "lacks 'then'"),
        ([{}], "must have 'if' and 'then'"),
        ([{"exactly_one": ["benign"]}], "at least two labels"),
        ([{"exactly_one": ["benign", "no"]}], "no"),
    ):
        others = {key: value for key, value in document.items() if key != "checksum"}
        changed = json.loads(sealed(others | {"relations": wrong}))
        with pytest.raises(ModelError, match=message):
            polyrule.RuleList.from_dict(changed)


@pytest.mark.parametrize("kind", LEARNERS)
def test_verify_checks_them(fitted, kind) -> None:
    model, data = fitted[kind].model_, rows()
    found = model.verify(data)
    assert found.ok, str(found)
    assert not [text for text in found.unchecked if "relation" in text]
    assert "2 relations between labels hold for every input" in str(found)
    later = model.with_relations("malignant => lung disease").verify(data, learn=False)
    assert "the relations between labels, which are not those of learning" in later.unchecked


def test_verify_finds_relations_that_the_data_breaks(fitted) -> None:
    model = fitted["list"].model_.with_relations("malignant => lung disease")
    forged = replace(model, info=model.info | {"relations": ["malignant => lung disease"]})
    found = forged.verify(rows(), learn=False)
    assert not found.ok
    assert "that the data obeys 'malignant => lung disease'" in str(found)


def test_training_data_that_breaks_a_relation_is_refused_with_counts() -> None:
    data = rows()
    count, total = int(((data.Y[:, 3] == 1) & (data.Y[:, 0] == 0)).sum()), int((data.Y[:, 3] == 1).sum())
    with pytest.raises(DataError, match=f"'malignant => lung disease' in {count} of {total} examples"):
        RuleListClassifier().fit(data, relations="malignant => lung disease")
    with pytest.raises(OptionError, match="there is no label 'malign'; did you mean"):
        RuleListClassifier().fit(data, relations="malign => lung disease")


@pytest.mark.parametrize("kind", ["list", "ensemble", "scorecard"])
def test_explanations_name_the_relation(fitted, kind) -> None:
    model, data = fitted[kind].model_, rows(600, 3)
    if kind == "scorecard":  # whose labels alone break no relation here
        model = model.with_relations(["malignant => lung disease", "lung disease, benign: at most one"])
    stated = [one.text(model.label_names) for one in model.relations]
    alone = model.with_relations(None).predict(data)
    changed = np.flatnonzero((alone != model.predict(data)).any(axis=1))
    assert len(changed)
    for row in changed[:20].tolist():
        why = model.explain(data, row)
        for label in np.flatnonzero(alone[row] != model.predict(data)[row]):
            reason = why.labels[label]
            assert reason.value == model.predict(data)[row, label]
            assert str(reason.because) in str(why)
            assert str(reason.because) in why.to_dict()["labels"][label]["because"]
            assert str(reason.because).split(" (")[1].rstrip(")") in stated
        unchanged = [k for k in range(4) if alone[row, k] == model.predict(data)[row, k]]
        assert all(why.labels[k].because is None for k in unchanged)


@pytest.mark.parametrize("kind", ["list", "paper", "ensemble"])
def test_counterfactuals_are_about_the_decision_with_relations(fitted, kind) -> None:
    model, data = fitted[kind].model_, rows(40, 5)
    values = np.asarray(data.X, dtype=float)
    for row in range(40):
        for label in range(4):
            found = model.counterfactual(data, label, row)
            assert found.was == model.predict(data)[row, label]
            if found.changes is not None:
                example = values[row].copy()
                for change in found.changes:
                    for place, value in change.values.items():
                        example[model.narrowed.features[place].name == np.array(data.X.feature_names)] = value
                assert model.predict(example[None])[0, label] != found.was


def test_without_relations_nothing_changes(fitted) -> None:
    for kind, learner in LEARNERS.items():
        plain = type(learner)(**learner.get_params()).fit(rows()).model_
        removed = fitted[kind].model_.with_relations(None)
        np.testing.assert_array_equal(plain.predict(rows(300, 7)), removed.predict(rows(300, 7)))
        assert "relations" not in plain.to_dict()


def test_guarantees_and_goals_say_that_they_are_about_single_labels(fitted) -> None:
    model = fitted["ensemble"].model_
    with pytest.raises(ModelError, match="calibrate it without them"):
        calibrate(model, rows(300, 9))
    with pytest.raises(ModelError, match="choose cutoffs without them"):
        choose_cutoffs(model, rows(300, 9), goal="recall>=0.9")
    sure = calibrate(model.with_relations(None), rows(300, 9), risk="recall", target_level=0.8)
    assert "guarantees" in sure.info
    assert "guarantees" not in sure.with_relations(RELATIONS).info


def test_what_is_found_in_data_can_be_learned_with() -> None:
    data = rows()
    assert set(RELATIONS) <= set(find(data))
    assert RuleListClassifier().fit(data, relations=find(data)).model_.relations
