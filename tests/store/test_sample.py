"""Samples of bounded size: the same whoever holds the rows, in whatever order and blocks; models are counted on all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.worlds import random_table

from polyrule import RuleEnsembleClassifier, RuleListClassifier, pack
from polyrule.data import Dataset, Table
from polyrule.data.examples import content_hashes
from polyrule.errors import OptionError
from polyrule.model.counting import list_counts
from polyrule.selection import pipeline
from polyrule.selection.grow import GrownBodies
from polyrule.store import Packed, pack_table
from polyrule.store.packed_table import unpack
from polyrule.store.sample import drawn_rows, sample_of

LABELS = ("a", "b", "c")
LEARNERS = {
    "list": RuleListClassifier(max_samples=60, max_rules=3),
    "groups": RuleListClassifier(max_samples=60, teacher=None),
    "ensemble": RuleEnsembleClassifier(max_samples=60, max_rules=3, teacher=None, cv=2),
}


def examples(seed: int, rows: int = 200) -> tuple[Table, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = random_table(rng, rows)
    first, second = table.column(0), table.column(1)
    truth = np.stack([first > np.nanmedian(first), second > 0, rng.random(rows) < 0.4], axis=1)
    return table, (truth ^ (rng.random(truth.shape) < 0.05)).astype(np.uint8), rng.integers(1, 4, rows)


def content(packed: Packed) -> list[tuple[object, ...]]:
    table, truth, weights = unpack(packed)
    rows = zip(table.values.tolist(), truth.tolist(), weights.tolist(), strict=True)
    return sorted((tuple(row), tuple(labels), weight) for row, labels, weight in rows)


@settings(max_examples=60, deadline=None)
@given(
    hashes=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=300, unique=True),
    most=st.integers(1, 400),
    seed=st.integers(0, 99),
)
def test_drawing_by_parts_is_drawing_from_the_whole_order(hashes, most, seed) -> None:
    weights = np.random.default_rng(seed).integers(1, 5, len(hashes))
    order = np.argsort(np.array(hashes, dtype=np.uint64))
    line = np.repeat(order, weights[order])  # every row as often as it weighs
    drawn = [line[number * len(line) // most] for number in range(most)]
    rows, times = drawn_rows(np.array(hashes, dtype=np.uint64), weights, most)
    assert np.array_equal(np.repeat(rows, times), np.sort(drawn))


@settings(max_examples=30, deadline=None)
@given(
    hashes=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    most=st.integers(1, 60),
    seed=st.integers(0, 99),
)
def test_rows_are_drawn_in_proportion_to_their_weight(hashes, most, seed) -> None:
    weights = np.random.default_rng(seed).integers(1, 50, len(hashes))
    rows, times = drawn_rows(np.array(hashes, dtype=np.uint64), weights, most)
    assert times.sum() == most
    assert (np.diff(rows) > 0).all()
    # what is drawn of all rows of one hash is their share, but for less than two draws at its ends
    for content in set(hashes):
        mine = np.array(hashes) == content
        share = weights[mine].sum() * most / weights.sum()
        assert abs(times[mine[rows]].sum() - share) < 1 + 1e-9


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), block_rows=st.sampled_from([None, 7, 64]), weighted=st.booleans())
def test_a_sample_does_not_depend_on_order_or_blocks(seed, block_rows, weighted) -> None:
    table, truth, weights = examples(seed)
    given = weights if weighted else None
    expected = content(sample_of(pack_table(table, truth, given, LABELS), 50))
    order = np.random.default_rng(seed).permutation(len(table))
    shuffled = pack_table(table[order], truth[order], weights[order] if weighted else None, LABELS, 255, block_rows)
    for threads in (1, 3):
        assert content(sample_of(shuffled, 50, threads)) == expected


def test_hashes_of_sparse_and_dense_rows_are_alike() -> None:
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, (30, 4)) * rng.random((30, 4)).round(1)
    truth = rng.integers(0, 2, (30, 2)).astype(np.uint8)
    expected = content_hashes(Table.from_array(dense), truth, np.ones(30))
    assert len(set(expected.tolist())) > 20
    np.testing.assert_array_equal(content_hashes(Table.from_array(sp.csc_array(dense)), truth, np.ones(30)), expected)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_memory_bins_blocks_and_stores_give_one_model(name, weighted, tmp_path) -> None:
    learner = LEARNERS[name]
    table, truth, weights = examples(3)
    given = weights if weighted else None
    expected = str(learner.fit(table, truth, given, label_names=LABELS).model_)
    assert expected != str(learner.set_params(max_samples=None).fit(table, truth, given, label_names=LABELS).model_)
    learner.set_params(max_samples=60)
    assert str(learner.fit(pack_table(table, truth, given, LABELS, 255, 17)).model_) == expected
    data = Dataset(table, truth, LABELS, weights=None if given is None else given.astype(float))
    assert str(learner.fit(pack(data, out=tmp_path / "s", block_rows=50)).model_) == expected
    if name != "ensemble":
        binned = type(learner)(**learner.get_params() | {"max_bins": 255})
        assert str(binned.fit(table, truth, given, label_names=LABELS).model_) == expected
    order = np.random.default_rng(0).permutation(len(table))
    shuffled = learner.fit(table[order], truth[order], None if given is None else given[order], label_names=LABELS)
    assert str(shuffled.model_) == expected


@pytest.mark.parametrize("weighted", [False, True])
def test_a_list_is_counted_on_all_examples(weighted) -> None:
    table, truth, weights = examples(5)
    given = weights / 2 if weighted else np.ones(len(table))
    model = LEARNERS["list"].fit(table, truth, given, label_names=LABELS).model_
    again = model.recount(Dataset(table, truth, LABELS, weights=given))
    for mine, counted in zip(model.rules, again.rules, strict=True):
        assert [(one.tp, one.fp) for one in mine.head] == [(one.tp, one.fp) for one in counted.head]
        assert mine.coverage == counted.coverage
        assert all(one.chance is not None for one in mine.head)
    assert model.default_counts == again.default_counts
    assert model.verify(Dataset(table, truth, LABELS, weights=given)).ok


def test_an_interrupt_before_the_first_body_leaves_an_empty_list_of_a_sample_too(monkeypatch) -> None:
    monkeypatch.setattr(pipeline, "grow", lambda problem: GrownBodies((), "interrupted"))
    X = np.random.default_rng(0).random((300, 2))
    learner = RuleListClassifier(teacher=None, max_samples=100)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X, (X > 0.5).astype(int))
    assert len(learner.rules_) == 0
    assert [sum(pair) for pair in learner.rules_.default_counts] == [300, 300]


def test_an_ensemble_is_counted_on_all_examples() -> None:
    table, truth, _ = examples(6)
    model = LEARNERS["ensemble"].fit(table, truth, label_names=LABELS).model_
    assert [rule.coverage for rule in model.rules] == model.fired(table).sum(axis=0).tolist()
    assert model.verify(Dataset(table, truth, LABELS)).ok


def test_rules_that_were_there_before_keep_their_counts() -> None:
    table, truth, _ = examples(7)
    start = RuleListClassifier(max_rules=1, teacher=None).fit(table, truth, label_names=LABELS).model_
    model = LEARNERS["groups"].fit(table, truth, label_names=LABELS, start=start).model_
    assert model.rules[0] == start.rules[0]
    counts = list_counts(model, table, truth, np.ones(len(table), dtype=np.int64))
    assert model.default_counts == tuple(zip(*counts[:2, 0].tolist(), strict=True))


def test_no_threshold_lies_inside_a_bin_that_the_sample_lacks() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.integers(0, 3, 300) * 100.0, np.arange(101.0, 200.0, 5)])[:, None]
    truth = (values > 150).astype(np.uint8)
    for bins in (6, 255):
        packed = pack_table(Table.from_array(values), truth, None, ("a",), bins)
        for learner in (RuleListClassifier(max_samples=30, teacher=None), LEARNERS["ensemble"]):
            model = learner.fit(packed).model_
            assert all(all(packed.neighbours(0, np.array([rule.body[0].threshold]))) for rule in model.rules)


@pytest.mark.parametrize("weight", [0.01, 1.0, 20.0])
def test_least_coverage_is_that_on_all_examples(weight: float) -> None:
    """Each draw of the sample weighs 1, be the examples light or heavy."""
    values = np.arange(400.0)[:, None]
    truth = np.column_stack([values >= 360, values >= 200]).astype(np.uint8)  # of a tenth, and of half
    learner = RuleListClassifier(max_samples=100, teacher=None, min_coverage=100 * weight)
    model = learner.fit(Table.from_array(values), truth, sample_weight=np.full(400, weight)).model_
    assert min(rule.coverage for rule in model.rules) >= 100 * weight


def test_mistakes_are_told() -> None:
    table, truth, _ = examples(1, 70)
    for most in (0, True, 2.5):
        with pytest.raises(OptionError, match="max_samples must be None or a whole number"):
            RuleListClassifier(max_samples=most).fit(table, truth)
    with pytest.raises(OptionError, match="pass a number of folds, or max_samples=None"):
        RuleEnsembleClassifier(max_samples=60, cv=[([0, 1, 2], [3, 4])]).fit(table, truth)
