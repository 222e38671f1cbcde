"""Counting with bits gives what running the rules one by one gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule.data import Dataset
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import packed_bits, unpacked_bits
from polyrule.evaluation.scores import score
from polyrule.model import GroupCondition, LabelCondition
from polyrule.report import counts as bits
from polyrule.report.counts import PartCovers, count_predictions


@given(st.lists(st.booleans(), max_size=300), st.integers(0, 5), st.integers(0, 5))
def test_bits_hold_what_was_packed(mask, start, most):
    given_mask = np.array(mask, dtype=bool)
    words = packed_bits(given_mask)
    assert unpacked_bits(words, len(mask)).tolist() == mask
    assert bits.count(words) == sum(mask)
    places = [place for place, held in enumerate(mask) if held]
    assert bits.first(words, len(mask), start, most) == (places[start : start + most], len(places))


def test_old_numpy_counts_the_same(monkeypatch):
    words = packed_bits(np.random.default_rng(0).random((3, 200)) < 0.4)
    new = bits.counts(words)
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert bits.counts(words).tolist() == new.tolist()


def slow_run(model, row):
    """One example, straight from the definition: which rules covered it, and which labels each newly set."""
    state, covered = {}, []
    for number, rule in enumerate(model.rules):
        if not all(holds(condition, row, state) for condition in rule.body):
            continue
        wanted = {literal.label: literal.value for literal in rule.head}
        if model.full:
            wanted = {label: wanted.get(label, 0) for label in range(len(model.label_names))}
        new = {label: value for label, value in wanted.items() if label not in state}
        state |= new
        covered.append((number, new))
        if rule.stop and new:
            break
    return covered


def holds(condition, row, state):
    if isinstance(condition, LabelCondition):
        return state.get(condition.label) == condition.value
    if isinstance(condition, GroupCondition):
        return sum(holds(member, row, state) for member in condition.members) >= condition.least
    value = row[condition.feature]
    if hasattr(condition, "threshold"):
        return value <= condition.threshold if condition.op == "<=" else value > condition.threshold
    if hasattr(condition, "missing"):
        return np.isnan(value) == condition.missing
    return value in condition.values if hasattr(condition, "values") else value == condition.value


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_the_definition(seed):
    model = random_model(seed, full=seed % 4 == 3)
    data = random_data(model, 120, seed, sparse=seed % 3 == 1)
    truth = np.array(data.Y)
    if seed % 2:
        truth[np.random.default_rng(seed).random(truth.shape) < 0.2] = UNKNOWN
    result = count_predictions(model, PartCovers(data.X, truth))
    covers, sets = [0] * len(model), [0] * len(model)
    right, wrong = np.zeros((len(model), truth.shape[1]), int), np.zeros((len(model), truth.shape[1]), int)
    for i, row in enumerate(np.asarray(data.X)):
        for number, new in slow_run(model, row):
            covers[number] += 1
            sets[number] += bool(new)
            for label, value in new.items():
                if truth[i, label] != UNKNOWN:
                    (right if value == truth[i, label] else wrong)[number, label] += 1
    assert result.covers.tolist() == covers
    assert result.sets.tolist() == sets
    assert (result.right == right).all()
    assert (result.wrong == wrong).all()
    assert result.labels.tolist() == model.predict(data.X).tolist()
    scored = score(Dataset(data.X, truth, data.label_names).Y, result.labels)
    for name, value in result.scores.items():
        assert value == pytest.approx(scored[name], abs=1e-12), name


@pytest.mark.parametrize("kind", ["threshold", "per-label", "subset", "expected-f1"])
@pytest.mark.parametrize("seed", range(4))
def test_an_ensemble_is_counted_by_the_signs_of_its_weights(seed, kind):
    model = random_ensemble(seed, kind, rules=6)
    data = random_data(model, 60, seed)
    truth = np.array(data.Y)
    truth[np.random.default_rng(seed).random(truth.shape) < 0.2] = UNKNOWN
    found, fired = count_predictions(model, PartCovers(data.X, truth)), model.fired(data.X)
    assert found.labels.tolist() == model.predict(data.X).tolist()
    assert found.covers.tolist() == found.sets.tolist() == fired.sum(axis=0).tolist()
    for number, rule in enumerate(model.rules):
        for entry in rule.head:
            seen = truth[fired[:, number], entry.label]
            assert found.right[number, entry.label] == (seen == int(entry.weight > 0)).sum()
            assert found.wrong[number, entry.label] == (seen == int(entry.weight <= 0)).sum()


def test_an_empty_list_sets_nothing():
    model = random_model(1, rules=0)
    data = random_data(model, 9, 1)
    result = count_predictions(model, PartCovers(data.X, np.asarray(data.Y)))
    assert result.covers.shape == (0,)
    assert bits.counts(result.unset).tolist() == [9] * 5
