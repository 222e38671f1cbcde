"""Bounds for correlations and associations of heads whose literals differ in what they cover.

For a head let t, x and s be the shares of TP, of TP + FP and of TP + FN in all its counts: means over its literals.
Each of these measures is at least λ >= 0 exactly if t is at least some h(x, s) that is concave in x and in s. So a head
reaches λ only if ψ = t - h(x, s), taken for each literal at the head's x, is on average not negative; and as ψ is
convex in x, it is enough to look at the smallest and the largest x. See docs/theory.md.

Plain NumPy in doubles, with slack: made to rule heads out, never to decide between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyrule.heads.problem import HeadSpace
from polyrule.heads.valuation import MicroValuation, Valuation
from polyrule.measures.association import Association, MEstimate
from polyrule.utils.arrays import Floats

SLACK = 1e-9


def formula_of_sums(valuation: Valuation) -> str | None:
    """Return the formula, or ``m_estimate``, by which a head is judged from its summed counts and nothing else.

    >>> from polyrule.heads import HeadProblem
    >>> from polyrule.heads.valuation import valuation
    >>> from polyrule.measures import Objective
    >>> problem = HeadProblem.from_text(covered="011 110")
    >>> [formula_of_sums(valuation(problem, Objective(name))) for name in ("m2", "kappa", "f1")]
    ['m_estimate', 'kappa', None]
    """
    objective = valuation.objective
    if not isinstance(valuation, MicroValuation) or objective.scope != "head" or not objective.lift.is_none:
        return None
    measure = objective.measure
    if isinstance(measure, MEstimate):
        return "m_estimate"
    return measure.name if isinstance(measure, Association) else None


def literals_decide(valuation: Valuation, space: HeadSpace) -> bool:
    """Return True if no head exceeds its best literal: equal margins, no negative best value."""
    assert isinstance(valuation, MicroValuation)
    return valuation.equal_margins(space.literals) and any(
        valuation.value((literal,)) >= 0 for literal in space.literals
    )


def least_share(formula: str, level: Any, x: Any, s: Any) -> Floats:
    """Return h(x, s): the share of true positives from which on a head of these margins reaches the level."""
    if formula == "yule_q":  # Plackett's copula: the odds ratio is (1 + level) / (1 - level)
        below, both = 1 - level, x + s
        sides, product = below + 2 * level * both, (1 + level) * x * s
        # sides² - 8 level product, without the difference of two large numbers
        square = below * (below + 2 * level * both * (2 - both)) + 2 * level * (1 + level) * (x - s) ** 2
        return np.asarray(2 * product / np.maximum(sides + np.sqrt(np.clip(square, 0, None)), 1e-300))
    if formula == "lift":
        return np.asarray(level * x * s)
    if formula == "cosine":
        return np.asarray(level * np.sqrt(x * s))
    spread_x, spread_s = np.clip(x * (1 - x), 0, None), np.clip(s * (1 - s), 0, None)
    factor = {
        "wracc": 1.0,
        "klosgen": np.sqrt(x),
        "added_value": x,
        "rate_difference": spread_s,
        "matthews": np.sqrt(spread_x * spread_s),
        "certainty": x * (1 - s),
        "kappa": (x + s) / 2 - x * s,
    }[formula]
    return np.asarray(x * s + level * factor)


class Literals:
    """Counts and shares of all literals, [label, value]; zeros for those that no head may hold."""

    def __init__(self, valuation: MicroValuation, space: HeadSpace) -> None:
        self.usable = np.zeros((valuation.problem.n_labels, 2), dtype=bool)
        counts = np.zeros((*self.usable.shape, 4))
        for literal in space.literals:
            self.usable[literal] = True
            counts[literal] = valuation.delta[literal]
        self.tp, self.covered = counts[..., 0], counts[..., 0] + counts[..., 1]
        self.weight = counts.sum(axis=-1)
        total = np.maximum(self.weight, 1)
        self.x, self.s = self.covered / total, (counts[..., 0] + counts[..., 3]) / total

    def gains(self, formula: str, level: float, x: float) -> Floats:
        """Return t - h(x, s) of every literal, times its weight."""
        return np.asarray(self.tp - self.weight * least_share(formula, level, x, self.s))


class Branches:
    """Whether heads that contain some literals and may take others can reach a level."""

    def __init__(self, formula: str, literals: Literals) -> None:
        self.formula, self.literals = formula, literals
        x = literals.x[literals.usable]
        self.ends = float(x.min()), float(x.max())

    def may_reach(self, level: float, head: list[tuple[int, int]], open_labels: list[int]) -> bool:
        """Return False only if no head of `head` and at least one literal of `open_labels` reaches the level.

        The level must not be negative.
        """
        usable = self.literals.usable[open_labels]
        for x in self.ends:
            gains = self.literals.gains(self.formula, level, x)
            gain_of_head = sum(float(gains[literal]) for literal in head)
            offered = np.where(usable, gains[open_labels], -np.inf).max(axis=1, initial=-np.inf)
            max_gain = float(offered[offered > 0].sum() if (offered > 0).any() else offered.max(initial=-np.inf))
            if gain_of_head + max_gain >= -SLACK * float(self.literals.weight.sum()):
                return True
        return False
