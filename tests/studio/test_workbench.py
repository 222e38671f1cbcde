"""What the examples of a project say about a model, and about a change of it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule.model.predict import fired_rows
from polyrule.report import counts as bits
from polyrule.studio.workbench import Workbench


@pytest.mark.parametrize("kind", ["threshold", "per-label", "subset", "expected-f1"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_of_one_ensemble_serves_another(seed, kind):
    model = random_ensemble(seed, kind, rules=6)
    train, test = random_data(model, 60, seed), random_data(model, 40, seed + 1)
    bench = Workbench(train, test)
    bench.tallies(model.reweigh(1, model.rules[1].head[0].label, 9.5))
    for part, found in zip(bench.parts, bench.tallies(model), strict=True):
        assert found.labels.tolist() == model.predict(part.table).tolist()


def test_an_effect_is_the_difference_of_two_tallies():
    model = random_model(3, rules=8)
    train, test = random_data(model, 90, 1), random_data(model, 50, 2)
    bench = Workbench(train, test)
    after = model.remove(0)
    for part, effect in zip(bench.parts, bench.effect(model, after), strict=True):
        old, new = model.predict(part.table), after.predict(part.table)
        was, now = old != part.truth, new != part.truth
        assert effect["fixed"] == int((was & ~now).sum())
        assert effect["broken"] == int((~was & now).sum())
        assert effect["rows"] == int((old != new).any(axis=1).sum())


def test_filters_mean_what_they_say():
    model = random_model(5, rules=8)
    train, test = random_data(model, 90, 1), random_data(model, 50, 2)
    bench = Workbench(train, test)
    part, said = bench.parts[1], model.predict(test.X)
    truth = part.truth

    def rows(kind, **more):
        return set(bits.first(bench.select(model, 1, kind, **more), len(part), 0, 1000)[0])

    assert rows("all") == set(range(len(part)))
    assert rows("wrong") == set(np.flatnonzero((said != truth).any(axis=1)).tolist())
    assert rows("missed", label=1) == set(np.flatnonzero((truth[:, 1] == 1) & (said[:, 1] == 0)).tolist())
    assert rows("extra", label=2) == set(np.flatnonzero((truth[:, 2] == 0) & (said[:, 2] == 1)).tolist())
    covers = [len(fired) for fired in fired_rows(model, part.table)]
    assert [len(rows("rule", rule=number)) for number in range(len(model))] == covers
