"""Guarantees that a model states about new examples; `polyrule.decisions.calibrate` proves them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from polyrule.errors import ModelError

Risk = Literal["recall", "false_alarms", "precision", "f1"]
Level = Literal["label", "micro", "set"]


@dataclass(frozen=True)
class Guarantee:
    """A promise about new examples that are exchangeable with those of `data`.

    Attributes
    ----------
    risk : {"recall", "false_alarms", "precision", "f1"}
    target_level : float
        Recall, precision or F1 at least this; false alarms among absent labels at most this.
    confidence_level : float or None
        Probability, over the draw of the calibration examples, with which it holds; None: it holds on average.
    per : {"label", "micro", "set"}
        For each label; for all labels together; for the label set of an example (no present label is missed).
    label : str or None
        Name of the label, if it is for each label.
    examples : int
        Examples that count: with the label present (recall), absent (false alarms), all others.
    cutoff, observed : float
        Chosen cutoff, and the level on the calibration examples.
    data : str
        Name of the calibration data.
    """

    risk: Risk
    target_level: float
    confidence_level: float | None
    per: Level
    label: str | None
    examples: int
    cutoff: float
    observed: float
    data: str

    def __str__(self) -> str:
        what = {
            "recall": "recall at least" if self.per != "set" else "share of examples without a missed label at least",
            "false_alarms": "false alarms at most",
            "precision": "precision at least",
            "f1": "F1 at least",
        }[self.risk]
        where = "" if self.label is None else f"{self.label}: "
        sure = "on average" if self.confidence_level is None else f"with confidence {self.confidence_level:g}"
        return f"{where}{what} {self.target_level:g} {sure} (from {self.examples} examples of {self.data})"


def guarantees(model: Any) -> tuple[Guarantee, ...]:
    """Return the guarantees that a model states."""
    names = {field.name for field in fields(Guarantee)}
    entries = model.info.get("guarantees", [])
    if not isinstance(entries, (list, tuple)) or any(not isinstance(e, dict) or e.keys() != names for e in entries):
        raise ModelError("info: guarantees are not as polyrule.decisions.calibrate states them")
    return tuple(Guarantee(**entry) for entry in entries)


def guarantee_lines(model: Any) -> list[str]:
    """Return a printed line per guarantee."""
    return [f"(guaranteed: {one})" for one in guarantees(model)]
