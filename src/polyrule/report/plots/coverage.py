"""Coverage and correctness of each rule: in the order of the list, and all rules in one scatter plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.errors import OptionError
from polyrule.evaluation.figures.canvas import ACCENT, RIGHT, SOFT, WRONG, new_axes, quiet
from polyrule.model.rule_list import RuleList
from polyrule.report.counts import PredictionCounts, count_predictions
from polyrule.report.inputs import read_inputs


def run_one(model: Any, data: Any) -> tuple[RuleList, PredictionCounts]:
    """Run one rule list on one data set, given as in `polyrule.report.build`."""
    inputs = read_inputs(model, data)
    if len(inputs.models) != 1 or not isinstance(inputs.models[0], RuleList):
        raise OptionError("this plot is about one rule list")
    if not inputs.parts:
        raise OptionError("this plot needs data")
    return inputs.models[0], count_predictions(inputs.models[0], inputs.parts[0].covers)


@dataclass(frozen=True, eq=False)
class Coverage:
    """Per rule, in the order of the list: examples covered, labels set rightly and wrongly.

    Parameters
    ----------
    covers, sets, right, wrong : tuple of int
        Per rule: examples covered, labels newly set, and how many of those are right and wrong.
    examples : int
        How many there are in all.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.model import Literal, NumericCondition, Rule
    >>> table = Table.from_array([[6.0], [2.0], [7.0]])
    >>> model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)),), table.features, ("red",))
    >>> Coverage.of(model, (table, [[1], [0], [0]])).frame().to_dict("records")
    [{'rule': 1, 'covers': 2, 'sets': 2, 'right': 1, 'wrong': 1}]
    """

    covers: tuple[int, ...]
    sets: tuple[int, ...]
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    examples: int

    @classmethod
    def of(cls, model: Any, data: Any) -> Coverage:
        """Run the list on the data; both as in `polyrule.report.build`."""
        _, counts = run_one(model, data)
        right, wrong = counts.right.sum(axis=1), counts.wrong.sum(axis=1)
        covers, sets = tuple(counts.covers.tolist()), tuple(counts.sets.tolist())
        return cls(covers, sets, tuple(right.tolist()), tuple(wrong.tolist()), counts.covers_of.rows)

    def frame(self) -> Any:
        """Return a row per rule."""
        rules = list(range(1, len(self.covers) + 1))
        return make_frame(
            {"rule": rules, "covers": self.covers, "sets": self.sets, "right": self.right, "wrong": self.wrong}
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw right and wrong decisions as bars and coverage as a line; return the axes."""
        ax = new_axes(ax, max(5.0, min(14.0, 2 + 0.18 * len(self.covers))), 3.6)
        rules = range(1, len(self.covers) + 1)
        ax.bar(rules, self.right, color=RIGHT, label="labels set rightly")
        ax.bar(
            rules,
            self.wrong,
            bottom=self.right,
            color="none",
            edgecolor=WRONG,
            hatch="////",
            label="labels set wrongly",
        )
        ax.step(rules, self.covers, where="mid", color=SOFT, label="examples covered")
        ax.set_xlabel("rule")
        ax.set_ylabel(f"of {self.examples:,} examples")
        ax.legend(frameon=False)
        quiet(ax)
        return ax


@dataclass(frozen=True, eq=False)
class RuleScatter:
    """One point per rule that set something: the strong ones, the small ones, the doubtful ones.

    Parameters
    ----------
    rules : tuple of int
        Numbers of the rules, from 1.
    covers : tuple of int
        Examples each rule covers.
    precision : tuple of float
        Share of the labels it set that are right.
    labels : tuple of int
        Labels in its head.
    texts : tuple of str
        The rules as text.

    Examples
    --------
    >>> from polyrule import RuleListClassifier, datasets
    >>> train = datasets.load("emotions", part="train")
    >>> scatter = RuleScatter.of(RuleListClassifier(max_rules=3).fit(train), train)
    >>> scatter.rules
    (1, 2, 3)
    """

    rules: tuple[int, ...]
    covers: tuple[int, ...]
    precision: tuple[float, ...]
    labels: tuple[int, ...]
    texts: tuple[str, ...]

    @classmethod
    def of(cls, model: Any, data: Any) -> RuleScatter:
        """Run the list on the data; both as in `polyrule.report.build`."""
        rule_list, counts = run_one(model, data)
        right, wrong = counts.right.sum(axis=1), counts.wrong.sum(axis=1)
        active = [number for number in range(len(rule_list)) if right[number] + wrong[number]]
        return cls(
            rules=tuple(number + 1 for number in active),
            covers=tuple(int(counts.covers[number]) for number in active),
            precision=tuple(float(right[number] / (right[number] + wrong[number])) for number in active),
            labels=tuple(len(rule_list[number].head) for number in active),
            texts=tuple(rule_list.format_rule(number, counts=False) for number in active),
        )

    def frame(self) -> Any:
        """Return a row per rule."""
        return make_frame(
            {
                "rule": self.rules,
                "covers": self.covers,
                "precision": self.precision,
                "labels": self.labels,
                "text": self.texts,
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw heads of one label as circles and of several as squares; number the ten that cover most."""
        ax = new_axes(ax, 6.5, 4.5)
        for several, marker, colour, words in ((False, "o", ACCENT, "one label"), (True, "s", WRONG, "several labels")):
            points = [at for at, count in enumerate(self.labels) if (count > 1) == several]
            if points:
                across, up = [self.covers[at] for at in points], [self.precision[at] for at in points]
                ax.scatter(across, up, marker=marker, color=colour, alpha=0.75, linewidths=0, label=words)
        for at in sorted(range(len(self.rules)), key=lambda at: -self.covers[at])[:10]:
            place = (self.covers[at], self.precision[at])
            ax.annotate(str(self.rules[at]), place, xytext=(5, 4), textcoords="offset points", fontsize=8)
        ax.set_xlabel("examples covered")
        ax.set_ylabel("labels set rightly")
        ax.set_ylim(-0.03, 1.05)
        if self.rules:
            ax.legend(frameon=False, title="head")
        quiet(ax)
        return ax
