"""Rules for text test words that are there: the search keeps to it, and the estimator knows text when it sees it."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.test_gain import fixed, needs_native
from tests.ensemble.worlds import random_table

from polyrule import RuleEnsembleClassifier
from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import ABOVE, AT_MOST, CATEGORY, BinTest, holds
from polyrule.binning.text import looks_like_text
from polyrule.conditions import GroupCondition, NominalCondition, NumericCondition, flatten
from polyrule.data.table import Table
from polyrule.ensemble.gain import Gradients, best_conditions, reference_best_conditions
from polyrule.ensemble.options import Examples, FitOptions
from polyrule.utils.compute import Compute


def world(seed: int, labels: int = 4) -> tuple[BinnedTable, Gradients, np.ndarray]:
    """Any features, and for each of them a value that no condition may hold for, or none."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, 40)
    binning = Binning.of(table, 64)
    binned = BinnedTable.of(binning, binning.columns(table))
    forbidden = np.array([rng.integers(-1, count) for count in binned.count], dtype=np.int32)
    chance = rng.random((40, labels))
    slopes = fixed(chance - rng.integers(0, 2, chance.shape), chance * (1 - chance), 1.0, float(rng.random() < 0.5) / 3)
    chosen = np.flatnonzero(rng.random(40) < 0.7).astype(np.int32)
    return dataclasses.replace(binned, forbidden=forbidden), slopes, chosen


def conditions_on(binned: BinnedTable, feature: int) -> list[BinTest]:
    count = int(binned.count[feature])
    if binned.nominal[feature]:
        return [BinTest(feature, CATEGORY, b) for b in range(count)]
    return [BinTest(feature, kind, b) for b in range(count - 1) for kind in (AT_MOST, ABOVE)]


def obvious(binned: BinnedTable, rows: np.ndarray, slopes: Gradients) -> list[float]:
    """Try every condition that does not hold for the forbidden value, and differs from the one before it."""
    gains = []
    for feature in range(len(binned.count)):
        best, seen = -1.0, set()
        for test in conditions_on(binned, feature):
            covered = binned.covered(test, rows)
            known = (test.kind, covered.tobytes())
            new = known not in seen
            seen.add(known)
            forbidden = binned.forbidden[feature]
            if forbidden >= 0 and holds(test, np.array([forbidden]), int(binned.count[feature]))[0]:
                continue
            if new and 0 < len(covered) < len(rows):
                best = max(best, slopes.gain(slopes.sums(covered)))
        gains.append(best)
    return gains


@given(st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_the_search_finds_the_best_condition_that_does_not_hold_for_the_forbidden_value(seed) -> None:
    binned, slopes, rows = world(seed)
    found = reference_best_conditions(binned, rows, slopes)
    gains = np.where(found.gain < 0, -1.0, found.gain)  # negative where there is no condition
    assert gains == pytest.approx(obvious(binned, rows, slopes), abs=1e-9)
    for feature in np.flatnonzero(found.gain >= 0).tolist():
        test = BinTest(feature, int(found.kind[feature]), int(found.bin[feature]))
        forbidden = binned.forbidden[feature]
        assert forbidden < 0 or not holds(test, np.array([forbidden]), int(binned.count[feature]))[0]


@needs_native
@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=80, deadline=None)
def test_native_finds_the_same(seed, everything) -> None:
    binned, slopes, rows = world(seed)
    if everything:
        rows = np.arange(binned.rows, dtype=np.int32)
    reference = reference_best_conditions(binned, rows, slopes)
    native = best_conditions(binned, rows, replace(slopes, compute=Compute(2, "native")))
    for name in ("gain", "bin", "kind"):
        assert np.array_equal(getattr(native, name), getattr(reference, name)), name


def words(rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Texts of a few words each; a label is there if one of its two words is."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, 80)) < 0.06).astype(float)
    Y = np.column_stack([X[:, 2 * label : 2 * label + 2].any(axis=1) for label in range(6)]).astype(int)
    return X, Y


def operators(model) -> set[str]:
    return {test.op for rule in model.rules for test in flatten(rule.body) if isinstance(test, NumericCondition)}


@pytest.mark.parametrize("teacher", ["forest", None])
@pytest.mark.parametrize("sparse", [False, True])
def test_rules_for_text_test_what_is_there(teacher, sparse) -> None:
    X, Y = words()
    given = sp.csr_array(X) if sparse else X
    learner = RuleEnsembleClassifier(6, teacher=teacher).fit(given, Y)
    assert operators(learner.model_) == {">"}
    assert (learner.predict(given) == Y).mean() > 0.99


def test_a_usual_category_is_not_tested_either() -> None:
    X, Y = words()
    frame = pd.DataFrame({f"w{j}": np.where(X[:, j] > 0, "yes", "no") for j in range(80)}, dtype="category")
    learner = RuleEnsembleClassifier(12, teacher=None).fit(frame, Y)
    tests = [test for rule in learner.model_.rules for test in flatten(rule.body)]
    assert tests
    assert all(isinstance(test, NominalCondition) for test in tests)
    assert {learner.features_[test.feature].categories[test.value] for test in tests} == {"yes"}


def test_of_a_common_word_presence_is_tested_too() -> None:
    X, Y = words()
    X[:, 20] = np.random.default_rng(5).random(300) < 0.7
    Y[:, 5] = X[:, 20]
    model = RuleEnsembleClassifier(12, teacher=None).fit(X, Y).model_
    assert {test.op for rule in model.rules for test in flatten(rule.body) if test.feature == 20} == {">"}
    frame = pd.DataFrame(X.astype(int).astype(str), dtype="category")
    learner = RuleEnsembleClassifier(12, teacher=None).fit(frame, Y)
    told = {t.value for rule in learner.model_.rules for t in flatten(rule.body) if t.feature == 20}
    assert {learner.features_[20].categories[value] for value in told} == {"1"}


@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"points": 5}, {"time_limit": 60}])
def test_words_that_stand_for_each_other_become_one_rule(options) -> None:
    rng = np.random.default_rng(2)
    X = (rng.random((300, 80)) < 0.06).astype(float)
    Y = np.column_stack([X[:, 8 * label : 8 * label + 8].any(axis=1) for label in range(3)]).astype(int)
    few = RuleEnsembleClassifier(3, teacher=None, **options).fit(X, Y)  # 24 words tell
    groups = [condition for rule in few.model_.rules for condition in rule.body]
    assert all(isinstance(group, GroupCondition) and group.least == 1 for group in groups)
    told = {frozenset(member.feature for member in group.members) for group in groups}
    assert told == {frozenset(range(8 * label, 8 * label + 8)) for label in range(3)}
    assert (few.predict(X) == Y).mean() > 0.99
    alone = RuleEnsembleClassifier(3, teacher=None, max_alternatives=0, **options).fit(X, Y)
    assert (alone.predict(X) == Y).mean() < 0.9


def test_rare_words_join_a_common_one() -> None:
    rng = np.random.default_rng(3)
    X = (rng.random((600, 80)) < 0.03).astype(float)
    X[:, 0] = rng.random(600) < 0.4
    X[:, 1:5] = rng.random((600, 4)) < 0.01
    Y = np.column_stack([X[:, :5].any(axis=1), X[:, 10]]).astype(int)
    model = RuleEnsembleClassifier(2, teacher=None).fit(X, Y).model_
    words = sorted(({test.feature for test in flatten(rule.body)} for rule in model.rules), key=min)
    assert {0} < words[0] <= set(range(5))  # a word of few examples may be missing in a subsample
    assert len(words[0]) >= 4
    assert words[1] == {10}


def test_the_ridge_suits_the_table_unless_it_is_given() -> None:
    tables = Table.from_array(np.arange(20.0).reshape(-1, 2)), Table.from_array(words()[0])
    for ridge in (None, 7.0):
        examples = [Examples(table, np.zeros((len(table), 1), np.uint8), np.ones(len(table))) for table in tables]
        options = [FitOptions(ridge=ridge).for_examples(some) for some in examples]
        assert [o.text for o in options] == [o.build.words.any() for o in options] == [False, True]
        ridges = [o.build.ridge for o in options]
        assert ridges == ([2.0, 0.15] if ridge is None else [7.0, 7.0])


def test_few_features_or_many_values_are_no_text() -> None:
    rng = np.random.default_rng(0)
    assert not looks_like_text(Table.from_array(rng.random((50, 80))))
    assert not looks_like_text(Table.from_array(words()[0][:, :40]))
    assert looks_like_text(Table.from_array(words(5000)[0]))
