"""What a check of a model against its training data showed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DATA = "the data"


@dataclass(frozen=True)
class Finding:
    """Something that is not as the model says; `rule` counts from 0 and is None for the model as a whole."""

    rule: int | None
    what: str
    stated: str
    found: str

    def __str__(self) -> str:
        where = "the model" if self.rule is None else f"rule {self.rule + 1}"
        return f"{where}: {self.what} is stated as {self.stated} but found to be {self.found}"


@dataclass(frozen=True, repr=False)
class Verification:
    """What replaying a model showed.

    Parameters
    ----------
    rules : int
        Rules replayed.
    certified : int
        Rules whose stored proof of the head was checked.
    searched : int
        Rules without a proof whose head was searched anew.
    findings : tuple of Finding
        Empty if everything is as the model says.
    measure : str
        What came of the proof about the measure, if one is stored; empty if none is.
    unchecked : tuple of str
        What could not be checked, and why. What decides a prediction is either checked or named here.
    """

    rules: int
    certified: int
    searched: int
    findings: tuple[Finding, ...]
    measure: str = ""
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything that was checked is as the model says; `unchecked` tells what was not."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; rules are counted from 1."""
        return {
            "ok": self.ok,
            "rules": self.rules,
            "certified": self.certified,
            "searched": self.searched,
            **({"measure": self.measure} if self.measure else {}),
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

    @property
    def other_data(self) -> bool:
        """Whether nothing was replayed, because the data is not what the model was learned from."""
        return any(finding.what == DATA for finding in self.findings)

    def __repr__(self) -> str:
        return str(self)  # what a notebook or a console shows

    def __str__(self) -> str:
        if self.other_data:
            told = self.findings[0]
            return (
                "this is not the data that the model was learned from, so nothing in it can be checked: "
                f"the model was learned from {told.stated}, this is {told.found}"
            )
        checks = f"{self.rules} rules replayed, {self.certified} proofs checked, {self.searched} heads searched anew"
        checks += f", {self.measure}" if self.measure else ""
        if not self.ok:
            wrong = f"{checks}: {len(self.findings)} thing(s) are not as the model says"
            return "\n".join([wrong, *map(str, self.findings)])
        if self.unchecked:
            return f"{not_checked(self.unchecked)}\n{checks}: what was checked is as the model says"
        return f"{checks}, learned anew: everything is as the model says"


def not_checked(what: tuple[str, ...]) -> str:
    """Say in one line what a check left out."""
    return f"NOT CHECKED: {'; '.join(what)}"
