from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from polyrule.conditions import LabelCondition, NumericCondition
from polyrule.data.table import Feature
from polyrule.evaluation.label_powerset import LabelPowersetClassifier
from polyrule.evaluation.model_size import model_size
from polyrule.model.rule import Literal, Rule
from polyrule.model.rule_list import RuleList

RNG = np.random.default_rng(2)
X, Y = RNG.random((60, 4)), (RNG.random((60, 3)) < 0.5).astype(int)


@dataclass
class Fitted:
    rules_: object


def test_rule_lists():
    rules = (
        Rule((Literal(0, 1), Literal(1, 0)), (NumericCondition(0, "<=", 1.0), LabelCondition(1, 0))),
        Rule((Literal(2, 1),)),
    )
    for holder in (rules, RuleList(rules, (Feature("x"),), ("a", "b", "c"))):
        size = model_size(Fitted(holder))
        assert (size.rules, size.conditions, size.multi_label_rules, size.head_literals, size.label_conditions) == (
            2,
            2,
            1,
            3,
            1,
        )


def test_trees_and_forests_add_up():
    forest = RandomForestClassifier(4, random_state=0).fit(X, Y)
    parts = [model_size(tree) for tree in forest.estimators_]
    whole = model_size(forest)
    assert whole.rules == sum(part.rules for part in parts)
    assert whole.conditions == sum(part.conditions for part in parts)
    per_label = MultiOutputClassifier(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert model_size(per_label).rules == sum(tree.get_n_leaves() for tree in per_label.estimators_)
    powerset = LabelPowersetClassifier(RandomForestClassifier(2, random_state=0)).fit(X, Y)
    assert model_size(powerset).rules == model_size(powerset.estimator_).rules


def test_a_stump():
    stump = DecisionTreeClassifier(max_depth=1).fit([[0], [1]], [0, 1])
    assert (model_size(stump).rules, model_size(stump).conditions) == (2, 2)


def test_models_without_rules():
    assert model_size(KNeighborsClassifier().fit(X, Y)).as_dict() == dict.fromkeys(
        ("rules", "conditions", "multi_label_rules", "head_literals", "label_conditions")
    )


def test_mlrl_models():
    learners = pytest.importorskip("mlrl.seco.learners", reason="the peer MLRL-SeCo is not installed")
    model = learners.SeCoClassifier(head_type="partial").fit(X.astype(np.float32), Y)
    size = model_size(model)
    assert size.rules > 0
    assert size.conditions >= size.rules
    assert size.head_literals >= size.rules
