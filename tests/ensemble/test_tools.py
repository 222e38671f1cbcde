"""Tools for ensembles: smallest flips against brute force, editing, refitting, verifying, printing with few digits."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.ensemble.worlds import hostile_features, random_ensemble

from polyrule import RuleEnsembleClassifier
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.data import Dataset, Feature, Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.ensemble.decision import OutOfFoldScores, tune
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.model import NumericCondition
from polyrule.model.region_grid import RegionGrid

KINDS = ("threshold", "per-label", "subset", "expected-f1")


def brute_force(model: RuleEnsemble, row: np.ndarray, label: int) -> tuple[int, int] | None:
    """Features changed and steps of the smallest flip, by trying every cell of every feature."""
    cells = RegionGrid(model, row).regions
    features = list(cells)
    old = model.predict(Table.from_array(row[None, :], model.features))[0, label]
    costs, tried = [], []
    for choice in product(*(range(cells[j].everything.bit_length()) for j in features)):
        changed = row.copy()
        steps = 0
        for j, cell in zip(features, choice, strict=True):
            if cell != cells[j].present:
                changed[j] = cells[j].value(cell)
                steps += cells[j].steps(cell)
        costs.append((sum(c != cells[j].present for j, c in zip(features, choice, strict=True)), steps))
        tried.append(changed)
    new = model.predict(Table.from_array(np.array(tried), model.features))[:, label]
    flips = [cost for cost, value in zip(costs, new, strict=True) if value != old]
    return min(flips) if flips else None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_flip_is_the_one_brute_force_finds(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_ensemble(rng, kind, labels=3, rules=5)
    row = np.array([rng.choice([-2.0, 0.2, 2.5]), rng.choice([0.0, 2.0, np.nan]), rng.integers(3), rng.integers(2)])
    for label in range(3):
        found = model.smallest_flip(row, label)
        expected = brute_force(model, row, label)
        assert found.exact
        assert (found.changes is None) == (expected is None)
        if found.changes is not None:
            assert (len(found.changes), found.steps) == expected
            changed = row.copy()
            for change in found.changes:
                changed[change.feature] = change.new
            flipped = model.predict(Table.from_array(changed[None, :], model.features))[0, label]
            assert flipped == found.becomes != found.was


def test_fixed_features_stay_and_unknown_labels_are_refused() -> None:
    model = random_ensemble(np.random.default_rng(0), "threshold")
    row = np.array([0.2, 0.0, 1.0, 0.0])
    names = [feature.name for feature in hostile_features()]
    assert model.smallest_flip(row, 0, fixed=names).changes is None
    with pytest.raises(ModelError, match="no label"):
        model.smallest_flip(row, "nonsense")


def data(rows: int = 120) -> Dataset:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(rows, 3)).round(2)
    truth = np.stack([values[:, 0] > 0, values[:, 0] + values[:, 1] > 0.3], axis=1)
    noisy = (truth ^ (rng.random(truth.shape) < 0.1)).astype(np.uint8)
    return Dataset(Table.from_array(values, [Feature(c) for c in "abc"]), noisy, ("x", "y"))


def by_hand() -> RuleEnsemble:
    rules = (
        WeightedRule((Entry(0, 1.23456), Entry(1, 0.5)), (NumericCondition(0, ">", 0.123456),)),
        WeightedRule((Entry(1, -0.7),), (NumericCondition(1, "<=", 0.2),)),
    )
    return RuleEnsemble(rules, data().features, ("x", "y"), (-0.5, 0.25), Decision("threshold", (0.0, 0.0)))


def test_rules_and_weights_can_be_changed() -> None:
    model = by_hand()
    assert len(model.remove(0)) == 1
    assert len(model) == 2
    assert model.reweigh(1, "x", 2).rules[1].head == (Entry(0, 2.0), Entry(1, -0.7))
    assert model.reweigh(0, "y", 0).rules[0].head == (Entry(0, 1.23456),)
    with pytest.raises(ModelError, match="remove it"):
        model.reweigh(1, "y", 0)
    with pytest.raises(ModelError, match="no rule 2"):
        model.remove(2)
    with pytest.raises(ModelError, match="finite"):
        model.reweigh(0, "x", float("nan"))
    with pytest.raises(ModelError, match="finite"):
        model.reweigh(0, "x", "1")


def test_refitted_weights_are_those_of_logistic_regression_and_verify() -> None:
    examples = data()
    model = by_hand().refit(examples, ridge=2.0)
    fired = model.fired(examples.X)
    # By Newton's method: the default one may end with a warning where rounding stops its line search.
    other = LogisticRegression(C=0.5, solver="newton-cholesky").fit(fired, examples.Y[:, 1])
    assert [rule.head[-1].weight for rule in model] == pytest.approx(other.coef_[0].tolist(), abs=1e-3)
    found = model.verify(examples)
    assert found.ok
    assert found.slope < 1e-7
    assert "best ones" in str(found)
    worse = model.reweigh(0, "x", 9.0)
    assert worse.verify(examples).slope is None  # changed by hand: no optimum is stated
    claimed = by_hand().refit(examples, ridge=2.0)
    claimed.info["weights"]["ridge"] = 20.0
    assert not claimed.verify(examples).ok


def test_labels_may_stand_beside_the_examples() -> None:
    examples = data()
    X, y = np.asarray(examples.X), examples.Y
    assert by_hand().refit(X, y).rules == by_hand().refit(examples).rules
    assert by_hand().recount(X, y).rules == by_hand().recount(examples).rules
    assert by_hand().tune_decision(X, y).decision == by_hand().tune_decision(examples).decision
    with pytest.raises(OptionError, match="this needs labels"):
        by_hand().refit(X)


def test_kept_rules_keep_their_weights() -> None:
    examples = data()
    model = by_hand().refit(examples, keep=[0])
    assert model.rules[0].head == by_hand().rules[0].head
    assert model.rules[1].head != by_hand().rules[1].head
    assert model.verify(examples).ok


def test_learned_weights_verify_as_an_optimum_without_a_teacher_and_by_learning_anew_with_one() -> None:
    examples = data()
    plain = RuleEnsembleClassifier(max_rules=3, teacher=None, cv=2).fit(examples).model_
    found = plain.verify(examples)
    assert found.ok
    assert found.slope is not None
    other = Dataset(examples.X[:100], examples.Y[:100], examples.label_names)
    assert not plain.verify(other).ok
    taught = RuleEnsembleClassifier(max_rules=3, cv=2).fit(examples).model_
    found = taught.verify(examples)
    assert found.ok
    assert found.slope is None
    assert not found.unchecked
    assert set(taught.info["made_with"]) >= {"numpy", "scipy", "scikit-learn"}


@pytest.mark.parametrize("name", ["refit", "tune_decision"])
def test_examples_of_weight_zero_count_nowhere(name: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2))
    Y = (X + rng.normal(size=(40, 2)) > 0).astype(np.uint8)
    model = RuleEnsembleClassifier(max_rules=3, teacher=None, cv=0).fit(X, Y).model_
    data = Dataset(Table.from_array(X), Y, model.label_names, weights=np.arange(40.0) % 5)
    kept = data[data.weights > 0]
    one, other = getattr(model, name)(data), getattr(model, name)(kept)
    assert (str(one), one.info) == (str(other), other.info)
    few = replace(data, weights=(np.arange(40) == 2) * 1.0)  # two of three folds have none
    assert getattr(model, name)(few).predict(X).shape == Y.shape
    with pytest.raises(DataError, match="zero for every example"):
        getattr(model, name)(replace(data, weights=np.zeros(40)))


def test_few_digits_for_reading() -> None:
    text = with_threshold_intervals(by_hand(), data().X).format(digits=2)
    assert "x +1.2" in text
    assert "a > 0.12" in text
    assert "0.123456" in by_hand().format()


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_model_can_decide_in_another_way(kind) -> None:
    examples = data()
    model = by_hand()
    tuned = model.tune_decision(examples, decision=kind)
    assert tuned.decision.kind == kind
    assert (tuned.rules, tuned.intercepts) == (model.rules, model.intercepts)
    evidence = OutOfFoldScores(
        model.scores(examples.X), np.asarray(examples.Y), np.ones(120), np.zeros(120, dtype=np.int64)
    )
    assert tuned.decision == tune(evidence, kind, "micro-f1")
    told = replace(model, info={"monotone": {"a": "up"}})
    with pytest.raises(OptionError, match="chooses whole label sets" if kind in KINDS[2:] else "optimize must be"):
        told.tune_decision(examples, decision=kind, optimize="recall")
