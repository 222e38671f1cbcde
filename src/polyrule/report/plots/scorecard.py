"""Weights of rules per label as a picture of the scorecard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.conditions.simplify import drop_implied_limits, simplify_body
from polyrule.data.results import make_frame
from polyrule.errors import OptionError
from polyrule.evaluation.figures.canvas import new_axes
from polyrule.model.printing import Formatter, format_weight
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Matrix

_LONGEST = 60  # letters of a body


@dataclass(frozen=True, eq=False)
class Scorecard:
    """A row per rule, a column per label, and what the rule adds to the label.

    For an ensemble the first row has the intercepts, so that a column can be added up. A rule list has no weights: a
    label that a rule sets gets the share of training labels it was right on, negative if the rule sets it to absent.

    Parameters
    ----------
    values : ndarray, shape (rows, labels)
        NaN if a rule has no weight for the label.
    rows, labels : tuple of str
        Names of the rows and columns.
    points : bool
        Whether all numbers are whole.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.ensemble import Decision, Entry, WeightedRule
    >>> from polyrule.model import NumericCondition
    >>> rule = WeightedRule((Entry(0, 2.0), Entry(1, -1.0)), (NumericCondition(0, "<=", 96.0),))
    >>> decision = Decision("threshold", (0.0, 0.0))
    >>> model = RuleEnsemble((rule,), (Feature("tempo"),), ("calm", "happy"), (-1.0, 0.0), decision)
    >>> Scorecard.of(model).frame().to_dict("records")
    [{'': 'start', 'calm': -1.0, 'happy': 0.0}, {'': '1. tempo <= 96', 'calm': 2.0, 'happy': -1.0}]
    """

    values: Matrix
    rows: tuple[str, ...]
    labels: tuple[str, ...]
    points: bool

    @classmethod
    def of(cls, model: Any) -> Scorecard:
        """Take a model, or a fitted estimator, apart."""
        model = getattr(model, "model_", model)
        if not isinstance(model, (RuleList, RuleEnsemble)):
            raise OptionError(f"a scorecard is made of a rule list or an ensemble, not of {type(model).__name__}")
        start = [model.intercepts] if isinstance(model, RuleEnsemble) else []
        values = np.full((len(start) + len(model), len(model.label_names)), np.nan)
        if start:
            values[0] = start[0]
        rules: Sequence[Any] = model.rules
        for row, rule in enumerate(rules, start=len(start)):
            for item in rule.head:
                values[row, item.label] = item.weight if hasattr(item, "weight") else _right(item)
        names = [f"{number}. {_body(rule, model)}" for number, rule in enumerate(rules, start=1)]
        whole = isinstance(model, RuleEnsemble) and model.is_scorecard
        return cls(values, ("start",) * len(start) + tuple(names), tuple(model.label_names), whole)

    def frame(self) -> Any:
        """Return a row per rule and a column per label."""
        return make_frame({"": self.rows} | {name: self.values[:, k].tolist() for k, name in enumerate(self.labels)})

    def plot(self, ax: Any = None) -> Any:
        """Draw the card, blue for and red against a label, and return the axes."""
        rows, columns = self.values.shape
        ax = new_axes(ax, 4.5 + 0.6 * columns, 1.4 + 0.32 * max(1, rows))
        max_value = float(np.nanmax(np.abs(self.values), initial=0.0)) or 1.0
        ax.imshow(np.nan_to_num(self.values), cmap="RdBu", vmin=-max_value, vmax=max_value, aspect="auto")
        for (row, column), value in np.ndenumerate(self.values):
            if not np.isnan(value):
                colour = "white" if abs(value) > 0.6 * max_value else "black"
                ax.text(column, row, format_weight(value), ha="center", va="center", color=colour, fontsize=8)
        ax.set_xticks(range(columns), self.labels, rotation=30, ha="right")
        ax.set_yticks(range(rows), self.rows, fontsize=8)
        return ax


def plot_scorecard(model: Any, ax: Any = None) -> Any:
    """Draw the weight of each rule for each label.

    Parameters
    ----------
    model : RuleList, RuleEnsemble or fitted estimator
    ax : matplotlib axes, optional
        New ones where None.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from polyrule import RuleListClassifier, datasets
    >>> model = RuleListClassifier(max_rules=3).fit(datasets.load("emotions", part="train"))
    >>> len(plot_scorecard(model).get_yticklabels())
    3
    """
    return Scorecard.of(model).plot(ax)


def _right(literal: Any) -> float:
    share = literal.tp / (literal.tp + literal.fp) if literal.tp + literal.fp else 1.0
    return share if literal.value else -share


def _body(rule: Any, model: Any) -> str:
    body = drop_implied_limits(simplify_body(rule.body), model.features)
    text = Formatter(model).body(body)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
