"""What a head is judged by, in one object."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from polyrule.errors import OptionError
from polyrule.measures.base import Measure
from polyrule.measures.catalogue import get
from polyrule.measures.lift import Lift

if TYPE_CHECKING:
    from polyrule.measures.fast_form import FastForm
    from polyrule.measures.properties import Properties

AVERAGINGS = ("micro", "label", "example", "macro")
SCOPES = ("head", "all", "full")
SEARCHES = ("auto", "exhaustive", "antimonotone", "decomposable", "ratio", "subset", "bound")


@dataclass(frozen=True)
class Objective:
    """Measure, averaging, scope, lift, search and limits of a head.

    Parameters
    ----------
    measure : Measure or str
        A name or expression is looked up.
    averaging : {"micro", "label", "example", "macro"}
        When counts are summed: over everything, per label, per example, or never before measuring.
    scope : {"head", "all", "full"}
        Which labels are counted: those of the head; all, those outside as not predicted; all, those outside as
        predicted absent.
    lift : Lift or str
        Head-size bias.
    search : str
        How the best head is searched; ``auto`` takes the cheapest search that is proved exact.
    max_head_size : int or None
        Most labels in a head.
    negative : bool
        Whether literals ``label = 0`` are allowed.

    Examples
    --------
    >>> Objective("f0.5").measure.name
    'f0.5'
    >>> Objective("f1", averaging="examples")
    Traceback (most recent call last):
        ...
    polyrule.errors.OptionError: averaging must be one of micro, label, example, macro, got 'examples'
    """

    measure: Measure
    averaging: str = "micro"
    scope: str = "head"
    lift: Lift = field(default_factory=Lift.none)
    search: str = "auto"
    max_head_size: int | None = None
    negative: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "measure", get(self.measure))
        object.__setattr__(self, "lift", Lift.parse(self.lift))
        for name, given, known in (
            ("averaging", self.averaging, AVERAGINGS),
            ("scope", self.scope, SCOPES),
            ("search", self.search, SEARCHES),
        ):
            if given not in known:
                raise OptionError(f"{name} must be one of {', '.join(known)}, got {given!r}")
        limit = self.max_head_size
        if limit is not None and (isinstance(limit, bool) or limit != int(limit) or limit < 1):
            raise OptionError(f"max_head_size must be None or a whole number of at least 1, got {limit!r}")

    def in_units(self, unit: Fraction) -> Objective:
        """Return the objective for counts in units of so many examples each; its values are the same, exactly.

        >>> Objective("m2").in_units(Fraction(1, 2)).measure.parameters
        (Fraction(4, 1),)
        """
        # where each example is measured by itself, its weight is no count
        if unit == 1 or self.averaging in ("example", "macro"):
            return self
        return replace(self, measure=self.measure.in_units(unit))

    def properties(self, nothing_set: bool = False) -> Properties:
        """Return what is proved about the measure with this averaging and scope."""
        return self.measure.properties(self.averaging, self.scope, self.negative, nothing_set)

    def fast_form(self, n_labels: int, weight: int = 0) -> FastForm | None:
        """Return the form in which the native engine optimises heads, or None if there is none.

        `weight` is the total weight of the examples; some forms hold up to a largest one.
        """
        from polyrule.measures.fast_form import fast_form

        return fast_form(self, n_labels, weight)

    def __str__(self) -> str:
        parts = [self.measure.name, self.averaging, f"scope {self.scope}"]
        if not self.lift.is_none:
            parts.append(f"lift {self.lift}")
        if self.max_head_size is not None:
            parts.append(f"at most {self.max_head_size} labels")
        if not self.negative:
            parts.append("positive literals only")
        return ", ".join(parts)
