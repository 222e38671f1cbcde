"""A label that nobody knows counts nowhere in a report."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.worlds import random_data, random_model

from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.data.labels import UNKNOWN, LabelMatrix
from polyrule.evaluation import importances, score
from polyrule.evaluation.resampling import resample_scores
from polyrule.report.counts import PartCovers, count_predictions
from polyrule.report.curves import curve
from polyrule.report.inputs import read_inputs
from polyrule.report.summary import summarise


def with_holes(seed: int) -> tuple[object, object, np.ndarray]:
    model = random_model(seed)
    data = random_data(model, 120, seed)
    truth = np.array(data.Y)
    rng = np.random.default_rng(seed)
    truth[rng.random(truth.shape) < 0.25] = UNKNOWN
    truth[0] = UNKNOWN  # an example of which nothing is known
    return model, data.X, truth


@pytest.mark.parametrize("seed", range(6))
def test_the_curves_end_at_the_scores(seed: int) -> None:
    model, table, truth = with_holes(seed)
    found, scores = (
        curve(model, count_predictions(model, PartCovers(table, truth))),
        score(LabelMatrix.of(truth, None), model.predict(table)),
    )
    assert found.micro_f1[-1] == pytest.approx(scores["micro_f1"])
    assert found.hamming_accuracy[-1] == pytest.approx(scores["hamming_accuracy"])
    assert found.subset_accuracy[-1] == pytest.approx(scores["subset_accuracy"])


@pytest.mark.parametrize("seed", range(3))
def test_resampled_scores_lie_around_the_score(seed: int) -> None:
    model, table, truth = with_holes(seed)
    predicted = model.predict(table)
    scores, found = score(LabelMatrix.of(truth, None), predicted), resample_scores(truth, [predicted], resamples=200)
    for name in ("micro_f1", "hamming_accuracy", "subset_accuracy", "example_f1", "macro_precision"):
        low, high = found.interval(name)
        assert low <= scores[name] <= high


def test_what_is_predicted_for_unknown_labels_does_not_matter() -> None:
    model, table, truth = with_holes(1)
    known, unknown = importances(model, table, truth), truth == UNKNOWN
    assert known.score == pytest.approx(score(LabelMatrix.of(truth, None), model.predict(table))["micro_f1"])
    predicted = model.predict(table)
    other = np.where(unknown, 1 - predicted, predicted)
    one, two = (resample_scores(truth, [labels], resamples=20).values for labels in (predicted, other))
    assert all(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("estimator", [RuleListClassifier(), RuleEnsembleClassifier(5, teacher=None)])
def test_a_report_on_examples_with_unknown_labels(estimator, tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(float)
    model = estimator.fit(X[:60], Y[:60])
    Y[60:75, 1] = np.nan
    page = model.report(test=(X[60:], Y[60:]))
    path = tmp_path / "report.html"
    page.save(path)
    assert "Unknown labels" in path.read_text(encoding="utf-8")
    summary = summarise(read_inputs(model, test=(X[60:], Y[60:])))
    part = summary["parts"][-1]
    assert part["unknown"] == 15
    assert part["present"][1] == int(np.nansum(Y[60:, 1]))
    assert sum(len(row) for row in summary["examples"]["unknown"]) == 15
