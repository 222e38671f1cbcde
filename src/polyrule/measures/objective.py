"""What a head is judged by, the lift that favours larger heads, and the form in which a kernel needs both."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import log
from numbers import Integral
from typing import Any, ClassVar, Literal

from polyrule.errors import OptionError
from polyrule.measures.association import Association, MEstimate
from polyrule.measures.base import AVERAGINGS, SCOPES, Case, Measure, SubsetAccuracy
from polyrule.measures.catalogue import get, hamming
from polyrule.measures.expression import ExpressionMeasure
from polyrule.measures.function import FunctionMeasure
from polyrule.measures.properties import Properties, proof_for
from polyrule.measures.ratio import RatioMeasure, Row
from polyrule.utils.messages import argument, literal, parameter_name

#: Numerators and denominators below this have cross products, and sums of a few of them, that fit 128-bit integers.
LARGEST_SUM = 1 << 60
#: A lift in steps of 2**-30 below this may be multiplied in, too.
LARGEST_LIFT = 1 << 36
#: Of the numbers of a lift, so that all its factors are finite.
LARGEST_NUMBER = 1e100

HAMMING = hamming().rows

Kind = Literal["singles", "subset", "ratio", "counted", "micro", "alone", "example"]
NOTHING: Row = (0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class FastForm:
    """Form of an objective for the compiled head search.

    Parameters
    ----------
    kind : {"singles", "subset", "ratio", "counted", "micro", "alone", "example"}
        ``singles`` (facts A and C): the best value of a head is the best value of a single literal, and the best head
        is the union of the literals that reach it. ``subset`` (fact D): the same with (TP + TN) / total weight as
        value, but only literals with identical sets of rightly treated examples go together. ``ratio`` (fact B): the
        head maximises (N0 + sum of a_i) / (D0 + sum of b_i), found by Dinkelbach's iteration, for every head size
        where `rho` is given. The others are for measures that are no ratio: ``counted`` is like ``singles``; ``micro``
        measures the counts summed over the head (functions only if monotone); ``alone`` is fast for one literal only.
        ``example`` measures each example separately: Hamming accuracy, or a * TP / (b * TP + c * FP + ...) with
        b >= c > 0, which is fast as long as each label is set on all examples or on none.
    num, den : five ints
        Coefficients of (constant, TP, FP, TN, FN); zeros for ``subset``.
    scope : str
        Where N0 and D0 come from and what a literal adds; see `polyrule.heads.HeadProblem`.
    rho : tuple of int or None
        Head-size factor in 2**-30 steps, by head size (entry 0 is unused); None without lift.
    max_head_size : int or None
    formula : str
        What is measured where it is no ratio measure: ``m_estimate``, the name of an association, ``function`` for one
        that is called for its values (of an expression, doubles in their order), or ``ratio`` for a function that is
        ordered like num / den.
    m : (int, int)
        Numerator and denominator of the m-estimate's m.

    Examples
    --------
    >>> from polyrule.measures import Objective
    >>> Objective("precision").fast_form(n_labels=5).kind
    'singles'
    """

    kind: Kind
    num: Row = NOTHING
    den: Row = NOTHING
    scope: str = "head"
    rho: tuple[int, ...] | None = None
    max_head_size: int | None = None
    formula: str = ""
    m: tuple[int, int] = (0, 1)


def _traced_form(objective: Objective, n_labels: int, weight: int) -> FastForm | None:
    """Return the form of a function that is known to compute a ratio, as long as its doubles are ordered like it."""
    measure = objective.measure
    if not isinstance(measure, FunctionMeasure) or objective.scope != "head" or not objective.lift.is_none:
        return None
    if measure.traced is None or weight * n_labels > measure.traced.largest_total:
        return None
    form = replace(objective, measure=measure.traced.measure).fast_form(n_labels, weight)
    return None if form is None else replace(form, formula="ratio")


def _counted_form(objective: Objective, n_labels: int, weight: int) -> FastForm | None:
    """Return the form of a measure that is no ratio: scope head, micro-averaged or label-wise, without lift."""
    named = _formula(objective.measure, weight * n_labels)
    if named is None or objective.scope != "head" or not objective.lift.is_none:
        return None
    formula, m = named
    if objective.averaging not in ("micro", "label"):
        return None
    kind: Kind = "alone" if formula == "function" and not objective.measure.monotone else "micro"
    if objective.averaging == "label" or n_labels == 1 or objective.max_head_size == 1:
        kind = "counted"
    return FastForm(kind, max_head_size=objective.max_head_size, formula=formula, m=m)


def _formula(measure: Measure, max_count: int) -> tuple[str, tuple[int, int]] | None:
    if isinstance(measure, FunctionMeasure):
        return "function", (0, 1)
    if isinstance(measure, ExpressionMeasure):
        return ("function", (0, 1)) if max_count > 0 and measure.keeps_order(max_count) else None
    if isinstance(measure, MEstimate):
        small = measure.m.numerator + measure.m.denominator * max(max_count, 1) < LARGEST_SUM
        return ("m_estimate", measure.m.as_integer_ratio()) if small else None
    return (measure.name, (0, 1)) if isinstance(measure, Association) else None


def _ratio_kind(objective: Objective, measure: RatioMeasure, lifted: bool) -> Kind | None:
    if objective.averaging == "label" and objective.scope == "head" and not lifted:
        return "singles" if min(measure.denominator) >= 0 else None
    if objective.averaging == "example":
        return None if lifted or objective.scope != "head" or not _is_compiled_example_wise(measure) else "example"
    if objective.averaging != "micro" or not measure.has_positive_denominator:
        return None
    decomposable = objective.scope == "head" and not measure.has_constants
    return "singles" if decomposable and not lifted else "ratio"


def _is_compiled_example_wise(measure: RatioMeasure) -> bool:
    """Return True for Hamming accuracy, or if only covered examples have a value, convex in their number of errors."""
    if measure.rows == HAMMING:
        return True
    zero, right, wrong, *_ = measure.denominator
    return measure.rewards_tp_only and zero == 0 and right >= wrong > 0


SEARCHES = ("auto", "exhaustive", "antimonotone", "decomposable", "ratio", "subset", "bound")


@dataclass(frozen=True, slots=True)
class Lift:
    """Multiplies the value of a head by ρ(number of its labels); ρ >= 1, and ρ(1) = 1 but for a peak at 1.

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
        if not all(abs(x) <= LARGEST_NUMBER for x in numbers):
            raise OptionError(f"lift {self.kind}: its numbers must be finite and at most 1e100, got {numbers}")
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
        """True if every head size has the factor 1 by definition."""
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
        for name, value, options in (
            ("averaging", self.averaging, AVERAGINGS),
            ("scope", self.scope, SCOPES),
            ("search", self.search, SEARCHES),
        ):
            if value not in options:
                raise OptionError(parameter=name, value=value, allowed=f"one of {', '.join(options)}")
        for name in ("max_head_size", "effort"):
            limit: Any = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, Integral) or limit < 1):
                allowed = f"{literal(None)} or a whole number of at least 1"
                raise OptionError(parameter=name, value=limit, allowed=allowed)
        if self.effort is not None and self.search != "auto":
            auto, other = argument("search", "auto"), argument("search", self.search)
            raise OptionError(f"{parameter_name('effort')} is for {auto}, not for {other}")

    def in_units(self, unit: Fraction) -> Objective:
        """Return the objective for counts in units of `unit` examples, with exactly equal values.

        >>> Objective("m2").in_units(Fraction(1, 2)).measure.m
        Fraction(4, 1)
        """
        # if each example is measured separately, its weight is no count
        if unit == 1 or self.averaging in ("example", "macro"):
            return self
        return replace(self, measure=self.measure.in_units(unit))

    def properties(self, nothing_set: bool = False) -> Properties:
        """Return the proved properties of the measure with this averaging and scope."""
        return self.measure.properties(self.averaging, self.scope, self.negative, nothing_set)

    def proof(self) -> dict[str, Any] | None:
        """Return the proof by machine that searches for this objective may rely on, as plain JSON values.

        None without one: only what is written as an expression needs it. An interrupt ends the search for it, which
        may take seconds: a model without a proof is better than no model.

        Examples
        --------
        >>> Objective("tp**2 / (tp + fp)**2").proof()["lemma"], Objective("f1").proof()
        ('between', None)
        """
        if not isinstance(self.measure, ExpressionMeasure):
            return None
        with suppress(KeyboardInterrupt):
            for nothing_set in (False, True):
                proof = proof_for(Case(self.measure, self.averaging, self.scope, self.negative, nothing_set))
                if proof is not None:
                    return proof.to_dict(self.measure)
        return None

    def fast_form(self, n_labels: int, weight: int = 0) -> FastForm | None:
        """Return the form in which the native engine optimises heads, or None if there is none.

        `weight` is the total weight of the examples; some forms hold up to a largest one.

        >>> Objective("f0.5").fast_form(6)
        FastForm(kind='singles', num=(0, 5, 0, 0, 0), den=(0, 5, 4, 0, 1), scope='head', rho=None, ...)
        >>> [Objective(name).fast_form(6).kind for name in ("laplace", "matthews")]
        ['ratio', 'micro']
        >>> Objective("matthews", scope="all").fast_form(6) is None
        True
        """
        measure = self.measure
        lift, rho = self.lift, None
        if not lift.is_none:
            rho = (lift.SCALE, *(lift.steps(size, n_labels) for size in range(1, n_labels + 1)))
        if isinstance(measure, SubsetAccuracy):
            plain = self.scope == "head" and rho is None
            return FastForm("subset", max_head_size=self.max_head_size) if plain else None
        if not isinstance(measure, RatioMeasure):
            return _traced_form(self, n_labels, weight) or _counted_form(self, n_labels, weight)
        kind = _ratio_kind(self, measure, lifted=rho is not None)
        max_count = max(weight, 1) * n_labels  # the four counts of a label sum to at most the weight
        if kind is None or max(abs(row[0]) + max(map(abs, row[1:])) * max_count for row in measure.rows) >= LARGEST_SUM:
            return None
        if max(rho or (0,)) >= LARGEST_LIFT:
            return None
        if kind == "example" and max(measure.denominator) * n_labels >= 1 << 31:
            return None
        return FastForm(kind, measure.numerator, measure.denominator, self.scope, rho, self.max_head_size)

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
