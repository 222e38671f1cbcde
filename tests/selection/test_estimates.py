"""Expected precision of rules: unbiased where counts are optimistic."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyrule import RuleListClassifier, datasets
from polyrule.model.predict import predict
from polyrule.selection.estimates import best_constant_value, expected_precision, list_value

counts = st.integers(0, 500)


@given(counts, counts, st.integers(0, 12), st.none() | st.floats(0, 1))
def test_an_expectation_is_a_share_that_is_never_certain(right, wrong, conditions, opinion):
    told = None if opinion is None else opinion * (right + wrong)
    found = expected_precision(right, wrong, conditions, told)
    assert 0 <= found < 1
    if right:
        assert found > 0


def test_what_was_not_searched_is_as_good_as_its_counts():
    assert expected_precision(600, 398, 0, 100.0) == pytest.approx(0.601)


def test_the_more_was_searched_the_more_the_teacher_counts():
    found = [expected_precision(60, 40, conditions, 40.0) for conditions in range(5)]
    assert found == sorted(found, reverse=True)
    assert 0.4 < found[-1] < found[0] < 0.61


def test_a_clear_sign_outweighs_a_teacher_who_missed_it():
    assert expected_precision(35, 2, 2, 6.0) > 0.7
    assert expected_precision(3, 0, 2, 0.5) < 0.4, "three examples are no clear sign"


def test_without_a_teacher_few_examples_and_many_conditions_are_doubted():
    shares = [expected_precision(n, 0, 1, None) for n in (2, 4, 10, 100)]
    assert shares == sorted(shares)
    assert expected_precision(40, 10, 3, None) < expected_precision(40, 10, 1, None) < 0.8


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=5), st.booleans())
def test_the_best_constants_are_the_best_of_all_sets_of_labels(labels, hamming):
    present, every = np.array([p for p, _ in labels], float), np.array([p + a for p, a in labels], float)
    squared = None if hamming else Fraction(1)
    total = float(present.sum()), float(every.sum())
    values = [
        list_value(float(present[list(some)].sum()), float(every[list(some)].sum()), *total, squared)
        for size in range(len(labels) + 1)
        for some in combinations(range(len(labels)), size)
    ]
    assert best_constant_value(present, every, squared) == pytest.approx(max(values))


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


def test_an_unknown_label_does_not_make_a_list_long():
    data = datasets.load("emotions", part="train")
    whole, holed = data.Y.astype(float), data.Y.astype(float)
    holed[5, 0] = np.nan
    one, other = (RuleListClassifier().fit(data.X, Y).rules_ for Y in (whole, holed))
    assert len(other) <= len(one) + 8
    assert not other.verify(data.X, holed, learn=False).findings
