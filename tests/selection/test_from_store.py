"""The short list from packed data is the one from the examples themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from polyrule import RuleListClassifier, Store, datasets, pack
from polyrule.conditions import GroupCondition, SetCondition
from polyrule.store.packed_table import unpack


def world(rows: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Few distinct values, so that bins lose nothing; categories, gaps, and a label with alternatives."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "size": rng.integers(0, 60, rows) / 4,
            "age": rng.integers(20, 90, rows).astype(float),
            "plan": rng.choice(["a", "b", "c", "d", "e"], rows),
            "smoker": rng.choice(["no", "yes"], rows),
        }
    )
    X.loc[rng.random(rows) < 0.15, "age"] = np.nan
    Y = pd.DataFrame(
        {
            "risk": (X["age"] > 70) | (X["smoker"] == "yes") & (X["size"] > 5),
            "asked": X["age"].isna() | (X["size"] > 12),
            "plans": X["plan"].isin(["b", "d"]),
        }
    )
    return X, (Y ^ (rng.random(Y.shape) < 0.03)).astype(int)


pytestmark = pytest.mark.usefixtures("few_trees")
OPTIONS = {
    "plain": {},
    "without a teacher": {"teacher": None},
    "hamming, few": {"optimize": "hamming", "max_rules": 2},
    "some features": {"constraints": {"features": {"plans": ["plan"]}, "forbid": ["smoker"]}},
    "monotone": {"constraints": {"monotone": {"age": "up"}}},
    "no groups": {"max_alternatives": 0},
}


def told(learner: RuleListClassifier) -> tuple[object, ...]:
    model = learner.model_
    return str(model), model.default_counts, model.default_chances, model.info["pruning"]


@pytest.mark.parametrize("name", OPTIONS)
def test_where_bins_lose_nothing_the_list_is_the_ordinary_one(name: str, tmp_path) -> None:
    X, Y = world()
    learner = RuleListClassifier(**OPTIONS[name])
    expected = told(learner.fit(X, Y))
    if name == "plain":
        kinds = {type(condition) for rule in learner.rules_ for condition in rule.body}
        assert {GroupCondition, SetCondition} <= kinds
    assert told(RuleListClassifier(max_bins=255, **OPTIONS[name]).fit(X, Y)) == expected
    store = pack(pd.concat([X, Y], axis=1), out=tmp_path / "s", labels=list(Y), block_rows=90)
    assert told(RuleListClassifier(n_jobs=2, **OPTIONS[name]).fit(store)) == expected
    assert told(RuleListClassifier(**OPTIONS[name]).fit(Store(tmp_path / "s"))) == expected


def test_weights_and_rules_to_start_from(tmp_path) -> None:
    X, Y = world()
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    first = RuleListClassifier(max_rules=1).fit(X, Y, weights)
    expected = RuleListClassifier(max_rules=2).fit(X, Y, weights, start=first.rules_)
    frame = pd.concat([X, Y], axis=1).assign(times=weights)
    store = pack(frame, out=tmp_path / "s", labels=list(Y), weights="times")
    assert told(RuleListClassifier(max_rules=1).fit(store)) == told(first)
    assert told(RuleListClassifier(max_rules=2).fit(store, start=first.rules_)) == told(expected)


def test_thresholds_lie_between_bins(tmp_path) -> None:
    data = datasets.load("emotions", part="train")
    ordinary = RuleListClassifier(max_rules=4).fit(data)
    coarse = RuleListClassifier(max_rules=4, max_bins=8).fit(data)
    assert str(coarse.rules_) != str(ordinary.rules_)
    predicted = coarse.predict(data)
    kept = pack(data, out=tmp_path / "t", max_bins=8)
    codes, _, _ = unpack(kept)
    assert np.array_equal(predicted, coarse.predict(codes.decoded())), "no rule tells values of one bin apart"
    store = pack(data, out=tmp_path / "s", max_bins=8, keep_values=True, block_rows=100)
    assert told(RuleListClassifier(max_rules=4).fit(store)) == told(coarse)
