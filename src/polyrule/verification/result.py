"""Result of a verification: findings, and everything that was not checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Subject of the finding that the data is not the training data.
DATA = "the data"
#: Largest derivative of the loss by any weight, per unit of training weight, that counts as 0.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Finding:
    """Difference between a model and its training data.

    Parameters
    ----------
    rule : int or None
        Position of the rule, from 0; None for the model as a whole.
    what : str
        Name of the quantity.
    stated, found : str
        Its value in the model, and the right one.
    """

    rule: int | None
    what: str
    stated: str
    found: str

    def __str__(self) -> str:
        where = "the model" if self.rule is None else f"rule {self.rule + 1}"
        return f"{where}: {self.what} is stated as {self.stated} but found to be {self.found}"


@dataclass(frozen=True, repr=False)
class Verification:
    """Result of checking a model against its training data.

    Parameters
    ----------
    rules : int
        Number of rules that were counted again.
    findings : tuple of Finding
        Empty if the model agrees with the data.
    unchecked : tuple of str
        Everything that decides a prediction or a printed line and could not be checked, with the reason.
    certified : int
        Number of rules whose stored proof was checked.
    searched : int
        Number of rules without a proof whose best head was searched again.
    measure : str
        Result of checking the proof about the measure; empty if none is stored.
    slope : float or None
        Largest derivative of the loss of an ensemble by any weight, per unit of training weight; 0 at the optimum. None
        if its weights were not fitted to the labels themselves.
    relations : int
        Number of relations between labels, which hold for every prediction.

    Examples
    --------
    >>> print(Verification(2, (Finding(0, "the coverage", "12", "11"),)))
    2 rules replayed: 1 thing(s) are not as the model says
    rule 1: the coverage is stated as 12 but found to be 11
    """

    rules: int
    findings: tuple[Finding, ...] = ()
    unchecked: tuple[str, ...] = ()
    certified: int = 0
    searched: int = 0
    measure: str = ""
    slope: float | None = None
    relations: int = 0

    @property
    def ok(self) -> bool:
        """True if there is no finding; `unchecked` lists what was not checked."""
        return not self.findings

    @property
    def other_data(self) -> bool:
        """True if nothing was checked because the data is not the training data."""
        return any(finding.what == DATA for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; rules are counted from 1."""
        return {
            "ok": self.ok,
            "rules": self.rules,
            "certified": self.certified,
            "searched": self.searched,
            **({"measure": self.measure} if self.measure else {}),
            **({} if self.slope is None else {"slope": self.slope}),
            **({"relations": self.relations} if self.relations else {}),
            "findings": [
                {
                    "rule": None if finding.rule is None else finding.rule + 1,
                    "what": finding.what,
                    "stated": finding.stated,
                    "found": finding.found,
                }
                for finding in self.findings
            ],
            "unchecked": list(self.unchecked),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.other_data:
            other = next(finding for finding in self.findings if finding.what == DATA)
            return (
                "this is not the data that the model was learned from, so nothing in it can be checked: "
                f"the model was learned from {other.stated}, this is {other.found}"
            )
        checks = ", ".join(self._checks())
        if not self.ok:
            wrong = f"{checks}: {len(self.findings)} thing(s) are not as the model says"
            return "\n".join([wrong, *map(str, self.findings)])
        if self.unchecked:
            return f"NOT CHECKED: {'; '.join(self.unchecked)}\n{checks}: what was checked is as the model says"
        return f"{checks}, learned anew: everything is as the model says"

    def _checks(self) -> list[str]:
        done = [f"{self.rules} rules replayed"]
        if self.certified:
            done.append(f"{self.certified} proofs checked")
        if self.searched:
            done.append(f"{self.searched} heads searched anew")
        if self.measure:
            done.append(self.measure)
        if self.slope is not None and self.slope <= TOLERANCE:
            done.append(
                f"the weights are the best ones for these rules (largest derivative {self.slope:.1e} per example)"
            )
        if self.relations:
            done.append(f"{self.relations} relation{'s' * (self.relations > 1)} between labels hold for every input")
        return done
