"""Claims about measures are tested, never only declared: every verdict against brute force over small worlds."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from polyrule import measures
from polyrule.errors import OptionError
from polyrule.measures import AVERAGINGS, SCOPES, FunctionMeasure, RatioMeasure
from polyrule.measures.base import Case
from polyrule.measures.trial import find_witness

EXTRA = [
    RatioMeasure("tp - fp", (0, 1, -1, 0, 0), (1, 0, 0, 0, 0)),
    RatioMeasure("odd", (1, 2, -3, 1, 0), (1, 1, 2, 0, 3)),
    RatioMeasure("accuracy with constants", (1, 1, 0, 1, 0), (3, 1, 1, 1, 1)),
    RatioMeasure("uneven", (0, 2, 0, 1, 0), (0, 2, 2, 1, 1)),
    measures.m_estimate(3, 0.25),
]
EVERY = [measures.get(name) for name in measures.available()] + EXTRA

# kinds for micro, label, example, macro; D decomposable, A anti-monotone, x neither; nothing set, both signs,
# every literal with a true positive; "?" marks what is neither proved nor refuted.
TABLE = {
    "precision": {"head": "D D D D", "all": "D A D A", "full": "A A A A"},
    "recall": {"head": "D D A D", "all": "A A A A", "full": "A A x A"},
    "f0.5": {"head": "D D x D", "all": "A A x A", "full": "A A x A"},
    "f1": {"head": "D D x D", "all": "A A x A", "full": "A A x A"},
    "f2": {"head": "D D x D", "all": "A A x A", "full": "A A x A"},
    "hamming": {"head": "D D D D", "all": "A A A A", "full": "A A A A"},
    "jaccard": {"head": "D D D D", "all": "A A x A", "full": "A A A A"},
    "matthews": {"head": "x D D D", "all": "x A x D", "full": "A A D D"},
    "wracc": {"head": "D D D D", "all": "x A x D", "full": "A A D D"},
    "laplace": {"head": "A D A D", "all": "A A A A", "full": "A A A A"},
    "m2": {"head": "x D D D", "all": "A A A A", "full": "A A A A"},
    "rate_difference": {"head": "x D x D", "all": "x A x A", "full": "A A x A"},
    "klosgen": {"head": "D D D D", "all": "x A x D", "full": "A A D D"},
    "added_value": {"head": "D D D D", "all": "x A x A", "full": "A A D A"},
    "cosine": {"head": "A D x D", "all": "A? A x A", "full": "A A x A"},
    "kappa": {"head": "D D D D", "all": "x A x D", "full": "A A D D"},
    "yule_q": {"head": "A? D D D", "all": "x A x D", "full": "A A D D"},
    "lift": {"head": "D D A? D", "all": "x A x A", "full": "A A x A"},
    "certainty": {"head": "A D A D", "all": "x A x D", "full": "A A D D"},
    "tp - fp": {"head": "A D A D", "all": "A A A A", "full": "A A A A"},
    "subset": {"head": "A A A A", "all": "x x x x", "full": "x x x x"},
}
SHORT = {"decomposable": "D", "anti-monotone": "A", "neither": "x"}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("scope", SCOPES)
def test_verdicts_are_those_of_the_published_table(name, scope):
    found = []
    for averaging in AVERAGINGS:
        p = measures.get(name).properties(averaging, scope)
        found.append(SHORT[p.kind] + ("" if p.proved or p.kind == "neither" else "?"))
    assert " ".join(found) == TABLE[name][scope]


def test_the_table_is_complete():
    assert set(measures.available()) <= set(TABLE)


@pytest.mark.parametrize("measure", EVERY, ids=lambda m: m.name)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("nothing_set", [True, False], ids=["nothing set", "labels set"])
def test_brute_force_agrees_with_every_verdict(measure, scope, nothing_set):
    for averaging in AVERAGINGS:
        for negative in (True, False):
            case = Case(measure, averaging, scope, negative, nothing_set)
            p = measure.properties(averaging, scope, negative, nothing_set)
            if p.kind == "neither":
                assert p.witness is not None
                assert p.witness.claim == "anti-monotone"
                low, fallen, top = p.witness.values
                assert fallen < low <= top
                continue
            claim = "decomposable" if p.kind == "decomposable" else "anti-monotone"
            witness, worlds = find_witness(case, claim, budget=500)
            assert witness is None, f"{p} is refuted by {witness}"
            assert worlds >= 500
            # What is proved with labels set must hold before any is set, too.
            if not nothing_set:
                assert find_witness(replace(case, nothing_set=True), claim, budget=150)[0] is None


@pytest.mark.parametrize(
    ("measure", "averaging", "scope", "negative"),
    [
        ("f1", "example", "head", True),
        ("f1", "example", "all", True),
        ("f1", "example", "full", True),
        ("matthews", "micro", "head", False),
        ("rate_difference", "micro", "head", False),
        ("m2", "micro", "head", True),
        ("subset", "micro", "all", True),
        ("subset", "micro", "full", True),
        ("jaccard", "example", "all", True),
        ("wracc", "micro", "all", True),
    ],
)
def test_the_unsafe_are_shown_unsafe(measure, averaging, scope, negative):
    p = measures.get(measure).properties(averaging, scope, negative)
    assert p.kind == "neither"
    assert "antimonotone" not in p.searches
    assert "decomposable" not in p.searches


@pytest.mark.parametrize(
    ("measure", "world"),
    [
        ("matthews", "{2}=-0.3563 > {¬1,2}=-0.3572 but {¬1,2,3}=-0.3539"),
        ("rate_difference", "{2}=-9/28 > {¬1,2}=-28/85 but {¬1,2,3}=-23/72"),
    ],
)
def test_both_signs_do_not_make_a_correlation_anti_monotone(measure, world):
    for nothing_set in (True, False):
        assert measures.get(measure).properties(nothing_set=nothing_set).kind == "neither"
    assert world in str(measures.get(measure).properties().witness)


def test_auto_never_takes_what_is_only_not_refuted():
    p = FunctionMeasure("root", lambda tp, fp, tn, fn: np.sqrt(tp) - fp / 4).properties()
    assert (p.kind, p.proved, p.best_search) == ("anti-monotone", False, "bound")
    assert "antimonotone" not in p.searches


def test_facts_that_need_unset_labels():
    for name in ("precision", "hamming", "jaccard"):
        assert measures.get(name).properties("example").fact == "E"
        assert measures.get(name).properties("example", nothing_set=False).kind == "neither"
    assert measures.hamming().properties("micro", "all").kind == "anti-monotone"
    later = measures.hamming().properties("micro", "all", nothing_set=False)
    assert (later.kind, later.best_search) == ("neither", "ratio")  # pruning is unsafe, Dinkelbach stays exact


def test_user_measures_get_their_facts_from_the_coefficients():
    assert RatioMeasure("mine", (0, 3, 0, 0, 0), (0, 3, 1, 0, 2)).properties().fact == "A"
    assert RatioMeasure("mine", (1, 3, 0, 0, 0), (2, 3, 1, 0, 2)).properties().fact == "B"
    negative_part = RatioMeasure("mine", (0, 1, 0, 0, 0), (0, 1, -1, 0, 0)).properties()
    assert not negative_part.proved
    assert "ratio" not in negative_part.searches


def test_functions_are_proved_only_label_wise():
    measure = FunctionMeasure("square", lambda tp, fp, tn, fn: tp * tp - fp)
    assert measure.properties("label").fact == "C"
    assert not measure.properties("micro").proved


def test_witnesses_print_as_in_the_literature_and_travel():
    witness = measures.f(1).properties("example").witness
    assert str(witness) == "covered 0011,1100: {1,3}=2/3 > {1,2,3}=13/20 but {1,2,3,4}=2/3"
    assert pickle.loads(pickle.dumps(witness)) == witness
    later = measures.precision().properties("example", nothing_set=False).witness
    assert "[" in str(later)
    assert "set already" in str(later)


def test_unknown_averaging_and_scope():
    with pytest.raises(OptionError, match="averaging must be one of"):
        measures.f(1).properties("weighted")
    with pytest.raises(OptionError, match="scope must be one of"):
        measures.f(1).properties("micro", "some")
