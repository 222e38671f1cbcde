"""Short lists: what they promise to users."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from polyrule import RuleListClassifier, datasets
from polyrule.errors import OptionError
from polyrule.evaluation.scores import score
from polyrule.selection.covers import Covers
from polyrule.selection.grow import _MAX_SMALL_RULES, until_small
from polyrule.selection.pool import shortest_of_equal
from polyrule.verification import certify, verify


@pytest.fixture(scope="module")
def songs():
    return datasets.load("emotions", part="train")


@pytest.fixture(scope="module")
def fitted(songs):
    return RuleListClassifier().fit(songs)


def test_a_short_list_that_is_better_than_the_long_one(songs, fitted):
    stats = fitted.rules_.statistics()
    assert stats["rules"] <= 30
    assert stats["conditions_per_rule"] <= 3
    assert stats["negative_literals"] == stats["stops"] == stats["label_conditions"] == 0
    test = datasets.load("emotions", part="test")
    long = RuleListClassifier.paper().fit(songs)
    assert score(test.Y, fitted.predict(test.X))["micro_f1"] > score(test.Y, long.predict(test.X))["micro_f1"]


def test_the_same_list_every_time(songs, fitted):
    order = np.random.default_rng(0).permutation(len(songs))
    again = RuleListClassifier(n_jobs=2).fit(songs.X[order], songs.Y[order], label_names=songs.label_names)
    assert again.rules_.rules == fitted.rules_.rules


def test_rules_mean_the_same_in_any_order(songs, fitted):
    backwards = fitted.rules_
    for place in range(len(backwards)):
        backwards = backwards.move(len(backwards) - 1, place)
    np.testing.assert_array_equal(backwards.predict(songs), fitted.rules_.predict(songs))


def test_counts_are_those_of_the_training_labels(songs, fitted):
    recounted = fitted.rules_.recount(songs)
    for rule, other in zip(fitted.rules_, recounted, strict=True):
        assert [(x.label, x.tp, x.fp) for x in rule.head] == [(x.label, x.tp, x.fp) for x in other.head]
        assert rule.coverage == other.coverage
    assert recounted.default_counts == fitted.rules_.default_counts


def test_pruned_lists_are_verified(songs, fitted):
    assert verify(fitted.rules_, songs).ok
    proved = certify(fitted.rules_, songs)
    assert verify(proved, songs, learn=False).certified == len(proved)
    edited = fitted.rules_.remove(0)
    stale = [str(number) for number, rule in enumerate(edited, start=1) if rule.stale]
    assert stale
    found = verify(edited, songs, learn=False)
    assert found.ok
    numbers = ", ".join(stale)
    told = f"the counts of rule {numbers} and of labels that no rule sets, which are those before an edit"
    assert told in found.unchecked
    wrong = replace(edited, rules=tuple(replace(rule, stale=False) for rule in edited))
    assert {finding.rule for finding in verify(wrong, songs, learn=False).findings} == {int(n) - 1 for n in stale}


def test_simplicity_and_limits_shorten_the_list(songs, fitted):
    simpler = RuleListClassifier(simplicity=4).fit(songs)
    assert len(simpler.rules_) < len(fitted.rules_)
    assert len(RuleListClassifier(max_rules=3).fit(songs).rules_) == 3
    single = RuleListClassifier(max_head_size=1, teacher=None).fit(songs)
    assert single.rules_.statistics()["labels_per_head"] == 1


@pytest.mark.parametrize("optimize", ["f0.5", "f2", "hamming"])
def test_the_whole_list_can_be_judged_otherwise(songs, optimize):
    model = RuleListClassifier(optimize=optimize, teacher=None).fit(songs)
    assert verify(model.rules_, songs).ok
    assert len(model.rules_)


def test_more_recall_for_a_larger_beta(songs):
    said = [RuleListClassifier(optimize=beta).fit(songs).predict(songs.X).sum() for beta in ("f0.5", "f1", "f2")]
    assert said[0] < said[1] < said[2]


def test_weights_stand_for_copies():
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(40, 3)), random.integers(1, 4, 40)
    Y = np.stack([X[:, 0] > 0, X[:, 1] + random.normal(size=40) > 0], axis=1).astype(int)
    weighted = RuleListClassifier(teacher=None, min_coverage=0).fit(X, Y, sample_weight=weights)
    copied = RuleListClassifier(teacher=None, min_coverage=0).fit(
        np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0)
    )
    assert weighted.rules_.rules == copied.rules_.rules


def test_probabilities_are_calibrated_better_than_counts(songs, fitted):
    test = datasets.load("emotions", part="test")
    wide = np.asarray(test.Y.toarray() if hasattr(test.Y, "toarray") else test.Y)
    own = np.abs(fitted.predict_proba(test.X) - wide).mean()
    assert own < 0.45
    assert all(literal.chance is not None for rule in fitted.rules_ for literal in rule.head)


def test_unknown_labels_count_nowhere():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    Y = (X[:, :2] > 0).astype(float)
    Y[random.random(Y.shape) < 0.3] = np.nan
    rules = RuleListClassifier().fit(X, Y).rules_
    assert sorted((rule.head[0].label, rule.body[0].feature) for rule in rules) == [(0, 0), (1, 1)]
    assert [(rule.tp, rule.fp) for rule in rules if rule.head[0].label == 0] == [((Y[:, 0] == 1).sum(), 0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimize": "precision"}, "optimize must be"),
        ({"max_conditions": None}, "max_conditions must be"),
        ({"simplicity": -1}, "simplicity must be"),
        ({"simplicity": np.inf}, "simplicity must be"),
        ({"time_limit": np.nan}, "time_limit must be"),
        ({"teacher": "owl"}, "teacher must be"),
    ],
)
def test_options_that_make_no_sense(songs, options, message):
    with pytest.raises(OptionError, match=message):
        RuleListClassifier(**options).fit(songs)


@pytest.mark.parametrize("weight", [1, 0.5])
def test_no_rule_covers_less_than_was_asked_for(weight):
    words = (np.random.default_rng(0).random((400, 60)) < 0.06).astype(float)  # texts: bodies are single words, too
    weights, frequent = np.full(400, weight), words[:, 1].sum()
    least = weight * (words[:, 0].sum() + 1)
    learner = RuleListClassifier(min_coverage=least).fit(words, words[:, :2].astype(int), sample_weight=weights)
    assert [rule.coverage for rule in learner.model_.rules] == [weight * frequent]
    learner.set_params(min_coverage=weight * 401)
    assert not len(learner.fit(words, words[:, :2].astype(int), sample_weight=weights).model_)


def test_mixed_examples_do_not_help_a_rule_to_its_coverage():
    random = np.random.default_rng(4)
    X = random.normal(size=(150, 4))
    Y = np.stack([X[:, 0] > 0.8, X[:, 1] + X[:, 2] > 0], axis=1).astype(int)
    for least in (20, 40, 60):
        model = RuleListClassifier(min_coverage=least).fit(X, Y).model_
        assert model.rules
        assert all(rule.coverage >= least for rule in model.rules)


def test_of_bodies_that_cover_the_same_the_first_of_the_shortest_is_kept():
    sizes = np.array([2, 1, 1, 1, 1])
    covers = Covers.pack(np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 0]], dtype=bool))
    assert shortest_of_equal(sizes, covers, np.ones((5, 1), dtype=bool)).tolist() == [1, 3]
    allowed = np.array([[1], [1], [1], [1], [0]], dtype=bool)  # what may stand over them differs
    assert shortest_of_equal(sizes, covers, allowed).tolist() == [1, 3, 4]


def test_patience_ends_after_many_small_rules_in_a_row_and_begins_anew_after_a_large_one():
    def told(sizes):
        """How many rules are taken from an engine that finds rules of these sizes."""
        found = iter([SimpleNamespace(tp=size) for size in sizes])
        grow = until_small(SimpleNamespace(grow=lambda: next(found, None)), min_weight=3)
        return next(count for count in range(len(sizes) + 1) if grow() is None)

    small, large = [1] * _MAX_SMALL_RULES, [5]
    assert told([*small, 1, 5, 5]) == _MAX_SMALL_RULES
    assert told([*small, *large, *small, *large]) == 2 * (_MAX_SMALL_RULES + 1)
    assert told([3] * 50) == 50  # just large enough


def test_a_rule_that_does_not_earn_its_own_price_is_found(songs, fitted):
    """Every label of a head may earn its price while the rule, with its conditions, does not."""
    model = replace(fitted.rules_, info=copy.deepcopy(fitted.rules_.info))
    rule, condition, literal = model.info["pruning"]["costs"]
    for costs in ([10**9, condition, literal], [rule, 10**9, literal]):
        model.info["pruning"]["costs"] = costs
        findings = verify(model, songs, learn=False).findings
        assert {finding.what for finding in findings} == {"what the rule adds"}
        assert len(findings) == (len(model) if costs[0] == 10**9 else sum(bool(rule.body) for rule in model))


def test_categories_of_one_feature_share_rules_of_at_most_eight():
    rng = np.random.default_rng(4)
    places = rng.choice([f"D{i:02d}" for i in range(60)], 3000)
    far = np.isin(places, [f"D{i:02d}" for i in range(20)])
    model = RuleListClassifier().fit(pd.DataFrame({"place": places}), far[:, None].astype(int)).rules_
    assert len(model) == 3  # twenty categories
    assert all(2 <= len(condition.values) <= 8 for rule in model for condition in rule.body)
    assert model.predict(pd.DataFrame({"place": places}))[:, 0].tolist() == far.tolist()
