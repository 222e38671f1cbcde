"""Soft targets of lists: out-of-fold estimates, synthetic examples, and evidence."""

import numpy as np
import scipy.sparse as sp

from polyrule.data.examples import LARGEST_TOTAL
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.soft_targets import targets
from polyrule.soft_targets.targets import SoftTargets, association, best_cutoff, table_is_text


def test_the_teacher_does_not_see_the_example_it_is_asked_about():
    """On labels of pure chance it must be no better than chance."""
    random = np.random.default_rng(1)
    truth = (random.random((300, 2)) < 0.5).astype(np.uint8)
    weights = np.ones(300, dtype=np.int64)
    soft = SoftTargets.make(Table.from_array(random.normal(size=(300, 5))), truth, weights, text=False)
    assert soft is not None
    estimates = soft.estimates[:300]
    assert (np.abs(association(estimates, truth, np.ones(300))) < 2).all()


def test_evidence_is_rare_for_noise_and_clear_for_signal():
    random = np.random.default_rng(0)
    scores = []
    for _ in range(300):
        truth, estimates = (random.random((100, 2)) < 0.2).astype(np.uint8), random.random((100, 2))
        scores += association(estimates, truth, np.ones(100)).tolist()
    assert abs(np.mean(scores)) < 0.15
    assert 0.9 < np.std(scores) < 1.1
    signal = (estimates > 0.8).astype(np.uint8)
    assert (association(estimates, signal, np.ones(100)) > 5).all()


def test_evidence_counts_examples_and_leaves_unknown_labels_out():
    random = np.random.default_rng(1)
    truth, estimates = (random.random((60, 3)) < 0.4).astype(np.uint8), random.random((60, 3))
    times = random.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), times)
    repeated = association(estimates[rows], truth[rows], np.ones(len(rows)))
    np.testing.assert_allclose(association(estimates, truth, times.astype(float)), repeated)
    partly = truth.copy()
    partly[:20] = UNKNOWN
    np.testing.assert_allclose(
        association(estimates, partly, np.ones(60)), association(estimates[20:], truth[20:], np.ones(40))
    )
    assert not association(np.full((9, 1), 0.25), np.ones((9, 1), np.uint8), np.ones(9)).any()


def test_tables_of_words_are_text_in_any_order():
    random = np.random.default_rng(0)
    words, numbers = random.random((1500, 60)) < 0.15, random.random((1500, 60))
    truth, weights = (random.random((1500, 2)) < 0.3).astype(np.uint8), np.ones(1500, dtype=np.int64)
    for columns, text in ((words, True), (numbers, False), (words[:, :20], False)):
        assert table_is_text(Table.from_array(columns.astype(float)), truth, weights) is text


def made(weights=None, *, rows: int = 90, text: bool = False, values=None) -> tuple[Table, np.ndarray, SoftTargets]:
    random = np.random.default_rng(3)
    X = random.normal(size=(rows, 4)).round(1)
    X[random.random(X.shape) < 0.05] = np.nan
    truth = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(np.uint8)
    table = Table.from_array(X if values is None else values(X))
    weights = np.ones(rows, dtype=np.int64) if weights is None else weights
    found = SoftTargets.make(table, truth, weights, text=text)
    assert found is not None
    return table, truth, found


def test_synthetic_examples_lie_between_real_ones_and_the_teacher_labels_them():
    table, truth, found = made()
    assert len(found.table) == 4 * 90
    assert np.array_equal(found.table.values[:90], table.values, equal_nan=True)
    assert np.array_equal(found.labels[:90], truth)
    for feature in range(4):
        assert set(np.nan_to_num(found.table.column(feature), nan=99)) == set(
            np.nan_to_num(table.column(feature), nan=99)
        )
    assert found.cutoff == best_cutoff(found.estimates[:90], truth, np.ones(90, dtype=np.int64))
    assert np.array_equal(found.labels[90:], found.estimates[90:] >= found.cutoff)
    seen = {row.tobytes() for row in table.values}
    assert sum(row.tobytes() not in seen for row in found.table.values[90:]) > 100, "they differ from the real ones"


def test_synthetic_examples_weigh_as_much_as_the_real_ones_and_never_too_much():
    weights = np.random.default_rng(0).integers(1, 5, 90)
    _, _, found = made(weights)
    assert np.array_equal(found.weights[:90], 3 * weights)
    assert found.weights[90:].sum() == 3 * weights.sum()
    heavy = weights * (LARGEST_TOTAL // int(weights.sum()))
    _, _, found = made(heavy)
    assert found.weights.sum() <= LARGEST_TOTAL
    assert np.allclose(found.weights[:90] / found.weights[:90].sum(), heavy / heavy.sum(), rtol=1e-6)


def test_words_and_many_examples_get_no_synthetic_ones(monkeypatch):
    assert len(made(text=True)[2].table) == 90
    monkeypatch.setattr(targets, "_MAX_EXAMPLES", 359)
    assert len(made()[2].table) == 90


def test_synthetic_examples_do_not_depend_on_the_order_or_on_how_values_are_stored():
    _, _, dense = made()
    _, _, sparse = made(values=sp.csr_array)
    assert np.array_equal(dense.table.values, sparse.table.values, equal_nan=True)
    order = np.random.default_rng(1).permutation(90)
    table, truth = dense.table[order], dense.labels[order]
    ones = np.ones(90, dtype=np.int64)
    shuffled = SoftTargets.make(table, truth, ones, text=False)
    assert shuffled is not None
    assert np.array_equal(shuffled.estimates[:90], dense.estimates[order])
    assert np.array_equal(shuffled.table.values[90:], dense.table.values[90:], equal_nan=True)


def with_unknown(*rows: int) -> tuple[np.ndarray, SoftTargets | None]:
    table, truth, _ = made()
    truth[list(rows), 0] = UNKNOWN
    ones = np.ones(90, dtype=np.int64)
    return truth, SoftTargets.make(table, truth, ones, text=False)


def test_a_teacher_says_of_examples_with_an_unknown_label_what_it_says_of_new_ones():
    rows = range(0, 90, 9)
    truth, found = with_unknown(*rows)
    assert found is not None
    assert not found.estimates[:90][truth == UNKNOWN].any(), "such a label counts nowhere"
    other = found.estimates[list(rows), 1]
    assert ((other >= found.cutoff) == (truth[list(rows), 1] == 1)).mean() >= 0.8
    assert np.array_equal(found.labels[:90], truth)
    assert (found.labels[90:] < UNKNOWN).all()
    assert found.cutoff == best_cutoff(found.estimates[:90], truth, np.ones(90, dtype=np.int64))


def test_no_teacher_is_asked_where_most_examples_have_an_unknown_label():
    assert with_unknown(*range(40))[1] is not None
    assert with_unknown(*range(46))[1] is None
