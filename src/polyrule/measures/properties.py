"""What is proved about a measure with an averaging and a scope, and which searches are exact because of it.

A verdict is either proved, by one of the named facts, or refuted by a small problem, or open: no counterexample is
known. The facts are those of `docs/measures.md`; each `_…` function below that takes a case is one argument, gives a
verdict where it applies and None where it does not, and is about heads whose literals have at least one true
positive, as the learner's have:

A  scope head, micro, ratio without constants: a head's value is the mediant of its single values
B  ratio with positive denominator whose parts can only grow: Dinkelbach's iteration, anti-monotone
C  label-wise averages: independent labels
D  subset accuracy, scope head: never grows with the head
E  example-wise values that are averages of single ones, or linear over a common denominator
L  a lemma about the measure itself, proved by machine: with an identity that is easy to check, or by z3
F  scope full: TP + FP, TN and FN are the same for all heads, the value is a monotone function of TP
G  never falls when the head grows
H  nothing set: the literals of a best head have equal counts, and its parts are as good
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from polyrule.measures.association import SPECS, Association, MEstimate
from polyrule.measures.base import Case, Measure, SubsetAccuracy
from polyrule.measures.expression import ExpressionMeasure
from polyrule.measures.grammar import VARIABLES, Node
from polyrule.measures.proofs import Proof, exchange, known_proof
from polyrule.measures.proofs.normal_form import one_way
from polyrule.measures.ratio import RatioMeasure, Row
from polyrule.measures.small_problems import Witness
from polyrule.measures.trial import extent, find_witness

TP, FP, TN, FN = 1, 2, 3, 4


@dataclass(frozen=True)
class Verdict:
    """A kind, the fact that proves it, why it applies, and whether the `ratio` search is exact.

    The kind ``unknown`` proves nothing about pruning, but may still say that the `ratio` search is exact.
    """

    kind: str
    fact: str
    reason: str
    linear: bool = False


def prove(case: Case) -> Verdict | None:
    """Return the first verdict found, or None if nothing is proved."""
    for proof in PROOFS:
        verdict = proof(case)
        if verdict is not None:
            return verdict
    return None


def _subset_accuracy(case: Case) -> Verdict | None:
    if not isinstance(case.measure, SubsetAccuracy) or case.scope != "head":
        return None
    return Verdict("anti-monotone", "D", "a larger head is right on fewer examples, never on more")


def _label_wise(case: Case) -> Verdict | None:
    if case.averaging not in ("label", "macro") or isinstance(case.measure, SubsetAccuracy):
        return None
    if case.scope == "head":
        return Verdict("decomposable", "C", "the value is the mean of the labels' own values", linear=True)
    return Verdict("anti-monotone", "C", "labels add to the value independently of each other", linear=True)


def _same_for_all(case: Case) -> Verdict | None:
    if not is_constant(case.measure) or isinstance(case.measure, SubsetAccuracy):
        return None
    return Verdict("decomposable", "E", "the value is the same for every head")


def is_constant(measure: Measure) -> bool:
    """Return True if a measure has provably one value for all counts.

    >>> from polyrule import measures
    >>> is_constant(measures.get("tp / 0")), is_constant(measures.get("f1"))
    (True, False)
    """
    if isinstance(measure, ExpressionMeasure):
        return _depends_on_nothing(measure.root)
    return isinstance(measure, RatioMeasure) and not any(measure.numerator[1:] + measure.denominator[1:])


@lru_cache(maxsize=256)
def _depends_on_nothing(root: Node) -> bool:
    """Return True if no count changes an expression; used in each head search of the reference."""
    return all(one_way(root, {name: 1}, least_tp=False) == 0 for name in VARIABLES)


def _constant(case: Case) -> Verdict | None:
    """TP·TN - FP·FN is 0 for a single cell, and for an example that has only TP and FP or only TN and FN."""
    product = isinstance(case.measure, Association) and SPECS[case.measure.name].dependence
    one_sided = case.averaging == "macro" or (case.averaging == "example" and case.scope != "all")
    if not (product and one_sided):
        return None
    return Verdict("decomposable", "E", "the value is 0 for every head", linear=True)


def _only_uncovered(case: Case) -> Verdict | None:
    """Prove what follows if an example has a value only where it is not covered."""
    name = case.measure.name if isinstance(case.measure, Association) else ""
    if name == "certainty" and case.averaging == "macro":
        return Verdict("decomposable", "E", "the value is 0 for every head", linear=True)
    if name not in ("added_value", "certainty") or case.averaging != "example" or case.scope == "all":
        return None
    if case.scope == "full":
        return Verdict(
            "decomposable", "E", "only uncovered examples have a value, the same for every head", linear=True
        )
    if name == "added_value":
        reason = "an uncovered example's value is the mean over the head's labels, that of general is 0"
        return Verdict("decomposable", "E", reason, linear=True)
    return Verdict("anti-monotone", "E", "no value exceeds 0, and the parts of a head of value 0 have this value")


def _micro_ratio(case: Case) -> Verdict | None:
    measure = case.measure
    if not isinstance(measure, RatioMeasure) or case.averaging != "micro" or not measure.has_positive_denominator:
        return None
    a, b = measure.rows
    head_only = case.scope == "head" or (case.scope == "all" and not any(row[i] for row in (a, b) for i in (TN, FN)))
    if head_only and not measure.has_constants:
        return Verdict("decomposable", "A", "the value is the mediant of the single values", linear=True)
    if head_only:
        return Verdict("anti-monotone", "B", "a literal can only add to the denominator", linear=True)
    if case.scope == "full":
        return Verdict(
            "anti-monotone", "F", "only TP depends on the head, and the value is monotone in TP", linear=True
        )
    if _never_shrinks(b, case):
        return Verdict("anti-monotone", "B", "a literal can only add to the denominator", linear=True)
    if _never_shrinks(a, case) and min(a) >= 0:
        return Verdict("anti-monotone", "B", "a literal can only add to the numerator", linear=True)
    return Verdict("unknown", "B", "Dinkelbach's iteration is exact, but pruning is not covered", linear=True)


def _never_shrinks(row: Row, case: Case) -> bool:
    """Return True if no literal lowers ``row · counts`` with scope all: FN or TN become TP, FP or nothing."""
    moves = [row[TP] - row[FN], row[FP] - row[TN]]
    if case.negative:
        moves += [row[TP] - row[TN], row[FP] - row[FN]]
    if not case.nothing_set:
        moves += [-row[FN], -row[TN]]
    return min(moves) >= 0


def _example_ratio(case: Case) -> Verdict | None:
    measure = case.measure
    if not isinstance(measure, RatioMeasure) or case.averaging != "example" or not measure.has_positive_denominator:
        return None
    a, b = measure.rows
    if b[TP] == b[FP] and case.scope == "full":
        return Verdict("anti-monotone", "E", "every example has a fixed denominator, so labels add up", linear=True)
    if not any(b[TP:]):
        kind = "anti-monotone"
        return Verdict(kind, "B", "the denominator is a constant, so labels add up", linear=True)
    if _like_recall(a, b) and case.scope != "full":
        return Verdict("anti-monotone", "G", "no example's value falls when the head grows")
    if not case.nothing_set or b[TP] != b[FP] or case.scope == "full":
        return None
    return _example_head(a, b) if case.scope == "head" else _example_all(a, b, case)


def _like_recall(a: Row, b: Row) -> bool:
    return not any((a[0], a[FP], a[TN], a[FN], b[0], b[FP], b[TN]))


def _example_head(a: Row, b: Row) -> Verdict | None:
    """Nothing set: a covered example has TP + FP = k, an uncovered one TN + FN = k, for a head of k labels."""
    silent = not (a[TN] or a[FN])
    if not (a[0] or b[0]):
        if b[TP] > 0 and (silent or b[TN] == b[FN]):
            return Verdict("decomposable", "E", "every example's value is the mean over the head's labels", linear=True)
        return None
    same = b[TN] == b[FN] == b[TP]
    fixed = silent and (a[0] == 0 or not (b[TN] or b[FN]))
    if same or fixed:
        return Verdict("anti-monotone", "B", "all examples share one denominator, which only grows", linear=True)
    return None


def _example_all(a: Row, b: Row, case: Case) -> Verdict | None:
    """Nothing set: a covered example has TP + FP = k and TN + FN = n - k; uncovered ones do not depend on the head."""
    if b[TN] != b[FN]:
        return None
    if not (a[0] or b[0] or a[TN] or a[FN] or b[TN]):
        return Verdict("decomposable", "E", "every example's value is the mean over the head's labels", linear=True)
    if _never_shrinks(b, case) or (_never_shrinks(a, case) and min(a) >= 0):
        return Verdict("anti-monotone", "B", "all covered examples share one denominator", linear=True)
    return Verdict("unknown", "B", "all covered examples share one denominator", linear=True)


def _other_full(case: Case) -> Verdict | None:
    measure = case.measure
    if case.scope != "full" or case.averaging != "micro" or not isinstance(measure, (Association, MEstimate)):
        return None
    linear = isinstance(measure, MEstimate) or measure.name == "wracc"
    return Verdict("anti-monotone", "F", "only TP depends on the head, and the value is monotone in TP", linear=linear)


def _m_estimate(case: Case) -> Verdict | None:
    if not isinstance(case.measure, MEstimate) or case.averaging not in ("micro", "example"):
        return None
    if case.averaging == "example" and case.scope == "full":
        return Verdict("anti-monotone", "E", "every example has a fixed denominator, so labels add up", linear=True)
    if not case.nothing_set:
        return None
    if case.scope == "all":
        return Verdict("anti-monotone", "B", "N is the same for every head, so the value is a ratio", linear=True)
    if case.averaging == "example" and case.scope == "head":
        return Verdict("decomposable", "E", "every example's value is the mean over the head's labels", linear=True)
    return None


def _fixed_positives(case: Case) -> Verdict | None:
    """Prove by constant totals: positive literals, nothing set, turn FN into TP and TN into FP."""
    name = case.measure.name if isinstance(case.measure, Association) else ""
    if name not in ("wracc", "rate_difference") or not case.nothing_set:
        return None
    if case.scope == "all" and not case.negative and case.averaging in ("micro", "example"):
        return Verdict("anti-monotone", "B", "positives and negatives are the same for every head", linear=True)
    if case.scope == "head" and case.averaging == "micro" and name == "wracc":
        return Verdict("decomposable", "E", "the value is the mean of the single values", linear=True)
    return None


def _association(case: Case) -> Verdict | None:
    """Prove by equal shares: if nothing is set, some measures are ratios of linear functions."""
    if not isinstance(case.measure, Association) or not case.nothing_set:
        return None
    if (case.averaging, case.scope) != ("micro", "head"):
        return None
    if case.measure.name in MEDIANTS:
        reason = "what is covered being the same, the value is the mediant of the single values"
        return Verdict("decomposable", "A", reason)
    if case.measure.name == "certainty":
        return Verdict("anti-monotone", "A", "a mediant of single values, but for labels that all examples have")
    if case.measure.name == "cosine":
        return Verdict("anti-monotone", "H", "all literals of a best head have equal counts")
    return None


def _exchange(case: Case) -> Verdict | None:
    measure = case.measure
    if not isinstance(measure, ExpressionMeasure) or (case.averaging, case.scope) != ("micro", "full"):
        return None
    reason = "only TP depends on the head, and the value is monotone in TP"
    return Verdict("anti-monotone", "F", reason) if measure.exact and exchange(measure) else None


def _by_lemma(case: Case) -> Verdict | None:
    proof = proof_for(case)
    return None if proof is None else Verdict(proof.kind, "L", proof.reason)


def proof_for(case: Case) -> Proof | None:
    """Return the proof by machine of an exact expression if only the labels of the head count."""
    measure = case.measure
    if not isinstance(measure, ExpressionMeasure) or not measure.exact or case.averaging != "micro":
        return None
    if case.scope == "full" or (case.scope == "all" and not measure.variables <= {"tp", "fp"}):
        return None  # labels outside the head count, as TN and FN
    return known_proof(measure, case.nothing_set, case.negative and not case.lopsided)


#: Linear over linear in TP and FN, with a positive denominator, where TP + FP and TN + FN are the same for all.
MEDIANTS = ("klosgen", "added_value", "kappa", "lift")
PROOFS: tuple[Callable[[Case], Verdict | None], ...] = (
    _subset_accuracy,
    _same_for_all,
    _constant,
    _only_uncovered,
    _label_wise,
    _micro_ratio,
    _example_ratio,
    _other_full,
    _m_estimate,
    _fixed_positives,
    _association,
    _exchange,
    _by_lemma,
)


def is_correlation(measure: object) -> bool:
    """Return True if the measure is (t - x·s) / f(s) with a strictly concave f; see docs/theory.md."""
    return isinstance(measure, Association) and measure.name in ("matthews", "rate_difference")


@dataclass(frozen=True)
class Properties:
    """Kind of a measure, its reason, and the exact searches.

    Parameters
    ----------
    kind : {"decomposable", "anti-monotone", "neither"}
        ``decomposable`` implies anti-monotone.
    fact : str
        The letter of the fact that proves it; ``witness`` if the next stronger kind is refuted and nothing is proved;
        ``no counterexample`` if it is neither proved nor refuted.
    reason : str
        One sentence.
    searches : tuple of str
        Searches that are exact without lift, cheapest first.
    witness : Witness or None
        Refutes the next stronger kind: anti-monotone for ``neither``, decomposable for ``anti-monotone``.

    Examples
    --------
    >>> from polyrule import measures
    >>> found = measures.jaccard().properties("micro", "all")
    >>> found.kind, found.fact, found.best_search
    ('anti-monotone', 'B', 'ratio')
    >>> print(found.witness)
    covered 11: {1}=1/2, {2}=1/2 but {1,2}=1
    """

    kind: str
    fact: str
    reason: str
    searches: tuple[str, ...]
    witness: Witness | None = None

    @property
    def proved(self) -> bool:
        """True if the kind is proved rather than only not refuted."""
        return self.fact in ("A", "B", "C", "D", "E", "F", "G", "H", "L")

    @property
    def best_search(self) -> str:
        """The cheapest search that is proved exact: what ``auto`` takes."""
        return self.searches[0]

    def __str__(self) -> str:
        how = f"fact {self.fact}" if self.proved else self.fact
        text = f"{self.kind} ({how}): {self.reason}"
        return text if self.witness is None else f"{text} [{self.witness}]"


@lru_cache(maxsize=4096)
def properties_of(case: Case, budget: int = 1500) -> Properties:
    """Return the properties; see `Measure.properties`."""
    verdict = prove(case)

    def refute(claim: str) -> Witness | None:
        return find_witness(case, claim, budget)[0]

    if verdict is not None and verdict.kind == "decomposable":
        return _with_searches(case, verdict, None)
    if verdict is not None and verdict.kind == "anti-monotone":
        return _with_searches(case, verdict, refute("decomposable"))
    linear = verdict is not None and verdict.linear
    witness = refute("anti-monotone")
    if witness is not None:
        return refuted(case, witness, linear)
    reason = f"no counterexample in {extent(case, budget)}, but no proof either"
    witness = refute("decomposable")
    kind = "decomposable" if witness is None else "anti-monotone"
    return _with_searches(case, Verdict(kind, "no counterexample", reason, linear), witness)


def refuted(case: Case, witness: Witness, linear: bool = False) -> Properties:
    """Return the properties that follow from a problem in which the measure is not anti-monotone."""
    return _with_searches(case, Verdict("neither", "witness", "a small problem refutes it", linear), witness)


def proved(case: Case, proof: Proof) -> Properties:
    """Return the properties that follow from a proof by machine; searches need exact values."""
    exact = not isinstance(case.measure, ExpressionMeasure) or case.measure.exact
    reason = proof.reason if exact else f"{proof.reason}; but values are computed in doubles, so no search relies on it"
    properties = _with_searches(case, Verdict(proof.kind, "L", reason), None)
    return properties if exact else replace(properties, searches=("bound", "exhaustive"))


def _with_searches(case: Case, verdict: Verdict, witness: Witness | None) -> Properties:
    """List the searches that are proved exact, cheapest first; an open case allows none that prunes by its kind."""
    proved = verdict.fact not in ("witness", "no counterexample")
    searches = []
    if proved and verdict.kind == "decomposable":
        searches.append("decomposable")
    if isinstance(case.measure, SubsetAccuracy):
        searches.append("subset")
    if verdict.linear:
        searches.append("ratio")
    general = ["bound", *(["antimonotone"] if proved else [])]
    if verdict.fact == "L" and not case.measure.has_bound:
        general.reverse()  # without a bound, branch and bound would try every head
    searches += general
    searches.append("exhaustive")
    return Properties(verdict.kind, verdict.fact, verdict.reason, tuple(searches), witness)
