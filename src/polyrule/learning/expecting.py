"""What to expect of labels and rules on new examples, and choosing again what is not expected to hold there.

A teacher says how likely each training label is without its example. A label that it would not give is likely noise, or
a case that few rules cannot express; lists learned from its opinion beside the labels are shorter and err less.

The counts of a rule flatter it: its conditions were searched on these very examples, and it was chosen among many. A
teacher's answers do not know the labels the choice saw, but know the body only roughly. So the counts speak with the
weight they have, and the teacher with that of `PER_CONDITION` examples for each condition that was searched. A rule
without conditions was not searched, and its counts are as good as any.

What is to be expected of rules is known once they are chosen; then `Reviser` takes a second look. Rules that will often
be wrong go. And a label that every second example has is cheapest said of everyone, which tells a reader nothing, and
misleads where rules that leave out a few examples hide it: rules take its place where they tell nearly as much. In each
case the pairs of body and label in question are forbidden and the list is chosen again, so that what is left still fits
together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.binning.binning import Binning
from polyrule.binning.text import MIN_WORDS, looks_like_text
from polyrule.conditions import n_conditions
from polyrule.data.examples import LARGEST_TOTAL
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.learning.body_pool import Body, Covers, joined
from polyrule.learning.selection import Chosen
from polyrule.model.rule import Literal
from polyrule.model.rule_list import RuleList
from polyrule.soft_targets.feature_matrix import FeatureMatrix
from polyrule.soft_targets.model import RESOLUTION, SoftLabelModel
from polyrule.soft_targets.synthetic import nearest_neighbors, synthesize
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints, Matrix

if TYPE_CHECKING:
    from polyrule.learning.composing import Composition

PER_CONDITION = 200  # examples that a teacher's answer counts for
# Squared standard errors per condition by which counts are doubted: where nobody else is asked, and where a teacher
# says less than even so much doubt explains, as of a label that one clear sign tells.
_DOUBT, _LARGEST_DOUBT = 2, 4


def expected(right: float, wrong: float, conditions: int, told: float | None) -> float:
    """Return how likely a literal is right on a new example.

    Parameters
    ----------
    right, wrong : float
        Weight of the training examples on which it was.
    conditions : int
        How many were searched for it.
    told : float or None
        What a teacher who did not see their labels expects of `right`; None if nobody was asked.

    Examples
    --------
    >>> round(expected(30, 10, 0, None), 4), round(expected(30, 10, 2, 24.0), 4), round(expected(30, 10, 2, None), 4)
    (0.7381, 0.6131, 0.5948)
    """
    every = right + wrong
    if not every or not conditions:
        return (right + 1) / (every + 2)
    if told is None:
        return _at_least(right, every, _DOUBT * conditions)
    asked = PER_CONDITION * conditions
    mixed = (right + asked * told / every + 1) / (every + asked + 2)
    return max(mixed, _at_least(right, every, _LARGEST_DOUBT * conditions))


def _at_least(right: float, every: float, doubt: float) -> float:
    """Return the lower end of Wilson's interval: the least share from which this one is not too far away."""
    share, doubt = right / every, doubt / every
    return (share + doubt / 2 - sqrt(doubt * (share * (1 - share) + doubt / 4))) / (1 + doubt)


def value_of(right: float, said: float, present: float, every: float, squared: Fraction | None) -> float:
    """Return the F-measure, or Hamming accuracy where `squared` is None, of saying that labels are present.

    Parameters
    ----------
    right, said : float
        Examples, summed over labels, of which it is said, and of which it is right.
    present, every : float
        Examples that have a label, and all of them, summed over labels.
    squared : Fraction or None
        Square of beta.

    Examples
    --------
    >>> value_of(30, 40, 60, 200, Fraction(1)), value_of(30, 40, 60, 200, None)
    (0.6, 0.8)
    """
    if squared is None:
        return 1 - (said + present - 2 * right) / every if every else 1.0
    bottom = said + float(squared) * present
    return float(1 + squared) * right / bottom if bottom else 0.0


def best_constants(present: Floats, every: Floats, squared: Fraction | None, least: float = 0.0) -> float:
    """Return the best value of saying the same labels of every example, from how often each is present.

    Labels that less than the share `least` of the examples have are not said.

    Examples
    --------
    >>> best_constants(np.array([30.0, 5.0]), np.array([40.0, 40.0]), Fraction(1))
    0.8
    """
    share = np.divide(present, every, out=np.zeros(len(present)), where=every > 0)
    order = np.argsort(-share, kind="stable")[: np.count_nonzero(share >= least)]
    right, said = np.append(0, np.cumsum(present[order])), np.append(0, np.cumsum(every[order]))
    total = float(present.sum()), float(every.sum())
    return max(value_of(float(r), float(s), *total, squared) for r, s in zip(right, said, strict=True))


FEWEST_EXAMPLES = 50  # below, a teacher knows too little to correct anybody
_TREES = 15, 30  # of very many and of few examples
_TOLD = 75_000  # examples that all trees together are asked about, about
_MAX_BINS = 64
_LOOKED_AT = 1000  # examples, to tell whether a table looks like text


# Up to so many examples, real and mixed, mixed ones are made: so many for each that is real. Of more examples, chance
# finds fewer conditions that look good, and choosing by all of them takes long enough.
_MOST_EXAMPLES, _MIXED = 5000, 3
_MOST_VALUES = 20_000_000  # of real and mixed examples together
_NEIGHBOURS, _EXCHANGE = 5, 0.5


@dataclass(frozen=True, eq=False)
class Taught:
    """Examples that rules are chosen by, and what a teacher says of them: those of the user, and then mixed ones.

    Mixed examples lie between real ones; nobody but the teacher can label them, and all of them together weigh as much
    as the real ones. A threshold that only divides the few examples at hand does not divide those. What the teacher
    says is cut where that suits the labels of the user's examples best.
    """

    table: Table
    truth: Bytes
    weights: Ints
    opinion: Matrix
    cut: float = 0.5


def teach(
    table: Table,
    truth: Bytes,
    weights: Ints,
    order: Ints,
    *,
    text: bool,
    threads: int = 1,
    deadline: float | None = None,
) -> Taught | None:
    """Ask a teacher how likely each label of each example is, without having seen the example's own.

    Where there are few examples, and no words, it is asked about mixed ones as well. The `order` is that of
    `by_content`. The teacher learns from the examples whose labels are all known, which must be half of them, and is
    asked about the others as about new ones. None where there are too few such examples, no usable feature, or no time.
    """

    def late() -> bool:
        return deadline is not None and time.monotonic() > deadline

    examples = len(truth)
    whole = (truth[order] != UNKNOWN).all(axis=1)  # in the teacher's order
    if np.count_nonzero(whole) < max(FEWEST_EXAMPLES, examples / 2) or late():
        return None
    binning = Binning.of(table, _MAX_BINS, readable=False)
    design = FeatureMatrix.of(binning, table)
    if not design.features:
        return None
    shown, counted = design.from_table(table)[order], weights[order].astype(np.float64)
    trees = int(np.clip(_TOLD // examples, *_TREES))
    every = (1 + _MIXED) * examples
    mixing = not text and every <= _MOST_EXAMPLES and every * table.shape[1] <= _MOST_VALUES
    known = slice(None) if whole.all() else whole  # a view, where a copy would say the same
    keep = mixing or not whole.all()
    teacher = SoftLabelModel(shown[known], truth[order[known]], counted[known], 0, threads, trees, late, keep=keep)
    opinion = np.zeros(truth.shape)
    opinion[order[known]] = teacher.out_of_fold
    if not whole.all():
        opinion[order[~whole]] = teacher.predict(shown[~whole])
        opinion[truth == UNKNOWN] = 0  # such a label counts nowhere
    cut, _ = best_cut(opinion, truth, weights)
    if not mixing or late():
        return Taught(table, truth, weights, opinion, cut)
    random = np.random.default_rng(0)
    near = nearest_neighbors(shown, _NEIGHBOURS, random)
    stored: Any = table.values
    values = stored.toarray() if table.is_sparse else stored
    mixed, sources = synthesize(values[order].T, near, _MIXED * examples, _EXCHANGE, random)
    between = replace(table, values=np.asfortranarray(mixed.T))
    said = teacher.predict(design.from_table(between)).astype(np.float64)
    coarser = -(-2 * _MIXED * int(weights.sum()) // LARGEST_TOTAL)
    weight = np.maximum(1, weights // coarser)
    return Taught(
        replace(table, values=np.asfortranarray(np.vstack([values, mixed.T]))),
        np.vstack([truth, (said >= cut).astype(np.uint8)]),
        np.concatenate([_MIXED * weight, weight[order][sources]]),
        np.vstack([opinion, said]),
        cut,
    )


def is_text(table: Table, order: Ints) -> bool:
    """Whether a table looks like text, in whatever order its rows come; the `order` is that of `by_content`."""
    return len(table.features) >= MIN_WORDS and looks_like_text(table[order[:_LOOKED_AT]])


def best_cut(opinion: Matrix, truth: Bytes, weights: Ints) -> tuple[float, float]:
    """Return the cut at which the opinion's micro-F1 is largest, and that F1.

    Examples
    --------
    >>> truth = np.array([[1], [1], [0]], dtype=np.uint8)
    >>> best_cut(np.array([[0.875], [0.375], [0.125]]), truth, np.ones(3, dtype=np.int64))
    (0.375, 1.0)
    """
    places, labels = np.rint(opinion.ravel() / RESOLUTION).astype(np.int64), truth.ravel()
    every = np.repeat(weights, truth.shape[1]) * (labels != UNKNOWN)
    said, right = (np.cumsum(np.bincount(places, counted)[::-1]) for counted in (every, every * (labels == 1)))
    value = 2 * right / np.maximum(said + right[-1], 1)
    best = int(np.argmax(value))
    return float((len(value) - 1 - best) * RESOLUTION), float(value[best])


NEARLY = 0.01  # of the measure, what the list may lose for rules in place of constants
_EVERYONE = 80  # percent of the examples from which on saying a label tells little
_NEARLY_ALL = 90  # percent from which on it is a constant, whatever conditions it has
_CARE = 0.1  # of the measure, what careful expectations may be below the truth
_PARTS = (1.0, 0.95, 0.9, 0.85, 0.8)  # of a label's share, above which rules for it are tried


@dataclass(frozen=True, eq=False)
class Choice:
    """Rules that were chosen, the list they make, what is said about choosing, and what was asked and allowed."""

    rules: list[Chosen]
    model: RuleList
    pruned: dict[str, Any]
    floor: Ints
    allowed: Bools

    @property
    def levels(self) -> Ints:
        """The value that each label was chosen for."""
        return np.asarray(np.maximum(self.pruned["levels"], self.floor))


@dataclass(eq=False)
class Reviser:
    """Bodies to choose from; `best` returns the list."""

    composition: Composition
    bodies: tuple[Body, ...]
    covers: Covers
    allowed: Bools
    lengths: Ints

    def best(self) -> RuleList:
        """Return the list, with rules in place of constants as far as it is nearly as good."""
        first = self._chosen(np.zeros(len(self._present), dtype=np.int64))
        least = self._value(first) - NEARLY
        found = self._joined(self._plain(self._told_apart(first, least), least))
        pruning, value = self.composition.pruning, self._value(found)
        plain = best_constants(self._present, self._every, pruning.beta_squared, pruning.min_precision)
        stated = {"expected": value, "constant": plain, "margin": self._margin}
        found.model.info["pruning"] = found.pruned | {name: round(number, 4) for name, number in stated.items()}
        return found.model

    def _joined(self, found: Choice) -> Choice:
        """Return the list with rules that can be one as one, without what is then too weak or not worth its price."""
        made, most = self.composition, self.composition.pruning.max_members
        rules, model = [(self.bodies[rule.body], rule.labels) for rule in found.rules], found.model
        while most and len(fewer := joined(rules, most)) < len(rules):
            rules = sorted(made.settled(fewer, found.levels), key=lambda rule: bool(rule[0]))
            model = made.counted(rules)
            weak = self._weak(model, len(rules), made.pruning.min_precision)
            while weak:
                heads = [tuple(x for x in labels if (place, x) not in weak) for place, (_, labels) in enumerate(rules)]
                rules = [(body, head) for (body, _), head in zip(rules, heads, strict=True) if head]
                model = made.counted(rules)
                weak = self._weak(model, len(rules), made.pruning.min_precision)
        return replace(found, model=model)

    def _told_apart(self, first: Choice, least: float) -> Choice:
        """Return a choice with fewer constants that is worth at least so much, or the same one."""
        floor = self._floors(first)
        while floor.any():
            other = self._chosen(floor, first)
            failed = self._said_of(other) & (floor > 0)
            if not failed.any():
                return other if self._value(other) >= least else first
            floor[failed] = 0
        return first

    def _plain(self, found: Choice, least: float) -> Choice:
        """Return a choice that says labels of everyone where it said them of nearly all, if it is worth so much.

        Rules that leave out a few examples look as if they told something. No other label becomes a constant.
        """
        told = np.array([bool(body) for body in self.bodies])
        wide = np.flatnonzero(self._said_of(found, _NEARLY_ALL)).tolist()
        for labels in (wide, *([label] for label in wide)):  # all together, or else one by one
            if all(set(labels).isdisjoint(rule.labels) for rule in found.rules if told[rule.body]):
                continue
            always = np.zeros(len(self._present), dtype=bool)
            always[labels] = True
            for rule in found.rules:
                always[list(rule.labels)] |= not told[rule.body]
            allowed = found.allowed & (told[:, None] != always)
            other = self._chosen(found.floor, replace(found, allowed=allowed))
            said = {label for rule in other.rules for label in rule.labels}
            found = other if self._value(other) >= least and said.issuperset(labels) else found
        return found

    def _floors(self, first: Choice) -> Ints:
        """Return how precise rules for labels that are said of everyone shall be, as far as the list can bear it.

        A label's own share of the examples is no news. The higher a rule must rise above a part of it, the more it
        tells, and the more examples it leaves out.
        """
        floor = np.zeros(len(self._present), dtype=np.int64)
        labels = np.flatnonzero(self._said_of(first))
        if not len(labels):
            return floor
        made, squared = self.composition, self.composition.pruning.beta_squared
        right, said = self._sums(first.model)
        slope, value = (2.0, 1.0) if squared is None else (float(1 + squared), self._value(first))
        left = NEARLY * float(
            self._every.sum() if squared is None else said.sum() + float(squared) * self._present.sum()
        )
        options: dict[int, list[tuple[float, int]]] = {int(label): [] for label in labels}
        for part in _PARTS:
            floors = np.array([made.pruning.floor(part * self._present[at] / self._every[at]) for at in labels])
            levels = np.maximum(first.levels[labels], floors)
            trial = made.trial(self.covers, self.lengths, first.allowed, labels, levels)
            for column, (label, least) in enumerate(zip(labels.tolist(), floors.tolist(), strict=True)):
                told = self._alone(label, trial.bodies_for(column, trial.price + trial.costs.literal))
                if 100 * told[1] < _EVERYONE * self._every[label]:
                    loss = slope * (right[label] - told[0]) - value * (said[label] - told[1])
                    options[label].append((float(loss), least))
        for label in sorted(options, key=lambda at: min(options[at], default=(np.inf, 0))):
            for loss, least in options[label]:
                if loss <= left and not floor[label]:
                    floor[label], left = least, left - loss
        return floor

    def _alone(self, label: int, bodies: list[int]) -> tuple[float, float]:
        """Return what is expected to be right and what is said if a label stands over these bodies."""
        right, said = 0.0, 0.0
        free = ~self.composition.taken[:, label]
        for body in bodies:
            mine = free & self.covers.of(body)
            free &= ~mine
            literal = self.composition.literal(label, mine, n_conditions(self.bodies[body]))
            right += self._right(literal)
            said += literal.tp + literal.fp
        return right, said

    def _said_of(self, found: Choice, percent: int = _EVERYONE) -> Bools:
        """Return which labels are said of more than a share of the examples."""
        return np.asarray(100 * self._sums(found.model)[1] > percent * self._every)

    def _chosen(self, floor: Ints, before: Choice | None = None) -> Choice:
        """Choose, again without what is expected to fail, until all is as precise as the user asks."""
        allowed = (self.allowed if before is None else before.allowed).copy()
        floor = np.maximum(floor, self.composition.pruning.floor(self.composition.pruning.min_precision))
        while True:
            found = self._choose(allowed, floor, before)
            least = self._least(found) if before is None else self.composition.pruning.min_precision
            weak = self._weak(found.model, len(found.rules), least)
            if not weak:
                return found
            for place, label in weak:
                allowed[found.rules[place].body, label] = False
            before = found

    def _choose(self, allowed: Bools, floor: Ints, before: Choice | None) -> Choice:
        known = None if allowed.all() else allowed
        start = None if before is None else (_permitted(before.rules, allowed), np.array(before.pruned["levels"]))
        rules, pruned = self.composition.select(self.covers, self.lengths, known, floor, start)
        rules.sort(key=lambda rule: bool(self.bodies[rule.body]))  # what holds for everyone comes first
        model = self.composition.counted([(self.bodies[rule.body], rule.labels) for rule in rules])
        return Choice(rules, model, pruned, floor, allowed)

    @staticmethod
    def _weak(model: RuleList, made: int, least: float) -> list[tuple[int, int]]:
        """Return which labels of which rules, of those made, are expected to be right too rarely."""
        return [
            (place, literal.label)
            for place, rule in enumerate(model.rules[len(model.rules) - made :])
            for literal in rule.head
            if literal.chance is not None and literal.chance < least
        ]

    def _least(self, found: Choice) -> float:
        """Return how precise a label must be: as the user asks, and so that it does not lower what is expected."""
        pruning = self.composition.pruning
        if self.composition.opinion is None:
            return pruning.min_precision
        squared = pruning.beta_squared
        return max(pruning.min_precision, 0.5 if squared is None else self._value(found) / float(1 + squared))

    def _sums(self, model: RuleList) -> tuple[Floats, Floats]:
        """Return per label, in examples, what is expected to be right and what is said."""
        right, said = np.zeros(len(self._present)), np.zeros(len(self._present))
        for rule in model.rules:
            for literal in rule.head:
                if literal.value and literal.chance is not None:
                    right[literal.label] += self._right(literal)
                    said[literal.label] += literal.tp + literal.fp
        return right, said

    def _right(self, literal: Literal) -> float:
        """Return what is expected to be right; what was, where there are too few examples to expect anything."""
        return literal.tp if self._few else (literal.chance or 0.0) * (literal.tp + literal.fp)

    def _value(self, found: Choice) -> float:
        right, said = self._sums(found.model)
        squared = self.composition.pruning.beta_squared
        total = float(self._present.sum()), float(self._every.sum())
        return value_of(float(right.sum()), float(said.sum()), *total, squared)

    @property
    def _margin(self) -> float:
        """Return by how much the list must be better than constants: half a standard error of so many examples.

        Without a teacher, what is expected is only careful, and the list is not blamed before it is far worse.
        """
        if self._few:
            return 0.0  # the value is not an expectation
        if self.composition.opinion is None:
            return -_CARE
        total = self._every if self.composition.pruning.beta_squared is None else self._present
        return 0.5 / sqrt(max(1.0, float(total.sum())))

    @cached_property
    def _few(self) -> bool:
        """Whether there are too few examples to expect anything; a weight is a number of examples."""
        made = self.composition.own
        return made.opinion is None and int(made.weights.sum()) < FEWEST_EXAMPLES * made.example

    @cached_property
    def _present(self) -> Floats:
        made = self.composition.own
        return np.asarray(made.weights @ (made.truth == 1).astype(np.int64) * float(made.scale))

    @cached_property
    def _every(self) -> Floats:
        made = self.composition.own
        return np.asarray(made.weights @ made.known.astype(np.int64) * float(made.scale))


def _permitted(rules: list[Chosen], allowed: Bools) -> list[Chosen]:
    """Return the rules with the labels that are allowed, as far as any is left."""
    kept = [Chosen(rule.body, tuple(label for label in rule.labels if allowed[rule.body, label])) for rule in rules]
    return [rule for rule in kept if rule.labels]
