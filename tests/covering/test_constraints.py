"""Limits on bodies, rules to start from, and rules that become an estimator again."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import polyrule
from polyrule import Constraints, RuleListClassifier, SeCoClassifier, config_context
from polyrule.conditions import GroupCondition, NumericCondition
from polyrule.errors import MeasureWarning, OptionError
from polyrule.verification import verify

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
        NAMES[test.feature]
        for rule in model.rules_
        if label is None or any(literal.label == label for literal in rule.head)
        for condition in rule.body
        for test in (condition.members if isinstance(condition, GroupCondition) else (condition,))
    }


def test_forbidden_features_are_not_tested(people):
    model = RuleListClassifier(constraints={"forbid": ["income"]}).fit(people)
    assert used_by(model) == {"age", "height"}


def test_features_of_one_label(people):
    model = RuleListClassifier(constraints={"features": {"old": ["age"], "tall": ["height"]}}).fit(people)
    assert used_by(model, 0) == {"age"}
    assert used_by(model, 2) == {"height"}
    assert "income" in used_by(model, 1)


def test_monotone_directions(people):
    model = RuleListClassifier(constraints={"monotone": {"age": "down", "income": "up"}}).fit(people)
    ops = {(NAMES[c.feature], c.op) for rule in model.rules_ for c in rule.body if isinstance(c, NumericCondition)}
    assert ("age", ">") not in ops
    assert ("income", "<=") not in ops
    assert ("income", ">") in ops


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forbid": ["incom"]}, "there is no feature 'incom'"),
        ({"forbid": "income"}, "a list of feature names"),
        ({"features": {"poor": []}}, "there is no label 'poor'"),
        ({"monotone": {"age": "sideways"}}, "'up' or 'down'"),
        ({"forbids": ["age"]}, "constraints: there is no 'forbids'"),
        (["age"], "constraints must be None, a Constraints or a dict"),
    ],
)
def test_what_makes_no_sense_is_said(people, options, message):
    with pytest.raises(OptionError, match=message):
        RuleListClassifier(constraints=options).fit(people)


def test_grown_lists_need_the_examples_to_limit_bodies(people):
    with pytest.raises(OptionError, match="if a rule sets all labels"):
        SeCoClassifier(constraints={"features": {"old": ["age"]}}, scope="full").fit(people)
    with pytest.raises(OptionError, match="need the examples, not their counts"):
        SeCoClassifier(constraints={"forbid": ["age"]}, max_bins=4).fit(people)


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


def test_rules_become_an_estimator_again(people, tmp_path):
    model = RuleListClassifier().fit(people)
    model.rules_.save(tmp_path / "model.json")
    again = RuleListClassifier.from_rules(polyrule.load(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(people), model.predict(people))
    np.testing.assert_array_equal(again.predict_proba(people), model.predict_proba(people))
    assert again.score(people) == model.score(people)
    assert str(again.explain(people, row=3)) == str(model.explain(people, row=3))
    assert again.report(people) is not None


GROWN = ({}, {"heads": "single"}, {"negative": False}, {"measure": "precision", "stop_threshold": None})


@pytest.mark.parametrize("options", GROWN)
def test_grown_lists_keep_the_same_limits(people, options):
    limits = Constraints(features={"old": ["age"]}, forbid=["height"], monotone={"age": "up"})
    learner = SeCoClassifier(constraints=limits, max_conditions=3, **options)
    model = learner.fit(people)
    with config_context(kernels="reference"):
        assert clone(learner).fit(people).rules_.rules == model.rules_.rules
    assert used_by(model, 0) <= {"age"}
    assert "height" not in used_by(model)
    ops = {(NAMES[c.feature], c.op) for r in model.rules_ for c in r.body if isinstance(c, NumericCondition)}
    assert ("age", "<=") not in ops
    assert ("age", ">") in ops
    assert not any(rule.stop for rule in model.rules_)
    if options.get("negative") is None:  # otherwise examples leave that have no label any more
        same_counts(model.rules_, people)


@pytest.mark.parametrize("options", GROWN)
def test_limits_that_forbid_nothing_change_nothing(people, options):
    plain = SeCoClassifier(**options).fit(people).rules_
    limited = SeCoClassifier(constraints={"features": {"old": NAMES}}, **options).fit(people).rules_
    assert (limited.rules, limited.default_counts) == (plain.rules, plain.default_counts)


def test_what_is_known_about_the_measure_is_said_of_restricted_lists_too(people):
    options = {"measure": "tp**2 / (tp + fp)**2", "max_rules": 2}
    restricted = SeCoClassifier(constraints={"forbid": ["height"]}, **options).fit(people).rules_
    plain = SeCoClassifier(**options).fit(people).rules_
    assert restricted.info["measure_proof"] == plain.info["measure_proof"]
    assert "the proof about the measure checked" in str(verify(restricted, people))
    with pytest.warns(MeasureWarning, match="label <- true"):
        SeCoClassifier("recall", constraints={"forbid": ["height"]}, negative=False, max_rules=3).fit(people)


def test_a_direction_is_searched_exactly(people):
    """The first rule is the best one among all thresholds in the right direction."""
    down = Constraints(monotone=dict.fromkeys(NAMES, "down"))
    found = SeCoClassifier(constraints=down, max_conditions=1, max_rules=1, negative=False).fit(people).rules_.rules[0]
    X, Y = np.asarray(people.X), np.asarray(people.Y)
    best = Fraction(0)
    for column in X.T:
        for threshold in np.sort(column)[:-1]:
            inside = column <= threshold
            for truth in Y.T:
                tp, fp, fn = (
                    (inside & (truth == 1)).sum(),
                    (inside & (truth == 0)).sum(),
                    (~inside & (truth == 1)).sum(),
                )
                best = max(best, Fraction(int(5 * tp), int(5 * tp + 4 * fp + fn)))
    assert found.value == best
    assert found.body[0].op == "<="


@pytest.mark.parametrize("options", GROWN)
def test_grown_lists_go_on_behind_kept_rules(people, options):
    kept = SeCoClassifier(max_rules=3).fit(people).rules_.insert(0, "¬rich <- age > 1.5  [stop]")
    model = SeCoClassifier(**options).fit(people, start=kept)
    assert model.rules_.rules[:4] == kept.rules
    assert len(model.rules_) > 4
    if options.get("negative") is None:
        same_counts(model.rules_, people, after=4)
    found = verify(model.rules_, people)
    assert found.ok, str(found)
    assert "the rules that were there before learning" in found.unchecked
    assert verify(replace(model.rules_, rules=model.rules_.rules[:-1]), people).findings


def test_going_on_behind_the_beginning_of_a_list_gives_the_list(people):
    """Without stops nothing but the labels set so far decides what comes next."""
    learner = SeCoClassifier(stop_threshold=None, remaining=0)
    whole = learner.fit(people).rules_
    again = learner.fit(people, start=whole[:3]).rules_
    assert again.rules == whole.rules
    assert again.default_counts == whole.default_counts


def same_counts(rules, data, after=0):
    counted = rules.recount(data)
    for rule, other in list(zip(rules, counted, strict=True))[after:]:
        assert [(x.tp, x.fp) for x in rule.head] == [(x.tp, x.fp) for x in other.head]
    assert counted.default_counts == rules.default_counts
