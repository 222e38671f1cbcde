"""Counterfactuals: the smallest change of an example that changes a prediction, exact for every type of model.

The search is best-first over sets of examples. A node allows every feature some of its regions (see `region_grid`);
its trial is the cheapest example it allows, so no example of the node costs less than the trial. The cheapest node is
taken: if its trial has the new outcome, it is the smallest change. Otherwise the model's `CounterfactualSearch`
divides the node, without overlap, into parts that leave out only examples with the old outcome. So the first
counterfactual is the smallest.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

import numpy as np

from polyrule.conditions.text import format_feature, format_name
from polyrule.data.results import html_table
from polyrule.errors import ModelError, OptionError
from polyrule.model.columns import one_example
from polyrule.model.region_grid import Domain, RegionGrid, Trial
from polyrule.utils.messages import did_you_mean


class CounterfactualSearch(Protocol):
    """Interface of the search to a type of model: outcome of a label, division of nodes."""

    def __init__(self, model: Any, grid: RegionGrid, target: int) -> None: ...

    def outcome(self, trial: Trial) -> int:
        """Return the label's value for one example."""

    def parts(self, domain: Domain, trial: Trial, before: int) -> list[Domain]:
        """Divide a node whose trial has the old outcome; omitted parts have it, too."""


@dataclass(frozen=True)
class Change:
    """One feature to change: from `old` to `new`, the nearest value that meets `requirement`.

    A date is one feature, and its year, month and weekday follow it. Where the model tests one of these, `name` is
    that of the column of dates, and `old` and `new` are days; `old` is NaN where the day itself is not known.

    Parameters
    ----------
    feature : int
        Position among the model's features; of a date that the model does not have, the position of a part.
    name : str
    old, new : float
    old_text, requirement : str
    values : dict
        The new value of every feature that changes, by position: one, or the date and its parts.
    """

    feature: int
    name: str
    old: float
    new: float
    old_text: str
    requirement: str
    values: dict[int, float]


@dataclass(frozen=True, repr=False)
class Counterfactual:
    """The smallest change of an example that changes its prediction of a label.

    Parameters
    ----------
    label : str
    was, becomes : int
    changes : tuple of Change or None
        None if no change was found.
    steps : int
        Size of the change among those with as few features: thresholds of the model crossed, plus 1 for every changed
        category and every missing value filled in.
    exact : bool
        True: nothing smaller exists, or if `changes` is None, nothing at all. False: the search reached its limit.
    explored : int
        Number of examples on which the model was run.
    fixed : tuple of str
        Features that must not change.
    """

    label: str
    was: int
    becomes: int
    changes: tuple[Change, ...] | None
    steps: int
    exact: bool
    explored: int
    fixed: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; a missing old value is null."""
        changes = None
        if self.changes is not None:
            changes = [
                {
                    "feature": change.name,
                    "old": None if change.old != change.old else change.old,
                    "old_text": change.old_text,
                    "new": change.new,
                    "requirement": change.requirement,
                }
                for change in self.changes
            ]
        return {name: value for name, value in vars(self).items() if name not in ("explored", "fixed")} | {
            "changes": changes
        }

    def __repr__(self) -> str:
        return str(self)  # what a console shows

    def _repr_html_(self) -> str:
        if not self.changes:
            return html_table([], [], above=[str(self)])
        becomes = "present" if self.becomes else "absent"
        subject = "The smallest change" if self.exact else "A change"
        rows = [[format_feature(c.name), c.old_text, c.requirement] for c in self.changes]
        start = f"{subject} that makes {format_name(self.label)} {becomes}:"
        return html_table(["feature", "now", "needed"], rows, above=[start])

    def __str__(self) -> str:
        name = format_name(self.label)
        was, becomes = ("absent", "present") if self.becomes else ("present", "absent")
        if self.changes is None:
            if self.exact:
                fixed = ", ".join(map(format_name, self.fixed))
                return f"{name} is {was}, whatever the features are{f' (fixed: {fixed})' if fixed else ''}"
            return f"{name} is {was}; no change that flips it was found in {self.explored} tries"
        parts = [f"{change.requirement} (now {change.old_text})" for change in self.changes]
        subject = "the smallest change" if self.exact else "a change"
        return f"{name} is {was}; {subject} that makes it {becomes}: {'; '.join(parts)}"


def counterfactual(
    model: Any,
    example: Any,
    label: int | str,
    row: int | None = None,
    *,
    fixed: Collection[int | str] = (),
    limit: int = 20_000,
    digits: int | None = None,
) -> Counterfactual:
    """Return the fewest features to change, and among those the fewest steps, that change the prediction of a label.

    A numeric feature may take any number, a nominal one any of its categories; a value is never made missing, but a
    missing one may be filled in. A date is one feature and may become any other day; its parts follow.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    example : one example, or with `row` a table, frame, array or data set that holds it
    label : int or str
        Index or name.
    row : int, optional
        Counted from 0.
    fixed : collection of int or str
        Indices or names of features that must not change; a date with all its parts, or one part.
    limit : int
        Maximum number of examples on which the model is run. The problem is hard in general (it contains
        satisfiability), though learned models are easy.
    digits : int, optional
        Significant digits of numbers; a rounded requirement is a little sharper.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5), NumericCondition(1, "<=", 4.0)))
    >>> model = RuleList((rule,), (Feature("colours"), Feature("stripes")), ("red",))
    >>> print(counterfactual(model, [7, 9], "red"))
    red is absent; the smallest change that makes it present: stripes <= 4 (now 9)
    """
    if isinstance(fixed, str):
        raise OptionError("fixed must be a list of features, not one string")
    names = [feature.name for feature in model.features]
    columns = [name for feature in model.features for name in feature.sources if name not in names]
    fixed_names = {(names + columns)[place_of(names + columns, item, "feature")] for item in fixed}
    parts = [
        f.derived
        for f in model.features
        if f.derived is not None and f.derived.CHANGES_SOURCE and f.name in fixed_names
    ]
    model, values = one_example(model, example, row, dates=True)
    target = place_of(model.label_names, label, "label")
    grid = RegionGrid(model, values, fixed_names, parts)
    search: CounterfactualSearch = model.SEARCH(model, grid, target)
    before = search.outcome(grid.present)
    number = count()
    queue: list[tuple[int, int, int, Domain]] = [(0, 0, next(number), grid.everything)]
    explored = 0
    while queue and explored < limit:
        _, steps, _, domain = heapq.heappop(queue)
        explored += 1
        trial = grid.cheapest(domain)
        if search.outcome(trial) != before:
            changes = _changes(grid, trial, digits)
            return Counterfactual(model.label_names[target], before, 1 - before, changes, steps, True, explored)
        for part in search.parts(domain, trial, before):
            heapq.heappush(queue, (*grid.cost(part), next(number), part))
    return Counterfactual(
        model.label_names[target], before, 1 - before, None, 0, not queue, explored, tuple(sorted(fixed_names))
    )


def _changes(grid: RegionGrid, trial: Trial, digits: int | None) -> tuple[Change, ...]:
    changes = []
    for owner, region in trial.items():
        regions = grid.regions[owner]
        if region != regions.present:
            requirement, now = regions.words(region, digits)
            values = regions.values(region)
            new = regions.value(region)
            changes.append(Change(next(iter(values)), regions.name, regions.old, new, now, requirement, values))
    return tuple(changes)


def place_of(names: Sequence[str], name_or_position: int | str, what: str) -> int:
    """Return the position of a feature or label that is passed by name or position."""
    if isinstance(name_or_position, str):
        if name_or_position not in names:
            raise ModelError(f"the model has no {what} {name_or_position!r}{did_you_mean(name_or_position, names)}")
        return int(list(names).index(name_or_position))
    if isinstance(name_or_position, bool) or not isinstance(name_or_position, (int, np.integer)):
        raise ModelError(f"a {what} is given by its name or position, not by a {type(name_or_position).__name__}")
    if not 0 <= name_or_position < len(names):
        raise ModelError(f"the model has no {what} {name_or_position}; it has {len(names)}, counted from 0")
    return int(name_or_position)
