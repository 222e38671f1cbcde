"""The estimators as users meet them: scikit-learn's rules, every input type, and bad input."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyrule import (
    BinaryRelevanceRuleClassifier,
    Dataset,
    Feature,
    RuleListClassifier,
    SeCoClassifier,
    Table,
    datasets,
)
from polyrule.errors import DataError, MeasureError, OptionError, UnseenCategoryWarning, UnsoundSearchError
from polyrule.model import GroupCondition, LabelCondition, MissingCondition, RuleList

pytestmark = pytest.mark.usefixtures("few_trees")
LEARNERS = [
    RuleListClassifier(),
    SeCoClassifier(),
    SeCoClassifier(measure="precision", heads="single"),
    BinaryRelevanceRuleClassifier(),
]


@parametrize_with_checks(LEARNERS)
def test_scikit_learn_conventions(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 5)).round(2)
    Y = np.stack([X[:, 0] > 0, (X[:, 0] > 0) | (X[:, 1] > 1), X[:, 2] > 0.5], axis=1).astype(int)
    return X, Y


@pytest.fixture(params=LEARNERS, ids=lambda e: f"{type(e).__name__}-{getattr(e, 'heads', '')}")
def learner(request):
    return clone(request.param)


def without_expectations(model: RuleList) -> list[tuple[object, ...]]:
    """Rules with their counts; what to expect comes from a teacher, who draws rows and does not weigh them."""
    return [(rule.body, [(x.label, x.value, x.tp, x.fp) for x in rule.head], rule.coverage) for rule in model]


class TestInputs:
    def test_arrays_frames_and_tables_give_the_same_rules(self, data, learner) -> None:
        X, Y = data
        names = list("abcde")
        labels = ["p", "q", "r"]
        forms = [
            (pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=labels)),
            (pl.DataFrame(X, schema=names), pl.DataFrame(Y, schema=labels)),
            (pd.DataFrame(X, columns=names).convert_dtypes(dtype_backend="pyarrow"), pd.DataFrame(Y, columns=labels)),
        ]
        tables = Table.from_array(X, [Feature(name) for name in names])
        expected = clone(learner).fit(tables, Y, label_names=labels)
        for features, truth in forms:
            fitted = clone(learner).fit(features, truth)
            assert str(fitted.rules_) == str(expected.rules_)
            assert fitted.label_names_ == ("p", "q", "r")
            np.testing.assert_array_equal(fitted.predict(features), expected.predict(tables))
        whole = clone(learner).fit(Dataset(tables, Y.astype(np.uint8), ("p", "q", "r")))
        assert str(whole.rules_) == str(expected.rules_)

    @pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix])
    def test_sparse_equals_dense(self, data, learner, kind) -> None:
        X, Y = data
        X = np.where(np.abs(X) < 0.7, 0, X)
        dense, thin = clone(learner).fit(X, Y), clone(learner).fit(kind(X), sp.csr_matrix(Y))
        assert str(dense.rules_) == str(thin.rules_)
        predicted = thin.predict(kind(X))
        assert sp.issparse(predicted)
        np.testing.assert_array_equal(predicted.toarray(), dense.predict(X))

    def test_nominal_columns_of_every_sort(self, learner) -> None:
        frame = pd.DataFrame(
            {
                "text": ["x", "y", "x", "y"] * 5,
                "flag": [True, True, False, False] * 5,
                "kind": pd.Categorical(["lo", "hi", "lo", None] * 5, categories=["lo", "hi"]),
            }
        )
        Y = np.stack([frame["text"] == "x", frame["flag"]], axis=1).astype(int)
        fitted = learner.fit(frame, Y)
        assert fitted.features_[2].categories == ("lo", "hi")
        np.testing.assert_array_equal(fitted.predict(frame), Y)
        unknown = frame.assign(text="never seen")
        with pytest.warns(UnseenCategoryWarning, match=r"20 in 'text' \('never seen'\)") as caught:
            assert fitted.predict(unknown).shape == Y.shape
        assert [Path(warning.filename).name for warning in caught] == ["test_rule_list.py"], "said of the caller's line"

    def test_missing_values_satisfy_no_condition(self, data, learner) -> None:
        X, Y = data
        X = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
        fitted = learner.fit(X, Y)
        path = fitted.decision_path(np.full((1, 5), np.nan))
        fired = [rule for rule, used in zip(fitted.rules_, path.toarray()[0], strict=True) if used]
        for condition in (condition for rule in fired for condition in rule.body):
            members = condition.members if isinstance(condition, GroupCondition) else (condition,)
            assert any(isinstance(member, LabelCondition | MissingCondition) for member in members)
        assert any(rule.body for rule in fitted.rules_)

    def test_weights_are_repetitions(self, data, learner) -> None:
        X, Y = data
        weights = np.random.default_rng(1).integers(0, 4, len(X))
        if "teacher" in learner.get_params():
            learner.set_params(teacher=None)  # it draws rows, and a row that is there twice is drawn otherwise
        weighted = clone(learner).fit(X, Y, sample_weight=weights)
        repeated = clone(learner).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
        assert without_expectations(weighted.rules_) == without_expectations(repeated.rules_)
        fractional = clone(learner).fit(X, Y, sample_weight=weights * 0.1)
        # Rules have a price in examples, and weights below 1 leave open how many examples there are.
        assert np.mean(fractional.predict(X) == weighted.predict(X)) > 0.9

    def test_odd_names_survive(self, data, learner) -> None:
        X, Y = data
        names = ["a-b", "0", "x y", "größe <- ¬", "n" * 10_000]
        fitted = learner.fit(pd.DataFrame(X, columns=names), pd.DataFrame(Y, columns=["-", "/", "x, y"]))
        assert fitted.label_names_ == ("-", "/", "x, y")
        assert str(fitted.rules_)


class TestOutputs:
    def test_probabilities_follow_the_counts(self, data, learner) -> None:
        X, Y = data
        probabilities = learner.fit(X, Y).predict_proba(X)
        assert probabilities.shape == Y.shape
        assert ((probabilities > 0) & (probabilities < 1)).all()

    def test_a_label_alone_stays_a_matrix(self, data, learner) -> None:
        X, Y = data
        assert learner.fit(X, Y[:, [0]]).predict(X).shape == (80, 1)

    def test_classes_come_back_as_they_were(self, data, learner) -> None:
        X, Y = data
        two = np.where(Y[:, 0], "yes", "no")
        assert set(clone(learner).fit(X, two).predict(X)) == {"yes", "no"}
        three = np.array(["lo", "mid", "hi"])[Y[:, 0] + Y[:, 2]]
        fitted = clone(learner).fit(X, three)
        assert fitted.label_names_ == ("hi", "lo", "mid")
        assert set(fitted.predict(X)) <= {"lo", "mid", "hi"}
        np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)

    def test_the_decision_path_names_the_rules_that_set_labels(self, data) -> None:
        X, Y = data
        model = RuleListClassifier.paper("precision").fit(X, Y)
        path = model.decision_path(X)
        assert path.shape == (80, len(model.rules_))
        assert path.max() == 1
        assert path[0].indices.size > 0

    def test_explanations_name_the_rule_for_every_label(self, data, learner) -> None:
        X, Y = data
        text = str(learner.fit(X, Y, label_names=["p", "q", "r"]).explain(X, row=3))
        assert all(name in text for name in "pqr")


class TestTools:
    def test_clone_pickle_pipeline_search(self, data, learner) -> None:
        X, Y = data
        fitted = clone(learner).fit(X, Y)
        again = pickle.loads(pickle.dumps(fitted))
        assert str(again.rules_) == str(fitted.rules_)
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        pipeline = make_pipeline(StandardScaler(), clone(learner)).fit(X, Y)
        np.testing.assert_array_equal(pipeline.predict(X), fitted.predict(X))
        search = GridSearchCV(clone(learner), {"measure": ["precision", "f1"]}, scoring="f1_micro", cv=2).fit(X, Y)
        assert search.best_params_["measure"] in ("precision", "f1")
        assert cross_validate(clone(learner), X, Y, cv=3)["test_score"].shape == (3,)

    def test_data_sets_go_into_cross_validation_as_they_are(self) -> None:
        train = datasets.load("emotions", part="train")
        scores = cross_validate(RuleListClassifier.paper(max_rules=2), train.X, train.Y, cv=3, return_estimator=True)
        assert scores["estimator"][0].label_names_ == train.label_names
        whole = cross_validate(RuleListClassifier.paper(max_rules=2), train, cv=3)
        np.testing.assert_array_equal(whole["test_score"], scores["test_score"])
        search = GridSearchCV(RuleListClassifier.paper(max_rules=2), {"measure": ["precision", "f1"]}, cv=2).fit(train)
        assert search.score(train) == search.best_estimator_.score(train.X, train.Y)
        with pytest.raises(DataError, match="score requires y, the true labels, or a Dataset"):
            search.best_estimator_.score(train.X)


class TestInvariance:
    def test_a_second_run_and_threads_give_the_identical_list(self, data, learner) -> None:
        X, Y = data
        once = clone(learner).fit(X, Y)
        for n_jobs in (1, 2, 4):
            assert clone(learner).set_params(n_jobs=n_jobs).fit(X, Y).rules_.rules == once.rules_.rules

    def test_row_order_does_not_matter(self, data, learner) -> None:
        X, Y = data
        order = np.random.default_rng(3).permutation(len(X))
        assert clone(learner).fit(X[order], Y[order]).rules_.rules == clone(learner).fit(X, Y).rules_.rules

    def test_monotone_scaling_keeps_every_cover(self, data, learner) -> None:
        X, Y = data
        plain, scaled = clone(learner).fit(X, Y), clone(learner).fit(np.exp(X), Y)
        assert [r.head for r in scaled.rules_] == [r.head for r in plain.rules_]
        np.testing.assert_array_equal(scaled.decision_path(np.exp(X)).toarray(), plain.decision_path(X).toarray())


class TestBadInput:
    @pytest.mark.parametrize("wrong", [np.inf, 2, -1, 0.5])
    def test_labels_that_are_not_0_or_1(self, data, learner, wrong) -> None:
        X, Y = data
        Y = Y.astype(float)
        Y[4, 2] = wrong
        with pytest.raises(DataError, match="label 'y2', row 4"):
            learner.fit(X, Y)

    def test_infinite_features_name_column_and_row(self, data, learner) -> None:
        X, Y = data
        X = X.copy()
        X[3, 1] = np.inf
        with pytest.raises(DataError, match=r"x1.*row 3"):
            learner.fit(X, Y)

    def test_constant_labels_and_empty_label_sets_are_fine(self, learner) -> None:
        X = np.arange(6.0)[:, None]
        Y = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1], [1, 0, 0]])
        predicted = learner.fit(X, Y).predict(X)
        assert (predicted[:, 0] == 1).all()
        assert (predicted[:, 1] == 0).all()
        nothing = clone(learner).fit(X, np.zeros((6, 2), dtype=int))
        assert not nothing.predict(X).any()

    def test_one_example_is_enough(self, learner) -> None:
        assert learner.fit([[1.0, 2.0]], [[1, 0]]).predict([[5.0, 5.0]]).shape == (1, 2)

    def test_no_examples_no_features_no_labels(self, learner) -> None:
        with pytest.raises(ValueError, match="0 sample"):
            learner.fit(np.empty((0, 2)), np.empty((0, 2)))
        with pytest.raises(ValueError, match="0 feature"):
            learner.fit(np.empty((3, 0)), np.zeros((3, 2)))
        with pytest.raises(DataError, match="label"):
            learner.fit(np.ones((3, 1)), np.empty((3, 0)))

    def test_lengths_that_differ(self, data, learner) -> None:
        X, Y = data
        with pytest.raises(ValueError, match=r"80.*79"):
            learner.fit(X, Y[:-1])

    def test_duplicate_names_are_refused(self, data, learner) -> None:
        X, Y = data
        with pytest.raises(DataError, match=r"twice|distinct|duplicate"):
            learner.fit(pd.DataFrame(X, columns=list("aabcd")), Y)
        with pytest.raises(DataError, match=r"twice|distinct|duplicate"):
            learner.fit(X, Y, label_names=["p", "p", "q"])

    def test_wrong_number_of_columns_at_prediction(self, data, learner) -> None:
        X, Y = data
        fitted = learner.fit(X, Y)
        with pytest.raises(ValueError, match="5 features"):
            fitted.predict(X[:, :3])

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"measure": "precisoin"}, MeasureError, "precision"),
            ({"measure": "f-1"}, MeasureError, "beta"),
            ({"heads": "many"}, OptionError, "heads"),
            ({"scope": "everything"}, OptionError, "scope"),
            ({"averaging": "weighted"}, OptionError, "averaging"),
            ({"search": "magic"}, OptionError, "search"),
            ({"search": "decomposable", "measure": "subset"}, OptionError, "decomposable"),
            ({"search": "subset", "measure": "precision"}, UnsoundSearchError, "subset"),
            ({"search": "antimonotone", "averaging": "example", "measure": "f1"}, UnsoundSearchError, "anti-monotone"),
            ({"lift": "huge"}, OptionError, "lift"),
            ({"beam_width": 0}, OptionError, "beam_width"),
            ({"max_rules": 0}, OptionError, "max_rules"),
            ({"heads": "single", "max_head_size": 3}, OptionError, "max_head_size"),
            ({"n_jobs": 0}, OptionError, "n_jobs"),
        ],
    )
    def test_wrong_options_are_named(self, data, options, error, words) -> None:
        X, Y = data
        with pytest.raises(error, match=words):
            SeCoClassifier(**options).fit(X, Y)
