"""Choosing few rules with several labels each, so that the list as a whole scores best.

Every rule makes labels present, so a list says of an example's label "present" where any of its rules does, and the
order of rules does not matter. What a cell (an example's label) adds when it is said to be present follows from the
measure of the whole list. For F-beta it is (1 + beta²) t - F, where t is the target of the cell (1 present, 0 absent,
in between where a teacher is unsure) and F the value that is reached in the end (Dinkelbach 1967): a label belongs
into a head where its share among the cells it newly sets exceeds F / (1 + beta²). A
label that reaches less by itself is said a little more readily than that (`levels_reached`). Rules, conditions and
labels of heads cost something; all sums are whole numbers, so that ties are ties on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from math import ceil
from typing import Any

import numpy as np

from polyrule.errors import OptionError
from polyrule.learning.body_pool import Costs, Covers
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints

Matrix = Floats  # whole numbers below 2**53, which doubles add without rounding in any order

QUANTUM = 256  # targets are multiples of 1/256
# Share of the teacher's opinion in a target: a threshold is one of many, so chance finds one that fits the labels; a
# word is there or not.
_TRUST, _TRUST_IN_TEXT = 0.6, 0.5
_RARE = 5  # less of it for labels that are hardly more frequent than this: of those it knows little
_OWN = 0.25  # share of a label's own value in the one that it is chosen for


def targets_of(truth: Bytes, opinion: Matrix | None, examples: Matrix, *, text: bool) -> Matrix:
    """Whole numbers from 0 to QUANTUM, how present each label of each example is: its label and the teacher's opinion.

    `examples` says how many examples each row stands for, its weight, and `text` whether the features are words.

    Examples
    --------
    >>> truth, opinion = np.array([[1, 0], [1, 0]], dtype=np.uint8), np.array([[0.5, 0.25], [1.0, 0.25]])
    >>> targets_of(truth, opinion, np.ones(2), text=True)
    array([[238.,   0.],
           [256.,   0.]])
    """
    if opinion is None:
        return QUANTUM * truth.astype(np.float64)
    present = (examples[:, None] * truth).sum(axis=0)
    share = (_TRUST_IN_TEXT if text else _TRUST) * present / (present + _RARE)
    return np.asarray(np.rint(QUANTUM * ((1 - share) * truth + share * opinion)))


def with_mixed(targets: Matrix, opinion: Matrix) -> Matrix:
    """Return the targets of all examples, where mixed ones come behind the real ones: of those only a teacher knows.

    Examples
    --------
    >>> with_mixed(np.array([[256.0]]), np.array([[0.75], [0.5]]))
    array([[256.],
           [128.]])
    """
    return np.vstack([targets, np.rint(QUANTUM * opinion[len(targets) :])])


def digest_of(targets: Matrix) -> str:
    """Hash the targets, so that a check that draws them again knows whether they are the same."""
    return f"blake2b:{blake2b(targets.astype('<u2').tobytes(), digest_size=16).hexdigest()}"


def cell_gains(targets: Matrix, squared: Fraction | None, level: int | Ints) -> Matrix:
    """Return what each cell adds when it is said to be present, in whole numbers.

    Examples
    --------
    >>> cell_gains(np.array([[256.0, 0.0]]), Fraction(1), 128)  # F1 where a value of 1/2 is reached
    array([[ 384., -128.]])
    """
    slope, offset = gain_line(squared, level)
    return slope * targets - offset


def gain_line(squared: Fraction | None, level: int | Ints) -> tuple[float, float | Ints]:
    """Slope and offset of a cell's gain over its target, whole numbers: (1 + beta²) t - F, times beta's denominator."""
    if squared is None:
        return 2.0, 2 * level
    return float((1 + squared) * squared.denominator), squared.denominator * level


def levels_reached(targets: Matrix, every: Matrix, said: Bools, squared: Fraction | None) -> tuple[int, Ints]:
    """Return the F-measure of the cells said to be present, and the value each label is chosen for; in 1 / QUANTUM.

    That is the same F-measure, and for a quarter the label's own where it is lower. Near the best cut, saying a label
    a little more readily costs the whole next to nothing, but it is much for the label.

    Examples
    --------
    >>> targets, said = np.array([[256.0, 256.0], [0.0, 256.0]]), np.array([[True, False], [False, True]])
    >>> levels_reached(targets, np.ones((2, 1)), said, Fraction(1))  # 4/5 in all, 1 and 2/3 by themselves
    (205, array([205, 196]))
    """
    if squared is None:
        return QUANTUM // 2, np.full(targets.shape[1], QUANTUM // 2)
    weights = every[:, 0]
    right = weights @ np.where(said, targets, 0.0)
    bottom = weights @ said.astype(np.float64) * QUANTUM + float(squared) * (weights @ targets)
    whole = _share(right.sum(), bottom.sum(), squared)
    own = np.rint(whole - _OWN * np.maximum(whole - _share(right, bottom, squared), 0.0))
    return round(float(whole)), own.astype(np.int64)


def _share(right: Any, bottom: Any, squared: Fraction) -> Any:
    return QUANTUM * float(1 + squared) * right / np.maximum(bottom, 1.0)


@dataclass(frozen=True)
class Pruning:
    """What the list as a whole is judged by, and what its parts must earn.

    Parameters
    ----------
    measure : str
        "f1" or another F-measure, or "hamming".
    simplicity : float
        Factor of all costs: 2 gives shorter lists, 0.5 longer ones.
    teacher : bool
        Whether a teacher's opinion is part of each target.
    max_rules, max_head_size : int or None
    short : bool
        Whether thresholds are written as short decimals.
    min_precision : float
        How often each label of a head must at least be expected to be right.
    max_members : int
        Of a group of alternatives; 0 for bodies without groups.
    """

    measure: str = "f1"
    simplicity: float = 1.0
    teacher: bool = True
    max_rules: int | None = None
    max_head_size: int | None = None
    short: bool = True
    min_precision: float = 0.0
    max_members: int = 0

    def __post_init__(self) -> None:
        _ = self.beta_squared  # refuses what is no such measure

    @property
    def beta_squared(self) -> Fraction | None:
        """Square of the F-measure's beta; None for Hamming accuracy."""
        name = str(self.measure).lower().removeprefix("micro-")
        if name == "hamming":
            return None
        try:
            beta = Fraction(name.removeprefix("f"))
        except ValueError:
            beta = Fraction(-1)
        if not name.startswith("f") or beta <= 0:
            known = "'f1', another F-measure such as 'f0.5', or 'hamming'"
            raise OptionError(parameter="optimize", value=self.measure, allowed=known)
        return beta * beta

    def floor(self, precision: float) -> int:
        """Return the value of the list, in units of 1 / QUANTUM, from which on labels must be so precise to be said."""
        factor = Fraction(1) if self.beta_squared is None else 1 + self.beta_squared
        return ceil(factor * Fraction(precision) * QUANTUM)

    def costs(self, total: float, example: float, *, text: bool = False, mixed: bool = False) -> Costs:
        """Return the costs for targets that add up to `total`, where one example weighs `example`.

        A rule must add at least five sixths of an example's label, and raise the F-measure by about 0.0007; a
        condition costs a third of that, and a label of a head a sixth, so that labels that go together share a rule.
        In text, where a rule with alternatives stands for several, lists can afford more of them; and so they can
        where mixed examples keep those out that chance would find.
        """
        least, share = (0.44, 0.0007) if mixed else (0.55, 0.0007 if text and self.max_members else 0.0009)
        unit = self.simplicity * max(least * QUANTUM * example, share * total)
        return Costs(*(max(1, round(part * unit)) for part in (1.5, 0.5, 0.25)))


@dataclass(frozen=True)
class Chosen:
    """A rule of the selection: which body of the pool, and the labels it makes present."""

    body: int
    labels: tuple[int, ...]


class Selection:
    """A growing and shrinking choice of bodies and heads.

    Parameters
    ----------
    covers : Covers
    lengths : ndarray of int
        Conditions of each body.
    gains : ndarray of float64, shape (examples, labels)
        What each cell adds when it is said to be present; whole numbers.
    costs : Costs
    taken : ndarray of bool, shape (examples, labels)
        Cells that earlier rules have set, which these cannot change.
    allowed : ndarray of bool, shape (bodies, labels), optional
        Which label may stand in the head over which body.
    widest : int, optional
        Most labels of a head.
    """

    def __init__(
        self,
        covers: Covers,
        lengths: Ints,
        gains: Matrix,
        costs: Costs,
        taken: Bools,
        allowed: Bools | None = None,
        widest: int | None = None,
    ) -> None:
        # Most is asked label by label, so each label's numbers lie side by side.
        self.covers, self.costs = covers, costs
        self.allowed = None if allowed is None else np.asfortranarray(allowed)
        self.widest = gains.shape[1] if widest is None else min(widest, gains.shape[1])
        self.gains = np.asfortranarray(np.where(taken, 0.0, gains))
        self.price = costs.rule + costs.condition * lengths.astype(np.float64)
        self.count = np.zeros(gains.shape, dtype=np.int32)
        #: what the cells that each body covers add together
        self.alone = np.asfortranarray(covers.sums(np.ones(len(gains), dtype=bool), self.gains))
        self.scores = self.alone.copy(order="F")
        self.worth = np.maximum(self._surplus(), 0.0).sum(axis=1)
        self.rules: list[Chosen] = []

    def add(self, rule: Chosen) -> None:
        """Put a rule at the end."""
        rows, labels = np.flatnonzero(self.covers.of(rule.body)), np.array(rule.labels)
        cells = np.ix_(rows, labels)
        self._shift(rows, labels, self.count[cells] == 0, -1.0)
        self.count[cells] += 1
        self.rules.append(rule)

    def remove(self, place: int) -> Chosen:
        """Take a rule out."""
        rule = self.rules.pop(place)
        rows, labels = np.flatnonzero(self.covers.of(rule.body)), np.array(rule.labels)
        cells = np.ix_(rows, labels)
        self.count[cells] -= 1
        self._shift(rows, labels, self.count[cells] == 0, 1.0)
        return rule

    def _shift(self, rows: Ints, labels: Ints, free: Bools, sign: float) -> None:
        """Add what free cells are worth to the scores of all bodies that cover them, or take it away."""
        changed = np.zeros(len(self.gains), dtype=bool)
        changed[rows] = free.any(axis=1)
        worth = np.zeros((len(self.gains), len(labels)))
        worth[rows] = sign * np.where(free, self.gains[np.ix_(rows, labels)], 0.0)
        self._put(labels, self.scores[:, labels] + self.covers.sums(changed, worth))

    def _put(self, labels: Ints, scores: Matrix) -> None:
        """Replace the scores of some labels, and what bodies are worth with their best heads."""
        self.worth -= np.maximum(self._surplus(labels), 0.0).sum(axis=1)
        self.scores[:, labels] = scores
        self.worth += np.maximum(self._surplus(labels), 0.0).sum(axis=1)

    def values(self) -> Matrix:
        """What each body would add with its best head, costs taken off."""
        if self.widest == self.gains.shape[1]:
            return np.asarray(self.worth - self.price)
        worth = np.maximum(self._surplus(), 0.0)
        return np.asarray(np.partition(worth, -self.widest, axis=1)[:, -self.widest :].sum(axis=1) - self.price)

    def head(self, body: int, scores: Floats | None = None) -> Chosen | None:
        """Return a body with its best head, as it is or with other scores; None where that does not earn its costs."""
        surplus = (self.scores[body] if scores is None else scores) - self.costs.literal
        surplus = surplus if self.allowed is None else np.where(self.allowed[body], surplus, -1.0)
        labels = np.flatnonzero(surplus > 0)
        labels = np.sort(labels[np.argsort(-surplus[labels], kind="stable")[: self.widest]])
        return Chosen(body, tuple(labels.tolist())) if surplus[labels].sum() > self.price[body] else None

    def _surplus(self, labels: Ints | slice = slice(None)) -> Matrix:
        surplus = self.scores[:, labels] - self.costs.literal
        return surplus if self.allowed is None else np.where(self.allowed[:, labels], surplus, -1.0)

    def best(self) -> Chosen | None:
        """Return the rule that adds most; the first body of equals. None where no rule earns its costs."""
        values = self.values()
        return self.head(int(np.argmax(values))) if len(values) else None

    def grow(self, most: int | None) -> bool:
        """Add the best rule again and again; whether there was any."""
        before = len(self.rules)
        while most is None or len(self.rules) < most:
            found = self.best()
            if found is None:
                break
            self.add(found)
        return len(self.rules) > before

    def exchange(self) -> bool:
        """Take out every rule in turn and put the best of all in its place, or nothing; whether anything changed."""
        changed = False
        for place in reversed(range(len(self.rules))):
            changed |= self._settle(place, exchange=True)
        return changed

    def relearn(self, most: int | None) -> bool:
        """Choose anew, label by label, over which bodies it stands; whether anything changed.

        A large head over a general body is worth more than any one rule that could replace it, but its labels may each
        do better elsewhere. Standing over a body that other labels use anyway costs no rule.
        """
        changed, heads = False, self._heads()
        for label in range(self.gains.shape[1]):
            if self._relearn(label, heads, most):
                changed, heads = True, self._heads()
        return changed

    def _heads(self) -> dict[int, set[int]]:
        """The labels that stand over each body."""
        heads: dict[int, set[int]] = {}
        for rule in self.rules:
            heads.setdefault(rule.body, set()).update(rule.labels)
        return heads

    def _relearn(self, label: int, heads: dict[int, set[int]], most: int | None) -> bool:
        old = [body for body, labels in heads.items() if label in labels]
        others = ((body, len(labels) - (label in labels)) for body, labels in heads.items())
        shared = {body: size >= self.widest for body, size in others if size}
        prices = self._prices(label, shared)
        new = self.bodies_for(label, prices)
        if set(new) == set(old):
            return False
        before, after = self._worth(label, old, prices), self._worth(label, new, prices)
        rules = len(shared) + len(set(new) - set(shared))
        if after <= before or (most is not None and rules > max(most, len(self.rules))):
            return False
        self._lay(label, [rule.body for rule in self.rules if label in rule.labels], new)
        touched = list(dict.fromkeys([*new, *old]))
        self.rules = [rule for rule in self.rules if rule.body not in touched]
        for body in touched:
            labels = heads.get(body, set()) - {label} | ({label} if body in new else set())
            if labels:
                self.rules.append(Chosen(body, tuple(sorted(labels))))
        return True

    def _lay(self, label: int, old: Sequence[int], new: Sequence[int]) -> None:
        """Take a label from some bodies and lay it over others; what the heads say of other labels stays as it is."""
        count = self.count[:, label]
        free = count == 0
        for bodies, step in ((old, -1), (new, 1)):
            for body in bodies:
                count[self.covers.of(body)] += step
        change = free.astype(np.float64) - (count == 0)  # cells that are free no longer lose what they are worth
        labels, worth = np.array([label]), -change * self.gains[:, label]
        self._put(labels, self.scores[:, labels] + self.covers.sums(change != 0, worth[:, None]))

    def _prices(self, label: int, shared: dict[int, bool]) -> Matrix:
        """Return what it costs to lay a label over each body, given the bodies others use and whether they are full."""
        prices = self.price + self.costs.literal
        for body, full in shared.items():
            prices[body] = np.inf if full else self.costs.literal
        if self.allowed is not None:
            prices[~self.allowed[:, label]] = np.inf
        return prices

    def bodies_for(self, label: int, prices: Matrix) -> list[int]:
        """Cover the examples that one label should have, greedily, and drop what turns out not to be needed."""
        worth, scores = self.gains[:, label].copy(), self.alone[:, label].copy()
        found: list[int] = []
        while len(self.covers):
            best = int(np.argmax(scores - prices))
            if not scores[best] > prices[best]:
                break
            rows = self.covers.of(best) & (worth != 0)
            scores -= self.covers.sums(rows, worth[:, None])[:, 0]
            worth[rows] = 0.0
            found.append(best)
        for body in reversed(found.copy()):
            others = [other for other in found if other != body]
            if self._worth(label, others, prices) >= self._worth(label, found, prices):
                found = others
        return found

    def _worth(self, label: int, bodies: list[int], prices: Matrix) -> float:
        said = self.covers.any_of(bodies)
        return float(self.gains[said, label].sum() - prices[bodies].sum())

    def settle(self) -> None:
        """Drop rules and labels that do not earn their costs, and add labels that would, until nothing changes."""
        changed = True
        while changed:
            changed = False
            for place in reversed(range(len(self.rules))):
                changed |= self._settle(place, exchange=False)

    def _settle(self, place: int, *, exchange: bool) -> bool:
        if not exchange and self._is_settled(self.rules[place]):
            return False
        labels = np.array(self.rules[place].labels)
        held = self.scores[:, labels]
        old = self.remove(place)
        new = self.head(old.body)
        if exchange:
            values = self.values()
            best = int(np.argmax(values))
            if values[best] > values[old.body]:
                new = self.head(best)
            if new is not None and new == old:  # nothing has to be summed up again
                self.count[np.ix_(self.covers.of(old.body), labels)] += 1
                self._put(labels, held)
                self.rules.insert(place, old)
                return False
        if new is not None:
            self.add(new)
            self.rules.insert(place, self.rules.pop())
        return True

    def _is_settled(self, rule: Chosen) -> bool:
        """Whether the head of a rule is the best one over its body, given the other rules."""
        cells = np.ix_(self.covers.of(rule.body), np.array(rule.labels))
        scores = self.scores[rule.body].copy()
        scores[list(rule.labels)] += np.where(self.count[cells] == 1, self.gains[cells], 0.0).sum(axis=0)
        return self.head(rule.body, scores) == rule

    def ordered(self) -> list[Chosen]:
        """Return the rules with the one that adds most first, then the one that adds most to it, and so on."""
        left, free = list(self.rules), self.gains.copy(order="F")
        worth = [self._earned(rule, free) for rule in left]
        order: list[Chosen] = []
        while left:
            place = int(np.argmax(worth))
            order.append(left.pop(place))
            worth.pop(place)
            free[np.ix_(self.covers.of(order[-1].body), np.array(order[-1].labels))] = 0.0
            for other, rule in enumerate(left):
                if not set(rule.labels).isdisjoint(order[-1].labels):
                    worth[other] = self._earned(rule, free)
        return order

    def _earned(self, rule: Chosen, free: Matrix) -> float:
        return float(free[np.ix_(self.covers.of(rule.body), np.array(rule.labels))].sum())
