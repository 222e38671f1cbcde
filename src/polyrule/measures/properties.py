"""What is proved about a measure with an averaging and a scope, and which searches are exact because of it.

A verdict is either proved, by one of the named facts, or refuted by a small world, or open: no counterexample is
known. The facts are those of `docs/measures.md`:

A  scope head, micro, ratio without constants: a head's value is the mediant of its single values
B  ratio with positive denominator whose parts can only grow: Dinkelbach's iteration, anti-monotone
C  label-wise averages: independent labels
D  subset accuracy, scope head: never grows with the head
E  example-wise values that are averages of single ones, or linear over a common denominator
L  a lemma about the measure itself, proved by machine: with an identity that everyone can check, or by z3
F  scope full: TP + FP, TN and FN are the same for all heads, the value is a monotone function of TP
G  never falls when the head grows
H  nothing set: the literals of a best head have equal counts, and its parts are as good
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from polyrule.errors import OptionError
from polyrule.measures.base import AVERAGINGS, SCOPES, Measure, SubsetAccuracy
from polyrule.measures.expression import ExpressionMeasure
from polyrule.measures.facts import Case, Verdict, prove
from polyrule.measures.proofs import Proof
from polyrule.measures.small_worlds import Witness
from polyrule.measures.trial import extent, find_witness


@dataclass(frozen=True)
class Properties:
    """Whether a measure allows pruning, why, and which searches are exact.

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
        """Whether the kind is proved rather than only not refuted."""
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
def properties_of(
    measure: Measure, averaging: str, scope: str, *, negative: bool = True, nothing_set: bool = True, budget: int = 1500
) -> Properties:
    """Return what is known; see `Measure.properties`."""
    for name, given, known in (("averaging", averaging, AVERAGINGS), ("scope", scope, SCOPES)):
        if given not in known:
            raise OptionError(f"{name} must be one of {', '.join(known)}, got {given!r}")
    case = Case(measure, averaging, scope, negative, nothing_set)
    verdict = prove(case)

    def refute(claim: str) -> Witness | None:
        return find_witness(measure, averaging, scope, claim, negative, nothing_set, budget)[0]

    if verdict is not None and verdict.kind == "decomposable":
        return _with_searches(case, verdict, None)
    if verdict is not None and verdict.kind == "anti-monotone":
        return _with_searches(case, verdict, refute("decomposable"))
    linear = verdict is not None and verdict.linear
    witness = refute("anti-monotone")
    if witness is not None:
        return refuted(case, witness, linear)
    reason = f"no counterexample in {extent(measure, averaging, scope, nothing_set, budget)}, but no proof either"
    witness = refute("decomposable")
    kind = "decomposable" if witness is None else "anti-monotone"
    return _with_searches(case, Verdict(kind, "no counterexample", reason, linear), witness)


def refuted(case: Case, witness: Witness, linear: bool = False) -> Properties:
    """Return what follows from a world in which the measure is not anti-monotone."""
    return _with_searches(case, Verdict("neither", "witness", "a small world refutes it", linear), witness)


def proved(case: Case, proof: Proof) -> Properties:
    """Return what follows from a proof by machine; it allows a search only where values are computed exactly."""
    exact = not isinstance(case.measure, ExpressionMeasure) or case.measure.exact
    reason = proof.reason if exact else f"{proof.reason}; but values are computed in doubles, so no search relies on it"
    found = _with_searches(case, Verdict(proof.kind, "L", reason), None)
    return found if exact else replace(found, searches=("bound", "exhaustive"))


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
    others = ["bound", *(["antimonotone"] if proved else [])]
    if verdict.fact == "L" and case.measure.upper_bound((0, 0, 0, 0), (1, 1, 1, 1)) is None:
        others.reverse()  # without a bound, branch and bound would try every head
    searches += others
    searches.append("exhaustive")
    return Properties(verdict.kind, verdict.fact, verdict.reason, tuple(searches), witness)
