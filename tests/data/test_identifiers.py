"""Columns that identify rows are recognized by their values and names, and no learner tests them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import polyrule
from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import Feature, Table, read, to_table
from polyrule.data.identifiers import find_identifiers
from polyrule.errors import DataError, DataWarning

N = 120
CASES = {
    "a counter": (np.arange(N), True),
    "a shuffled counter from 5000": (5000 + np.random.default_rng(0).permutation(N), True),
    "some rows of a longer counter": (np.random.default_rng(1).permutation(4 * N)[:N], True),
    "a counter with one repetition": (np.append(np.arange(N - 1), 0), False),
    "amounts from a wide range": (np.random.default_rng(2).permutation(10**6)[:N] * 7919, False),
    "measurements": (np.random.default_rng(3).normal(size=N), False),
    "distinct years": (1880 + np.arange(N), False),
    "distinct texts": ([f"P{j}" for j in range(N)], True),
    "texts of which half are distinct": ([f"P{j // 2}" for j in range(N)], False),
    "distinct days": (pd.date_range("2020-01-01", periods=N), False),
    "texts that are days": (pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"), False),
}


@pytest.mark.parametrize("case", CASES)
def test_values_tell_identifiers(case):
    values, expected = CASES[case]
    found = find_identifiers(to_table(pd.DataFrame({"column": values, "size": np.linspace(0, 1, N)})))
    assert found == ((0,) if expected else ())


@pytest.mark.parametrize(
    ("name", "expected"), [("patient_id", True), ("orderNumber", True), ("Unnamed: 0", True), ("income", False)]
)
def test_names_of_keys_tell_whole_numbers(name, expected):
    incomes = np.random.default_rng(2).permutation(10**6)[:N] * 7919.0
    assert bool(find_identifiers(Table.from_array(incomes[:, None], [Feature(name)]))) is expected
    assert not find_identifiers(Table.from_array(incomes[:, None] + 0.5, [Feature(name)]))
    assert not find_identifiers(Table.from_array((incomes[:, None] % 7).round(), [Feature(name)]))


def test_columns_of_arrays_have_no_names_and_stay():
    assert not find_identifiers(to_table(np.arange(N).reshape(-1, 1)))


def test_a_sparse_table_gives_the_answer_of_a_dense_one():
    import scipy.sparse as sp

    counter, rare = np.arange(N, dtype=float), (np.arange(N) % 9 == 0).astype(float)
    features = [Feature("row"), Feature("rare")]
    dense = Table.from_array(np.column_stack([counter, rare]), features)
    sparse = Table.from_array(sp.csr_array(np.column_stack([counter, rare])), features)
    assert find_identifiers(dense) == find_identifiers(sparse) == (0,)


def frame():
    """Return rows whose labels follow exactly from their identifiers, and otherwise from their sizes."""
    rng = np.random.default_rng(4)
    size = rng.normal(size=N)
    X = pd.DataFrame({"pidnum": 1000 + np.arange(N), "size": size, "note": [f"n{j}" for j in range(N)]})
    Y = pd.DataFrame({"old": (np.arange(N) < N // 2).astype(int), "large": (size > 0.3).astype(int)})
    return X, Y


def columns_of(model):
    return {model.features[j].name for j in polyrule.model.columns.used_features(model.rules)}


@pytest.mark.parametrize("learner", [RuleListClassifier, RuleEnsembleClassifier])
def test_no_rule_tests_an_identifier_unless_asked(learner, few_trees):
    X, Y = frame()
    with pytest.warns(DataWarning, match="'pidnum', 'note' have distinct values"):
        model = learner().fit(X, Y)
    assert columns_of(model.model_) <= {"size"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="never predicted")
        kept = learner(constraints={"keep_columns": ["pidnum", "note"]}).fit(X, Y)
    assert "pidnum" in columns_of(kept.model_)
    with pytest.raises(DataError, match="keep_columns"):
        learner(constraints={"keep_columns": "pid"}).fit(X, Y)


def test_a_model_stores_no_values_of_identifiers_and_reads_the_columns_of_new_data(tmp_path):
    X, Y = frame()
    with pytest.warns(DataWarning):
        classifier = RuleListClassifier().fit(X, Y)
    classifier.model_.save(tmp_path / "m.json")
    assert "n17" not in (tmp_path / "m.json").read_text()
    new = X.assign(pidnum=-5 - np.arange(N), note="unseen")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = classifier.predict(X)
        assert np.array_equal(classifier.predict(new), expected)
        loaded = polyrule.load(tmp_path / "m.json")
        assert np.array_equal(loaded.predict(X[["size"]]), expected)


@pytest.mark.parametrize("learner", [RuleListClassifier, RuleEnsembleClassifier])
def test_a_model_is_verified_on_the_data_with_its_identifiers(learner, tmp_path, few_trees):
    X, Y = frame()
    pd.concat([X, Y], axis=1).to_csv(tmp_path / "d.csv", index=False)
    data = read(tmp_path / "d.csv", labels="old,large")
    with pytest.warns(DataWarning):
        model = learner().fit(data).model_
    checked = model.verify(data)
    assert checked.ok, checked
