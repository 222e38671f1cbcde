"""Counting with bits gives what running the rules one by one gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule.data import Dataset
from polyrule.evaluation.scores import score
from polyrule.report import ensemble_summary
from polyrule.report.run import run
from polyrule.studio import tally as bits
from polyrule.studio.setup import dense
from polyrule.studio.tally import Covers, tally
from polyrule.studio.workbench import Workbench


@given(st.lists(st.booleans(), max_size=300), st.integers(0, 5), st.integers(0, 5))
def test_bits_hold_what_was_packed(mask, start, most):
    given_mask = np.array(mask, dtype=bool)
    words = bits.pack(given_mask)
    assert bits.unpack(words, len(mask)).tolist() == mask
    assert bits.count(words) == sum(mask)
    places = [place for place, held in enumerate(mask) if held]
    assert bits.first(words, len(mask), start, most) == (places[start : start + most], len(places))


def test_old_numpy_counts_the_same(monkeypatch):
    words = bits.pack(np.random.default_rng(0).random((3, 200)) < 0.4)
    new = bits.counts(words)
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert bits.counts(words).tolist() == new.tolist()


@given(st.integers(0, 10_000), st.integers(0, 15), st.booleans(), st.floats(0, 0.4))
def test_a_tally_is_what_the_report_counts(seed, rules, full, unknown):
    from dataclasses import replace

    model = replace(random_model(seed, rules=rules), full=full)
    data = random_data(model, 75, seed)
    truth = dense(data)
    truth[np.random.default_rng(seed).random(truth.shape) < unknown] = 2
    slow, fast = run(model, data.X, truth), tally(model, Covers(data.X, truth))
    for name in ("covers", "sets", "right", "wrong", "labels"):
        assert getattr(fast, name).tolist() == getattr(slow, name).tolist(), name
    assert [bits.count(words) for words in fast.unset] == slow.unset.tolist()
    if (truth != 2).any():
        scored = score(Dataset(data.X, truth, data.label_names).Y, slow.labels)
        for name, value in fast.scores.items():
            assert value == pytest.approx(scored[name], abs=1e-12), name


@pytest.mark.parametrize("kind", ["threshold", "per-label", "subset", "expected-f1"])
@pytest.mark.parametrize("seed", range(4))
def test_an_ensemble_is_counted_as_the_report_counts_it(seed, kind):
    model = random_ensemble(seed, kind, rules=6)
    train, test = random_data(model, 60, seed), random_data(model, 40, seed + 1)
    bench = Workbench(train, test)
    bench.tallies(model.reweigh(1, model.rules[1].head[0].label, 9.5))  # what is kept of one model serves another
    for part, found, expected in zip(
        bench.parts, bench.tallies(model), ensemble_summary.predictions(model, bench.parts), strict=True
    ):
        assert found.labels.tolist() == model.predict(part.table).tolist()
        assert found.covers.tolist() == expected.covers.tolist()
        assert (found.right.tolist(), found.wrong.tolist()) == (expected.right.tolist(), expected.wrong.tolist())


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
    covers = run(model, part.table, truth).covers
    assert [len(rows("rule", rule=number)) for number in range(len(model))] == covers.tolist()
