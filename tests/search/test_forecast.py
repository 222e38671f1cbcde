"""What a fit says about a measure that makes no sense, and about a search that will take long."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from polyrule import RuleListClassifier, SeCoClassifier, config_context
from polyrule.data import Table
from polyrule.errors import MeasureWarning, SlowSearchWarning
from polyrule.measures import Objective
from polyrule.search.forecast import forecast


def data(examples=40, labels=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(examples, 4))
    Y = (X[:, :1] + 0.8 * rng.normal(size=(examples, labels)) > 0).astype(int)
    return X, Y


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        ("tp/0", "'tp/0': it is constant: every head has the value 0"),
        ("fp - tp", "it rewards errors: a false instead of a true positive"),
        ("recall", "it ignores false positives"),
    ],
)
def test_a_measure_that_makes_no_sense_is_remarked_upon(measure, words):
    with pytest.warns(MeasureWarning, match=words):
        RuleListClassifier(measure=measure, max_rules=1).fit(*data())


def test_label_true_everywhere_is_remarked_upon():
    X, Y = data()
    with pytest.warns(MeasureWarning, match="'label <- true' won every time"):
        RuleListClassifier.paper(measure="f2", negative=False).fit(np.ones_like(X), Y)


def test_ordinary_measures_are_passed_over_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for measure in ("f0.5", "precision", "hamming", "laplace"):
            RuleListClassifier.paper(measure=measure).fit(*data())
        for measure in ("f0.5", "f1"):
            RuleListClassifier(measure).fit(*data())


def test_a_bare_function_is_a_measure():
    def careful(tp, fp, tn, fn):
        return tp / np.maximum(tp + 2 * fp + fn, 1)

    X, Y = data()
    model = RuleListClassifier.paper(measure=careful, max_rules=3).fit(X, Y)
    same = RuleListClassifier.paper(measure="tp / (tp + 2*fp + fn)", max_rules=3).fit(X, Y)
    assert [rule.body for rule in model.rules_] == [rule.body for rule in same.rules_]
    assert model.model_.info["options"]["measure"] == "careful"


def test_a_slow_search_is_announced(monkeypatch):
    monkeypatch.setattr("polyrule.search.forecast.PATIENCE", 0.0)
    X, Y = data(12, 3)
    learner = SeCoClassifier("laplace", averaging="example", max_rules=1, max_conditions=1)
    words = "each condition of a rule means trying up to 88 bodies"
    with config_context(kernels="reference"), pytest.warns(SlowSearchWarning, match=words) as told:
        learner.fit(X, Y)
    assert "averaging='micro' or 'label', heads='single' would be fast" in str(told[0].message)
    assert told[0].filename == __file__


def test_a_forecast_counts_bodies_and_stops_in_time():
    X, Y = data(200, 16)
    weights = np.ones(200, dtype=np.int64)
    found = forecast(Objective("f1", averaging="example", scope="all"), Table.from_array(X), Y, weights)
    assert found.bodies == 4 * 2 * 199
    assert 0 < found.seconds_per_body <= 1
    assert "in all" in str(found)
    assert forecast(Objective("f1"), Table.from_array(X), Y, weights) is None
    assert forecast(Objective("matthews", averaging="label"), Table.from_array(X), Y, weights) is None
