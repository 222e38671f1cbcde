from __future__ import annotations

import math
import pickle
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score, jaccard_score, matthews_corrcoef

from polyrule import measures
from polyrule.errors import MeasureError
from polyrule.measures import FunctionMeasure, RatioMeasure

COUNTS = st.tuples(*[st.integers(0, 12)] * 4)

# One row per measure: name, value for TP=3, FP=1, TN=4, FN=2.
ROWS = [
    ("precision", F(3, 4)),
    ("recall", F(3, 5)),
    ("f1", F(2, 3)),
    ("f0.5", F(5, 7)),
    ("f2", F(5, 8)),
    ("f0", F(3, 4)),
    ("finf", F(3, 5)),
    ("hamming", F(7, 10)),
    ("jaccard", F(1, 2)),
    ("laplace", F(2, 3)),
    ("m2", F(2, 3)),
    ("m2:0.25", F(7, 12)),
    ("m0", F(3, 4)),
    ("wracc", F(1, 10)),
    ("rate_difference", F(2, 5)),
    ("subset", F(7, 10)),
    ("tp/(tp+fp+0.5*fn)", F(3, 5)),
]


@pytest.mark.parametrize(("name", "value"), ROWS)
def test_one_value_of_every_measure(name, value):
    measure = measures.get(name)
    assert measure.value(3, 1, 4, 2) == value
    assert measure.value(0, 0, 0, 0) == (F(1, 2) if name == "laplace" else F(1, 4) if name == "m2:0.25" else 0)
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert hash(measures.get(name)) == hash(measure)
    assert measures.get(measure) is measure


def test_every_registered_measure_has_a_row():
    assert set(measures.available()) <= {name for name, _ in ROWS} | {"matthews"}


@given(COUNTS)
def test_values_agree_with_scikit_learn(counts):
    tp, fp, tn, fn = counts
    truth = np.repeat([1, 0, 0, 1], counts)
    said = np.repeat([1, 1, 0, 0], counts)
    if len(truth) == 0:
        return
    expected = {
        "f0.5": fbeta_score(truth, said, beta=0.5, zero_division=0),
        "jaccard": jaccard_score(truth, said, zero_division=0),
        "hamming": (truth == said).mean(),
    }
    if len(np.unique(truth)) == 2:
        expected["matthews"] = matthews_corrcoef(truth, said)
    for name, value in expected.items():
        assert float(measures.get(name).value(tp, fp, tn, fn)) == pytest.approx(value, abs=1e-12)


@given(COUNTS, COUNTS)
def test_matthews_compares_as_the_true_roots_do(left, right):
    def signed_square(tp, fp, tn, fn):
        square = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        top = tp * tn - fp * fn
        return F(top * abs(top), square) if square else F(0)

    measure = measures.matthews()
    exact, rounded = (signed_square(*left), signed_square(*right)), (measure.value(*left), measure.value(*right))
    assert (exact[0] < exact[1]) == (rounded[0] < rounded[1])
    assert (exact[0] == exact[1]) == (rounded[0] == rounded[1])


@pytest.mark.parametrize("name", [*measures.available(), "sqrt(tp)/(1+fp)", "(1+2*tp-3*fp)/(1+tp+fn)"])
@given(counts=st.lists(COUNTS, min_size=1, max_size=8))
def test_arrays_of_values_are_the_single_values(name, counts):
    measure = measures.get(name)
    columns = np.array(counts).T.reshape(4, -1, 1)
    expected = [[float(measure.value(*row))] for row in counts]
    assert measure.values(*columns) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("name", [*measures.available(), "m3:0.1", "tp - fp", "(2*tp+tn)/(1+tp+fp+tn+3*fn)"])
@given(st.tuples(*[st.tuples(st.integers(0, 6), st.integers(0, 4))] * 4), st.randoms(use_true_random=False))
def test_no_value_exceeds_the_upper_bound(name, box, random):
    low, high = tuple(x for x, _ in box), tuple(x + y for x, y in box)
    bound = measures.get(name).upper_bound(low, high)
    counts = [random.randint(a, b) for a, b in zip(low, high, strict=True)]
    assert bound is None or measures.get(name).value(*counts) <= bound


def test_coefficients_become_coprime_integers():
    rows = RatioMeasure("x", (0, "1.5", 0, 0, 0), (0, F(3, 2), 0.1, 0, np.float64(0.2))).rows
    assert rows == ((0, 15, 0, 0, 0), (0, 15, 1, 0, 2))
    assert repr(RatioMeasure("x", (1, -1, 0, 0, 2), (0, 1, 0, 0, 0))) == "RatioMeasure('x', (1 - TP + 2·FN) / TP)"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (((0, 1, 0, 0), (0, 1, 1, 0, 0)), "needs five coefficients"),
        (("01000", (0, 1, 1, 0, 0)), "needs five coefficients"),
        (((0, math.nan, 0, 0, 0), (0, 1, 1, 0, 0)), "not a finite number"),
        (((0, "one", 0, 0, 0), (0, 1, 1, 0, 0)), "'one' in the numerator"),
        (((0, "1/0", 0, 0, 0), (0, 1, 1, 0, 0)), "not a finite number"),
        (((0, True, 0, 0, 0), (0, 1, 1, 0, 0)), "not a finite number"),
        (((0, 1, 0, 0, 0), (0, 0, 0, 0, 0)), "denominator is zero everywhere"),
    ],
)
def test_bad_coefficients(rows, words):
    with pytest.raises(MeasureError, match=words):
        RatioMeasure("bad", *rows)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("precison", "did you mean 'precision'"),
        ("f-1", "beta must not be negative"),
        ("m-2", "m must not be negative"),
        ("m2:1.5", "prior must be between 0 and 1"),
        ("", "unknown measure ''"),
        ("x" * 10_000, r"unknown measure 'xxx.*\.\.\.'"),
        ("f1; import os", "unknown measure"),
    ],
)
def test_names_that_mean_nothing(name, words):
    with pytest.raises(MeasureError, match=words):
        measures.get(name)


@pytest.mark.parametrize("beta", [-1, math.nan, "x", None, -math.inf])
def test_bad_beta(beta):
    with pytest.raises(MeasureError, match="beta must"):
        measures.f(beta)


def test_not_a_measure():
    for thing in (None, 3, measures.FunctionMeasure):
        with pytest.raises(MeasureError, match="a measure is a name, an expression, a function of"):
            measures.get(thing)


def test_a_bare_function_is_a_measure():
    def gain(tp, fp, tn, fn):
        return tp - 2 * fp

    assert measures.get(gain).name == "gain"
    assert measures.get(gain).value(3, 1, 0, 0) == 1


def test_spelling_is_forgiving():
    assert measures.get(" F0.5 ").name == "f0.5"
    assert measures.get("Rate-Difference").name == "rate_difference"
    assert measures.get("mcc") == measures.matthews()
    assert measures.get("subset accuracy") == measures.subset()
    assert measures.f(math.inf) == measures.recall()
    assert measures.f(0).rows == measures.precision().rows


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda tp, fp, tn, fn: tp / (tp + fp), "returned nan"),
        (lambda tp, fp, tn, fn: tp.sum(), r"returned shape \(\)"),
        (lambda tp, fp: tp, "failed: TypeError"),
        (lambda tp, fp, tn, fn: 1 / 0, "failed: ZeroDivisionError"),
        ("tp", "cannot be called"),
    ],
)
def test_functions_that_are_no_measures(function, words):
    with pytest.raises(MeasureError, match=words):
        FunctionMeasure("bad", function)


def test_functions_compare_by_identity_and_give_exact_doubles():
    def tenth(tp, fp, tn, fn):
        return 0.1 * tp

    measure = FunctionMeasure("tenth", tenth)
    assert measure.value(1, 0, 0, 0) == F(0.1)
    assert measure != FunctionMeasure("tenth", tenth)
