"""Scores of a list if it ended after each of its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyrule.data.results import make_frame
from polyrule.errors import OptionError
from polyrule.evaluation.figures.canvas import COLOURS, DASHES, new_axes, quiet
from polyrule.evaluation.scores import measure_words
from polyrule.model.rule_list import RuleList
from polyrule.report.counts import count_predictions
from polyrule.report.curves import Curve, curve
from polyrule.report.inputs import read_inputs

SCORES = ("micro_f1", "hamming_accuracy", "subset_accuracy")


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Scores of every prefix of one or several rule lists.

    Parameters
    ----------
    curves : tuple of (model name, part title, Curve)
        One per model and part of the data.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.model import Literal, NumericCondition, Rule
    >>> table = Table.from_array([[6.0], [2.0]])
    >>> model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)),), table.features, ("red",))
    >>> LearningCurve.of(model, (table, [[1], [0]])).frame()["micro_f1"].tolist()
    [0.0, 1.0]
    """

    curves: tuple[tuple[str, str, Curve], ...]

    @classmethod
    def of(cls, models: Any, data: Any = None, test: Any = None) -> LearningCurve:
        """Run the lists on the data; models and data as in `polyrule.report.build`."""
        inputs = read_inputs(models, data, test)
        if not inputs.parts:
            raise OptionError("a learning curve needs data or test")
        pairs = [(name, model) for name, model in zip(inputs.names, inputs.models, strict=True)]
        for name, model in pairs:
            if not isinstance(model, RuleList):
                raise OptionError(f"model {name!r} is not a rule list, so it has no order to follow")
        return cls(
            tuple(
                (name, part.title, curve(model, count_predictions(model, part.covers)))
                for name, model in pairs
                for part in inputs.parts
            )
        )

    def frame(self) -> Any:
        """Return a row per model, part and number of rules."""
        rows = [(name, part, step, scores) for name, part, scores in self.curves for step in range(len(scores))]
        columns: dict[str, list[Any]] = {
            "model": [name for name, *_ in rows],
            "part": [part for _, part, *_ in rows],
            "rules": [step for *_, step, _ in rows],
        }
        for score in (*SCORES, "set_share", "open_examples"):
            columns[score] = [getattr(scores, score)[step].item() for *_, step, scores in rows]
        return make_frame(columns)

    def plot(self, ax: Any = None, score: str = "micro_f1") -> Any:
        """Draw one score over the number of rules and return the axes."""
        if score not in SCORES:
            raise OptionError(f"score must be one of {', '.join(SCORES)}, got {score!r}")
        ax = new_axes(ax, 7.0, 4.0)
        models = list(dict.fromkeys(name for name, *_ in self.curves))
        parts = list(dict.fromkeys(part for _, part, _ in self.curves))
        for name, part, scores in self.curves:
            ax.step(
                range(len(scores)),
                getattr(scores, score),
                where="post",
                color=COLOURS[models.index(name) % len(COLOURS)],
                linestyle=DASHES[parts.index(part) % len(DASHES)],
                label=f"{name}, {part.lower()}" if len(models) > 1 else part,
            )
        ax.set_xlabel("rules")
        ax.set_ylabel(measure_words(score))
        ax.set_ylim(0, 1)
        ax.legend(frameon=False)
        quiet(ax)
        return ax
