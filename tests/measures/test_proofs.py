"""Proofs by machine: stored verdicts hold, wrong ones are refused, and what is proved is true in every small world."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import json
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measures.random_expressions import STORED, expressions

from polyrule import measures
from polyrule.measures.base import Case
from polyrule.measures.definition import head_value
from polyrule.measures.grammar import tree
from polyrule.measures.proofs import known_proof, prove_measure, recheck
from polyrule.measures.proofs.lemmas import cases, find, holds
from polyrule.measures.proofs.normal_form import is_monotone, one_way
from polyrule.measures.proofs.polynomial import MOST_WORK, Polynomial, effort, spend
from polyrule.measures.proofs.prove import certified, order_of
from polyrule.measures.trial import find_witness

RECORDS = json.loads(STORED.read_text(encoding="utf-8"))
HAS_Z3 = importlib.util.find_spec("z3") is not None
PROVED = [
    ("tp**2 / (tp + fp)**2", "decomposable"),
    ("tp / (tp + fp) + tn * 0", "decomposable"),
    ("(tp + 1) / (tp + fp + 2) * 3", "anti-monotone"),
    ("tp * tn", "anti-monotone"),
    ("tp / fp", "anti-monotone"),
    ("tp**2 / (tp + fp)", "anti-monotone"),
]


@pytest.fixture
def few_worlds(monkeypatch):
    """Give up on counterexamples early, where none is to be found anyway."""
    for name in ("QUICK", "LARGE", "THOROUGH"):
        monkeypatch.setattr(f"polyrule.measures.proofs.prove.{name}", 200)


def test_the_fifty_expressions_are_those_of_the_generator():
    assert [record["expression"] for record in RECORDS] == expressions()


def test_four_in_five_are_settled():
    assert sum(record["verdict"] != "open" for record in RECORDS) >= 40


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["expression"])
def test_stored_verdicts_hold(record):
    measure = measures.get(record["expression"])
    if record["verdict"] in ("decomposable", "anti-monotone"):
        proof = record["proof"]
        assert proof["kind"] == record["verdict"]
        if proof["by"] == "certificate":
            assert recheck(measure, proof) == []
        assert find_witness(Case(measure, nothing_set=False), proof["kind"], 150)[0] is None
    elif record["verdict"] == "neither":
        world = record["world"]
        truth = [[int(x) for x in row] for row in world["truth"]]
        assigned = [[0 if x == "1" else -1 for x in row] for row in world["set"]]
        heads = [tuple(map(tuple, head)) for head in world["heads"]]

        def value(head):
            return head_value(measure, "micro", "head", truth, world["covered"], assigned, [1] * len(truth), head)

        small, fallen, top = heads
        assert set(small) < set(fallen) < set(top)
        assert value(small) > value(fallen)
        assert all(value(top) >= value(head) for head in _heads(truth, world["covered"], assigned))


def _heads(truth, covered, assigned):
    """Return every head whose literals have a true positive."""
    labels = range(len(truth[0]))
    usable = {
        label: [
            value
            for value in (0, 1)
            if any(
                inside and free[label] == -1 and row[label] == value
                for row, inside, free in zip(truth, covered, assigned, strict=True)
            )
        ]
        for label in labels
    }
    heads = [()]
    for label in labels:
        heads += [(*head, (label, value)) for head in heads for value in usable[label]]
    return heads[1:]


@pytest.mark.parametrize(("expression", "kind"), PROVED)
def test_certificates_are_found_checked_and_true(expression, kind):
    measure = measures.get(expression)
    proof = known_proof(measure, nothing_set=False, negative=True)
    assert (proof.kind, proof.certificate is not None) == (kind, True)
    stored = json.loads(json.dumps(proof.to_dict(measure)))
    assert recheck(measure, stored) == []
    assert find_witness(Case(measure, nothing_set=False), kind, 500)[0] is None
    assert find_witness(Case(measure), kind, 500)[0] is None


def test_margins_help_while_nothing_is_set():
    wracc = measures.get("(tp*tn - fp*fn) / (tp+fp+tn+fn)**2")
    assert known_proof(wracc, nothing_set=False, negative=True) is None
    proof = known_proof(wracc, nothing_set=True, negative=True)
    assert (proof.kind, proof.nothing_set) == ("decomposable", True)
    assert recheck(wracc, proof.to_dict(wracc)) == []
    claimed_for_all = {**proof.to_dict(wracc), "nothing_set": False}
    assert recheck(wracc, claimed_for_all) != []


def test_a_changed_certificate_is_refused():
    measure = measures.get("tp**2 / (tp + fp)**2")
    stored = known_proof(measure, False, True).to_dict(measure)
    assert recheck(measures.get("tp**2 / (tp + fp + fn**2)"), stored) != []
    for change in ("coefficient", "sign", "case", "lemma", "name"):
        broken = copy.deepcopy(stored)
        multipliers = broken["cases"][0]["multipliers"]
        name = next(iter(multipliers))
        monomial = next(iter(multipliers[name]))
        if change == "coefficient":
            multipliers[name][monomial] = str(Fraction(multipliers[name][monomial]) + 1)
        elif change == "sign":
            broken["cases"][0]["multipliers"] = {n: {k: f"-{c}" for k, c in m.items()} for n, m in multipliers.items()}
        elif change == "case":
            broken["cases"].pop()
        elif change == "lemma":
            broken["lemma"] = "fall"
        else:
            multipliers[name]["w.tp"] = "1"
        assert recheck(measure, broken) != [], change


@pytest.mark.parametrize(
    "stored",
    [
        3,
        [],
        {},
        {"lemma": "between"},
        {"kind": "decomposable", "lemma": "between", "nothing_set": False, "by": "certificate", "cases": 3},
        {"kind": "decomposable", "lemma": "between", "nothing_set": False, "by": "certificate", "cases": [[], []]},
        {
            "kind": "decomposable",
            "lemma": "between",
            "nothing_set": False,
            "by": "certificate",
            "cases": [{"multipliers": {"f(x+y) - f(x)": {"1": "1e999999999"}}}] * 2,
        },
    ],
)
def test_a_malformed_proof_is_refused(stored):
    assert recheck(measures.get("tp**2 / (tp + fp)**2"), stored) != []


def test_roots_are_squared():
    measure = measures.get("sqrt(tp / (tp + fp))")
    assert measure.properties().fact == "L"
    assert measure.properties().best_search == "decomposable"
    assert measure.value(1, 1, 0, 0) ** 2 == pytest.approx(0.5, abs=1e-70)
    assert measure.value(4, 5, 0, 0) == Fraction(2, 3)
    # as doubles both were 0.9999999999999999
    many = measure.value(10**17, 2, 0, 0), measure.value(10**17, 3, 0, 0)
    assert many[0] > many[1]
    assert not measures.get("sqrt(tp) - fp").exact
    assert not measures.get("sqrt(tp - fp + tn)").exact  # may have no value at all


def test_a_refutation_shows_its_world():
    result = prove_measure(measures.get("min(tp, tn) / (tp + fp + tn + fn)"), nothing_set=True)
    assert result.status == "neither"
    assert str(result.witness) == "covered 111, uncovered 011,001: {2}=1/3 > {2,3}=1/6 but {1,2,3}=1/3"


@pytest.mark.usefixtures("few_worlds")
def test_functions_are_honestly_open():
    result = prove_measure(measures.FunctionMeasure("root", lambda tp, fp, tn, fn: np.sqrt(tp) - fp), seconds=0.5)
    assert (result.status, result.open_because) == ("open", "only expressions of tp, fp, tn and fn can be proved")


@pytest.mark.skipif(not HAS_Z3, reason="z3 is an extra")
@pytest.mark.usefixtures("few_worlds")
def test_z3_proves_what_has_no_certificate():
    measure = measures.get("max(tp - fp, 0)")
    result = prove_measure(measure)
    assert result.proof.certificate is None
    assert result.status == "anti-monotone"
    assert recheck(measure, result.proof.to_dict(measure)) == []
    assert measure.properties(nothing_set=False).fact == "L"  # from now on it is known in this process


@pytest.mark.usefixtures("few_worlds")
def test_without_z3_an_open_question_says_what_to_install(monkeypatch):
    monkeypatch.setattr("polyrule.measures.proofs.smt.load", lambda: None)
    measure = measures.get("max(tp - 2*fp, 0)")
    assert "pip install 'polyrule[prove]'" in prove_measure(measure, seconds=1).open_because
    stored = {"kind": "anti-monotone", "lemma": "fall", "nothing_set": False, "by": "z3", "cases": None}
    assert "not installed" in recheck(measure, stored)[0]


def test_monotone_expressions_are_recognised():
    assert is_monotone(tree("tp / (tp + fn) - fp / (fp + tn)"))
    assert not is_monotone(tree("tp * fp"))
    assert measures.get("tp**2 / (tp + fp)").monotone
    assert not measures.get("fp**2 - tp").monotone
    # 1 + 0/0 is 1, so a first false positive may raise the value
    assert one_way(tree("fp / (fp + tn)"), {"fp": 1}) == 1
    assert one_way(tree("tn / (fp + tn)"), {"tn": 1}) == 1


@given(st.lists(st.integers(0, 5), min_size=4, max_size=4), st.lists(st.integers(0, 5), min_size=4, max_size=4))
@settings(max_examples=60, deadline=None)
def test_between_holds_at_points(x, y):
    """What a certificate says about all counts, at some."""
    x[0], y[0] = x[0] + 1, y[0] + 1
    measure = measures.get("tp**2 / (tp + fp)**2")
    low, high = sorted((measure.value(*x), measure.value(*y)))
    both = measure.value(*(a + b for a, b in zip(x, y, strict=True)))
    assert low < both < high or low == both == high


def test_a_case_is_not_proved_by_multipliers_that_vanish():
    (case, _) = cases("between", tree("tp / (tp + fp)"), nothing_set=False)
    found = find(case)
    assert holds(case, found)
    none = Polynomial({}, 8)
    assert not holds(case, tuple(none for _ in found))
    only_fp = Polynomial.variable(1, 8)  # 0 where there is no false positive
    assert not holds(case, tuple(m * only_fp for m in found))


def test_an_interrupt_costs_the_proof_and_not_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("polyrule.measures.objective.proof_for", interrupted)
    assert measures.Objective("tp**2 / (tp + fp)**2").proof() is None


GINI_GAIN = (
    "((tp+fp)*((tp/(tp+fp))**2 + (fp/(tp+fp))**2) + (tn+fn)*((tn/(tn+fn))**2 + (fn/(tn+fn))**2)) / (tp+fp+tn+fn)"
)


def test_polynomials_that_explode_are_given_up(monkeypatch):
    """The search for a certificate, which a fit may start, costs so much work at most on every machine."""
    done = []

    def counted(work: int) -> None:
        spend(work)
        done.append(work)

    monkeypatch.setattr("polyrule.measures.proofs.polynomial.spend", counted)
    assert certified(order_of(measures.get(GINI_GAIN)), nothing_set=True, negative=True) is None
    attempts = 6  # three lemmas, with and without equal margins
    assert MOST_WORK < sum(done) <= attempts * MOST_WORK


def test_nothing_is_asked_when_the_time_is_over(monkeypatch):
    def asked(*_: object) -> None:
        raise AssertionError("z3 was asked")

    monkeypatch.setattr("polyrule.measures.proofs.smt.Question", asked)
    result = prove_measure(measures.get("(tp/(tp+fp))**2 + (fp/(tp+fp))**2"), seconds=1e-9)
    assert result.status == "open"


def test_a_stored_proof_cannot_cost_more_than_finding_one():
    measure = measures.get("tp**2 / (tp + fp)**2")
    stored = copy.deepcopy(measures.Objective(measure).proof())
    names = ["x.tp", "x.fp", "x.tn", "x.fn", "y.tp", "y.fp", "y.tn", "y.fn"]
    huge = {"*".join(chosen): "1" for chosen in combinations_with_replacement(names, 10)}
    for case in stored["cases"]:
        case["multipliers"] = dict.fromkeys(case["multipliers"], huge)
    assert recheck(measure, stored) == ["the proof is malformed: OutOfReach: this takes too long"]
    with effort(10):  # what is allowed outside does not matter
        assert not recheck(measure, measures.Objective(measure).proof())


PRODUCT = "tp*tp / ((tp+fp)*(tp+fn))"  # precision times recall
PRODUCTS = [PRODUCT, "(tp/(tp+fp)) * (tp/(tp+fn))", "tp/(tp+fp) * tp/(tp+fn)", "sqrt(tp/(tp+fp)) * sqrt(tp/(tp+fn))"]
IMBALANCES = ["abs(fp-fn)/(tp+fp+fn)", "max(fp-fn, fn-fp)/(tp+fp+fn)", "abs((tp+fp)-(tp+fn))/((tp+fp)+(tp+fn)-tp)"]


@pytest.fixture
def micro_heads(monkeypatch):
    """Check micro averages over the head's labels only; all others take ten times as long."""
    module = importlib.import_module("polyrule.measures.check")  # the package's `check` is the function
    monkeypatch.setattr(module, "AVERAGINGS", ("micro",))
    monkeypatch.setattr(module, "SCOPES", ("head",))


@pytest.mark.usefixtures("micro_heads")
@pytest.mark.parametrize("negative", [True, False])
@pytest.mark.parametrize("expression", [*PRODUCTS, *IMBALANCES])
def test_products_and_imbalances_are_not_called_perhaps_decomposable(expression, negative):
    """Two labels of equal value, precision 1 and recall 1/4, say, and the other way round, are worth less together."""
    checked = measures.check(expression, budget=400, negative=negative)
    for nothing_set in (True, False):
        entry = checked.entry("micro", "head", nothing_set)
        witness = entry.properties.witness
        assert entry.properties.kind != "decomposable"
        assert witness is not None
        assert witness.claim == "decomposable"
        assert witness.values[0] == witness.values[1] > witness.values[-1]


def test_the_counterexample_by_hand():
    truth, covered = [[1, 1], [1, 0], [1, 0], [1, 0]], [True, True, False, False]
    unset, weights, product = [[-1, -1]] * 4, [1] * 4, measures.get(PRODUCT)
    heads = [((0, 1),), ((1, 1),), ((0, 1), (1, 1))]
    values = [head_value(product, "micro", "head", truth, covered, unset, weights, head) for head in heads]
    assert values == [Fraction(1, 2), Fraction(1, 2), Fraction(9, 20)]


@pytest.mark.usefixtures("micro_heads")
@pytest.mark.parametrize("negative", [True, False])
def test_labels_that_tie_are_looked_for(negative):
    """It takes six examples, some of them set, until labels on both sides of one half tie."""
    entry = measures.check("abs(tp+fp-tn-fn)/(tp+fp+tn+fn)", negative=negative).entry("micro", "head", False)
    assert entry.properties.kind != "decomposable"
    assert str(entry.properties.witness).endswith("{1}=1/3, {2}=1/3 but {1,2}=1/9")


def test_more_worlds_are_looked_at_before_perhaps_decomposable_is_said():
    """In an example that is covered recall is 1, so this is precision, which is decomposable where nothing is set."""
    entry = measures.check(PRODUCT, budget=60).entry("example", "head")
    assert str(entry).startswith("example head  open, perhaps decomposable: no counterexample in 300 small problems")
