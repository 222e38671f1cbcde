"""Limits on bodies, rules to start from, and rules that become an estimator again."""

import numpy as np
import pytest

import polyrule
from polyrule import RuleListClassifier
from polyrule.errors import OptionError
from polyrule.model.rule import NumericCondition

NAMES = ["age", "income", "height"]


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    Y = np.stack([X[:, 0] + X[:, 1] > 0, X[:, 1] > 0.3, X[:, 2] > 0], axis=1).astype(int)
    return polyrule.Dataset(
        polyrule.Table.from_array(X, [polyrule.Feature(n) for n in NAMES]), Y, ("old", "rich", "tall")
    )


def used_by(model, label=None):
    return {
        NAMES[condition.feature]
        for rule in model.rules_
        if label is None or any(literal.label == label for literal in rule.head)
        for condition in rule.body
    }


def test_forbidden_features_are_not_tested(people):
    model = RuleListClassifier(forbid=["income"]).fit(people)
    assert used_by(model) == {"age", "height"}


def test_features_of_one_label(people):
    model = RuleListClassifier(features={"old": ["age"], "tall": ["height"]}).fit(people)
    assert used_by(model, 0) == {"age"}
    assert used_by(model, 2) == {"height"}
    assert "income" in used_by(model, 1)


def test_monotone_directions(people):
    model = RuleListClassifier(monotone={"age": "down", "income": "up"}).fit(people)
    ops = {(NAMES[c.feature], c.op) for rule in model.rules_ for c in rule.body if isinstance(c, NumericCondition)}
    assert ("age", ">") not in ops
    assert ("income", "<=") not in ops
    assert ("income", ">") in ops


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forbid": ["incom"]}, "there is no feature 'incom'"),
        ({"forbid": "income"}, "lists of names"),
        ({"features": {"poor": []}}, "there is no label 'poor'"),
        ({"monotone": {"age": "sideways"}}, "'up' or 'down'"),
        ({"forbid": ["age"], "prune": None}, "forbid is for pruned lists"),
    ],
)
def test_what_makes_no_sense_is_said(people, options, message):
    with pytest.raises(OptionError, match=message):
        RuleListClassifier(**options).fit(people)


def test_rules_to_start_from_are_kept(people):
    first = RuleListClassifier(max_rules=1).fit(people).rules_
    kept = first.insert(0, "¬rich <- age > 1.5")
    model = RuleListClassifier().fit(people, start=kept)
    assert model.rules_.rules[:2] == kept.rules
    assert len(model.rules_) > 2
    counted = model.rules_.recount(people)
    for rule, other in list(zip(model.rules_, counted, strict=True))[2:]:
        assert [(x.tp, x.fp) for x in rule.head] == [(x.tp, x.fp) for x in other.head]
    assert counted.default_counts == model.rules_.default_counts
    with pytest.raises(OptionError, match="start is for pruned lists"):
        RuleListClassifier.paper().fit(people, start=kept)


def test_rules_become_an_estimator_again(people, tmp_path):
    model = RuleListClassifier().fit(people)
    model.rules_.save(tmp_path / "model.json")
    again = RuleListClassifier.from_rules(polyrule.load(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(people), model.predict(people))
    np.testing.assert_array_equal(again.predict_proba(people), model.predict_proba(people))
    assert again.score(people) == model.score(people)
    assert str(again.explain(people, row=3)) == str(model.explain(people, row=3))
    assert again.report(people) is not None
