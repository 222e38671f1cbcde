"""Is a measure decomposable or anti-monotone? First a certificate, then a problem that refutes it, then z3.

This is about scope head and micro averages, the ground on which nothing but the measure itself counts.

The lemmas are about order alone, so a measure becomes an expression that orders counts alike.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

from polyrule.measures.association import SPECS, Association, MEstimate
from polyrule.measures.base import Case, Measure
from polyrule.measures.expression import ExpressionMeasure
from polyrule.measures.grammar import VARIABLES, Node, tree
from polyrule.measures.proofs import smt
from polyrule.measures.proofs.lemmas import KIND_OF_LEMMA, as_text, cases, find, from_text, holds, variable_names
from polyrule.measures.proofs.normal_form import one_way
from polyrule.measures.proofs.polynomial import MOST_WORK, OutOfReach, effort
from polyrule.measures.ratio import RatioMeasure, Row
from polyrule.measures.small_problems import Witness
from polyrule.measures.trial import Trial, find_witness

# Worlds to look at: small ones first, then random large ones, and after z3 all up to a larger size.
QUICK, LARGE, THOROUGH = 2_000, 40_000, 100_000


@dataclass(frozen=True)
class Proof:
    """That a measure is `kind`, for every head and problem; with `nothing_set`, as long as no label is set.

    Parameters
    ----------
    kind : {"decomposable", "anti-monotone"}
    lemma : {"between", "fall", "fall, both signs"}
        Which lemma was shown; see `polyrule.measures.proofs.lemmas`.
    nothing_set : bool
    certificate : tuple of dict, or None
        Per case of the lemma the multipliers that show it, as plain values. None: shown by z3, which alone can do it
        again.
    """

    kind: str
    lemma: str
    nothing_set: bool
    certificate: tuple[dict[str, Any], ...] | None

    @property
    def reason(self) -> str:
        """One sentence."""
        how = "shown by z3" if self.certificate is None else f"shown by {_count(len(self.certificate), 'identity')}"
        says = {
            "between": "the value of a head lies between those of its parts",
            "fall": "a head that holds a part whose value fell is worse than one of its parts",
            "fall, both signs": "a head that holds a part whose value fell is worse than a part or an opposite",
        }
        return f"{says[self.lemma]}, {how}"

    def to_dict(self, measure: Measure) -> dict[str, Any]:
        """Return plain JSON values to store with a model."""
        return {
            "measure": measure.name,
            "kind": self.kind,
            "lemma": self.lemma,
            "nothing_set": self.nothing_set,
            "by": "z3" if self.certificate is None else "certificate",
            "cases": None if self.certificate is None else list(self.certificate),
        }


@dataclass(frozen=True)
class ProofResult:
    """Result of `prove_measure`.

    Attributes
    ----------
    proof : Proof or None
    witness : Witness or None
        Against the next stronger kind.
    seconds : float
        CPU time it took.
    open_because : str
        Why there is neither.
    """

    proof: Proof | None
    witness: Witness | None
    seconds: float
    open_because: str = ""

    @property
    def status(self) -> str:
        """``decomposable``, ``anti-monotone`` (both proved), ``neither`` (refuted) or ``open``."""
        if self.proof is not None:
            return self.proof.kind
        refuted = self.witness is not None and self.witness.claim == "anti-monotone"
        return "neither" if refuted else "open"


_BY_Z3: dict[tuple[Node, bool, bool], Proof] = {}


def prove_measure(
    measure: Measure, nothing_set: bool = False, negative: bool = True, seconds: float = 10.0
) -> ProofResult:
    """Prove or refute that a measure is decomposable or anti-monotone, micro-averaged over the head's labels.

    Parameters
    ----------
    measure : Measure
    nothing_set : bool
        Whether only problems are meant in which no label has been set yet.
    negative : bool
        Whether heads may set labels to 0.
    seconds : float
        About how long to try, in CPU seconds.

    Examples
    --------
    >>> from polyrule import measures
    >>> prove_measure(measures.get("tp**2 / (tp + fp)**2")).status
    'decomposable'
    >>> print(prove_measure(measures.get("tp / (tp - fp)")).witness)
    covered 000,111,111: {1}=2 > {1,¬2}=0 but {1,¬2,3}=5
    """
    start = time.process_time()
    root = order_of(measure)
    proof = None if root is None else certified(root, nothing_set, negative, start + seconds / 3)
    if proof is not None and proof.kind == "decomposable":
        return ProofResult(proof, None, time.process_time() - start)

    case = Case(measure, negative=negative, nothing_set=nothing_set)

    def refute(claim: str, budget: int, large: bool = False) -> Witness | None:
        until = start + (0.5 if large else 1.0) * seconds  # some time is left for z3
        return find_witness(case, claim, budget, deadline=until, large=large)[0]

    if proof is not None:
        return ProofResult(proof, refute("decomposable", QUICK), time.process_time() - start)
    witness, why = refute("anti-monotone", QUICK) or refute("anti-monotone", LARGE, large=True), ""
    if witness is None:
        proof, witness, why = _ask_z3(case, root, start + 0.8 * seconds)
    if proof is None and witness is None:
        witness = refute("anti-monotone", THOROUGH)
    return ProofResult(proof, witness, time.process_time() - start, why)


@lru_cache(maxsize=256)
def known_proof(measure: Measure, nothing_set: bool, negative: bool) -> Proof | None:
    """Return a proof about the measure by certificate, or one that z3 has given in this process; never asks z3.

    `nothing_set` and `negative` are those of `prove_measure`.
    """
    root = order_of(measure)
    if root is None:
        return None
    return certified(root, nothing_set, negative) or _proved_by_z3(root, nothing_set, negative)


def _proved_by_z3(root: Node, nothing_set: bool, negative: bool) -> Proof | None:
    """Return an earlier proof by z3, also of a stronger claim."""
    for states in (False, True) if nothing_set else (False,):
        for signs in (False, True) if negative else (False,):
            if (root, states, signs) in _BY_Z3:
                return _BY_Z3[root, states, signs]
    return None


def certified(root: Node, nothing_set: bool, negative: bool, deadline: float | None = None) -> Proof | None:
    """Look for certificates: of the stronger lemma first, and without the help of equal margins first."""
    for lemma in _lemmas(negative):
        for margins in (False, True) if nothing_set else (False,):
            certificate = _certificate(lemma, root, margins, deadline)
            if certificate is not None:
                return Proof(KIND_OF_LEMMA[lemma], lemma, margins, certificate)
    return None


def _lemmas(negative: bool) -> tuple[str, ...]:
    return ("between", "fall", "fall, both signs") if negative else ("between", "fall")


def _certificate(lemma: str, root: Node, margins: bool, deadline: float | None) -> tuple[dict[str, Any], ...] | None:
    names = variable_names(lemma)
    cases_proved = []
    try:
        with effort(MOST_WORK, deadline):
            for case in cases(lemma, root, margins):
                multipliers = find(case, deadline)
                if multipliers is None:
                    return None
                assumed = {names[i]: "0" for i in sorted(case.zero)} | {names[i]: "> 0" for i in sorted(case.positive)}
                cases_proved.append({"assumed": assumed, "multipliers": as_text(multipliers, case.products, names)})
    except OutOfReach:
        return None
    return tuple(cases_proved)


def _ask_z3(case: Case, root: Node | None, deadline: float) -> tuple[Proof | None, Witness | None, str]:
    z3, nothing_set, negative = smt.load(), case.nothing_set, case.negative
    if root is None:
        return None, None, "only expressions of tp, fp, tn and fn can be proved"
    if z3 is None:
        return None, None, "z3 might settle it: pip install 'polyrule[prove]'"
    try:
        proof = _proved_by_z3(root, nothing_set, negative)
        if proof is not None:
            return proof, None, ""
        answer = "unknown"
        for lemma in _lemmas(negative):
            now = time.process_time()
            if now >= deadline:
                return None, None, "z3 found no answer in time"
            answer = _answer(z3, lemma, root, nothing_set, (now + deadline) / 2)
            if answer == "proved":
                signs = lemma == "fall, both signs"
                proof = _BY_Z3[root, nothing_set, signs] = Proof(KIND_OF_LEMMA[lemma], lemma, nothing_set, None)
                known_proof.cache_clear()
                return proof, None, ""
        question = smt.Question(z3, _lemmas(negative)[-1], root, nothing_set, single=True)
        _, point = question.ask(deadline - time.process_time())
    except NotImplementedError as error:
        return None, None, str(error)
    trial = Trial(case, "anti-monotone")
    problems = None if point is None else smt.as_problems(point)
    witness = None if problems is None else trial.run(problems)
    if witness is not None:
        return None, trial.shrink(witness), ""
    if answer == "contradicted":
        return (
            None,
            None,
            f"the lemma {_lemmas(negative)[-1]!r} fails, but no world of whole numbers refutes the measure",
        )
    return None, None, "z3 found no answer in time"


def _answer(z3: Any, lemma: str, root: Node, nothing_set: bool, deadline: float) -> str:
    left = (deadline - time.process_time()) / 2
    answer, _ = smt.Question(z3, lemma, root, nothing_set=False).ask(left)
    if answer == "contradicted" and nothing_set:  # without the equations for margins the lemma may say too much
        answer, _ = smt.Question(z3, lemma, root, nothing_set).ask(left)
    return answer


@lru_cache(maxsize=256)
def exchange(measure: Measure) -> bool:
    """Return True if turning an FP into a TP always raises the measure, always lowers it, or never matters.

    Then heads of scope full, which differ only in that, are anti-monotone.

    >>> from polyrule import measures
    >>> exchange(measures.get("tp**2 / (tp + fp)")), exchange(measures.get("tp * fp"))
    (True, False)
    """
    root = order_of(measure)
    return root is not None and one_way(root, {"tp": 1, "fp": -1}, strictly=True) is not None


def recheck(measure: Measure, stored: dict[str, Any]) -> list[str]:
    """Check a stored proof about a measure anew, without any search; return what is wrong with it, nothing if it holds.

    A proof by z3 is repeated by z3 where that is installed, else the result states that it cannot be checked.
    """
    try:
        lemma, margins, root = str(stored["lemma"]), bool(stored["nothing_set"]), order_of(measure)
        if root is None or KIND_OF_LEMMA.get(lemma) != stored["kind"]:
            return [f"the lemma {lemma!r} does not show that {measure.name} is {stored['kind']}"]
        if stored["by"] == "z3":
            return _repeat(lemma, root, margins)
        names = variable_names(lemma)
        with effort(10 * MOST_WORK):
            todo = cases(lemma, root, margins)
            if len(todo) != len(stored["cases"]):
                return [f"{len(stored['cases'])} cases are stored but there are {len(todo)}"]
            for number, (case, written) in enumerate(zip(todo, stored["cases"], strict=True), start=1):
                if not holds(case, from_text(written["multipliers"], case.products, names)):
                    return [f"the multipliers of case {number} do not show it"]
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError, OutOfReach) as error:
        return [f"the proof is malformed: {type(error).__name__}: {error}"]
    return []


def _repeat(lemma: str, root: Node, nothing_set: bool) -> list[str]:
    z3 = smt.load()
    if z3 is None:
        return ["it was shown by z3, which is not installed here: pip install 'polyrule[prove]'"]
    answer = _answer(z3, lemma, root, nothing_set, time.process_time() + 60)
    return [] if answer == "proved" else [f"z3 does not show the lemma {lemma!r} again: {answer}"]


def _count(number: int, noun: str) -> str:
    return f"one {noun}" if number == 1 else f"{number} {noun[:-1]}ies"


def order_of(measure: Measure) -> Node | None:
    """Return an expression that orders counts as the measure does, without roots where possible; None if none is known.

    >>> from polyrule import measures
    >>> order_of(measures.get("sqrt(tp * tn)")) == order_of(measures.get("tp * tn"))
    True
    """
    if isinstance(measure, ExpressionMeasure):
        return measure.root if measure.square is None else measure.square
    if isinstance(measure, RatioMeasure):
        return Node("/", (_sum(measure.numerator), _sum(measure.denominator)))
    if isinstance(measure, Association):
        return tree(SPECS[measure.name].written)
    if isinstance(measure, MEstimate):
        return tree(f"(tp + ({measure.m})*(tp+fn)/(tp+fp+tn+fn)) / (tp+fp+({measure.m}))")
    return None


def _sum(row: Row) -> Node:
    one = Node("number", number=Fraction(1))
    symbols = (one, *map(Node, VARIABLES))
    terms = [Node("*", (Node("number", number=Fraction(c)), s)) for c, s in zip(row, symbols, strict=True) if c]
    return reduce(lambda a, b: Node("+", (a, b)), terms) if terms else Node("number")
