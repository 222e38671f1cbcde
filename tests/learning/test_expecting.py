"""What to expect of a rule: fair where counts flatter, and never worse than constants without saying so."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyrule import RuleListClassifier, datasets
from polyrule.data.examples import LARGEST_TOTAL, by_content
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.learning import expecting
from polyrule.learning.expecting import Taught, best_constants, best_cut, expected, teach, value_of
from polyrule.model.predict import predict

counts = st.integers(0, 500)


@given(counts, counts, st.integers(0, 12), st.none() | st.floats(0, 1))
def test_an_expectation_is_a_share_that_is_never_certain(right, wrong, conditions, opinion):
    told = None if opinion is None else opinion * (right + wrong)
    found = expected(right, wrong, conditions, told)
    assert 0 <= found < 1
    if right:
        assert found > 0


def test_what_was_not_searched_is_as_good_as_its_counts():
    assert expected(600, 398, 0, 100.0) == pytest.approx(0.601)


def test_the_more_was_searched_the_more_the_teacher_counts():
    found = [expected(60, 40, conditions, 40.0) for conditions in range(5)]
    assert found == sorted(found, reverse=True)
    assert 0.4 < found[-1] < found[0] < 0.61


def test_a_clear_sign_outweighs_a_teacher_who_missed_it():
    assert expected(35, 2, 2, 6.0) > 0.7
    assert expected(3, 0, 2, 0.5) < 0.4, "three examples are no clear sign"


def test_without_a_teacher_few_examples_and_many_conditions_are_doubted():
    shares = [expected(n, 0, 1, None) for n in (2, 4, 10, 100)]
    assert shares == sorted(shares)
    assert expected(40, 10, 3, None) < expected(40, 10, 1, None) < 0.8


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=5), st.booleans())
def test_the_best_constants_are_the_best_of_all_sets_of_labels(labels, hamming):
    present, every = np.array([p for p, _ in labels], float), np.array([p + a for p, a in labels], float)
    squared = None if hamming else Fraction(1)
    total = float(present.sum()), float(every.sum())
    values = [
        value_of(float(present[list(some)].sum()), float(every[list(some)].sum()), *total, squared)
        for size in range(len(labels) + 1)
        for some in combinations(range(len(labels)), size)
    ]
    assert best_constants(present, every, squared) == pytest.approx(max(values))


def test_expectations_are_fairer_than_training_counts():
    errors = []
    data = datasets.load("emotions", part="train")
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(data.Y))
        kept, aside = np.sort(order[: len(order) * 2 // 3]), np.sort(order[len(order) * 2 // 3 :])
        model = RuleListClassifier().fit(data[kept]).rules_
        setter, truth = predict(model, data[aside].X).setter, np.asarray(data[aside].Y)
        for number, rule in enumerate(model.rules):
            for literal in rule.head:
                mine = setter[:, literal.label] == number
                if mine.sum() >= 20:
                    share = truth[mine, literal.label].mean()
                    errors.append((literal.chance - share, literal.tp / (literal.tp + literal.fp) - share))
    fair, flattering = np.array(errors).T
    assert abs(fair.mean()) < 0.04 < flattering.mean()
    assert np.abs(fair).mean() < 0.75 * np.abs(flattering).mean()


def taught(weights=None, *, rows: int = 90, text: bool = False, values=None) -> tuple[Table, np.ndarray, Taught]:
    random = np.random.default_rng(3)
    X = random.normal(size=(rows, 4)).round(1)
    X[random.random(X.shape) < 0.05] = np.nan
    truth = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(np.uint8)
    table = Table.from_array(X if values is None else values(X))
    weights = np.ones(rows, dtype=np.int64) if weights is None else weights
    found = teach(table, truth, weights, by_content(table, truth, weights), text=text)
    assert found is not None
    return table, truth, found


def test_mixed_examples_lie_between_real_ones_and_the_teacher_labels_them():
    table, truth, found = taught()
    assert len(found.table) == 4 * 90
    assert np.array_equal(found.table.values[:90], table.values, equal_nan=True)
    assert np.array_equal(found.truth[:90], truth)
    for feature in range(4):
        assert set(np.nan_to_num(found.table.column(feature), nan=99)) == set(
            np.nan_to_num(table.column(feature), nan=99)
        )
    assert found.cut == best_cut(found.opinion[:90], truth, np.ones(90, dtype=np.int64))[0]
    assert np.array_equal(found.truth[90:], found.opinion[90:] >= found.cut)
    seen = {row.tobytes() for row in table.values}
    assert sum(row.tobytes() not in seen for row in found.table.values[90:]) > 100, "they differ from the real ones"


def test_mixed_examples_weigh_as_much_as_the_real_ones_and_never_too_much():
    weights = np.random.default_rng(0).integers(1, 5, 90)
    _, _, found = taught(weights)
    assert np.array_equal(found.weights[:90], 3 * weights)
    assert found.weights[90:].sum() == 3 * weights.sum()
    heavy = weights * (LARGEST_TOTAL // int(weights.sum()))
    _, _, found = taught(heavy)
    assert found.weights.sum() <= LARGEST_TOTAL
    assert np.allclose(found.weights[:90] / found.weights[:90].sum(), heavy / heavy.sum(), rtol=1e-6)


def test_words_and_many_examples_are_not_mixed(monkeypatch):
    assert len(taught(text=True)[2].table) == 90
    monkeypatch.setattr(expecting, "_MOST_EXAMPLES", 359)
    assert len(taught()[2].table) == 90


def test_mixed_examples_do_not_depend_on_the_order_or_on_how_values_are_stored():
    _, _, dense = taught()
    _, _, sparse = taught(values=sp.csr_array)
    assert np.array_equal(dense.table.values, sparse.table.values, equal_nan=True)
    order = np.random.default_rng(1).permutation(90)
    table, truth = dense.table[order], dense.truth[order]
    ones = np.ones(90, dtype=np.int64)
    shuffled = teach(table, truth, ones, by_content(table, truth, ones), text=False)
    assert shuffled is not None
    assert np.array_equal(shuffled.opinion[:90], dense.opinion[order])
    assert np.array_equal(shuffled.table.values[90:], dense.table.values[90:], equal_nan=True)


def with_unknown(*rows: int) -> tuple[np.ndarray, Taught | None]:
    table, truth, _ = taught()
    truth[list(rows), 0] = UNKNOWN
    ones = np.ones(90, dtype=np.int64)
    return truth, teach(table, truth, ones, by_content(table, truth, ones), text=False)


def test_a_teacher_says_of_examples_with_an_unknown_label_what_it_says_of_new_ones():
    rows = range(0, 90, 9)
    truth, found = with_unknown(*rows)
    assert found is not None
    assert not found.opinion[:90][truth == UNKNOWN].any(), "such a label counts nowhere"
    other = found.opinion[list(rows), 1]
    assert ((other >= found.cut) == (truth[list(rows), 1] == 1)).mean() >= 0.8
    assert np.array_equal(found.truth[:90], truth)
    assert (found.truth[90:] < UNKNOWN).all()
    assert found.cut == best_cut(found.opinion[:90], truth, np.ones(90, dtype=np.int64))[0]


def test_no_teacher_is_asked_where_most_examples_have_an_unknown_label():
    assert with_unknown(*range(40))[1] is not None
    assert with_unknown(*range(46))[1] is None


def test_an_unknown_label_does_not_make_a_list_long():
    data = datasets.load("emotions", part="train")
    whole, holed = data.Y.astype(float), data.Y.astype(float)
    holed[5, 0] = np.nan
    one, other = (RuleListClassifier().fit(data.X, Y).rules_ for Y in (whole, holed))
    assert len(other) <= len(one) + 8
    assert not other.verify(data.X, holed, learn=False).findings
