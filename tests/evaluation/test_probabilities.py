"""Measures of probabilities, held against scikit-learn and against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from polyrule.errors import DataError
from polyrule.evaluation import reliability, score_probabilities
from polyrule.evaluation.probabilities import precision_at, wilson


def world(seed: int, rows: int = 120, labels: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = (rng.random((rows, labels)) < 0.3).astype(np.uint8)
    return truth, np.clip(np.round(0.5 * truth + rng.random((rows, labels)) / 2, 1), 0, 1)  # with ties


@pytest.mark.parametrize("seed", range(3))
def test_measures_are_those_of_scikit_learn(seed):
    truth, chance = world(seed)
    found = score_probabilities(truth, chance)
    some = truth.any(axis=1)
    assert found["macro AUC"] == pytest.approx(metrics.roc_auc_score(truth, chance, average="macro"))
    assert found["micro AUC"] == pytest.approx(metrics.roc_auc_score(truth, chance, average="micro"))
    assert found["macro average precision"] == pytest.approx(metrics.average_precision_score(truth, chance))
    assert found["LRAP"] == pytest.approx(metrics.label_ranking_average_precision_score(truth[some], chance[some]))
    assert found["nDCG"] == pytest.approx(metrics.ndcg_score(truth[some], chance[some]))
    assert found["coverage error"] == pytest.approx(metrics.coverage_error(truth[some], chance[some]))
    assert found["log loss"] == pytest.approx(
        metrics.log_loss(truth.ravel(), np.clip(chance.ravel(), 1e-15, 1 - 1e-15))
    )
    assert found["Brier score"] == pytest.approx(metrics.brier_score_loss(truth.ravel(), chance.ravel()))
    assert found.frame(per_label=True)["AUC"][2] == pytest.approx(metrics.roc_auc_score(truth[:, 2], chance[:, 2]))


def test_unknown_labels_count_nowhere():
    truth, chance = world(5)
    hidden = truth.astype(float)
    hidden[::3, 1] = np.nan
    found = score_probabilities(hidden, chance)
    known = ~np.isnan(hidden[:, 1])
    assert found.per_label["AUC"][1] == pytest.approx(metrics.roc_auc_score(truth[known, 1], chance[known, 1]))
    rows = known & truth.any(axis=1)
    assert found["LRAP"] == pytest.approx(metrics.label_ranking_average_precision_score(truth[rows], chance[rows]))
    flat = ~np.isnan(hidden)
    assert found["Brier score"] == pytest.approx(np.mean((chance[flat] - truth[flat]) ** 2))
    assert found.examples == len(truth)


def test_what_is_not_defined_is_none():
    found = score_probabilities([[1], [1]], [[0.5], [1.0]])
    assert found["macro AUC"] is None
    assert found["nDCG"] is None
    assert found["log loss"] == pytest.approx(-np.log(0.5) / 2)
    assert "-" in found.text()
    with pytest.raises(DataError, match="no label of these examples is known"):
        score_probabilities([[np.nan]], [[0.5]])
    with pytest.raises(DataError, match="from 0 to 1"):
        score_probabilities([[1]], [[1.5]])
    with pytest.raises(DataError, match="shape"):
        score_probabilities([[1, 0]], [[0.5]])


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_precision_at_k_is_the_mean_over_all_orders_of_ties(seed, k):
    rng = np.random.default_rng(seed)
    truth, chance = rng.integers(0, 2, (4, 5)), rng.integers(0, 3, (4, 5)) / 2
    drawn = []
    for _ in range(1500):
        order = np.argsort(-(chance + rng.random(chance.shape) * 1e-6), axis=1)[:, :k]
        drawn.append(np.take_along_axis(truth, order, axis=1).mean())
    assert precision_at(truth, chance, k) == pytest.approx(np.mean(drawn), abs=0.04)


def test_reliability_counts_every_label_once():
    truth, chance = world(1)
    found = reliability(truth, chance, bins=5)
    assert sum(one["count"] for one in found.bins) == truth.size
    inside = (chance >= 0.2) & (chance < 0.4)
    (second,) = [one for one in found.bins if one["from"] == 0.2]
    assert second["count"] == inside.sum()
    assert second["observed"] == pytest.approx(truth[inside].mean())
    assert second["low"] <= second["observed"] < second["high"]
    assert reliability(truth, chance, label=0).bins != found.bins
    assert reliability([[1], [0]], [[1.0], [0.0]]).error == 0
    assert "0.20 to 0.40" in found.text()


def test_wilson_holds_its_share():
    rng = np.random.default_rng(0)
    held = [low <= 0.2 <= high for low, high in (wilson(int(hits), 60) for hits in rng.binomial(60, 0.2, 2000))]
    assert 0.93 < np.mean(held) < 0.975
