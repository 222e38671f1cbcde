"""The order of rows never matters: samples, folds and sums follow what the rows say, not where they stand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import Feature, Table
from polyrule.data.examples import by_content


def world(seed: int, rows: int = 260) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Many categories, numbers, dates and missing values, rows that are repeated, weights of a few kinds."""
    random = np.random.default_rng(seed)
    code = np.concatenate([np.arange(20, 140), random.integers(0, 20, rows - 120)])
    number = random.normal(size=rows).round(1)
    number[random.random(rows) < 0.2] = np.nan
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, rows), unit="D")
    frame = pd.DataFrame(
        {
            "city": [f"v{value:03}" for value in code],
            "number": number,
            "day": day,
            "kind": random.choice(["a", "b", "c"], rows),
        }
    )
    chance = np.where(code < 20, random.choice([0.05, 0.3, 0.6], 20)[code % 20], 0.05)
    labels = np.stack([random.random(rows) < chance, (number > 0) ^ (random.random(rows) < 0.1)], axis=1)
    frame.iloc[-20:], labels[-20:] = frame.iloc[:20].to_numpy(), labels[:20]
    return frame, labels.astype(int), random.choice([1.0, 0.3, 2.5], rows)


pytestmark = pytest.mark.usefixtures("few_trees")
LEARNERS = {
    "list": lambda: RuleListClassifier(simplicity=0.3),
    "list without teacher": lambda: RuleListClassifier(teacher=None, simplicity=0.3),
    "ensemble": lambda: RuleEnsembleClassifier(5),
    "ensemble without teacher": lambda: RuleEnsembleClassifier(8, teacher=None),
}


@pytest.mark.filterwarnings("ignore::polyrule.errors.DataWarning")
@pytest.mark.parametrize("weighted", [False, True], ids=["equal weights", "weights"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_the_model_does_not_depend_on_the_order_of_rows(kind: str, weighted: bool) -> None:
    X, Y, weights = world(seed=int(weighted))
    shuffled = np.random.default_rng(0).permutation(len(X))
    one, other = (
        LEARNERS[kind]().fit(X.iloc[rows].reset_index(drop=True), Y[rows], weights[rows] if weighted else None)
        for rows in (np.arange(len(X)), shuffled)
    )
    assert repr(one.model_.rules) == repr(other.model_.rules)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_ordered_by_everything_that_is_known_of_them(sparse: bool) -> None:
    random = np.random.default_rng(0)
    values = random.integers(0, 3, (200, 4)).astype(float)
    values[random.random(values.shape) < 0.1] = np.nan
    features = [*(Feature(f"x{j}") for j in range(3)), Feature("hue", "nominal", ("red", "green", "blue"))]
    labels, weights = random.integers(0, 2, (200, 2)).astype(np.uint8), random.choice([1, 3], 200)
    everything = np.column_stack([values, labels, weights])
    shuffled = random.permutation(200)

    def ordered(rows: np.ndarray) -> np.ndarray:
        matrix = sp.csc_array(values[rows]) if sparse else values[rows]
        table = Table.from_array(matrix, features)
        return everything[rows][by_content(table, labels[rows], weights[rows])]

    assert np.array_equal(ordered(np.arange(200)), ordered(shuffled), equal_nan=True)
    dense = by_content(Table.from_array(values, features), labels, weights)
    assert np.array_equal(ordered(np.arange(200)), everything[dense], equal_nan=True)
    # A difference anywhere is seen: no two different rows share a hash, so equal rows stand together.
    changes = (np.diff(np.nan_to_num(everything[dense], nan=-1), axis=0) != 0).any(axis=1).sum()
    assert changes + 1 == len(np.unique(np.nan_to_num(everything, nan=-1), axis=0))
