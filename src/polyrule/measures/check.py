"""Is a measure decomposable or anti-monotone? Proved, refuted with the smallest witness found, or open."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from polyrule.errors import OptionError
from polyrule.measures.base import AVERAGINGS, SCOPES, Measure
from polyrule.measures.catalogue import get
from polyrule.measures.facts import Case
from polyrule.measures.proofs import Settled, settle
from polyrule.measures.properties import Properties, properties_of, proved, refuted
from polyrule.measures.remarks import remarks

FURTHER = 5  # times as many worlds, before a measure is called perhaps decomposable


@dataclass(frozen=True)
class Entry:
    """What is known for one averaging, scope and state of the labels."""

    averaging: str
    scope: str
    nothing_set: bool
    properties: Properties

    @property
    def status(self) -> str:
        """How the kind is known: ``proved``, ``refuted`` (neither, with a witness) or ``open``."""
        if self.properties.proved:
            return "proved"
        return "refuted" if self.properties.kind == "neither" else "open"

    def record(self) -> dict[str, Any]:
        """Return the entry as plain values."""
        p = self.properties
        return {
            "averaging": self.averaging,
            "scope": self.scope,
            "nothing_set": self.nothing_set,
            "kind": p.kind,
            "status": self.status,
            "fact": p.fact if p.proved else None,
            "reason": p.reason,
            "witness": None if p.witness is None else str(p.witness),
            "search": p.best_search,
        }

    def __str__(self) -> str:
        p = self.properties
        if self.status == "refuted":
            found = f"{p.kind}, refuted: {p.witness}"
        elif p.proved:
            found = f"{p.kind}, proved by {'a lemma' if p.fact == 'L' else f'fact {p.fact}'}: {p.reason}"
        else:
            found = f"open, perhaps {p.kind}: {p.reason}"
        if self.status != "refuted" and p.witness is not None:
            found += f"; not decomposable: {p.witness}"
        state = "" if self.nothing_set else "  once labels are set: "
        return f"{self.averaging:<8}{self.scope:<6}{state}{found}; search: {p.best_search}"


@dataclass(frozen=True)
class MeasureReport:
    """The findings about a measure; prints as text.

    Attributes
    ----------
    measure : Measure
    negative : bool
        Whether heads may set labels to 0.
    entries : tuple of Entry
        One per averaging, scope and state.
    remarks : tuple of str
        What else there is to say, in sentences.

    Examples
    --------
    >>> from polyrule.measures import check
    >>> report = check("precision")
    >>> report.entry("micro", "head").properties.best_search
    'decomposable'
    """

    measure: Measure
    negative: bool
    entries: tuple[Entry, ...]
    remarks: tuple[str, ...] = ()

    def entry(self, averaging: str, scope: str, nothing_set: bool = True) -> Entry:
        """Return the entry of one averaging and scope."""
        return next(e for e in self.entries if (e.averaging, e.scope, e.nothing_set) == (averaging, scope, nothing_set))

    def records(self) -> list[dict[str, Any]]:
        """Return the entries as plain dictionaries."""
        return [entry.record() for entry in self.entries]

    def frame(self) -> Any:
        """Return the entries as a pandas DataFrame."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise OptionError("a data frame needs pandas, which is not installed: pip install pandas") from error
        return pandas.DataFrame(self.records())

    def text(self) -> str:
        """Return a line per averaging and scope, and another where labels that are set already make a difference."""
        signs = "heads with both signs" if self.negative else "heads with positive literals"
        lines = [f"{self.measure!r}, {signs}"]
        for averaging in AVERAGINGS:
            for scope in SCOPES:
                fresh, later = self.entry(averaging, scope), self.entry(averaging, scope, nothing_set=False)
                lines.append(str(fresh))
                if (later.properties.kind, later.status) != (fresh.properties.kind, fresh.status):
                    lines.append(str(later))
        lines += [f"note: {remark}" for remark in self.remarks]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def check(
    measure: str | Measure | Callable[..., Any],
    *,
    budget: int = 4000,
    negative: bool = True,
    prove: bool = False,
    seconds: float = 10.0,
) -> MeasureReport:
    """Find out which pruning a measure allows, for every averaging and scope.

    Parameters
    ----------
    measure : str, Measure or callable
        A name, an expression in tp, fp, tn, fn, a measure, or a vectorised function of (tp, fp, tn, fn).
    budget : int
        Most small worlds to look at for each claim that is not settled by a proof.
    negative : bool
        Whether heads may hold literals ``label = 0``.
    prove : bool
        Whether to try harder where micro averages over the head's labels are open: with z3, and in many more worlds.
    seconds : float
        About how long to try, each time.

    Returns
    -------
    MeasureReport
        For each averaging and scope: proved by a named fact, refuted with the smallest witness found, or open with
        the number of worlds that hold no counterexample; before any label is set, and once labels are.

    Examples
    --------
    >>> report = check("tp / (tp + fp + 0.5*fn)")
    >>> print(report.entry("micro", "head"))
    micro   head  decomposable, proved by fact A: the value is the mediant of the single values; search: decomposable
    >>> print(report.entry("example", "all"))
    example all   neither, refuted: covered 001,110: {3}=1/2 > {1,3}=9/20 but {1,2,3}=1/2; search: bound
    """
    if budget < 1:
        raise OptionError(f"budget must be at least 1, got {budget}")
    known = get(cast(Measure, measure))
    if prove:
        return _with_proofs(known, budget, negative, seconds)
    return MeasureReport(known, negative, _entries(known, budget, negative), remarks(known))


def _with_proofs(measure: Measure, budget: int, negative: bool, seconds: float) -> MeasureReport:
    """Settle first what is open about the head's labels; what is proved there may settle other scopes, too."""
    settled = {}
    for nothing_set in (False, True):
        properties = _properties(Case(measure, "micro", "head", negative, nothing_set), budget)
        if not properties.proved and properties.kind != "neither":
            settled[nothing_set] = settle(measure, nothing_set, negative, seconds)
    if settled:
        properties_of.cache_clear()
    entries = [
        _tried_harder(entry, measure, negative, settled.get(entry.nothing_set))
        for entry in _entries(measure, budget, negative)
    ]
    return MeasureReport(measure, negative, tuple(entries), remarks(measure))


def _entries(known: Measure, budget: int, negative: bool) -> tuple[Entry, ...]:
    return tuple(
        Entry(averaging, scope, nothing_set, _properties(Case(known, averaging, scope, negative, nothing_set), budget))
        for averaging in AVERAGINGS
        for scope in SCOPES
        for nothing_set in (True, False)
    )


def _properties(case: Case, budget: int) -> Properties:
    """Return what is known, after a look at more worlds where all that is left to say is "perhaps decomposable"."""
    states = {"negative": case.negative, "nothing_set": case.nothing_set}
    found = properties_of(case.measure, case.averaging, case.scope, **states, budget=budget)
    if found.proved or found.kind != "decomposable":
        return found
    return properties_of(case.measure, case.averaging, case.scope, **states, budget=FURTHER * budget)


def _tried_harder(entry: Entry, measure: Measure, negative: bool, settled: Settled | None) -> Entry:
    """Return the entry with what came of the attempt to settle it."""
    if settled is None or entry.status != "open" or (entry.averaging, entry.scope) != ("micro", "head"):
        return entry
    case = Case(measure, entry.averaging, entry.scope, negative, entry.nothing_set)
    if settled.proof is not None:
        return replace(entry, properties=proved(case, settled.proof))
    if settled.status == "neither" and settled.witness is not None:
        return replace(entry, properties=refuted(case, settled.witness))
    p = entry.properties
    return replace(entry, properties=replace(p, reason=f"{p.reason}; {settled.open_because}"))
