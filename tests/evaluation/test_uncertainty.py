"""Simple models, resampled scores, importances and stability against slow obvious versions."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import Dataset, Table
from polyrule.datasets import load
from polyrule.errors import DataError, OptionError
from polyrule.evaluation import MEASURES, importances, resample_scores, score, simple_predictions, stability
from polyrule.evaluation.baseline import frequent_label_set
from polyrule.evaluation.resampling import draw


def f1(truth, predicted):
    return 2 * (truth & predicted).sum() / max(1, truth.sum() + predicted.sum())


def test_one_rule_per_label_is_the_best_of_all_conditions():
    rng = np.random.default_rng(3)
    table = Table.from_array(rng.integers(0, 6, (50, 4)).astype(float))
    truth = (rng.random((50, 3)) < 0.4).astype(np.uint8)
    found = simple_predictions(table, truth, table)["one rule per label"]
    values = np.asarray(table)
    for label in range(3):
        tried = [np.ones(50, dtype=np.uint8)]
        for column in values.T:
            for cut in np.unique(column):
                tried += [(column <= cut).astype(np.uint8), (column > cut).astype(np.uint8)]
        assert f1(truth[:, label], found[:, label]) == max(f1(truth[:, label], one) for one in tried)


def test_the_most_frequent_label_set():
    assert frequent_label_set(np.array([[1, 1], [0, 1], [0, 1]])).tolist() == [0, 1]
    assert frequent_label_set(np.array([[1, 1], [0, 1], [1, 0]])).tolist() == [1, 0]


def test_resampled_scores_are_scores_of_the_drawn_examples():
    rng = np.random.default_rng(1)
    truth = (rng.random((30, 4)) < 0.4).astype(np.uint8)
    predictions = [(rng.random((30, 4)) < 0.5).astype(np.uint8) for _ in range(2)]
    found = resample_scores(truth, predictions, resamples=60, seed=7)
    times = np.concatenate(list(draw(30, 60, 7))).astype(int)
    for resample in (0, 49, 50, 59):
        rows = np.repeat(np.arange(30), times[resample])
        for model, predicted in enumerate(predictions):
            expected = score(truth[rows], predicted[rows])
            for measure in MEASURES:
                assert found.values[measure][model, resample] == pytest.approx(expected[measure])


@pytest.mark.parametrize(("predictions", "resamples"), [(0, 10), (1, 0)])
def test_without_resamples_or_predictions_there_is_no_interval(predictions, resamples):
    truth = np.ones((3, 1), dtype=np.uint8)
    with pytest.raises(OptionError, match="one of each is the least"):
        resample_scores(truth, [truth] * predictions, resamples)


def test_labels_of_another_form_are_the_same_labels_and_of_another_shape_are_refused():
    model = random_model(5, rules=4)
    data = random_data(model, 30, 1)
    truth = np.array(data.Y)
    truth[::7, 0] = 2
    with_nan, sparse = np.where(truth == 2, np.nan, truth), sp.csr_array(truth)
    predicted = model.predict(data.X)
    for same in (with_nan, sparse, truth.tolist()):
        assert importances(model, data.X, same).score == importances(model, data.X, truth).score
        found, expected = (resample_scores(one, [predicted], 5).values["micro_f1"] for one in (same, truth))
        assert found.tolist() == expected.tolist()
    for other in (truth[:5], np.repeat(truth, 2, axis=0), truth[:, :1]):
        with pytest.raises(DataError, match=r"truth has shape .*: it must have 30 examples and"):
            importances(model, data.X, other)
        with pytest.raises(DataError, match="a prediction has shape"):
            resample_scores(truth, [np.minimum(other, 1)])
    with pytest.raises(DataError, match=r"truth may hold only 0 \(absent\), 1 \(present\) and 2 \(unknown\), found 3"):
        importances(model, data.X, truth + 1)
    with pytest.raises(DataError, match="may hold only 0"):
        resample_scores(truth, [truth])
    with pytest.raises(DataError, match="30 examples to learn from have labels of 5"):
        simple_predictions(data.X, truth[:5], data.X)
    with pytest.raises(OptionError, match="resamples must be at least 1, got 0"):
        stability(model, data, resamples=0)


def test_a_difference_that_resampling_does_not_show_is_level():
    truth = np.eye(40, 3, dtype=np.uint8)
    truth[3:, 0] = 1
    almost = truth.copy()
    almost[0, 0] = 0
    found = resample_scores(truth, [truth, almost, 1 - truth])
    assert found.level_with("micro_f1", 0) == [True, True, False]
    assert found.level_with("hamming_loss", 0) == [True, True, False]


@pytest.mark.parametrize("model", [random_model(3, rules=8), random_ensemble(3, rules=8)], ids=["list", "ensemble"])
def test_a_rules_importance_is_what_is_lost_without_it(model):
    data = random_data(model, 80, 1)
    truth = np.asarray(data.Y)
    found = importances(model, data.X, truth)
    assert found.score == pytest.approx(f1(truth, model.predict(data.X)))
    assert sorted(item.index for item in found.rules) == list(range(8))
    assert [item.drop for item in found.rules] == sorted((item.drop for item in found.rules), reverse=True)
    for item in found.rules:
        rest = replace(model, rules=model.rules[: item.index] + model.rules[item.index + 1 :])
        assert item.drop == pytest.approx(found.score - f1(truth, rest.predict(data.X)))
        assert item.low - 1e-9 <= item.drop <= item.high + 1e-9 or abs(item.drop) < 0.05


def test_a_feature_that_decides_everything_matters_most_and_plots():
    pytest.importorskip("matplotlib").use("agg")
    rng = np.random.default_rng(0)
    values = rng.random((200, 3))
    truth = np.column_stack([values[:, 1] > 0.5, values[:, 1] <= 0.5]).astype(np.uint8)
    fitted = RuleListClassifier(max_rules=4).fit(values, truth)
    found = importances(fitted.model_, Table.from_array(values, fitted.features_), truth)
    assert found.features[0].name == "x1"
    assert found.features[0].low > 0.3
    assert found.plot().get_xlabel() == "micro F1 lost without it"
    assert found.frame("rules").shape == (len(fitted.model_), 4)


@pytest.mark.parametrize(
    "estimator",
    [
        RuleListClassifier(max_rules=3, max_conditions=2),
        RuleEnsembleClassifier(max_rules=3, cv=2, teacher=None),
    ],
    ids=["list", "ensemble"],
)
def test_what_comes_back_is_the_same_for_an_estimator_and_its_model(estimator):
    data = load("emotions", "train")[:100]
    fitted = estimator.fit(data)
    seen = []
    found = stability(fitted, data, resamples=3, progress=seen.append)
    again = stability(fitted.model_, data, resamples=3)
    assert (found.features, found.rules, found.agreement) == (again.features, again.rules, again.agreement)
    assert seen == [1, 2, 3]
    assert all(0 <= share <= 1 for share in [*found.features.values(), *found.rules])
    assert found.frame("rules").shape == (len(fitted.model_), 2)


def test_a_model_of_unknown_origin_cannot_be_learned_again():
    model = replace(random_model(1), info={})
    data = random_data(model, 20, 1)
    with pytest.raises(OptionError, match="does not say how it was learned"):
        stability(model, Dataset(data.X, data.Y, data.label_names), resamples=2)
