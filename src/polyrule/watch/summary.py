"""Results of watching a model: changes, advice per rule, quality to expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.model import RuleList
from polyrule.watch.proportions import Proportion

_SENTENCES = {  # by topic; {} is the subject
    "coverage": ("{} covers more rows", "{} covers fewer rows"),
    "precision": ("{} is right more often", "{} is right less often"),
    "feature": ("more rows with {}", "fewer rows with {}"),
    "label": ("{} is more common", "{} is less common"),
}


@dataclass(frozen=True)
class Quality:
    """Sums behind the F1 of one update: expected from probabilities, and counted where labels are known."""

    expected_tp: float
    predicted: float
    expected_present: float
    tp: float = 0.0
    fp: float = 0.0
    fn: float = 0.0

    @property
    def expected_f1(self) -> float | None:
        """Micro-F1 to expect if the probabilities are calibrated; None without predictions and labels."""
        total = self.predicted + self.expected_present
        return 2 * self.expected_tp / total if total else None

    @property
    def f1(self) -> float | None:
        """Micro-F1 over the known labels; None if none is known."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else None

    def __add__(self, other: Quality) -> Quality:
        """Add the sums of two updates."""
        mine, more = asdict(self), asdict(other)
        return Quality(**{name: mine[name] + more[name] for name in mine})

    def to_dict(self) -> dict[str, float]:
        """Return the sums by name."""
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """One share that is not what it was in the reference data.

    Attributes
    ----------
    proportion : Proportion
    reference, recent : tuple of (hits, rows)
    since : str
        Name of the update that proved the change.
    subject : str
    """

    proportion: Proportion
    reference: tuple[int, int]
    recent: tuple[int, int]
    since: str
    subject: str

    @property
    def shares(self) -> tuple[float, float]:
        """Share in the reference data and in recent rows; 0 of no rows is 0."""
        (h0, n0), (h1, n1) = self.reference, self.recent
        return h0 / n0 if n0 else 0.0, h1 / n1 if n1 else 0.0

    @property
    def text(self) -> str:
        """The change as one sentence."""
        before, after = self.shares
        sentence = _SENTENCES[self.proportion.topic][0 if after >= before else 1].format(self.subject)
        unit = "rows that it covers" if self.proportion.topic == "precision" else "rows"
        numbers = f"{before:.0%} in the reference data, {after:.0%} of {self.recent[1]} recent {unit}"
        return f"{sentence}: {numbers.replace('%', ' %')}"


@dataclass(frozen=True, eq=False)
class WatchSummary:
    """Everything that a monitor has to report.

    Attributes
    ----------
    updates : tuple of str
        Names of the updates so far.
    n_rows, n_known : int
        New rows, and labels of them that are known.
    changes : tuple of Change
    advice : tuple of str
        One per rule: "keep", or what to do and why.
    qualities : tuple of Quality
        One per update.
    unseen : tuple of str
        Notes about categories that the model does not know.
    false_alarm_rate : float
    rules : tuple of str
    """

    updates: tuple[str, ...]
    n_rows: int
    n_known: int
    changes: tuple[Change, ...]
    advice: tuple[str, ...]
    qualities: tuple[Quality, ...]
    unseen: tuple[str, ...]
    false_alarm_rate: float
    rules: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if no change has been proved."""
        return not self.changes

    @property
    def quality(self) -> Quality:
        """Sums over all updates."""
        return sum(self.qualities, Quality(0.0, 0.0, 0.0))

    def frame(self) -> Any:
        """Return a data frame with one row per change."""
        rows = [self._record(change) for change in self.changes]
        names = ("subject", "topic", "reference", "recent", "recent_rows", "since")
        return make_frame({name: [row[name] for row in rows] for name in names})

    def _record(self, change: Change) -> dict[str, Any]:
        before, after = change.shares
        return {
            "subject": change.subject,
            "topic": change.proportion.topic,
            "reference": before,
            "recent": after,
            "recent_rows": change.recent[1],
            "since": change.since,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON values."""
        return {
            "updates": len(self.updates),
            "rows": self.n_rows,
            "known_labels": self.n_known,
            "ok": self.ok,
            "false_alarm_rate": self.false_alarm_rate,
            "changes": [self._record(change) | {"text": change.text} for change in self.changes],
            "advice": [
                {"rule": number, "text": text, "advice": advice}
                for number, (text, advice) in enumerate(zip(self.rules, self.advice, strict=True), start=1)
            ],
            "expected_micro_f1": self.quality.expected_f1,
            "micro_f1": self.quality.f1,
            "unseen": list(self.unseen),
        }

    def __str__(self) -> str:
        updates = f"{len(self.updates)} update{'s' * (len(self.updates) != 1)}"
        lines = [f"{self.n_rows} new rows in {updates}; {self.n_known} of their labels are known"]
        if self.ok:
            lines.append("nothing has changed")
        else:
            lines.append(f"{len(self.changes)} changes:" if len(self.changes) > 1 else "1 change:")
            lines += [f"  {change.text} (proved by {change.since})" for change in self.changes]
            lines += ["what to do:"]
            lines += [
                f"  rule {number}: {advice}   {text}"
                for number, (advice, text) in enumerate(zip(self.advice, self.rules, strict=True), start=1)
                if advice != "keep"
            ]
            if all(advice == "keep" for advice in self.advice):
                lines.append("  keep all rules; look at the changed columns and labels")
        lines += [f"note: {note}" for note in self.unseen]
        expected, reached = self.quality.expected_f1, self.quality.f1
        if expected is not None:
            lines.append(f"micro-F1 to expect from the probabilities: {expected:.3f}")
        if reached is not None:
            lines.append(f"micro-F1 on the known labels: {reached:.3f}")
        silent = f"{1 - self.false_alarm_rate:.0%}".replace("%", " %")
        lines.append(f"(while nothing changes, no change is ever reported with probability {silent})")
        return "\n".join(lines)

    __repr__ = __str__


def advice_for(model: Any, changes: Sequence[Change]) -> tuple[str, ...]:
    """Return what to do about each rule: keep it, fit its weights again, learn its labels again, or retire it."""
    advice = []
    prevalence = {c.proportion.label: c.shares[1] for c in changes if c.proportion.topic == "label"}
    for number in range(len(model.rules)):
        of_rule = [change for change in changes if change.proportion.rule == number]
        precision = [change for change in of_rule if change.proportion.topic == "precision"]
        if not isinstance(model, RuleList):
            advice.append("refit the weights" if of_rule else "keep")
            continue
        worse = [change for change in precision if change.shares[1] < change.shares[0]]
        if not worse:
            advice.append("keep")
            continue
        names = ", ".join(model.label_names[change.proportion.label or 0] for change in worse)
        useless = all(
            change.shares[1] <= prevalence.get(change.proportion.label, change.shares[0] / 2) for change in worse
        )
        whole = len(worse) == len(model.rules[number].head)
        advice.append(f"retire it ({names})" if useless and whole else f"learn {names} again")
    return tuple(advice)
