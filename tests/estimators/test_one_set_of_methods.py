"""What one estimator can do the others can, and stored models, too: the same calls, the same answers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import polyrule
from polyrule import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, RuleListClassifier
from polyrule.errors import DataError, OptionError, UnseenCategoryWarning

rng = np.random.default_rng(0)
X = pd.DataFrame({"size": rng.normal(size=80).round(2), "hue": rng.choice(["red", "blue"], 80), "idle": 0.0})
X["day"] = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, 80), unit="D")
Y = pd.DataFrame({"big": (X["size"] > 0).astype(int), "red": (X["hue"] == "red").astype(int)})


@pytest.fixture(
    scope="module",
    params=[
        RuleListClassifier(teacher=None),
        BinaryRelevanceRuleClassifier(),
        RuleEnsembleClassifier(max_rules=3, teacher=None, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def fitted(request):
    return request.param.fit(X, Y)


def test_a_stored_model_and_an_estimator_made_of_it_answer_alike(fitted, tmp_path):
    fitted.save(tmp_path / "model.json")
    stored = polyrule.load(tmp_path / "model.json")
    again = type(fitted).from_rules(stored)
    for one in (stored, again):
        assert np.array_equal(one.predict(X), fitted.predict(X))
        assert np.array_equal(one.predict_proba(X), fitted.predict_proba(X))
        assert str(one.explain(X, row=3)) == str(fitted.explain(X, row=3))
        assert str(one.smallest_flip(X, "big", row=3)) == str(fitted.smallest_flip(X, "big", row=3))
        assert one.export("python") == fitted.export("python")
        assert one.export("sql", table="songs") == fitted.export("sql", table="songs")
        assert str(one.verify(X, Y)) == str(fitted.verify(X, Y))
        assert one.verify(X, Y).ok
        assert one.report(X, Y).summary["models"] == fitted.report((X, Y)).summary["models"]
    assert again.rules_ is stored


def test_lists_per_label_begin_from_scratch(fitted):
    with pytest.raises(OptionError, match="start is for one list over all labels"):
        BinaryRelevanceRuleClassifier().fit(X, Y, start=fitted.rules_)


def test_a_list_is_no_ensemble(fitted):
    other = RuleListClassifier if isinstance(fitted, RuleEnsembleClassifier) else RuleEnsembleClassifier
    with pytest.raises(OptionError, match=f"{other.__name__} holds a Rule.*, not a"):
        other.from_rules(fitted.rules_)


def test_importances_are_shares_of_the_columns_that_rules_test(fitted):
    shares = fitted.feature_importances_
    assert shares.shape == (fitted.n_features_in_,) == (4,)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert shares[:2].sum() > 0.9
    assert shares[2] == 0
    by_feature = fitted.rules_.feature_importances_
    assert len(by_feature) == len(fitted.features_)
    assert by_feature[3:].sum() == pytest.approx(shares[3])


def test_the_card_is_drawn(fitted):
    pytest.importorskip("matplotlib")
    for axes in (fitted.plot(), fitted.rules_.plot()):
        rows = [text.get_text() for text in axes.get_yticklabels()]
        assert len(rows) == len(fitted.rules_) + isinstance(fitted, RuleEnsembleClassifier)
        assert [text.get_text() for text in axes.get_xticklabels()] == ["big", "red"]


def test_an_estimator_made_of_rules_has_no_scores_to_tune_on():
    fitted = RuleEnsembleClassifier(max_rules=2, teacher=None, cv=2).fit(X, Y)
    again = RuleEnsembleClassifier.from_rules(fitted.rules_)
    with pytest.raises(OptionError, match=r"model_\.tune_decision"):
        again.tune_decision("subset")


def test_labels_are_asked_for():
    fitted = RuleListClassifier(teacher=None).fit(X, Y)
    with pytest.raises(OptionError, match="give a Dataset, or X and y"):
        fitted.verify(X)
    with pytest.raises(OptionError, match="give a Dataset, or X and y"):
        fitted.rules_.verify(X)


def test_one_row_is_explained_without_a_look_at_the_others(fitted):
    strange = X.assign(hue=["green", *X["hue"][1:]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(fitted.explain(strange, row=3)) == str(fitted.explain(X, row=3))
        assert str(fitted.smallest_flip(strange, "red", row=-1)) == str(fitted.smallest_flip(X, "red", row=-1))
    with pytest.warns(UnseenCategoryWarning, match="1 in 'hue' \\('green'\\)"):
        fitted.explain(strange, row=0)
    with pytest.raises(DataError, match="row 80 does not exist: there are 80"):
        fitted.explain(strange, row=80)
