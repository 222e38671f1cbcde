import numpy as np
import pytest
from tests.report.worlds import random_data, random_model

from polyrule.data.labels import UNKNOWN
from polyrule.model import GroupCondition, LabelCondition
from polyrule.report.run import run


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
    result = run(model, data.X, truth)
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


def test_an_empty_list_sets_nothing():
    model = random_model(1, rules=0)
    data = random_data(model, 9, 1)
    result = run(model, data.X, np.asarray(data.Y))
    assert result.covers.shape == (0,)
    assert result.unset.tolist() == [9] * 5
