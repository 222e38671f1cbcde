"""Replaying models: what was learned passes, and whatever is changed afterwards is found."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from polyrule import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, RuleListClassifier, SeCoClassifier
from polyrule.data import Dataset, Feature, Table, to_table
from polyrule.errors import DataWarning, MeasureError, ModelError, OptionError
from polyrule.model import RuleList, files
from polyrule.store import pack
from polyrule.verification import certify, verify


def random_data(seed: int, *, weighted: bool = False, rows: int = 40) -> Dataset:
    """Small data with numbers, categories, gaps and labels that depend on them and on each other."""
    rng = np.random.default_rng(seed)
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
        model = SeCoClassifier(**options, max_rules=8).fit(data).model_
        found = verify(model, data)
        assert found.ok, str(found)
        assert found.rules == len(model) >= 1
        assert found.searched == (0 if options.get("heads") == "single" else len(model))


@pytest.mark.parametrize("options", [*OPTIONS, {"negative": False, "stop_threshold": None}], ids=str)
def test_default_counts_are_those_of_the_list_as_it_predicts(options, tmp_path):
    """Examples that leave the working set with unset labels were counted, though later rules set these."""
    for seed in range(4):
        data = random_data(seed, weighted=seed % 2 == 1, rows=60)
        model = SeCoClassifier(**options, max_rules=8).fit(data).model_
        assert model.default_counts == model.recount(data).default_counts
        assert verify(model, data).ok
        if options.get("measure") == "precision" or not options:
            packed = SeCoClassifier(**options, max_rules=8, negative=False, max_bins=255).fit(data).model_
            assert packed.default_counts == packed.recount(data).default_counts


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_proofs_hold_and_survive_a_file(options):
    data = random_data(1)
    model = certify(SeCoClassifier(**options, max_rules=6).fit(data).model_, data)
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


@pytest.mark.parametrize("label", range(2))
@pytest.mark.parametrize("count", ["tp", "fp", "certificate", "bound"])
def test_counts_of_every_label_of_binary_relevance(label, count):
    data = random_data(5, rows=80)
    model = BinaryRelevanceRuleClassifier().fit(data).model_
    index = next(number for number, rule in enumerate(model) if rule.head[0].label == label)
    literal = model.rules[index].head[0]
    changes = {
        "tp": {"head": (replace(literal, tp=literal.tp + 1),)},
        "fp": {"head": (replace(literal, fp=literal.fp + 1),)},
        "certificate": {"certificate": {"kind": "singles"}},
        "bound": {"bound": Fraction(1)},
    }
    (finding,) = verify(_with_rule(model, index, **changes[count]), data).findings
    assert finding.rule == index


def _with_rule(model: RuleList, index: int, **changes) -> RuleList:
    rules = list(model.rules)
    rules[index] = replace(rules[index], **changes)
    return replace(model, rules=tuple(rules))


@pytest.fixture(scope="module")
def learned() -> tuple[RuleList, Dataset]:
    data = random_data(4)
    return certify(SeCoClassifier("precision", stop_threshold=0.3).fit(data).model_, data), data


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
    assert "the model: the unset weight of label 'first' is stated as (99, 99)" in problems(changed, data)


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
    assert verify(replace(model, rules=(*model.rules[1:], model.rules[0])), data).findings
    moved = model.move(0, len(model) - 1)
    found = verify(moved, data)
    assert found.ok, str(found)
    assert "changed by hand" in found.unchecked[0]
    assert "which are those before an edit" in found.unchecked[1]
    assert verify(replace(moved, info=model.info), data).findings
    assert verify(_with_rule(moved, 1, coverage=99), data).findings
    assert verify(_with_rule(moved, 1, head=tuple(replace(x, chance=0.99) for x in moved.rules[1].head)), data).findings


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
    fitted = SeCoClassifier(measure="tp**2 / (tp + fp)**2", max_rules=2).fit(data)
    path = tmp_path / "model.json"
    fitted.model_.save(path)
    model = RuleList.load(path)
    assert model.info["measure_proof"]["lemma"] == "between"
    assert "the proof about the measure checked, learned anew: everything is as" in str(verify(model, data))
    model.info["measure_proof"]["cases"][0]["multipliers"] = {}
    (finding,) = verify(model, data).findings
    assert "the proof about the measure is stated as valid but found to be wrong" in str(finding)


def forged(model: RuleList, **members: Any) -> RuleList:
    """Return a model from a file that was changed and sealed again."""
    document = json.loads(files.dumps(model)) | members
    document.pop("checksum")
    found = files.loads(json.dumps(document | {"checksum": files._checksum(document)}))
    assert isinstance(found, RuleList)
    return found


LEARNERS = {
    "default": RuleListClassifier(),
    "untaught": RuleListClassifier(teacher=None),
    "paper": SeCoClassifier(max_rules=5),
    "one label": SeCoClassifier(heads="single", max_rules=5),
    "binned": SeCoClassifier(max_bins=4, max_rules=5),
    "restricted": SeCoClassifier(
        constraints={"features": {"first": ["size"]}, "monotone": {"size": "up"}}, max_rules=5
    ),
    "limited": RuleListClassifier(constraints={"forbid": ["hue"]}, time_limit=1000.0),
    "binary relevance": BinaryRelevanceRuleClassifier(),
}


@pytest.fixture(scope="module", params=LEARNERS)
def honest(request) -> tuple[RuleList, Dataset]:
    data = random_data(5, rows=80)
    return LEARNERS[request.param].fit(data).model_, data


def test_what_learning_finds_again_is_wholly_verified(honest):
    model, data = honest
    found = verify(forged(model), data)
    assert found.ok, str(found)
    assert not found.unchecked
    assert str(found).endswith("learned anew: everything is as the model says")


@pytest.mark.parametrize("learn", [True, False])
def test_whatever_decides_a_prediction_is_checked(honest, learn):
    model, data = honest
    turned = forged(model, defaults=[1 - value for value in model.defaults])
    assert any("the default of label" in finding.what for finding in verify(turned, data, learn=learn).findings)
    assert any("(full)" in finding.what for finding in verify(forged(model, full=True), data, learn=learn).findings)
    if "grown" in model.info and not learn:
        return  # not replayed: `unchecked` says so
    stopping = replace(model, rules=(replace(model.rules[0], stop=not model.rules[0].stop), *model.rules[1:]))
    assert verify(forged(stopping), data, learn=learn).findings


def test_a_list_cut_off_and_called_complete_is_found(honest):
    model, data = honest
    less = replace(model, rules=model.rules[:-1])
    if model.info["learner"] == "SeCoClassifier" and "grown" not in model.info:
        # all counts made true again, as only this can tell
        for finding in verify(less, data).findings:
            label = next(k for k, name in enumerate(model.label_names) if repr(name) in finding.what)
            pair = tuple(int(count) for count in finding.found.strip("()").split(", "))
            less = replace(less, default_counts=(*less.default_counts[:label], pair, *less.default_counts[label + 1 :]))
        assert not verify(less, data, learn=False).findings
    options = model.info["options"] | ({"max_rules": None} if "max_rules" in model.info["options"] else {})
    assert verify(forged(less, info=model.info | {"stopped": "complete", "options": options}), data).findings


def test_other_true_rules_than_those_that_learning_finds_are_found():
    data = random_data(5)
    shorter = SeCoClassifier("precision", max_conditions=1, max_rules=4).fit(data).model_
    info = shorter.info | {"options": shorter.info["options"] | {"max_conditions": None}}
    replayed = verify(forged(shorter, info=info), data, learn=False)
    assert replayed.ok
    assert replayed.unchecked == ("that learning finds these rules and no others, because it was not asked for",)
    findings = verify(forged(shorter, info=info), data).findings
    assert any(finding.what == "the rule" for finding in findings)


@pytest.mark.parametrize("what", ["default_chances", "chance", "costs"])
def test_chances_and_prices_are_learned_anew(what):
    data = random_data(5, rows=80)
    model = RuleListClassifier().fit(data).model_
    if what == "default_chances":
        lie = replace(model, default_chances=(0.5,) * 3)
    elif what == "chance":
        first = model.rules[0]
        head = tuple(replace(literal, chance=0.5) for literal in first.head)
        lie = replace(model, rules=(replace(first, head=head), *model.rules[1:]))
    else:
        lie = replace(model, info=model.info | {"pruning": model.info["pruning"] | {"costs": [0, 0, 0]}})
    assert verify(forged(lie), data).findings


class TestEndedEarly:
    @pytest.mark.parametrize("learner", ["paper", "one label", "binary relevance"])
    def test_as_far_as_it_came(self, learner):
        data = random_data(5)
        model = forged(clone(LEARNERS[learner]).fit(data, callback=lambda p: p.rules >= 2).model_)
        found = verify(model, data)
        assert found.ok, str(found)
        assert found.unchecked == ("that learning, which was ended by its caller, had come just so far",)
        assert str(found).startswith("NOT CHECKED: that learning, which was ended by its caller")
        assert verify(_with_rule(model, 1, body=model.rules[0].body), data).findings

    def test_without_time_for_a_teacher(self):
        data = random_data(5, rows=80)
        model = RuleListClassifier(time_limit=1e-9).fit(data).model_
        found = verify(forged(model), data)
        assert found.ok, str(found)
        assert found.unchecked == ("that learning finds this model, because learning was ended by its time limit",)

    def test_with_targets_that_cannot_be_drawn_again(self):
        data = random_data(5, rows=80)
        model = RuleListClassifier().fit(data, callback=lambda p: p.rules >= 3).model_
        model.info["pruning"]["targets"] = "blake2b:of fewer trees"
        assert certify(model, data) is model
        found = verify(model, data)
        assert found.ok, str(found)
        assert found.unchecked[1:] == ("what each rule adds, because the teacher's targets could not be drawn again",)


STARTS = {
    "plain": ("second <- hue = b",),
    "stop": ("first <- size > 5",),
    "label condition": ("first <- size > 3", "second <- first, hue = b"),
}


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("start", STARTS)
def test_a_list_behind_kept_rules_is_counted_as_it_runs(start, learn):
    data = random_data(1, rows=80)
    kept = RuleList((), data.features, data.label_names)
    for number, text in enumerate(STARTS[start]):
        kept = kept.insert(number, text)
    kept = replace(kept, rules=tuple(replace(rule, stop=start == "stop") for rule in kept)).recount(data)
    model = RuleListClassifier(simplicity=0.3).fit(data, start=kept).model_
    assert [rule.coverage for rule in model] == [rule.coverage for rule in model.recount(data)]
    found = verify(model, data, learn=learn)
    assert found.ok, str(found)
    assert "the rules that were there before learning" in found.unchecked
    assert "what each rule adds" in found.unchecked[-1]
    assert certify(model, data) == model
    last = len(model) - 1
    assert "the coverage" in str(verify(_with_rule(model, last, coverage=1), data, learn=learn))
    elsewhere = _with_rule(model, 0, coverage=1000)  # what is kept may have been counted on other data
    assert verify(elsewhere, data, learn=learn).ok


def test_another_version_may_learn_something_else():
    data = random_data(5)
    shorter = SeCoClassifier("precision", max_conditions=1, max_rules=4).fit(data).model_
    options = shorter.info["options"] | {"max_conditions": None}
    info = shorter.info | {"options": options, "polyrule_version": "0.0.9"}
    found = verify(forged(shorter, info=info), data)
    assert found.ok
    (left,) = found.unchecked
    assert "here it finds another one, but it was made with polyrule 0.0.9" in left
    assert not verify(forged(shorter, info=shorter.info | {"polyrule_version": "0.0.9"}), data).unchecked


def test_another_teacher_may_teach_something_else():
    data = random_data(5, rows=80)
    model = RuleListClassifier().fit(data).model_
    info = model.info | {"pruning": model.info["pruning"] | {"targets": "blake2b:0"}}
    found = verify(forged(model, info=info), data)
    assert found.ok
    assert "its teacher says something else here" in found.unchecked[0]
    older = {name: value for name, value in model.info["pruning"].items() if name != "targets"}
    assert verify(forged(model, info=model.info | {"pruning": older}), data).unchecked


def test_a_list_changed_by_hand_is_never_wholly_verified():
    data = random_data(5)
    model = SeCoClassifier(max_rules=3).fit(data).model_
    assert "changed by hand" in verify(model.recount(data), data).unchecked[0]
    assert "changed by hand" in verify(model.insert(3, "first <- hue = a").recount(data), data).unchecked[0]


@pytest.mark.parametrize("options", OPTIONS[:4] + OPTIONS[-3:], ids=str)
def test_recounted_lists_are_held_beside_what_they_say_when_they_run(options):
    """A rule may fire on examples that had left the working set when it was learned."""
    data, other = random_data(5, rows=80), replace(random_data(6), name="other")
    for learner in (SeCoClassifier(**options), RuleListClassifier(teacher=None)):
        model = learner.fit(data).model_.recount(data)
        assert verify(model, data, learn=False).ok
        rule = replace(model.rules[0], coverage=1000)
        found = verify(replace(model, rules=(rule, *model.rules[1:])), data, learn=False)
        assert [finding.what for finding in found.findings] == ["the coverage"]
        found = verify(model.recount(other), data, learn=False)
        assert (found.ok, found.unchecked[-1]) == (True, "the counts, because they are those on other")


def test_the_list_of_a_store_is_replayed_on_its_examples(tmp_path):
    data = random_data(5)
    model = RuleListClassifier(max_rules=3).fit(pack(data, out=tmp_path / "store")).model_
    found = verify(forged(model), data)
    assert found.ok, str(found)
    assert any("that this is the data" in left for left in found.unchecked)
    wrong = forged(_with_rule(model, 0, coverage=1))
    assert verify(wrong, data).findings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_conditions", "many"),
        ("constraints", {"features": "{'first': ['size']}"}),
        ("constraints", {"forbid": 7}),
        ("constraints", 7),
        ("min_coverage", []),
        ("beam_width", {"a": 1}),
        ("max_rules", -3),
        ("unheard_of", 1),
        ("measure", "RatioMeasure('mine')"),
    ],
)
def test_whatever_an_option_holds_there_is_an_answer(name, value):
    data = random_data(5)
    model = SeCoClassifier(max_rules=2).fit(data).model_
    lie = forged(model, info=model.info | {"options": model.info["options"] | {name: value}})
    if name == "measure":
        with pytest.raises(MeasureError):
            verify(lie, data)
    else:
        assert "its options cannot be given again" in verify(lie, data).unchecked[0]


def test_options_of_any_number_type_come_back_as_numbers():
    data = random_data(5)
    model = (
        RuleListClassifier(max_head_size=np.int64(2), constraints={"forbid": ("hue",)}, simplicity=np.float64(2))
        .fit(data)
        .model_
    )
    options = forged(model).info["options"]
    assert (options["max_head_size"], options["constraints"], options["simplicity"]) == (2, {"forbid": ["hue"]}, 2.0)


@pytest.mark.parametrize(
    "learner", [RuleListClassifier(), SeCoClassifier(constraints={"keep_columns": []}), RuleEnsembleClassifier(cv=2)]
)
def test_columns_that_learning_leaves_out_are_left_out_again(learner):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"patient_id": np.arange(80) + 100, "x": rng.normal(size=80).round(2)})
    Y = (X[["x"]] > 0).astype(int)
    with pytest.warns(DataWarning, match="identifier"):
        fitted = learner.fit(X, Y)
    examples = Dataset(to_table(X), Y.to_numpy(np.uint8), ("x",))
    for verified in (fitted.model_.verify(X, Y), fitted.model_.verify(examples)):
        assert verified.ok, str(verified)
        assert not verified.unchecked
    other = X.assign(x=X["x"] + 1)
    assert fitted.model_.verify(other, Y).other_data


@pytest.mark.parametrize("learner", [RuleListClassifier(simplicity=0.3), SeCoClassifier(max_rules=4)])
def test_rules_made_by_hand_have_no_counts_that_could_be_wrong(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)).round(2)
    Y = (X > 0).astype(int)
    model = learner.fit(X, Y).model_.insert(0, "y0 <- x1 > -0.5")
    verified = model.verify(X, Y)
    assert verified.ok, str(verified)
    assert any("by hand" in what for what in verified.unchecked)
    counted = model.recount(X, Y)
    rules = [replace(counted[0], head=(replace(counted[0].head[0], tp=1),)), *counted.rules[1:]]
    assert counted.verify(X, Y).ok
    assert not replace(counted, rules=tuple(rules)).verify(X, Y).ok


EDITS = {
    "remove": lambda model: model.remove(0),
    "move": lambda model: model.move(len(model) - 1, 0),
    "insert": lambda model: model.insert(1, "y0 <- x2 > 0"),
    "replace": lambda model: model.replace(0, "y1 <- x2 > 0"),
    "front": lambda model: model[:1],
    "rest": lambda model: model[1:],
}
HONEST = [RuleListClassifier(simplicity=0.3), SeCoClassifier(max_rules=4), BinaryRelevanceRuleClassifier()]


@pytest.mark.parametrize("learner", HONEST)
def test_honest_edits_agree_with_the_data(learner):
    """One after another, also of recounted lists: a count that an edit may have changed is marked, not wrong."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)).round(2)
    Y = np.column_stack([X[:, 0] > 0.2, (X[:, 1] > 0) & (X[:, 2] < 1)]).astype(int) ^ (rng.random((120, 2)) < 0.05)
    learned = learner.fit(X, Y).model_
    assert len(learned) > 1
    for start in (learned, learned.recount(X, Y)):
        for first in EDITS:
            for second in EDITS:
                once = EDITS[first](start)
                model = EDITS[second](once) if len(once) else once
                verified = model.verify(X, Y)
                assert verified.ok, (first, second, str(verified))
                assert verified.unchecked
                assert model.recount(X, Y).verify(X, Y).ok


def test_what_a_stale_rule_does_alone_must_be_stated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).round(2)
    Y = (X[:, [0]] > 0.2) | (X[:, [1]] > 0.5)
    model = RuleListClassifier(max_alternatives=0).fit(X, Y.astype(int)).model_
    edited = model.move(len(model) - 1, 0)
    assert edited.verify(X, Y.astype(int)).ok
    number = next(number for number, rule in enumerate(edited) if rule.stale)
    rules = list(edited.rules)
    rules[number] = replace(rules[number], head=(replace(rules[number].head[0], alone=None),))
    findings = replace(edited, rules=tuple(rules)).verify(X, Y.astype(int)).findings
    assert [(found.rule, found.what) for found in findings] == [(number, "what it does alone for label 'y0'")]


def test_options_that_no_learner_takes_are_refused_by_name():
    data = random_data(5)
    model = forged(SeCoClassifier(max_rules=2).fit(data).model_)
    model.info["options"]["negative"] = None
    with pytest.raises(OptionError, match="negative must be True or False, got None"):
        model.verify(data)
