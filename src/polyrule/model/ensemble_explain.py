"""Why one example gets the labels it gets: each label's sum with the rules that contributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from polyrule.conditions import group_of
from polyrule.conditions.checks import checks
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.conditions.text import format_name
from polyrule.data.results import frame_of_rows, html_table
from polyrule.data.table import Table
from polyrule.model.columns import one_example
from polyrule.model.printing import Formatter, format_weight
from polyrule.relations.plan import Because

if TYPE_CHECKING:
    from polyrule.model.rule_ensemble import RuleEnsemble


@dataclass(frozen=True)
class Contribution:
    """Contribution of one rule that fired to a label's sum; rules are counted from 0.

    `text` is its body; `held` names the members of its group that hold, if it has one.
    """

    rule: int
    weight: float
    text: str
    held: str = ""

    def __str__(self) -> str:
        return f"rule {self.rule + 1}: {self.text}" + (f" ({self.held})" if self.held else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; rules are counted from 1."""
        record = {"rule": self.rule + 1, "weight": self.weight, "text": self.text}
        return record | ({"held": self.held} if self.held else {})


@dataclass(frozen=True)
class LabelSum:
    """Score of one label and its parts.

    `cut` is what the score is held against; None for a decision that has no cuts. `because` is the cause of a value
    that relations between labels changed.
    """

    label: str
    value: int
    probability: float
    start: float
    contributions: tuple[Contribution, ...]
    score: float
    cut: float | None
    because: Because | None = None


@dataclass(frozen=True, repr=False)
class EnsembleExplanation:
    """Everything an ensemble did to one example.

    Parameters
    ----------
    labels : tuple of LabelSum
        In label order.
    fired : tuple of int
        Rules that fired, counted from 0.
    decision : str
        Kind of decision.
    """

    labels: tuple[LabelSum, ...]
    fired: tuple[int, ...]
    decision: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; rules are counted from 1, as they are printed."""
        return {
            "labels": [
                {name: value for name, value in vars(item).items() if name != "because"}
                | {"contributions": [part.to_dict() for part in item.contributions]}
                | ({} if item.because is None else {"because": str(item.because)})
                for item in self.labels
            ],
            "fired": [rule + 1 for rule in self.fired],
            "decision": self.decision,
        }

    def to_frame(self) -> Any:
        """Return a data frame with one row per label and contribution; rule 0 is where the label starts."""
        rows = []
        for item in self.labels:
            rows.append({"label": item.label, "rule": 0, "weight": item.start, "text": "start"})
            rows += [
                {"label": item.label, "rule": part.rule + 1, "weight": part.weight, "text": part.text}
                for part in item.contributions
            ]
        return frame_of_rows(rows, ["label", "rule", "weight", "text"])

    def __repr__(self) -> str:
        return str(self)  # what a console shows

    def _repr_html_(self) -> str:
        rows = [
            [
                format_name(item.label),
                "present" if item.value else "absent",
                f"{100 * item.probability:.0f} %",
                format_weight(item.score),
                "" if item.cut is None else format_weight(item.cut),
                "; ".join(
                    [f"start {format_weight(item.start)}"]
                    + [f"{format_weight(part.weight)} {part}" for part in item.contributions]
                    + ([] if item.because is None else [str(item.because)])
                ),
            ]
            for item in self.labels
        ]
        return html_table(["label", "predicted", "probability", "sum", "needs", "made up of"], rows)

    def __str__(self) -> str:
        lines = []
        width = max((len(format_name(item.label)) for item in self.labels), default=0)
        for item in self.labels:
            state = "present" if item.value else "absent "
            word = "cut" if self.decision == "subset" else "needs"
            needed = "" if item.cut is None else f", {word} {format_weight(item.cut)}"
            lines.append(
                f"{format_name(item.label):<{min(width, 30)}}  {state}  {100 * item.probability:3.0f} %   "
                f"sum {format_weight(item.score)}{needed}: start {format_weight(item.start)}"
            )
            if item.because is not None:
                lines.append(f"      {state.strip()} {item.because}")
            parts = sorted(item.contributions, key=lambda part: -abs(part.weight))
            lines += [f"      {format_weight(part.weight)}  {part}" for part in parts]
        if self.decision == "subset":
            lines.append("of the label sets seen in training, the one whose sums exceed their cuts by most was chosen")
        elif self.decision == "expected-f1":
            lines.append("of the label sets seen in training, the one with the largest expected F1 was chosen")
        return "\n".join(lines)


def explain(
    ensemble: RuleEnsemble, example: Any, row: int | None = None, *, digits: int | None = None
) -> EnsembleExplanation:
    """Explain the labels of one example.

    Parameters
    ----------
    ensemble : RuleEnsemble
    example : one example, or with `row` a table, frame, array or data set that holds it
    row : int, optional
        Counted from 0.
    digits : int or None
        Significant digits of thresholds, more where so few would be wrong for the training examples or for this one;
        None writes them exactly.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
    >>> from polyrule.model import NumericCondition
    >>> rule = WeightedRule((Entry(0, 2.0), Entry(1, -1.0)), (NumericCondition(0, "<=", 96.0),))
    >>> decision = Decision("threshold", (0.0, 0.0))
    >>> model = RuleEnsemble((rule,), (Feature("tempo"),), ("calm", "happy"), (-1.0, 0.5), decision)
    >>> print(explain(model, [80.0]))
    calm   present   73 %   sum +1, needs +0: start −1
          +2  rule 1: tempo <= 96
    happy  absent    38 %   sum −0.50, needs +0: start +0.50
          −1  rule 1: tempo <= 96
    """
    ensemble, values = one_example(ensemble, example, row)
    table = Table(values[None, :], ensemble.features)
    fired = np.flatnonzero(ensemble.fired(table)[0]).tolist()
    scores = ensemble.scores(table)
    labels = ensemble.decide(scores)[0]
    causes: dict[int, Because] = {}
    if ensemble.plan is not None and not ensemble.decision.uses_sets:
        causes = ensemble.plan.reasons(ensemble.margins(scores)[0], ensemble.label_names)
    probabilities = expit(ensemble.worth * scores[0])
    rounded = ensemble if digits is None else with_threshold_intervals(ensemble, table, also=True)
    words = Formatter(ensemble, digits)
    parts: list[list[Contribution]] = [[] for _ in ensemble.label_names]
    for number in fired:
        rule = rounded.rules[number]
        text = words.conditions(rule)
        group = group_of(rule.body)
        group_text = checks(words, [group], values, {})[0].value if group else ""
        for entry in rule.head:
            parts[entry.label].append(Contribution(number, entry.weight, text, group_text))
    sums = []
    for label, name in enumerate(ensemble.label_names):
        cut = ensemble.decision.cuts[label] if ensemble.decision.cuts else None
        sums.append(
            LabelSum(
                name,
                int(labels[label]),
                float(probabilities[label]),
                ensemble.intercepts[label],
                tuple(parts[label]),
                float(scores[0, label]),
                cut,
                causes.get(label),
            )
        )
    return EnsembleExplanation(tuple(sums), tuple(fired), ensemble.decision.kind)
