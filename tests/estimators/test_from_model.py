"""Options that stored models of any version state, in the names of this one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polyrule
from polyrule import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, RuleListClassifier, SeCoClassifier
from polyrule.errors import OptionError
from polyrule.estimators.from_model import current_options, learner_of

STORED = Path(__file__).parents[1] / "model" / "stored" / "0.1.0"
GROWN = {"prune": None, "teacher": None, "thresholds": "midpoint", "alternatives": False, "max_members": 8}


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("list", SeCoClassifier(lift="kln:0.1")),
        ("list-full", SeCoClassifier("hamming", scope="full", max_rules=6)),
        ("list-single", SeCoClassifier("precision", heads="single", max_rules=12)),
        ("binary-relevance", BinaryRelevanceRuleClassifier("m2")),
        ("ensemble", RuleEnsembleClassifier(6, cv=2, teacher=None)),
    ],
)
def test_models_of_0_1_0(name: str, learner: object) -> None:
    assert repr(learner_of(polyrule.load(STORED / f"{name}.json"))) == repr(learner)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"prune": "f1", "max_conditions": None}, RuleListClassifier()),
        ({"prune": "f2", "alternatives": False}, RuleListClassifier(optimize="f2", max_alternatives=0)),
        ({"prune": "f1", "alternatives": "auto", "max_members": 3}, RuleListClassifier(max_alternatives=3)),
        ({"prune": "f1", "heads": "single", "max_head_size": None}, RuleListClassifier(max_head_size=1)),
        ({"prune": "f1", "keep_columns": []}, RuleListClassifier()),
        ({"prune": "f1", "keep_columns": ["id"]}, RuleListClassifier(constraints={"keep_columns": ["id"]})),
        ({"prune": "f1", "negative": None, "averaging": "micro", "thresholds": "short"}, RuleListClassifier()),
        ({**GROWN, "negative": None, "label_conditions": None}, SeCoClassifier()),
        ({**GROWN, "negative": False, "device": "cuda"}, SeCoClassifier(negative=False)),
        ({**GROWN, "keep_columns": []}, SeCoClassifier(constraints={"keep_columns": []})),
        ({**GROWN, "monotone": {"a": "up"}}, SeCoClassifier(constraints={"monotone": {"a": "up"}})),
    ],
    ids=str,
)
def test_lists_of_versions_before_the_learners_were_divided(stated: dict, expected: object) -> None:
    model = polyrule.RuleList((), (), ("y",), info={"learner": "RuleListClassifier", "options": stated})
    assert repr(learner_of(model)) == repr(expected)


@pytest.mark.parametrize("stated", [{"prune": "f1", "beam_width": 2}, {**GROWN, "thresholds": "short"}])
def test_an_option_without_a_place_is_named(stated: dict) -> None:
    model = polyrule.RuleList((), (), ("y",), info={"learner": "RuleListClassifier", "options": stated})
    with pytest.raises(OptionError, match=r"beam_width|thresholds"):
        learner_of(model)


@pytest.mark.parametrize("kind", [RuleListClassifier, SeCoClassifier, BinaryRelevanceRuleClassifier])
def test_options_of_this_version_are_unchanged(kind: type) -> None:
    X = np.arange(24.0).reshape(12, 2)
    learner = kind("precision").fit(X, (X[:, :1] > 9).astype(int))
    assert current_options(kind.__name__, learner.model_.info["options"]) == (
        kind.__name__,
        {name: value for name, value in learner.get_params().items() if name not in ("verbose", "constraints")}
        | ({"constraints": None} if "constraints" in learner.get_params() else {}),
    )
    assert repr(learner_of(learner.model_)) == repr(kind("precision"))
