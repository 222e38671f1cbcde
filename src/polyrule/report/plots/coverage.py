"""Whom each rule covers, and how often it is right there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.errors import OptionError
from polyrule.evaluation.figures.canvas import RIGHT, SOFT, WRONG, new_axes, quiet
from polyrule.model.rule_list import RuleList
from polyrule.report.inputs import read_inputs
from polyrule.report.tally import Covers, Tally, tally


def run_one(model: Any, data: Any) -> tuple[RuleList, Tally, int]:
    """Run one rule list on one data set, given as in `polyrule.report.build`; also the number of examples."""
    inputs = read_inputs(model, data)
    if len(inputs.models) != 1 or not isinstance(inputs.models[0], RuleList):
        raise OptionError("this plot is about one rule list")
    if not inputs.parts:
        raise OptionError("this plot needs data")
    part = inputs.parts[0]
    return inputs.models[0], tally(inputs.models[0], Covers(part.table, part.truth)), len(part)


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
        _, found, examples = run_one(model, data)
        right, wrong = found.right.sum(axis=1), found.wrong.sum(axis=1)
        covers, sets = tuple(found.covers.tolist()), tuple(found.sets.tolist())
        return cls(covers, sets, tuple(right.tolist()), tuple(wrong.tolist()), examples)

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
