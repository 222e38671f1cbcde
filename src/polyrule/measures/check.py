"""Is a measure decomposable or anti-monotone? Proved, refuted with the smallest witness found, or open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from polyrule.data.results import frame_of_rows
from polyrule.errors import MeasureError, OptionError
from polyrule.measures.base import AVERAGINGS, SCOPES, Case, Measure, SubsetAccuracy
from polyrule.measures.catalogue import get
from polyrule.measures.proofs import ProofResult, prove_measure
from polyrule.measures.properties import Properties, is_constant, properties_of, proved, refuted
from polyrule.measures.small_problems import value_text
from polyrule.utils.arrays import Floats, Ints

# Counts to try a measure on: TP from 1, the others from 0.
_GRID = np.array([(a, b, c, d) for a in (1, 2, 3, 5, 8) for b in range(4) for c in (0, 1, 4, 9) for d in (0, 1, 3, 7)])

# 1000 examples of which 300 have the label. A rule that covers 240 of them and is right in half; and the rule that
# covers all.
_RULE, _ALWAYS = (120, 120, 580, 180), (300, 700, 0, 0)


@lru_cache(maxsize=256)
def remarks(measure: Measure) -> tuple[str, ...]:
    """Return remarks on a measure that will rarely do what is meant.

    Examples
    --------
    >>> from polyrule import measures
    >>> remarks(measures.get("f0.5"))
    ()
    >>> remarks(measures.get("fp - tp"))
    ('it rewards errors: a false instead of a true positive (tp 2, fp 0, tn 0, fn 0) raises it from -2 to 0',)
    """
    if isinstance(measure, SubsetAccuracy):
        return ()
    try:
        return _remarks(measure)
    except MeasureError:  # it has no value for some counts that may never occur
        return ()


def _remarks(measure: Measure) -> tuple[str, ...]:
    values = measure.quick_values(*_GRID.T)
    if is_constant(measure) or (values == values[0]).all():
        return (f"it is constant: every head has the value {value_text(measure.value(*map(int, _GRID[0])))}",)
    oddities = [_rewards_errors(measure), _ignores_false_positives(measure, values)]
    oddities.append(_always_wins(measure) if oddities == [None, None] else None)
    return tuple(remark for remark in oddities if remark is not None)


def _rewards_errors(measure: Measure) -> str | None:
    before = _GRID[_GRID[:, 0] > 1]
    after = before + np.array([-1, 1, 0, 0])
    gained = measure.quick_values(*after.T) - measure.quick_values(*before.T)
    for index in np.flatnonzero(gained > 1e-9):
        right, wrong = (measure.value(*map(int, counts[index])) for counts in (before, after))
        if wrong > right:
            return (
                f"it rewards errors: a false instead of a true positive ({_words(before[index])}) raises it from "
                f"{value_text(right)} to {value_text(wrong)}"
            )
    return None


def _ignores_false_positives(measure: Measure, values: Floats) -> str | None:
    if not np.array_equal(measure.quick_values(*(_GRID + np.array([0, 3, 0, 0])).T), values):
        return None
    return "it ignores false positives: a rule may be wrong as often as it likes, so 'label <- true' is hard to beat"


def _always_wins(measure: Measure) -> str | None:
    rule, always = measure.value(*_RULE), measure.value(*_ALWAYS)
    if rule >= always:
        return None
    return (
        "it makes 'label <- true' win easily, and lists of such rules predict nothing useful: where 30 % have a label, "
        f"a rule that is right in half and finds 40 % of them is worth {float(rule):.2g}, 'label <- true' "
        f"{float(always):.2g}"
    )


def _words(counts: Ints) -> str:
    return ", ".join(f"{name} {count}" for name, count in zip(("tp", "fp", "tn", "fn"), counts.tolist(), strict=True))


FURTHER = 5  # times as many problems, before a measure is called perhaps decomposable


@dataclass(frozen=True)
class Entry:
    """Properties for one averaging, scope and state of the labels."""

    averaging: str
    scope: str
    nothing_set: bool
    properties: Properties

    @property
    def status(self) -> str:
        """Status of the kind: ``proved``, ``refuted`` (neither, with a witness) or ``open``."""
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
            text = f"{p.kind}, refuted: {p.witness}"
        elif p.proved:
            text = f"{p.kind}, proved by {'a lemma' if p.fact == 'L' else f'fact {p.fact}'}: {p.reason}"
        else:
            text = f"open, perhaps {p.kind}: {p.reason}"
        if self.status != "refuted" and p.witness is not None:
            text += f"; not decomposable: {p.witness}"
        state = "" if self.nothing_set else "  once labels are set: "
        return f"{self.averaging:<8}{self.scope:<6}{state}{text}; search: {p.best_search}"


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
        """Return the entries as a data frame."""
        return frame_of_rows(self.records())

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
        Most small problems to look at for each claim that is not results by a proof.
    negative : bool
        Whether heads may hold literals ``label = 0``.
    prove : bool
        Whether to try harder where micro averages over the head's labels are open: with z3, and in many more problems.
    seconds : float
        About how long to try, each time.

    Returns
    -------
    MeasureReport
        For each averaging and scope: proved by a named fact, refuted with the smallest witness found, or open with
        the number of problems that hold no counterexample; before any label is set, and once labels are.

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
    named = get(cast(Measure, measure))
    if prove:
        return _with_proofs(named, budget, negative, seconds)
    return MeasureReport(named, negative, _entries(named, budget, negative), remarks(named))


def _with_proofs(measure: Measure, budget: int, negative: bool, seconds: float) -> MeasureReport:
    """Settle first what is open about the head's labels; what is proved there may settle other scopes, too."""
    results = {}
    for nothing_set in (False, True):
        properties = _properties(Case(measure, "micro", "head", negative, nothing_set), budget)
        if not properties.proved and properties.kind != "neither":
            results[nothing_set] = prove_measure(measure, nothing_set, negative, seconds)
    if results:
        properties_of.cache_clear()
    entries = [
        _tried_harder(entry, measure, negative, results.get(entry.nothing_set))
        for entry in _entries(measure, budget, negative)
    ]
    return MeasureReport(measure, negative, tuple(entries), remarks(measure))


def _entries(measure: Measure, budget: int, negative: bool) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            averaging, scope, nothing_set, _properties(Case(measure, averaging, scope, negative, nothing_set), budget)
        )
        for averaging in AVERAGINGS
        for scope in SCOPES
        for nothing_set in (True, False)
    )


def _properties(case: Case, budget: int) -> Properties:
    """Return the properties, from more problems if the measure may be decomposable."""
    properties = properties_of(case, budget)
    return (
        properties if properties.proved or properties.kind != "decomposable" else properties_of(case, FURTHER * budget)
    )


def _tried_harder(entry: Entry, measure: Measure, negative: bool, results: ProofResult | None) -> Entry:
    """Return the entry with what came of the attempt to settle it."""
    if results is None or entry.status != "open" or (entry.averaging, entry.scope) != ("micro", "head"):
        return entry
    case = Case(measure, entry.averaging, entry.scope, negative, entry.nothing_set)
    if results.proof is not None:
        return replace(entry, properties=proved(case, results.proof))
    if results.status == "neither" and results.witness is not None:
        return replace(entry, properties=refuted(case, results.witness))
    p = entry.properties
    return replace(entry, properties=replace(p, reason=f"{p.reason}; {results.open_because}"))
