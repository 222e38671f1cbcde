from __future__ import annotations

import itertools
import math
import pickle
import re
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, fbeta_score, jaccard_score, matthews_corrcoef

from polyrule import measures
from polyrule.errors import MeasureError
from polyrule.measures import FunctionMeasure, RatioMeasure
from polyrule.measures.association import SPECS

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
    ("added_value", F(1, 4)),
    ("kappa", F(2, 5)),
    ("yule_q", F(5, 7)),
    ("lift", F(3, 2)),
    ("certainty", F(1, 2)),
    ("subset", F(7, 10)),
    ("tp/(tp+fp+0.5*fn)", F(3, 5)),
]


# Roots, by their squares for the same counts.
ROOTS = {"matthews": F(10 * 10, 4 * 5 * 5 * 6), "klosgen": F(10 * 10, 4 * 10**3), "cosine": F(3 * 3, 4 * 5)}


@pytest.mark.parametrize(("name", "value"), ROWS)
def test_one_value_of_every_measure(name, value):
    measure = measures.get(name)
    assert measure.value(3, 1, 4, 2) == value
    assert measure.value(0, 0, 0, 0) == (F(1, 2) if name == "laplace" else F(1, 4) if name == "m2:0.25" else 0)
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert hash(measures.get(name)) == hash(measure)
    assert measures.get(measure) is measure


def test_every_registered_measure_has_a_row():
    assert set(measures.available()) <= {name for name, _ in ROWS} | set(ROOTS)


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
@settings(max_examples=30)
@given(counts=st.lists(COUNTS, min_size=1, max_size=8))
def test_arrays_of_values_are_the_single_values(name, counts):
    measure = measures.get(name)
    columns = np.array(counts).T.reshape(4, -1, 1)
    expected = [[float(measure.value(*row))] for row in counts]
    assert measure.values(*columns) == pytest.approx(np.array(expected), abs=1e-12)


ODD = ("tp/tp", "fn/tp", "(tn+fn)/(tp+fp)", "(tp-fp)/(tp+fn)")


@pytest.mark.parametrize("name", [*measures.available(), "m3:0.1", "tp - fp", "(2*tp+tn)/(1+tp+fp+tn+3*fn)", *ODD])
@settings(max_examples=40)
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
        ((5, (0, 1, 1, 0, 0)), "needs five coefficients"),
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
        ("", "unknown measure ''; known: precision"),
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


@pytest.mark.parametrize("name", ROOTS)
@given(left=COUNTS, right=COUNTS)
def test_roots_compare_as_their_squares_do(name, left, right):
    measure = measures.get(name)
    assert math.isclose(measure.value(3, 1, 4, 2) ** 2, ROOTS[name])

    def signed_square(tp, fp, tn, fn):
        total, top = tp + fp + tn + fn, tp if name == "cosine" else tp * tn - fp * fn
        square = {
            "matthews": (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn),
            "klosgen": (tp + fp) * total**3,
            "cosine": (tp + fp) * (tp + fn),
        }[name]
        return F(top * abs(top), square) if square else F(0)

    a, b = signed_square(*left), signed_square(*right)
    x, y = measure.value(*left), measure.value(*right)
    assert ((a > b) - (a < b)) == ((x > y) - (x < y))


PRECISION, PRIOR, TOTAL = "tp/(tp+fp)", "(tp+fn)/(tp+fp+tn+fn)", "(tp+fp+tn+fn)"
CHANCE = f"((tp+fp)*(tp+fn) + (tn+fp)*(tn+fn)) / {TOTAL}**2"
#: The formula of every name, as docs/measures.md has it, typed.
TYPED = {
    "precision": PRECISION,
    "recall": "tp/(tp+fn)",
    "hamming": f"(tp+tn)/{TOTAL}",
    "jaccard": "tp/(tp+fp+fn)",
    "laplace": "(tp+1)/(tp+fp+2)",
    "wracc": f"(tp*tn - fp*fn)/{TOTAL}**2",
    "matthews": "(tp*tn - fp*fn) / sqrt((tp+fp)*(tp+fn)*(tn+fp)*(tn+fn))",
    "rate_difference": "tp/(tp+fn) - fp/(fp+tn)",
    "klosgen": f"sqrt((tp+fp)/{TOTAL}) * ({PRECISION} - {PRIOR})",
    "klosgen0": f"((tp+fp)/{TOTAL})**0 * ({PRECISION} - {PRIOR})",
    "klosgen1": f"(tp+fp)/{TOTAL} * ({PRECISION} - {PRIOR})",
    "added_value": f"{PRECISION} - {PRIOR}",
    "cosine": "tp / sqrt((tp+fp)*(tp+fn))",
    "kappa": f"((tp+tn)/{TOTAL} - {CHANCE}) / (1 - {CHANCE})",
    "yule_q": "(tp*tn - fp*fn) / (tp*tn + fp*fn)",
    "lift": f"{PRECISION} / ({PRIOR})",
    "certainty": f"({PRECISION} - {PRIOR}) / (1 - {PRIOR})",
    "subset": f"(tp+tn)/{TOTAL}",
    "f1": f"2 * {PRECISION} * (tp/(tp+fn)) / ({PRECISION} + tp/(tp+fn))",
    "f0.5": f"1.25 * {PRECISION} * (tp/(tp+fn)) / (0.25 * {PRECISION} + tp/(tp+fn))",
    "f2": f"5 * {PRECISION} * (tp/(tp+fn)) / (4 * {PRECISION} + tp/(tp+fn))",
    "m2": f"(tp + 2*{PRIOR}) / (tp+fp+2)",
    "m0": f"(tp + 0*{PRIOR}) / (tp+fp+0)",
    "m3:0.25": "(tp + 3*0.25) / (tp+fp+3)",
}


def test_every_name_has_a_typed_formula():
    assert {*measures.available(), *SPECS} <= {*TYPED}


@pytest.mark.parametrize("name", TYPED)
def test_a_name_and_its_formula_agree_at_all_small_counts(name):
    named, typed = measures.get(name), measures.get(TYPED[name])
    for counts in itertools.product(range(4), repeat=4):
        expected = typed.value(*counts)
        if named.rounded:
            assert float(named.value(*counts)) == pytest.approx(float(expected), abs=1e-15), counts
        else:
            assert named.value(*counts) == expected, counts
        assert named.values(*counts) == pytest.approx(float(expected), abs=1e-15), counts


@pytest.mark.parametrize("name", SPECS)
def test_a_description_is_the_formula(name):
    text = measures.get(name).description
    for symbol, plain in (("²", "**2"), ("√", "sqrt"), ("·", "*"), ("N", "(TP+FP+TN+FN)")):
        text = re.sub("(?<![TF])N", plain, text) if symbol == "N" else text.replace(symbol, plain)
    typed = measures.get(text)
    for counts in itertools.product(range(3), repeat=4):
        assert float(measures.get(name).value(*counts)) == pytest.approx(float(typed.value(*counts)), abs=1e-15)


@given(COUNTS)
def test_associations_are_what_they_are_said_to_be(counts):
    """By shares and by other people's formulas; infinite odds and convictions are 1 here."""
    tp, fp, tn, fn = counts
    total = sum(counts)
    if tp == 0:
        return
    x, s, precision = F(tp + fp, total), F(tp + fn, total), F(tp, tp + fp)

    def value(name):
        return measures.get(name).value(*counts)

    assert value("lift") == precision / s
    assert value("added_value") == precision - s
    assert value("leverage") == x * (precision - s)
    assert float(value("klosgen")) == pytest.approx(math.sqrt(x) * float(precision - s), abs=1e-12)
    assert float(value("cosine")) == pytest.approx(math.sqrt(precision * F(tp, tp + fn)), abs=1e-12)
    if 0 < s < 1:
        assert value("informedness") == F(tp, tp + fn) - F(fp, fp + tn)
        truth, said = np.repeat([1, 0, 0, 1], counts), np.repeat([1, 1, 0, 0], counts)
        assert float(value("kappa")) == pytest.approx(cohen_kappa_score(truth, said), abs=1e-12)
    if fp and s < 1:
        assert value("conviction") == 1 - 1 / ((1 - s) / (1 - precision))
    if fp and fn:
        odds = F(tp * tn, fp * fn)
        assert value("odds_ratio") == (odds - 1) / (odds + 1)
    elif tn:
        assert value("odds_ratio") == 1
        assert fp or value("conviction") == 1


@given(COUNTS, COUNTS)
def test_no_association_exceeds_its_bound(one, other):
    low, high = tuple(map(min, one, other)), tuple(map(max, one, other))
    for name in SPECS:
        bound = measures.get(name).upper_bound(low, high)
        assert bound is not None
        for counts in itertools.product(*zip(low, high, strict=True)):
            assert measures.get(name).value(*counts) <= bound, (name, counts)


def test_klosgen_has_three_exponents():
    assert measures.get("klosgen") == measures.get("Klösgen") == measures.get("klosgen:0.5") == measures.klosgen()
    assert measures.get("klosgen0").name == "added_value"
    assert measures.get("klosgen1").name == "wracc"
    with pytest.raises(MeasureError, match=r"the exponent must be 0, 0.5 or 1, got 0.3; for another one write"):
        measures.get("klosgen0.3")
