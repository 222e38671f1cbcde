"""The paper's three learners: what each may put into a list."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyrule import BinaryRelevanceRuleClassifier, RuleListClassifier
from polyrule.model import LabelCondition


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(90, 4)).round(1)
    Y = np.stack([X[:, 0] > -1, X[:, 1] > 1.2, (X[:, 1] > 1.2) | (X[:, 2] > 1), np.zeros(90, bool)], axis=1)
    return X, Y.astype(int)


class TestSingle:
    def test_heads_have_one_label(self, data) -> None:
        model = RuleListClassifier.paper("f0.5", heads="single").fit(*data)
        assert all(len(rule.head) == 1 for rule in model.rules_)

    def test_a_label_that_implies_another_is_found(self, data) -> None:
        X, _ = data
        both = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
        model = RuleListClassifier.paper("f1", heads="single").fit(X, np.stack([both, both], axis=1))
        assert any(rule.body == (LabelCondition(0, 1),) and rule.head[0].label == 1 for rule in model.rules_)

    def test_multi_finds_several_labels_where_single_needs_a_rule_each(self, data) -> None:
        multi = RuleListClassifier.paper("precision").fit(*data)
        single = RuleListClassifier.paper("precision", heads="single").fit(*data)
        assert any(rule.is_multi_label for rule in multi.rules_)
        assert len(single.rules_) > len(multi.rules_)


class TestBinaryRelevance:
    def test_rules_predict_the_rarer_value_from_features_only(self, data) -> None:
        X, Y = data
        model = BinaryRelevanceRuleClassifier("f0.5").fit(X, Y)
        rarer = (Y.mean(axis=0) <= 0.5).astype(int)
        for rule in model.rules_:
            (literal,) = rule.head
            assert literal.value == rarer[literal.label]
            assert literal.tp > literal.fp
            assert not any(isinstance(c, LabelCondition) for c in rule.body)
            assert not rule.stop

    def test_lists_are_independent(self, data) -> None:
        X, Y = data
        joint = BinaryRelevanceRuleClassifier("f0.5").fit(X, Y)
        for label in range(Y.shape[1]):
            alone = BinaryRelevanceRuleClassifier("f0.5").fit(X, Y[:, [label]])
            own = [rule for rule in joint.rules_ if rule.head[0].label == label]
            assert [rule.body for rule in own] == [rule.body for rule in alone.rules_]
            np.testing.assert_array_equal(joint.predict(X)[:, [label]], alone.predict(X))

    @pytest.mark.parametrize("measure", ["precision", "f0.5", "hamming", "laplace", "wracc"])
    def test_the_rarer_value_is_the_positive_class(self, data, measure) -> None:
        """Learning that a label is absent is learning that its opposite is present."""
        X, Y = data
        frequent = [j for j in range(Y.shape[1]) if Y[:, j].mean() > 0.5]
        assert frequent
        turned = Y.copy()
        turned[:, frequent] = 1 - turned[:, frequent]
        model = BinaryRelevanceRuleClassifier(measure).fit(X, Y).rules_
        opposite = BinaryRelevanceRuleClassifier(measure).fit(X, turned).rules_
        assert len(model) == len(opposite)
        for mine, other in zip(model, opposite, strict=True):
            flipped = mine.head[0].label in frequent
            assert (mine.body, mine.value, mine.coverage) == (other.body, other.value, other.coverage)
            assert mine.head[0] == replace(other.head[0], value=other.head[0].value ^ flipped)
        for label, pair in enumerate(model.default_counts):
            assert pair == (
                opposite.default_counts[label][::-1] if label in frequent else opposite.default_counts[label]
            )

    def test_hamming_learns_rules_for_labels_that_most_examples_have(self, data) -> None:
        X, Y = data
        assert Y[:, 0].mean() > 0.5
        rules = BinaryRelevanceRuleClassifier("hamming").fit(X, Y).rules_
        assert any(rule.head[0].label == 0 and rule.head[0].value == 0 for rule in rules)

    def test_a_rule_that_is_wrong_as_often_as_right_is_not_added(self) -> None:
        X, Y = [[1], [1], [2], [2], [2]], [[1], [0], [0], [0], [0]]
        model = BinaryRelevanceRuleClassifier("precision").fit(X, Y)
        assert len(model.rules_) == 0
        assert model.rules_.default_counts == ((1, 4),)

    def test_the_default_is_the_majority_of_what_is_left(self, data) -> None:
        X, Y = data
        model = BinaryRelevanceRuleClassifier("f0.5").fit(X, Y)
        for label, (present, absent) in enumerate(model.rules_.default_counts):
            assert model.rules_.defaults[label] == int(present > absent)
        never = model.rules_.default_counts[3]
        assert never == (0, 90)

    def test_a_time_limit_leaves_later_labels_to_their_majority(self, data) -> None:
        X, Y = data
        model = BinaryRelevanceRuleClassifier("f0.5", time_limit=1e-9).fit(X, Y)
        assert model.stopped_reason_ == "time_limit"
        np.testing.assert_array_equal(model.predict(X)[:, 3], 0)
        np.testing.assert_array_equal(model.predict(X)[:, 0], 1)


def test_full_predictions_set_every_label_at_once(data) -> None:
    X, Y = data
    model = RuleListClassifier.paper("hamming", scope="full").fit(X, Y)
    assert model.rules_.full
    assert all(rule.stop for rule in model.rules_)


def test_heads_without_negative_literals(data) -> None:
    model = RuleListClassifier.paper("f1", negative=False).fit(*data)
    assert all(literal.value == 1 for rule in model.rules_ for literal in rule.head)


@pytest.mark.parametrize(
    ("options", "check"),
    [
        ({"max_conditions": 1}, lambda rules: max(len(r.body) for r in rules) <= 1),
        ({"max_head_size": 2}, lambda rules: max(len(r.head) for r in rules) == 2),
        ({"min_coverage": 5}, lambda rules: min(r.coverage for r in rules) >= 5),
        (
            {"label_conditions": False},
            lambda rules: not any(isinstance(c, LabelCondition) for r in rules for c in r.body),
        ),
    ],
)
def test_limits_hold(data, options, check) -> None:
    assert check(RuleListClassifier.paper("precision", **options).fit(*data).rules_)


def test_a_wider_beam_finds_rules_at_least_as_good(data) -> None:
    first = [RuleListClassifier.paper("f1", beam_width=w, max_rules=1).fit(*data).rules_[0].value for w in (1, 3)]
    assert first[1] >= first[0]
