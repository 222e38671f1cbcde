"""The many forms in which people bring labels and examples, and what they ask of an estimator besides predictions."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler

import polyrule
from polyrule import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, RuleListClassifier
from polyrule.covering import progress
from polyrule.errors import DataError, OptionError

FRAME = pd.DataFrame(
    {
        "age": [20, 25, 30, 35, 40, 45, 50, 55] * 3,
        "newsletter": [True, False] * 12,
        "calm": [0, 0, 0, 0, 1, 1, 1, 1] * 3,
        "happy": [1, 0] * 12,
    }
)
FEATURES = FRAME[["age", "newsletter"]]
WORDS = [";".join(name for name in ("calm", "happy") if row[name]) for _, row in FRAME.iterrows()]
SMALL_ENSEMBLE = RuleEnsembleClassifier(max_rules=3, cv=2, teacher=None)


@pytest.mark.parametrize("learner", [RuleListClassifier(), BinaryRelevanceRuleClassifier(), SMALL_ENSEMBLE])
def test_a_frame_may_hold_features_and_labels(learner):
    whole = sklearn.clone(learner).fit(FRAME, labels=["calm", "happy"])
    apart = sklearn.clone(learner).fit(FEATURES, FRAME[["calm", "happy"]])
    assert str(whole.rules_) == str(apart.rules_)
    assert whole.label_names_ == ("calm", "happy")
    assert np.array_equal(whole.predict(FRAME), apart.predict(FEATURES))
    assert np.array_equal(whole.predict(FEATURES), apart.predict(FEATURES))
    assert whole.score(FRAME) == apart.score(FEATURES, FRAME[["calm", "happy"]])


def test_label_columns_may_be_a_pattern_and_the_frame_of_another_library():
    found = RuleListClassifier().fit(pl.DataFrame(FRAME.to_dict("list")), labels="calm..happy")
    assert found.label_names_ == ("calm", "happy")
    assert list(found.feature_names_in_) == ["age", "newsletter"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: RuleListClassifier().fit(FRAME, [0, 1], labels=["calm"]), OptionError, "y must be left out"),
        (lambda: RuleListClassifier().fit([[1.0]], labels=["calm"]), OptionError, "names columns of a data frame"),
        (lambda: RuleListClassifier().fit(FRAME, labels=["clam"]), DataError, "did you mean 'calm'"),
        (lambda: RuleListClassifier().fit(FRAME, labels=[]), DataError, "labels"),
    ],
)
def test_wrong_label_columns_get_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("learner", [RuleListClassifier(), SMALL_ENSEMBLE])
def test_columns_of_labels_are_scored_by_name(learner, frame):
    labels = frame(FRAME[["calm", "happy"]].to_dict("list"))
    fitted = sklearn.clone(learner).fit(FEATURES, labels)
    weights = np.arange(1.0, 25.0)
    right = fitted.score(FEATURES, labels, weights)
    assert fitted.score(FEATURES, labels[["happy", "calm"]], weights) == right
    wider = frame(FRAME[["happy", "newsletter", "calm"]].to_dict("list"))
    with pytest.warns(polyrule.errors.DataWarning, match="newsletter"):
        assert fitted.score(FEATURES, wider, weights) == right
    assert fitted.score(FEATURES, labels) > fitted.score(FEATURES, labels.to_numpy()[:, ::-1])


@pytest.mark.parametrize("learner", [RuleListClassifier(), SMALL_ENSEMBLE])
def test_labels_as_words_are_learned_scored_and_cross_validated(learner):
    words = pd.Series(WORDS, name="moods")
    fitted = sklearn.clone(learner).fit(FEATURES, words)
    assert fitted.label_names_ == ("calm", "happy")
    matrix = MultiLabelBinarizer().fit_transform([text.split(";") if text else [] for text in WORDS])
    assert fitted.score(FEATURES, words) == fitted.score(FEATURES, matrix)
    assert fitted.score(FEATURES[:1], ["calm;unheard of"]) == 0
    assert len(cross_val_score(learner, FEATURES, words, cv=3)) == 3


@pytest.mark.parametrize("learner", [RuleListClassifier(), BinaryRelevanceRuleClassifier(), SMALL_ENSEMBLE])
def test_probabilities_are_cross_validated(learner):
    labels = FRAME[["calm", "happy"]]
    for Y in (labels, labels.to_numpy()):
        found = cross_val_predict(learner, FEATURES, Y, cv=3, method="predict_proba")
        assert found.shape == (24, 2)
        assert ((found >= 0) & (found <= 1)).all()


def test_a_series_gives_its_name_to_the_label():
    fitted = RuleListClassifier().fit(FEATURES, FRAME["calm"].rename("churns"))
    assert "churns <- age > " in str(fitted.rules_)
    assert fitted.predict(FEATURES).tolist() == FRAME["calm"].tolist()


def test_metadata_is_routed():
    weights = np.array([1.0, 2.0, 0.0] * 8)
    with sklearn.config_context(enable_metadata_routing=True):
        learner = (
            RuleListClassifier()
            .set_fit_request(sample_weight=True, label_names=True)
            .set_score_request(sample_weight=True)
        )
        found = cross_validate(learner, FEATURES, FRAME[["calm", "happy"]], cv=3, params={"sample_weight": weights})
        assert len(found["test_score"]) == 3
        piped = make_pipeline(learner).fit(FEATURES, FRAME[["calm", "happy"]], sample_weight=weights)
        assert str(piped[-1].rules_) == str(learner.fit(FEATURES, FRAME[["calm", "happy"]], weights).rules_)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            cross_validate(RuleListClassifier(), FEATURES, FRAME["calm"], params={"sample_weight": weights})


def test_names_that_a_transformer_sets_reach_the_rules():
    scaled = make_column_transformer(
        (StandardScaler(), ["age"]), remainder="passthrough", verbose_feature_names_out=False
    )
    pipe = make_pipeline(scaled.set_output(transform="pandas"), RuleListClassifier())
    pipe.fit(FEATURES, FRAME[["calm"]])
    assert "calm <- age > " in str(pipe[-1].rules_)


def test_one_example_is_explained_in_whatever_form_it_is_at_hand():
    fitted = RuleListClassifier().fit(FRAME, labels=["calm", "happy"])
    forms = [FRAME[:1], FRAME.iloc[0], {"age": 20, "newsletter": True}, FEATURES[:1].to_dict("records")[0]]
    assert len({str(fitted.explain(form)) for form in forms}) == 1
    flips = {str(fitted.smallest_flip(form, "calm")) for form in forms}
    assert len(flips) == 1
    assert flips.pop().startswith("calm is absent; the smallest change that makes it present: age > 3")
    assert "present: age" in str(fitted.smallest_flip(FRAME, "calm", row=1))
    with pytest.raises(DataError, match="the example comes first"):
        fitted.smallest_flip("calm", FRAME)
    assert (
        SMALL_ENSEMBLE.fit(FRAME, labels=["calm"]).explain({"age": 50, "newsletter": False}).labels[0].label == "calm"
    )


@pytest.mark.parametrize("learner", [RuleListClassifier(), BinaryRelevanceRuleClassifier(), SMALL_ENSEMBLE])
def test_verbose_tells_how_far_learning_is(learner, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PACE", 0.0)
    heard = []
    told = sklearn.clone(learner).set_params(verbose=True)
    told.fit(FRAME, labels=["calm", "happy"], callback=heard.append)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(heard) > 0
    assert all(re.match(r"\[polyrule\] \d+ rules?, .*\d s$", line) for line in lines)
    quiet = sklearn.clone(learner).fit(FRAME, labels=["calm", "happy"])
    assert capsys.readouterr().err == ""
    assert str(quiet.rules_) == str(told.rules_)
    assert "verbose" not in told.model_.info["options"]


@pytest.mark.parametrize("learner", [RuleListClassifier.paper(), BinaryRelevanceRuleClassifier()])
def test_progress_goes_on_although_covered_examples_stay(learner):
    heard = []
    learner.fit(FRAME, labels=["calm", "happy"], callback=heard.append)
    shares = [step.done for step in heard]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1
    assert shares[-1] > 0.7


TEXTS = ["the invoice is wrong", "invoice of march", "cannot sign in", "sign in fails now"] * 4
TOPICS = [["billing"], ["billing"], ["account"], ["account"]] * 4


@pytest.mark.parametrize("learner", [RuleListClassifier(), BinaryRelevanceRuleClassifier(), SMALL_ENSEMBLE])
def test_names_come_through_a_pipeline(learner):
    model = make_pipeline(CountVectorizer(), sklearn.clone(learner)).fit(TEXTS, TOPICS)
    words = set(model[0].get_feature_names_out())
    before = model.predict_proba(TEXTS)
    assert "x" in str(model[-1].rules_)
    assert polyrule.name_features(model) is model
    assert np.array_equal(model.predict_proba(TEXTS), before)
    used = {model[-1].features_[c.feature].name for rule in model[-1].rules_.rules for c in rule.body}
    assert used
    assert used <= words
    assert any(f"{word} " in str(model[-1].rules_) for word in used)
    assert polyrule.name_features(model)[-1].score(model[0].transform(TEXTS), TOPICS) == 1
    told = sklearn.clone(learner).fit(model[0].transform(TEXTS), TOPICS, feature_names=model[0].get_feature_names_out())
    assert str(told.rules_) == str(model[-1].rules_)
    assert told.features_ == model[-1].features_


def test_names_come_through_a_search():
    model = make_pipeline(CountVectorizer(), RuleListClassifier(teacher=None))
    topics = [topic for (topic,) in TOPICS]
    found = GridSearchCV(model, {"rulelistclassifier__max_rules": [1, 2]}, cv=2).fit(TEXTS, topics)
    assert polyrule.name_features(found).best_estimator_[-1].features_[0].name == "cannot"


def test_names_that_do_not_fit_get_a_sentence():
    X = np.arange(8.0).reshape(4, 2)
    fitted = RuleListClassifier(teacher=None).fit(X, [[1], [1], [0], [0]])
    assert polyrule.name_features(fitted, ["size", "age"]).rules_.features[1].name == "age"
    for call, words in (
        (lambda: polyrule.name_features(fitted), "give their names"),
        (lambda: polyrule.name_features(fitted, ["a"]), r"1 name\(s\) for 2 feature\(s\)"),
        (lambda: polyrule.name_features(StandardScaler()), "none of polyrule's classifiers"),
        (lambda: RuleListClassifier().fit(FEATURES, FRAME[["calm"]], feature_names=["a", "b"]), "has names already"),
    ):
        with pytest.raises(OptionError, match=words):
            call()
    with pytest.raises(DataError, match="appears twice"):
        polyrule.name_features(fitted, ["a", "a"])
