"""The head-size bias: a factor that rewards heads with more labels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, log

from polyrule.errors import OptionError

SCALE = 1 << 30


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
        return round(self.factor(size, n_labels) * SCALE)

    def rho(self, size: int, n_labels: int) -> Fraction:
        """Return ρ(size) as the exact fraction every engine uses."""
        return Fraction(self.steps(size, n_labels), SCALE)

    def __str__(self) -> str:
        if self.kind == "peak":
            return f"peak:{self.peak_at},{self.rho_max:g},{self.curvature:g}"
        return self.kind if self.kind == "none" else f"{self.kind}:{self.k:g}"
