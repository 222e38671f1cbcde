"""Counts after an edit: those that it cannot have changed stay; all others are marked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyrule import RuleListClassifier, load
from polyrule.data import Dataset, Feature, Table
from polyrule.model import LabelCondition, Literal, Rule, RuleList
from polyrule.model.staleness import mark_outdated
from polyrule.verification import verify


def data(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (80, 3)).astype(float)
    Y = np.stack([X[:, 0] > 4, X[:, 1] > 5, X[:, 0] + X[:, 2] > 9], axis=1) ^ (rng.random((80, 3)) < 0.1)
    return Dataset(Table.from_array(X), Y.astype(np.uint8), ("a", "b", "c"))


LEARNERS = {
    "default": RuleListClassifier(simplicity=0.3),
    "paper": RuleListClassifier.paper(max_rules=8),
    "no stops": RuleListClassifier.paper(stop_threshold=None, max_rules=8),
    "full": RuleListClassifier.paper(scope="full", max_rules=8),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_counts_without_a_mark_are_those_of_a_recount(name: str) -> None:
    rng = np.random.default_rng(0)
    for seed in range(4):
        examples = data(seed)
        model = LEARNERS[name].fit(examples).model_.recount(examples)
        for _ in range(5):
            place, other = (int(number) for number in rng.integers(0, len(model), 2))
            edited = [model.move(place, other), model.remove(place), model.insert(place, "a <- x1 > 2, b")][
                int(rng.integers(3))
            ]
            right = edited.recount(examples)
            for rule, counted in zip(edited, right, strict=True):
                if rule.coverage is not None and not rule.stale:
                    assert rule == replace(counted, origin=rule.origin)
                elif rule.alone is not None:
                    assert rule.alone == counted.alone
            assert not any(rule.stale for rule in right)


def test_marks_are_kept_in_files_and_shown(tmp_path) -> None:
    examples = data()
    ors = Dataset(examples.X, np.c_[examples.Y[:, 0] | examples.Y[:, 1], examples.Y[:, 1:]], ("a", "b", "c"))
    model = RuleListClassifier(max_alternatives=0, simplicity=0.1).fit(ors).model_
    moves = (model.move(place, other) for place in range(len(model)) for other in range(len(model)))
    moved = next(one for one in moves if 0 < sum(rule.stale for rule in one) < len(one))
    moved.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.rules == moved.rules
    stale = next(number for number, rule in enumerate(moved) if rule.stale)
    assert "; before the edit: adds " in moved.format_rule(stale)
    assert "counts before the edit" in moved._repr_html_()
    assert moved.records()[stale]["stale"]
    grown = LEARNERS["paper"].fit(data()).model_
    assert ", before the edit)" in grown.remove(0).format_rule(0)


@pytest.mark.parametrize("name", LEARNERS)
def test_default_counts_without_a_mark_are_those_of_a_recount(name: str) -> None:
    examples = data()
    model = LEARNERS[name].fit(examples).model_
    edits = [model.move(0, 1), *(model.remove(place) for place in range(len(model))), model[:1], model[1:], model[:]]
    marks = ["stale_defaults" in edited.info for edited in edits]
    assert set(marks) == {False, True}
    for edited, marked in zip(edits, marks, strict=True):
        right = edited.recount(examples)
        assert marked or edited.default_counts == right.default_counts
        assert "stale_defaults" not in right.info


def test_explanations_mark_counts_before_an_edit(tmp_path) -> None:
    examples = data()
    model = LEARNERS["default"].fit(examples).model_.insert(0, "a <- x0 > 7")
    model.save(tmp_path / "m.json")
    labels = load(tmp_path / "m.json").explain(examples, row=0).labels
    assert all(reason.outdated for reason in labels if reason.rule is None)
    told = {reason.outdated: reason.words[3].startswith("before the edit ") for reason in labels}
    assert told.items() <= {(True, True), (False, False)}
    assert True in told
    assert "(before the edit " in str(model.explain(examples, row=0))
    counted = model.recount(examples)
    assert "before the edit" not in str(counted.explain(examples, row=0))
    never_edited = replace(model, info=model.info | {"edited": False})
    claims = {finding.what for finding in verify(never_edited, examples).findings}
    assert "that its default counts are those before an edit" in claims


def test_an_edit_that_changes_nothing_marks_nothing() -> None:
    model = LEARNERS["default"].fit(data()).model_
    assert model.move(1, 1).rules == model.rules
    assert "stale_defaults" not in model.move(1, 1).info
    assert mark_outdated(model, model.rules) == model.rules


def test_what_a_rule_with_a_condition_on_a_label_does_alone_is_not_known_after_an_edit() -> None:
    first = Rule((Literal(0, 1, 5, 1, alone=(5, 1)),), coverage=6)
    second = Rule((Literal(1, 1, 3, 2, alone=(3, 2)),), (LabelCondition(0, 1),), coverage=5)
    third = Rule((Literal(1, 1, 1, 1, alone=(4, 1)),), coverage=5)
    model = RuleList((first, second, third), (Feature("x"),), ("a", "b"), info={"recounted": "data"})
    changed = model.remove(0)
    assert [(rule.stale, rule.alone) for rule in changed] == [(True, None), (True, (4, 1))]
