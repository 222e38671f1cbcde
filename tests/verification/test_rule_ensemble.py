"""Checking ensembles: what learning finds again passes, and whatever decides a prediction is checked or named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import Dataset, Feature, Table
from polyrule.ensemble import RuleEnsemble
from polyrule.errors import ModelError
from polyrule.model import files

pytestmark = pytest.mark.usefixtures("few_trees")
QUICK: dict[str, Any] = {"max_rules": 4, "cv": 2}


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)).round(2)
    Y = np.stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0.3], axis=1) ^ (rng.random((90, 2)) < 0.1)
    return Dataset(Table.from_array(X), Y.astype(np.uint8), ("a", "b"))


@pytest.fixture(scope="module")
def plain(data) -> RuleEnsemble:
    return RuleEnsembleClassifier(**QUICK, teacher=None).fit(data).model_


def forged(model: Any, change) -> Any:
    """Return a model from a file that was changed and sealed again."""
    document = json.loads(files.dumps(model))
    change(document)
    document.pop("checksum")
    return files.loads(json.dumps(document | {"checksum": files._checksum(document)}))


def weights_times(factor: float):
    def change(document):
        for rule in document["rules"]:
            for entry in rule["head"]:
                entry["weight"] *= factor

    return change


FORGERIES = {
    "cuts": lambda d: d["decision"].update(cuts=[3.0, 3.0]),
    "a cut": lambda d: d["decision"].update(cuts=[d["decision"]["cuts"][0], d["decision"]["cuts"][1] + 0.01]),
    "unit": lambda d: (d.update(unit=2.0), weights_times(9)(d)),
    "weights": weights_times(-1),
    "intercepts": lambda d: d.update(intercepts=[0.0, 0.0]),
    "a rule less": lambda d: d["rules"].pop(),
    "coverage": lambda d: d["rules"][0].update(coverage=d["rules"][0]["coverage"] + 1),
    "calibration": lambda d: d["info"].update(calibration=[2.0, 0.0]),
    "other data": lambda d: d["info"].update(data_fingerprint="blake2b:" + "0" * 32),
}


@pytest.mark.parametrize("options", [{}, {"teacher": None}, {"teacher": None, "points": 5}], ids=str)
def test_what_decides_a_prediction_is_learned_anew(data, options) -> None:
    model = RuleEnsembleClassifier(**QUICK, **options, decision="per-label").fit(data).model_
    found = model.verify(data)
    assert found.ok, str(found)
    assert not found.unchecked
    assert str(found).endswith("learned anew: everything is as the model says")
    for name, change in FORGERIES.items():
        assert not forged(model, change).verify(data).ok, name


def test_last_digits_may_depend_on_the_processor(data, plain) -> None:
    nearly = forged(plain, weights_times(1 + 1e-9))
    assert nearly.verify(data).ok
    assert not forged(plain, weights_times(1 + 1e-4)).verify(data).ok


def test_coverage_is_checked_without_learning(data, plain) -> None:
    lie = forged(plain, FORGERIES["coverage"])
    assert [finding.what for finding in lie.verify(data, learn=False).findings] == ["the coverage"]
    left = plain.verify(data, learn=False).unchecked
    assert left == ("that learning finds these rules, weights and cuts, because it was not asked for",)


def test_examples_may_weigh_any_real_number(data) -> None:
    weighed = replace(data, weights=np.random.default_rng(0).random(len(data)))
    model = RuleEnsembleClassifier(**QUICK, teacher=None).fit(weighed).model_
    assert model.verify(weighed).ok
    assert not forged(model, FORGERIES["coverage"]).verify(weighed, learn=False).ok


def test_another_decision_is_tuned_again(data) -> None:
    learner = RuleEnsembleClassifier(**QUICK, teacher=None).fit(data)
    before = learner.model_.decision
    model = learner.tune_decision("macro-f1", "per-label").model_
    assert model.decision != before
    assert model.verify(data).ok
    assert not model.verify(data).unchecked


def test_what_cannot_be_learned_again_is_named_first(data, plain) -> None:
    def first(model: RuleEnsemble) -> str:
        found = model.verify(data)
        assert found.ok, str(found)
        return str(found).splitlines()[0]

    assert first(plain.reweigh(0, "a", 9.0)).endswith("it was changed by hand")
    part = RuleEnsembleClassifier(**QUICK, teacher=None).fit(data[:70]).model_
    assert first(part.refit(data)).endswith("its weights were fitted anew after learning")
    more = RuleEnsembleClassifier(**QUICK | {"max_rules": 5}, teacher=None).fit(data, start=plain).model_
    assert first(more).endswith("it goes on from rules of another model")
    assert first(RuleEnsemble((), data.features, data.label_names, (0.0, 0.0), plain.decision)).startswith(
        "NOT CHECKED: "
    )
    ended = forged(plain, lambda d: d["info"].update(stopped="time_limit"))
    assert first(ended).endswith("learning was ended by its time limit")


def test_another_machine_may_learn_something_else(data) -> None:
    model = RuleEnsembleClassifier(**QUICK).fit(data).model_
    elsewhere = forged(model, lambda d: (d["info"]["made_with"].update(numpy="1.0"), weights_times(-1)(d)))
    found = elsewhere.verify(data)
    assert found.ok
    assert "here it finds another one, but it was made with numpy 1.0" in found.unchecked[0]
    same = forged(model, lambda d: d["info"]["made_with"].update(numpy="1.0"))
    assert not same.verify(data).unchecked


@pytest.mark.parametrize("stated", [{"targets": "labels"}, {"targets": "labels", "ridge": 1, "kept": [99]}], ids=str)
def test_a_malformed_account_of_the_weights_is_refused(data, plain, stated) -> None:
    with pytest.raises(ModelError, match="does not say what its weights are the optimum of"):
        forged(plain, lambda d: d["info"].update(weights=stated)).verify(data)


CODED = Feature("c", "nominal", ("u", "v"))


@pytest.mark.parametrize("learn", [True, False])
def test_features_are_compared_with_the_data(learn) -> None:
    rng = np.random.default_rng(1)
    codes, unused = rng.integers(-1, 2, 80), rng.normal(size=80)
    table = Table.from_array(np.c_[np.where(codes < 0, np.nan, codes), unused], [CODED, Feature("x")])
    coded = Dataset(table, (codes < 0).astype(np.uint8)[:, None], ("y0",))
    model = RuleEnsembleClassifier(max_rules=3, cv=2, constraints={"forbid": ["x"]}).fit(coded).model_
    assert model.verify(coded, learn=learn).ok
    changes = (
        lambda d: d["features"][0]["categories"].append("w"),
        lambda d: d["features"][1].update(name="z"),
        lambda d: d["features"].pop(),
        lambda d: d["features"].append({"name": "z", "kind": "numeric"}),
        lambda d: d["features"][1].update(kind="date"),
    )
    for change in changes:
        found = forged(model, change).verify(coded, learn=learn)
        assert [finding.what[:7] for finding in found.findings] == ["feature"]


@pytest.mark.parametrize("learner", [RuleListClassifier(), RuleListClassifier.paper(), RuleEnsembleClassifier(cv=2)])
def test_what_rounding_and_flags_rest_on_is_compared_with_the_data(learner) -> None:
    rng = np.random.default_rng(1)
    X = np.c_[rng.random((60, 2)).round(2), rng.integers(0, 2, 60)]
    Y = np.c_[X[:, 0] > 0.7, X[:, 1] > 0.4, X[:, 2] > 0.5].astype(np.uint8)
    flagged = Dataset(Table.from_array(X), Y, ("a", "b", "c"))
    model = learner.fit(flagged).model_
    assert model.verify(flagged, learn=False).ok

    def conditions(document):
        return [one for rule in document["rules"] for c in rule["body"] for one in c.get("members", [c])]

    changes = (
        lambda d: [c.update(between=[0.0, 1.0]) for c in conditions(d) if c["feature"] != "x2"],
        lambda d: [c.pop("between") for c in conditions(d)],
        lambda d: [f.update(flag=True) for f in d["features"]],
        lambda d: [f.pop("flag", None) for f in d["features"]],
    )
    for change in changes:
        assert not forged(model, change).verify(flagged, learn=False).ok


def test_names_of_groups_are_left_to_the_reader(data) -> None:
    words = tuple(Feature(word) for word in "pq")
    X = np.random.default_rng(0).integers(0, 2, (80, 2)).astype(float)
    either = Dataset(Table.from_array(X, words), X.max(axis=1).astype(np.uint8)[:, None], ("y",))
    model = RuleListClassifier().fit(either).model_
    assert "any of" in str(model)
    assert not model.verify(either).unchecked
    (left,) = model.name_group(0, "harmless").verify(either).unchecked
    assert left == "the names of the groups in rule 1, which a reader gave"


def test_what_is_refitted_on_its_training_data_is_learned_and_refitted(data, plain) -> None:
    model = plain.refit(data, ridge=2.0, keep=[1])
    found = model.verify(data)
    assert found.ok
    assert found.unchecked == ()
    assert not forged(model, FORGERIES["cuts"]).verify(data).ok
    assert not forged(plain.refit(data), lambda d: d.update(unit=2.0)).verify(data).ok
    part = RuleEnsembleClassifier(**QUICK, teacher=None).fit(data[:70]).model_.refit(data)
    assert [f.what for f in forged(part, lambda d: d.update(unit=2.0)).verify(data).findings][:1] == ["the unit"]
