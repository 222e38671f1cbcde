"""Counts of lists: what each rule is right on alone, and what it adds, by a slow definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists

from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.conditions.evaluate import evaluate as holds
from polyrule.data import Dataset, Table
from polyrule.model import LabelCondition
from polyrule.model.predict import predict


@settings(max_examples=60, deadline=None)
@given(rule_lists(), st.integers(0, 10**6), st.booleans())
def test_alone_counts_every_example_that_the_body_covers(model, seed, weighted):
    rng = np.random.default_rng(seed)
    table = random_table(model.features, 20, seed)
    truth = rng.integers(0, 3, (20, len(model.label_names))).astype(np.uint8)
    weights = rng.integers(1, 5, 20) if weighted else np.ones(20, dtype=int)
    unknown = np.where(truth == 2, np.nan, truth)
    counted = model.recount(Dataset(table, unknown, model.label_names, weights=weights))
    setter = predict(model, table).setter
    values = [{literal.label: literal.value for literal in rule.head} for rule in model]
    for number, rule in enumerate(counted):
        rows = []
        for i in range(20):
            covered = True
            for condition in rule.body:
                if isinstance(condition, LabelCondition):
                    by = setter[i, condition.label]
                    value = values[by].get(condition.label, 0) if 0 <= by < number else None
                    covered &= value == condition.value
                else:
                    covered &= bool(holds(condition, table[i : i + 1])[0])
            rows += [i] * covered
        for literal in rule.head:
            right = sum(weights[i] for i in rows if truth[i, literal.label] == literal.value)
            wrong = sum(weights[i] for i in rows if truth[i, literal.label] == 1 - literal.value)
            assert literal.alone == (right, wrong)


@pytest.mark.parametrize("learner", [RuleListClassifier(), RuleListClassifier.paper(), RuleEnsembleClassifier(cv=2)])
def test_weights_are_named(learner) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)).round(2)
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0.3], axis=1).astype(np.uint8)
    table = Table.from_array(X)
    line = "in sample weights, not in numbers of examples)"
    for weights, told in ((None, False), (np.ones(90), False), (rng.choice([0, 1], 90), False), (rng.random(90), True)):
        examples = Dataset(table, Y, ("a", "b"), weights=weights)
        model = learner.fit(examples).model_
        assert (line in str(model), line in model._repr_html_()) == (told, told)
        assert model.verify(examples, learn=False).ok
    assert line not in model.format(counts=False)
    if not hasattr(model, "refit"):
        assert line not in str(model.recount(Dataset(table, Y, ("a", "b"), name="other")))


def test_a_share_of_the_weight_is_one_of_the_weight() -> None:
    X, Y = np.zeros((60, 1)), np.r_[np.ones(15), np.zeros(45)].astype(np.uint8)[:, None]
    weighted = Dataset(Table.from_array(X), Y, ("y",), weights=np.r_[np.full(15, 9.0), np.ones(45)])
    first = str(RuleListClassifier().fit(weighted).model_).splitlines()[-3]
    assert first.startswith("1. always: y (right for ")
    assert first.endswith(" % of the weight)")
