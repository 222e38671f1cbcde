"""Replaying models: what was learned passes, and whatever is changed afterwards is found."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from polyrule import BinaryRelevanceRuleClassifier, RuleListClassifier
from polyrule.data import Dataset, Feature, Table
from polyrule.errors import ModelError
from polyrule.learning.verify import certify, verify
from polyrule.model import RuleList, files


def random_data(seed: int, *, weighted: bool = False) -> Dataset:
    """Small data with numbers, categories, gaps and labels that depend on them and on each other."""
    rng = np.random.default_rng(seed)
    rows = 40
    size, hue = rng.integers(0, 8, rows).astype(float), rng.integers(0, 3, rows).astype(float)
    size[rng.random(rows) < 0.1] = np.nan
    first = (size > 3) ^ (rng.random(rows) < 0.1)
    second = (hue == 1) & ~first
    third = rng.random(rows) < 0.3
    table = Table.from_array(
        np.column_stack([size, hue]), [Feature("size"), Feature("hue", "nominal", ("a", "b", "c"))]
    )
    weights = rng.choice([0.0, 0.5, 1.0, 2.25], rows) if weighted else None
    truth = np.column_stack([first, second, third]).astype(np.uint8)
    return Dataset(table, truth, ("first", "second", "third"), weights=weights)


OPTIONS = [
    {},
    {"measure": "precision"},
    {"measure": "hamming", "scope": "all"},
    {"measure": "f1", "scope": "full"},
    {"measure": "recall"},
    {"measure": "subset"},
    {"measure": "f1", "averaging": "example"},
    {"measure": "f1", "averaging": "label", "scope": "all"},
    {"measure": "laplace"},
    {"measure": "precision", "lift": "kln:0.2"},
    {"heads": "single"},
    {"negative": False},
    {"stop_threshold": None},
    {"keep_covered": False, "stop_threshold": 0.3},
    {"label_conditions": False, "beam_width": 3},
    {"max_head_size": 2, "measure": "precision"},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_was_learned_is_as_the_model_says(options, weighted):
    for seed in range(3):
        data = random_data(seed, weighted=weighted)
        model = RuleListClassifier.paper(**options, max_rules=8).fit(data).model_
        found = verify(model, data)
        assert found.ok, str(found)
        assert found.rules == len(model) >= 1
        assert found.searched == (0 if options.get("heads") == "single" else len(model))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_proofs_hold_and_survive_a_file(options):
    data = random_data(1)
    model = certify(RuleListClassifier.paper(**options, max_rules=6).fit(data).model_, data)
    again = files.loads(files.dumps(model))
    found = verify(again, data)
    assert found.ok, str(found)
    assert found.certified == (0 if options.get("heads") == "single" else len(model))
    assert [rule.certificate for rule in again] == [rule.certificate for rule in model]


@pytest.mark.parametrize("measure", ["precision", "hamming", "f0.5"])
def test_one_list_per_label(measure):
    for seed in range(3):
        data = random_data(seed, weighted=seed == 2)
        model = BinaryRelevanceRuleClassifier(measure).fit(data).model_
        assert verify(model, data).ok
        broken = _with_rule(model, 0, value=Fraction(1, 7))
        assert not verify(broken, data).ok


def _with_rule(model: RuleList, index: int, **changes) -> RuleList:
    rules = list(model.rules)
    rules[index] = replace(rules[index], **changes)
    return replace(model, rules=tuple(rules))


@pytest.fixture(scope="module")
def learned() -> tuple[RuleList, Dataset]:
    data = random_data(4)
    return certify(RuleListClassifier.paper("precision", stop_threshold=0.3).fit(data).model_, data), data


def problems(model: RuleList, data: Dataset) -> str:
    found = verify(model, data)
    assert not found.ok
    return str(found)


def test_every_changed_number_is_found(learned):
    model, data = learned
    first = model.rules[0]
    literal = replace(first.head[0], tp=first.head[0].tp + 1)
    assert "TP of label" in problems(_with_rule(model, 0, head=(literal, *first.head[1:])), data)
    literal = replace(first.head[0], fp=first.head[0].fp + 1)
    assert "FP of label" in problems(_with_rule(model, 0, head=(literal, *first.head[1:])), data)
    assert "the coverage" in problems(_with_rule(model, 0, coverage=(first.coverage or 0) + 1), data)
    assert "the value" in problems(_with_rule(model, 0, value=Fraction(1, 3)), data)
    assert "the stop" in problems(_with_rule(model, 0, stop=not first.stop), data)
    changed = replace(model, default_counts=((99, 99), *model.default_counts[1:]))
    assert "the list: the unset weight of label 'first' is stated as (99, 99)" in problems(changed, data)


def test_a_false_proof_is_found(learned):
    model, data = learned
    proof = dict(model.rules[0].certificate or {})
    told = problems(_with_rule(model, 0, certificate={**proof, "value": "1/97"}), data)
    assert "rule 1: the proof of the head is stated as valid but found to be wrong, because" in told
    assert "unknown kind" in problems(_with_rule(model, 0, certificate={**proof, "kind": "magic"}), data)
    assert "malformed" in problems(_with_rule(model, 0, certificate={"kind": "singles"}), data)


def test_another_head_is_found_without_a_proof(learned):
    model, data = learned
    index = next(i for i, rule in enumerate(model) if rule.is_multi_label)
    smaller = _with_rule(model, index, head=model.rules[index].head[:1], certificate=None, value=None)
    assert "the best head" in problems(smaller, data)


def test_a_rule_moved_by_hand_is_found(learned):
    model, data = learned
    assert verify(model.move(0, len(model) - 1), data).findings


def test_other_data_is_recognised(learned):
    model, data = learned
    other = replace(data, Y=1 - data.Y)
    told = verify(model, other)
    assert [finding.what for finding in told.findings] == ["the data"]
    assert told.to_dict()["findings"][0]["rule"] is None
    with pytest.raises(ModelError, match="not the data that the model was learned from"):
        certify(model, other)


def test_a_list_that_nobody_learned_cannot_be_checked(learned):
    _, data = learned
    with pytest.raises(ModelError, match="does not say how it was learned"):
        verify(RuleList((), data.features, data.label_names), data)
    with pytest.raises(ModelError, match="labels are not those of the model"):
        verify(replace(learned[0], label_names=("a", "b", "c")), data)


def test_the_proof_about_a_measure_is_stored_and_checked(tmp_path):
    data = random_data(3)
    fitted = RuleListClassifier.paper(measure="tp**2 / (tp + fp)**2", max_rules=2).fit(data)
    path = tmp_path / "model.json"
    fitted.model_.save(path)
    model = RuleList.load(path)
    assert model.info["measure_proof"]["lemma"] == "between"
    assert str(verify(model, data)).endswith("the proof about the measure checked: everything is as the model says")
    model.info["measure_proof"]["cases"][0]["multipliers"] = {}
    (finding,) = verify(model, data).findings
    assert "the proof about the measure is stated as valid but found to be wrong" in str(finding)
