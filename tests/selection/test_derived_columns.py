"""Sets of categories are the best there are, and what a pruned list learns from derived columns reads as conditions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule import RuleListClassifier, SeCoClassifier
from polyrule.conditions.evaluate import evaluate
from polyrule.data import Feature, Table
from polyrule.measures import get
from polyrule.model import NominalCondition, NumericCondition, SetCondition
from polyrule.selection.derived_columns import LARGEST_SET, LEAST_EXAMPLES, DerivedTable


def world(seed: int, categories: int, rows: int) -> tuple[Table, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    feature = Feature("hue", "nominal", tuple(f"c{k}" for k in range(categories)))
    column = rng.integers(0, categories, rows).astype(float)
    column[rng.random(rows) < 0.1] = np.nan
    truth = (rng.random((rows, 2)) < 0.4).astype(np.uint8)
    return Table.from_array(column[:, None], [feature]), truth, rng.integers(1, 4, rows)


def value(name: str, covered: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> Fraction:
    tp, fp = (int(weights[covered & (truth == v)].sum()) for v in (1, 0))
    fn, tn = (int(weights[~covered & (truth == v)].sum()) for v in (1, 0))
    return get(name).value(tp, fp, tn, fn)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 6), st.sampled_from(["f1", "f0.5", "precision", "f2"]))
def test_no_set_beats_the_best_threshold_on_the_ranks(seed, categories, measure):
    table, truth, weights = world(seed, categories, 60)
    derived = DerivedTable(table, truth, weights)
    column = table.column(0)
    for label in range(2):
        usual = [k for k in range(categories) if (column == k).sum() >= LEAST_EXAMPLES]
        sets = [s for size in range(1, len(usual) + 1) for s in combinations(usual, size)]
        best = max(value(measure, np.isin(column, s), truth[:, label], weights) for s in sets)

        def share(k, label=label):
            return value("precision", column == k, truth[:, label], weights)

        order = sorted(usual, key=share, reverse=True)
        ends = [
            value(measure, np.isin(column, order[:size]), truth[:, label], weights) for size in range(1, len(order) + 1)
        ]
        assert max(ends) == best  # the theory, for sets of any size
        found = []
        for j in range(1, derived.table.shape[1]):
            ranks = derived.table.column(j)
            for threshold in np.arange(np.nanmax(ranks)) + 0.5:
                found.append(value(measure, ranks > threshold, truth[:, label], weights))
        assert max(found) >= max(ends[: min(max(2, categories // 2), len(order) - 1)])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 12), st.booleans())
def test_translated_conditions_cover_what_was_found(seed, categories, sparse):
    table, truth, weights = world(seed, categories, 60)
    if sparse:
        table = Table.from_array(sp.csc_array(table.values), table.features)
    derived = DerivedTable(table, truth, weights)
    assert derived.table.is_sparse == sparse
    for j in range(1, derived.table.shape[1]):
        for threshold in np.arange(np.nanmax(derived.table.column(j))) + 0.5:
            for op in ("<=", ">"):
                found = NumericCondition(j, op, float(threshold))
                body = derived.body((found,))
                assert np.array_equal(evaluate(body[0], table), evaluate(found, derived.table))
                size = len(body[0].values) if isinstance(body[0], SetCondition) else 1
                assert size <= LARGEST_SET
                assert not isinstance(body[0], SetCondition) or size > 1


def frame(rows: int = 400, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    plans = ["basic", "plus", "pro"]
    made = pd.DataFrame(
        {
            "region": rng.choice(["West", "South", "East", "North", "Mid"], rows),
            "plan": pd.Categorical(rng.choice(plans, rows), plans, ordered=True),
            "age": rng.integers(0, 90, rows),
            "income": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(3000, 800, rows)),
            "on": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 800, rows), unit="D"),
        }
    )
    labels = [
        made.region.isin(["West", "South"]),
        (made.plan >= "plus") & (made.age > 20) & (made.age <= 60),
        made.income.isna(),
        made.on.dt.day_of_week >= 5,
    ]
    return made, np.column_stack(labels).astype(int)


@pytest.mark.parametrize("teacher", ["forest", None])
def test_planted_conditions_are_found_and_said_as_people_would(teacher):
    X, Y = frame()
    names = ["near", "grown", "hidden", "weekend"]
    fitted = RuleListClassifier(teacher=teacher).fit(X, Y, label_names=names)
    text = fitted.rules_.format(counts=False, numbers=False)
    for line in (
        "near <- region in {South, West}",
        "hidden <- income is missing",
        "weekend <- on weekday in {Saturday, Sunday}",
    ):
        assert line in text.splitlines()
    (grown,) = (line for line in text.splitlines() if line.startswith("grown"))
    assert "plan >= plus" in grown
    assert " < age <= " in grown
    assert np.array_equal(fitted.predict(X), Y)
    assert fitted.n_features_in_ == 5


def test_the_paper_and_grown_lists_know_only_the_conditions_of_the_paper():
    X, Y = frame()
    for rule in SeCoClassifier(max_rules=8).fit(X, Y).rules_:
        for condition in rule.body:
            assert isinstance(condition, (NumericCondition, NominalCondition)) or hasattr(condition, "label")


def test_identifiers_give_no_sets():
    rng = np.random.default_rng(0)
    table = Table.from_array(np.arange(60.0)[:, None], [Feature("name", "nominal", tuple(map(str, range(60))))])
    truth = (rng.random((60, 2)) < 0.5).astype(np.uint8)
    assert DerivedTable(table, truth, np.ones(60, dtype=np.int64)).table is table


def test_columns_without_sets_or_missing_values_are_left_alone():
    table = Table.from_array(np.arange(12.0).reshape(6, 2))
    assert DerivedTable(table, np.ones((6, 1), dtype=np.uint8), np.ones(6, dtype=np.int64)).table is table
