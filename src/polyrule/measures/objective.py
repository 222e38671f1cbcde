"""What a head is judged by, and the lift that favours larger heads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite, log
from typing import TYPE_CHECKING, ClassVar

from polyrule.errors import OptionError
from polyrule.measures.base import AVERAGINGS, SCOPES, Measure
from polyrule.measures.catalogue import get
from polyrule.measures.fast_form import FastForm, fast_form

if TYPE_CHECKING:
    from polyrule.measures.properties import Properties


SEARCHES = ("auto", "exhaustive", "antimonotone", "decomposable", "ratio", "subset", "bound")


@dataclass(frozen=True, slots=True)
class Lift:
    """Multiplies the value of a head by ρ(number of its labels); ρ(1) = 1 and ρ >= 1.

    ρ is fixed as a whole number of 2**-30 steps, so that every engine on every machine compares the same rationals.

    Parameters
    ----------
    kind : {"none", "kln", "root", "peak"}
        ``kln``: 1 + k·ln x. ``root``: x**(1/k). ``peak``: 1 at x = 1, rising to `rho_max` at x = `peak_at`, falling
        back to 1 at the number of all labels.
    k : float
        For ``kln`` and ``root``.
    peak_at : int
        For ``peak``: the favoured number of labels.
    rho_max : float
        For ``peak``: the largest factor.
    curvature : float
        For ``peak``: 1 rises and falls on straight lines, larger values bulge outwards.

    Examples
    --------
    >>> Lift.parse("kln:0.16").factor(3, 6)
    1.17...
    >>> Lift.peak(3, 1.5).factor(3, 6), Lift.peak(3, 1.5).factor(6, 6)
    (1.5, 1.0)
    >>> print(Lift.none(), Lift.root(4))
    none root:4
    """

    SCALE: ClassVar[int] = 1 << 30

    kind: str = "none"
    k: float = 0.0
    peak_at: int = 1
    rho_max: float = 1.0
    curvature: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in ("none", "kln", "root", "peak"):
            raise OptionError(f"lift {self.kind!r} is unknown; use none, kln:K, root:K or peak:P,RHO_MAX,CURVATURE")
        numbers = (self.k, self.peak_at, self.rho_max, self.curvature)
        if not all(isfinite(x) for x in numbers):
            raise OptionError(f"lift {self.kind}: its numbers must be finite, got {numbers}")
        if self.kind == "kln" and self.k < 0:
            raise OptionError(f"lift kln: k must not be negative, got {self.k:g}")
        if self.kind == "root" and self.k < 1:
            raise OptionError(f"lift root: k must be at least 1, got {self.k:g}")
        if self.kind == "peak" and (self.peak_at < 1 or self.rho_max < 1 or self.curvature <= 0):
            raise OptionError("lift peak: needs a peak of at least 1 label, a largest factor >= 1 and a curvature > 0")

    @classmethod
    def none(cls) -> Lift:
        """No bias."""
        return cls()

    @classmethod
    def kln(cls, k: float) -> Lift:
        """Return ρ(x) = 1 + k·ln x."""
        return cls("kln", k=k)

    @classmethod
    def root(cls, k: float) -> Lift:
        """Return ρ(x) = x**(1/k)."""
        return cls("root", k=k)

    @classmethod
    def peak(cls, peak_at: int, rho_max: float, curvature: float = 1.0) -> Lift:
        """Return ρ with its maximum at `peak_at` labels."""
        return cls("peak", peak_at=peak_at, rho_max=rho_max, curvature=curvature)

    @classmethod
    def parse(cls, text: str | Lift | None) -> Lift:
        """Read ``none``, ``kln:0.16``, ``root:4`` or ``peak:3,1.2,2``."""
        if isinstance(text, Lift):
            return text
        if text is None:
            return cls()
        kind, _, rest = str(text).strip().lower().partition(":")
        try:
            numbers = [float(part) for part in rest.split(",")] if rest.strip() else []
            if kind in ("none", "") and not numbers:
                return cls()
            if kind in ("kln", "root") and len(numbers) == 1:
                return cls(kind, k=numbers[0])
            if kind == "peak" and len(numbers) in (2, 3) and numbers[0] == int(numbers[0]):
                return cls.peak(int(numbers[0]), *numbers[1:])
        except OptionError:
            raise
        except (ValueError, OverflowError):
            pass
        raise OptionError(f"lift {text!r} cannot be read; use none, kln:K, root:K or peak:P,RHO_MAX,CURVATURE")

    @property
    def is_none(self) -> bool:
        """Whether every head size has the factor 1 by definition."""
        return self.kind == "none"

    def factor(self, size: int, n_labels: int) -> float:
        """Return ρ(size) as a double, before it is fixed to 2**-30 steps."""
        if self.kind == "kln":
            return 1.0 + self.k * log(size)
        if self.kind == "root":
            return float(size ** (1.0 / self.k))
        if self.kind == "peak":
            if self.peak_at > n_labels:
                raise OptionError(f"lift peak: the peak is at {self.peak_at} labels but there are only {n_labels}")
            return 1.0 + (self.rho_max - 1.0) * self._height(size, n_labels)
        return 1.0

    def _height(self, size: int, n_labels: int) -> float:
        if size == self.peak_at:
            return 1.0
        if size < self.peak_at:
            share = (size - 1) / (self.peak_at - 1)
        else:
            share = (n_labels - size) / (n_labels - self.peak_at)
        return float(share ** (1.0 / self.curvature))

    def steps(self, size: int, n_labels: int) -> int:
        """Return ρ(size) in whole steps of 2**-30."""
        return round(self.factor(size, n_labels) * self.SCALE)

    def rho(self, size: int, n_labels: int) -> Fraction:
        """Return ρ(size) as the exact fraction every engine uses."""
        return Fraction(self.steps(size, n_labels), self.SCALE)

    def __str__(self) -> str:
        if self.kind == "peak":
            return f"peak:{self.peak_at},{self.rho_max:g},{self.curvature:g}"
        return self.kind if self.kind == "none" else f"{self.kind}:{self.k:g}"


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
    effort : int or None
        Heads that are tried for a body, at most, where the search ``auto`` would have to branch and bound; None is no
        limit, and the best head.

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
    effort: int | None = None

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
        for name, limit in (("max_head_size", self.max_head_size), ("effort", self.effort)):
            if limit is not None and (isinstance(limit, bool) or limit != int(limit) or limit < 1):
                raise OptionError(f"{name} must be None or a whole number of at least 1, got {limit!r}")
        if self.effort is not None and self.search != "auto":
            raise OptionError(f"effort is for search='auto', not for search={self.search!r}")

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
        return fast_form(self, n_labels, weight)

    def __str__(self) -> str:
        parts = [self.measure.name, self.averaging, f"scope {self.scope}"]
        if not self.lift.is_none:
            parts.append(f"lift {self.lift}")
        if self.max_head_size is not None:
            parts.append(f"at most {self.max_head_size} labels")
        if not self.negative:
            parts.append("positive literals only")
        if self.effort is not None:
            parts.append(f"at most {self.effort} heads tried")
        return ", ".join(parts)
