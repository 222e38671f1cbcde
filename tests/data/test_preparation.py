"""Learners see days between dates, and no absolute dates unless asked."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyrule import RuleListClassifier
from polyrule.data import Dataset, to_table
from polyrule.data.preparation import prepare

N = 300


def visits() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, N), unit="D")
    stay = rng.integers(0, 15, N)
    X = pd.DataFrame({"admitted": start, "discharged": start + pd.to_timedelta(stay, unit="D")})
    old = (start < pd.Timestamp("2021-12-01")).astype(int)
    return X, pd.DataFrame({"long": (stay > 6).astype(int), "old": old})


def test_days_between_dates_are_tested_and_absolute_dates_are_not():
    X, Y = visits()
    classifier = RuleListClassifier().fit(X, Y)
    text = str(classifier.model_)
    assert "long <- days from admitted to discharged > 6" in text
    assert "2021" not in text
    assert "year" not in text
    new = X.assign(**{name: X[name] + pd.DateOffset(years=3) for name in X})
    assert np.array_equal(np.asarray(classifier.predict(new))[:, 0], Y.long)
    assert np.array_equal(classifier.model_.predict(to_table(new)), classifier.predict(new))
    data = Dataset(to_table(X), Y.to_numpy(), ("long", "old"))
    checked = RuleListClassifier().fit(data).model_.verify(data)
    assert checked.ok
    assert not checked.unchecked


def test_an_absolute_date_is_tested_if_its_column_is_named():
    X, Y = visits()
    for learner in (
        RuleListClassifier(constraints={"keep_columns": "admitted"}),
        RuleListClassifier(constraints={"features": {"old": ["admitted"]}}),
    ):
        text = str(learner.fit(X, Y).model_)
        assert "old <- admitted year <= 2021" in text or "old <- admitted <= 2021-1" in text


def test_a_missing_date_is_still_a_condition():
    X, _ = visits()
    gone = np.arange(N) % 3 == 0
    X.loc[gone, "discharged"] = pd.NaT
    model = RuleListClassifier().fit(X, pd.DataFrame({"here": gone.astype(int)})).model_
    assert "is missing" in str(model)
    assert len(model.rules) == 1


def test_spans_need_an_order():
    days = pd.date_range("2021-01-01", periods=N)
    rng = np.random.default_rng(1)
    mixed = pd.DataFrame({"a": days, "b": days + pd.to_timedelta(rng.integers(-9, 9, N), unit="D"), "c": days})
    names = prepare(to_table(mixed)).feature_names
    assert not any(name.startswith("days from") for name in names)
