"""The smallest change of the features that flips a label of one example, exact for rule lists.

The search is best-first over sets of examples. A node allows every feature some of its cells (see `cells`); its trial
is the cheapest example it allows, so no example of the node costs less than the trial. The cheapest node is taken: if
its trial flips the label, nothing smaller does. Otherwise the run of the list on the trial gives *reasons*, a few
features whose cells alone already force the old outcome; an example that flips must leave the cells of at least one of
them, and the node is split accordingly, without overlap. Nothing is ever cut off, so the first flip found is the
smallest.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.errors import ModelError, did_you_mean
from polyrule.model import printing
from polyrule.model.cells import Cells, cells_of
from polyrule.model.explain import example_row, format_value
from polyrule.model.reasons import Program

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


@dataclass(frozen=True)
class Change:
    """One feature to change: from `old` to `new`, the nearest value that meets `requirement`."""

    feature: int
    name: str
    old: float
    new: float
    old_text: str
    requirement: str


@dataclass(frozen=True, repr=False)
class Flip:
    """The smallest change that flips a label.

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
        True: nothing smaller exists, or if `changes` is None, nothing at all. False: the search ran into its limit.
    explored : int
        Examples the list was run on.
    """

    label: str
    was: int
    becomes: int
    changes: tuple[Change, ...] | None
    steps: int
    exact: bool
    explored: int

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
        return {
            "label": self.label,
            "was": self.was,
            "becomes": self.becomes,
            "changes": changes,
            "steps": self.steps,
            "exact": self.exact,
        }

    def __repr__(self) -> str:
        return str(self)  # what a console shows

    def _repr_html_(self) -> str:
        from polyrule.model.notebook import html_flip

        return html_flip(self)

    def __str__(self) -> str:
        name = printing.format_name(self.label)
        was, becomes = ("absent", "present") if self.becomes else ("present", "absent")
        if self.changes is None:
            if self.exact:
                return f"{name} is {was}, whatever the features are"
            return f"{name} is {was}; no change that flips it was found in {self.explored} tries"
        parts = [f"{change.requirement} (now {change.old_text})" for change in self.changes]
        least = "the smallest change" if self.exact else "a change"
        return f"{name} is {was}; {least} that makes it {becomes}: {'; '.join(parts)}"


def smallest_flip(
    rule_list: RuleList, example: Any, label: int | str, *, fixed: Collection[int | str] = (), limit: int = 20_000
) -> Flip:
    """Find the fewest features to change, and among those the least steps, so that a label flips.

    A numeric feature may take any number, a nominal one any of its categories; a value is never made missing, but a
    missing one may be filled in.

    Parameters
    ----------
    rule_list : RuleList
    example : Table with one row, or array of feature values
    label : int or str
        Index or name.
    fixed : collection of int or str
        Features that must stay as they are.
    limit : int
        Give up after running the list on this many examples. The problem is hard in general (it contains
        satisfiability), though the lists that learning yields are easy.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5), NumericCondition(1, "<=", 4.0)))
    >>> model = RuleList((rule,), (Feature("colours"), Feature("stripes")), ("red",))
    >>> print(smallest_flip(model, [7, 9], "red"))
    red is absent; the smallest change that makes it present: stripes <= 4 (now 9)
    """
    row = example_row(rule_list, example)
    target = place_of(rule_list.label_names, label, "label")
    cells = cells_of(rule_list, row)
    locked = {place_of([feature.name for feature in rule_list.features], item, "feature") for item in fixed}
    root = {j: (1 << cell.present if j in locked else cell.everything) for j, cell in cells.items()}
    program = Program(rule_list, cells)
    before = program.run({j: cell.present for j, cell in cells.items()}).value(target)
    number = count()
    queue: list[tuple[int, int, int, dict[int, int]]] = [(0, 0, next(number), root)]
    explored = 0
    while queue and explored < limit:
        _, steps, _, domain = heapq.heappop(queue)
        explored += 1
        trial = {j: cells[j].cheapest(mask) for j, mask in domain.items()}
        run = program.run(trial)
        if run.value(target) != before:
            changes = tuple(
                _change(cells[j], j, trial[j], float(row[j])) for j in trial if trial[j] != cells[j].present
            )
            return Flip(rule_list.label_names[target], before, 1 - before, changes, steps, True, explored)
        for child in _split(domain, run.reasons(target, domain)):
            cost = _cost(cells, child)
            heapq.heappush(queue, (*cost, next(number), child))
    return Flip(rule_list.label_names[target], before, 1 - before, None, 0, not queue, explored)


def _split(domain: dict[int, int], reasons: dict[int, int]) -> list[dict[int, int]]:
    """Parts of `domain` that leave the reasons: the i-th part leaves reason i and keeps those before it."""
    parts = []
    kept = dict(domain)
    for feature, mask in reasons.items():
        outside = kept[feature] & ~mask
        if outside:
            parts.append(kept | {feature: outside})
        kept[feature] &= mask
    return parts


def _cost(cells: dict[int, Cells], domain: dict[int, int]) -> tuple[int, int]:
    """Features that must change, and the least steps that takes."""
    changed = steps = 0
    for feature, mask in domain.items():
        cell = cells[feature]
        if not mask >> cell.present & 1:
            changed += 1
            steps += cell.steps(cell.cheapest(mask))
    return changed, steps


def _change(cell: Cells, index: int, chosen: int, old: float) -> Change:
    new = cell.value(chosen)
    return Change(index, cell.feature.name, old, new, format_value(cell.feature, old), cell.requirement(chosen))


def place_of(names: Sequence[str], wanted: int | str, what: str) -> int:
    """Return the position of what is given by name or position."""
    if isinstance(wanted, str):
        if wanted not in names:
            raise ModelError(f"the model has no {what} {wanted!r}{did_you_mean(wanted, names)}")
        return int(list(names).index(wanted))
    if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)):
        raise ModelError(f"a {what} is given by its name or position, not by a {type(wanted).__name__}")
    if not 0 <= wanted < len(names):
        raise ModelError(f"the model has no {what} {wanted}; it has {len(names)}, counted from 0")
    return int(wanted)
