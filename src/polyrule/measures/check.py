"""Is a measure decomposable or anti-monotone? Proved, refuted with the smallest witness found, or open."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polyrule.errors import OptionError
from polyrule.measures.base import Measure
from polyrule.measures.catalogue import get
from polyrule.measures.function import FunctionMeasure
from polyrule.measures.properties import AVERAGINGS, SCOPES, Properties, properties_of


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
            why = f"refuted: {p.witness}"
        else:
            why = f"proved by fact {p.fact}: {p.reason}" if p.proved else p.reason
            if p.witness is not None:
                why += f"; not decomposable: {p.witness}"
        state = "" if self.nothing_set else "  once labels are set: "
        return f"{self.averaging:<8}{self.scope:<6}{state}{p.kind}, {why}; search: {p.best_search}"


@dataclass(frozen=True)
class MeasureReport:
    """The findings about a measure, one `Entry` per averaging, scope and state; prints as text."""

    measure: Measure
    negative: bool
    entries: tuple[Entry, ...]

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
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def check(measure: str | Measure | Callable[..., Any], *, budget: int = 4000, negative: bool = True) -> MeasureReport:
    """Find out which pruning a measure allows, for every averaging and scope.

    Parameters
    ----------
    measure : str, Measure or callable
        A name, an expression in tp, fp, tn, fn, a measure, or a vectorised function of (tp, fp, tn, fn).
    budget : int
        Most small worlds to look at for each claim that is not settled by a proof.
    negative : bool
        Whether heads may hold literals ``label = 0``.

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
    if not isinstance(measure, (str, Measure)) and callable(measure):
        measure = FunctionMeasure(getattr(measure, "__name__", "function"), measure)
    known = get(measure)
    entries = [
        Entry(
            averaging,
            scope,
            nothing_set,
            properties_of(known, averaging, scope, negative=negative, nothing_set=nothing_set, budget=budget),
        )
        for averaging in AVERAGINGS
        for scope in SCOPES
        for nothing_set in (True, False)
    ]
    return MeasureReport(known, negative, tuple(entries))
