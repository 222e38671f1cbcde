"""A short list: grow lists for bodies, then choose few rules with several labels each for the list as a whole.

The steps, each in a file of its own: a `teacher` says how sure one can be of each training label; lists are grown by
separate-and-conquer, from the labels and from the teacher's opinion, and their bodies go into a `pool`, whole and in
parts; the `selection` picks bodies and heads. Counts are those on the training labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from polyrule.conditions import n_conditions
from polyrule.conditions.evaluate import evaluate
from polyrule.data.examples import by_content, unscaled
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.learning.body_pool import Alternatives, Body, Costs, Covers, Pool, Rules, counted_as, words_of
from polyrule.learning.constraints import Constraints
from polyrule.learning.expecting import Reviser, expected, is_text, teach
from polyrule.learning.messages import Callback
from polyrule.learning.readable import DerivedTable, Shortener
from polyrule.learning.selection import (
    QUANTUM,
    Chosen,
    Pruning,
    Selection,
    cell_gains,
    digest_of,
    gain_line,
    levels_reached,
    targets_of,
    with_mixed,
)
from polyrule.learning.separate import Clock, Learner, Learning, Reason, SeparateOptions, Training, note_proof
from polyrule.measures import Objective, get
from polyrule.measures.ratio import exact_number
from polyrule.model.predict import predict
from polyrule.model.rule import Literal, Rule
from polyrule.model.rule_list import RuleList
from polyrule.search.protocol import Candidate, Engine
from polyrule.soft_targets.regression import blas
from polyrule.utils.arrays import Bools, Bytes, Ints, Matrix

LONGEST_BODY = 3  # conditions of a pruned list, where the user sets no limit
_LONGEST_LIST = 50, 1000  # rules that are grown, of very many and of few examples and labels
_LONGEST_MIXED = 50  # the same where mixed examples smooth what lists are grown from
_GROWN_CELLS = 150_000_000  # rules times examples times labels, about
_PATIENCE = 20  # rules in a row that are too small to be chosen
_ROUNDS = 3  # of finding the value that the list reaches
_SWEEPS = 3  # of exchanging rules for better ones


@dataclass(eq=False)
class Composition:
    """Data and options of one fit; `learn` does it all.

    Attributes
    ----------
    opinion : ndarray or None
        What the teacher says of each label of each example without having seen that example.
    cut : float
        From which opinion on a label counts as present.
    real : Composition or None
        The same with the examples of the user alone, where mixed ones come behind them: rules are chosen by all, and
        what is said about the list is about these.
    """

    table: Table
    truth: Bytes
    weights: Ints
    names: tuple[str, ...]
    learner: Learner
    pruning: Pruning
    scale: Fraction = Fraction(1)
    callback: Callback | None = None
    constraints: Constraints | None = None
    start: RuleList | None = None
    clock: Clock = field(default_factory=Clock)
    opinion: Matrix | None = None
    cut: float = 0.5
    real: Composition | None = None

    def learn(self) -> tuple[RuleList, Reason]:
        """Return the list and why growing ended."""
        # Threads of BLAS would wait for each other, and the last digits of products would change with their number.
        with blas().limit(limits=1):
            self.clock = Clock(self.learner.separating.time_limit)
            return self.taught()._learned()

    def taught(self) -> Composition:
        """Return the same with what a teacher says, and with mixed examples where it was asked about such."""
        if not self.pruning.teacher:
            return self
        threads, deadline = self.learner.compute.threads, self.clock.deadline
        taught = teach(
            self.table, self.truth, self.weights, self._order, text=self._is_text, threads=threads, deadline=deadline
        )
        if taught is None:
            return self
        self.opinion, self.cut = taught.opinion[: len(self.truth)], taught.cut
        if len(taught.truth) == len(self.truth):
            return self
        ratio = Fraction(int(taught.weights.sum()), int(self.weights.sum()))
        return replace(
            self,
            table=taught.table,
            truth=taught.truth,
            weights=taught.weights,
            scale=self.scale / ratio,
            opinion=taught.opinion,
            real=self,
        )

    @property
    def own(self) -> Composition:
        """The same with the examples of the user alone."""
        return self if self.real is None else self.real

    def _learned(self) -> tuple[RuleList, Reason]:
        pool, reason = self._grown()
        if reason == "interrupted" and len(pool) == 1:
            return self.counted([]), reason
        if self.pruning.max_members and reason == "complete":
            if self._is_text:
                pool.add(words_of(self.table, self._least), parts=False)
            pool.add(self._alternatives(pool), parts=False)
        bodies, covers = pool.bodies, pool.covers(self.learner.compute.threads)
        allowed = None if self.constraints is None else self.constraints.heads(bodies)
        sizes = np.array([counted_as(body, self.table.features) for body in bodies])
        needed = _shortest(sizes, covers, allowed)
        needed = needed[self._covered_enough(covers.only(needed))]
        bodies, covers = tuple(bodies[number] for number in needed), covers.only(needed)
        allowed = np.ones((len(bodies), len(self.names)), dtype=bool) if allowed is None else allowed[needed]
        model = Reviser(self, bodies, covers, allowed, sizes[needed]).best()
        if self.start:
            model.info["pruning"]["kept"] = len(self.start)
        note_proof(model, Objective(self.learner.objective.measure, negative=False))  # as bodies are grown
        return model, reason

    @cached_property
    def _order(self) -> Ints:
        """Examples in an order that does not depend on the one they came in."""
        return by_content(self.table, self.truth, self.weights)

    @cached_property
    def known(self) -> Bools:
        """Cells whose label is known; the others count nowhere."""
        return np.asarray(self.truth != UNKNOWN)

    @cached_property
    def targets(self) -> Matrix:
        """What the list shall say; see `targets_of`."""
        if self.real is not None and self.opinion is not None:
            return with_mixed(self.real.targets, self.opinion)
        examples = self.weights.astype(np.float64) * float(self.scale)
        return targets_of(np.where(self.known, self.truth, 0), self.opinion, examples, text=self._is_text)

    @cached_property
    def _honest(self) -> Matrix:
        """Targets of new examples: those of the training examples flatter a list, the teacher alone is too careful."""
        return self.targets if self.opinion is None else np.rint((self.targets + QUANTUM * self.opinion) / 2)

    def _grown(self) -> tuple[Pool, Reason]:
        """Return the bodies of lists grown from the labels and from the teacher's opinion, by two measures each."""
        pool = Pool(self.table)
        versions = [self.truth]
        if self.opinion is not None:
            versions.append(np.where(self.known, self.opinion >= self.cut, UNKNOWN).astype(np.uint8))
        measures = dict.fromkeys([self.learner.objective.measure, get("f1")])
        usual, least = self.learner.growing, Fraction(self._least) * self.scale
        growing = replace(usual, min_coverage=max(exact_number(usual.min_coverage), least))
        engine: Engine | None = None
        sorted_table: Table | None = None
        for truth, table, measure, body in self._tasks(versions, measures):
            longest = int(np.clip(_GROWN_CELLS // self.truth.size, *_LONGEST_LIST))
            longest = longest if self.real is None else _LONGEST_MIXED
            options = SeparateOptions(0, max_rules=longest, all_stay=True)
            learning = Learning(options, self.scale, self.callback, truth.shape[1])
            learning.clock = self.clock
            learner = replace(self.learner, objective=Objective(measure, negative=False), growing=growing)
            like = engine if table is sorted_table else None
            given = Training(table, truth, self.weights, self.names, self.scale)
            engine, sorted_table = learner.engine(given, like=like), table
            learning.run(engine, _patient(engine, self._least), int(self.weights.sum()))
            pool.add(self._kept(body(rule.body)) for rule in learning.rules)
            if learning.reason not in ("complete", "max_rules"):
                return pool, learning.reason
        return pool, "complete"

    def _covered_enough(self, covers: Covers) -> Bools:
        """Which bodies cover as much as the user asks for: words and parts of bodies were not grown for that."""
        own, every = self.own, np.zeros((len(self.weights), 1))
        every[: len(own.weights), 0] = own.weights
        covered = covers.sums(np.ones(len(every), dtype=bool), every)[:, 0]
        return covered >= ceil(exact_number(own.learner.growing.min_coverage) / own.scale)

    def _alternatives(self, pool: Pool) -> Iterator[Body]:
        """Bodies with a group, grown at about the value that the list will reach."""
        targets, every = self.targets, self.weights[:, None].astype(np.float64)
        levels, squared = self._first_levels, self.pruning.beta_squared
        if self.opinion is not None:
            _, levels = levels_reached(targets, every, self.opinion >= self.cut, squared)
        slope, offset = gain_line(squared, int(levels.max()))
        allowed = None if self.constraints is None else self.constraints.heads(pool.bodies)
        return Alternatives(
            self.table,
            pool.bodies,
            pool.covers(self.learner.compute.threads),
            self.gains(targets, levels),
            self.example * float(max(slope * QUANTUM - offset, offset)),
            self._costs(targets),
            self.pruning.max_members,
            allowed,
        ).grown()

    def _tasks(
        self, versions: list[Bytes], measures: Iterable[Any]
    ) -> Iterator[tuple[Bytes, Table, Any, Callable[[Body], Body]]]:
        """What lists are grown from: labels that may use the same features are grown together.

        Labels that are too rare to earn a rule are left out. The last entry translates the bodies that are found to
        those of the table.
        """
        groups = [(None, range(len(self.names)))] if self.constraints is None else self.constraints.groups()
        example, counted = self.example, self.weights
        if self.real is not None:  # mixed examples are many for each of the user's, whatever they weigh
            example, counted = len(self.table) // len(self.own.table), np.ones_like(self.weights)
        for truth in versions:
            derived = DerivedTable(self.table, truth, self.weights, example, counted)
            present = self.weights @ (truth == 1).astype(np.int64)
            for features, labels in groups:
                table = derived.table
                table = table if features is None else table.emptied(derived.allowed(features))
                some = truth[:, [label for label in labels if present[label] >= self._least]]
                for measure in measures if some.shape[1] else ():
                    yield np.ascontiguousarray(some), table, measure, derived.body

    def _kept(self, body: Body) -> Body:
        return body if self.constraints is None else self.constraints.kept(body)

    @cached_property
    def _least(self) -> float:
        """The weight that a rule must get right to earn the price of a rule with one condition and one label."""
        costs = self._costs(self.targets)
        return (costs.rule + costs.condition + costs.literal) / (2 * QUANTUM)

    def _costs(self, targets: Matrix) -> Costs:
        total, mixed = float((self.weights[:, None] * targets).sum()), self.real is not None
        return self.pruning.costs(total, self.example, text=self._is_text, mixed=mixed)

    @cached_property
    def _is_text(self) -> bool:
        return self.real is None and is_text(self.table, self._order)  # no words are ever mixed

    @property
    def example(self) -> float:
        """Weight of one example of the user; of light ones, all below 1 on average, their mean."""
        scale, weights = self.own.scale, self.own.weights
        return float(min(1 / scale, Fraction(float(weights.mean()))) * scale / self.scale)

    @property
    def _first_levels(self) -> Ints:
        """What each label is chosen for before anything is known."""
        reached = 0.5 if self.pruning.beta_squared is None else 0.6
        return np.full(len(self.names), round(QUANTUM * reached))

    def gains(self, targets: Matrix, levels: Ints, labels: Ints | slice = slice(None)) -> Matrix:
        """What each cell of some labels adds at the values that are reached; nothing where the label is not known."""
        gains = self.weights[:, None] * cell_gains(targets[:, labels], self.pruning.beta_squared, levels)
        return np.where(self.known[:, labels], gains, 0.0)

    def select(
        self,
        covers: Covers,
        lengths: Ints,
        allowed: Bools | None = None,
        floor: Ints | None = None,
        before: tuple[list[Chosen], Ints] | None = None,
    ) -> tuple[list[Chosen], dict[str, Any]]:
        """Choose rules; also return what a check needs to know: the values they were chosen for, and the costs.

        Labels with a `floor` are chosen as for a list of at least that value. With rules that were chosen `before`, and
        the values they were chosen for, go on from there.
        """
        targets, squared = self.targets, self.pruning.beta_squared
        every = self.weights[:, None].astype(np.float64)
        costs = self._costs(targets)
        taken, given = self.taken, self._started[1]
        rules, levels = ([], self._first_levels) if before is None else before
        turns = 1 if squared is None or before is not None else _ROUNDS
        kept: tuple[int, Ints, Selection] | None = None
        for turn in range(turns):
            demanded = levels if floor is None else np.maximum(levels, floor)
            gains, widest = self.gains(targets, demanded), self.pruning.max_head_size
            selection = Selection(covers, lengths, gains, costs, taken, allowed, widest)
            for rule in rules:
                selection.add(rule)
            for _ in range(_SWEEPS if before is None else 1):
                most = self.pruning.max_rules
                changed = before is None and selection.exchange()
                if not (changed | selection.relearn(most) | selection.grow(most)):
                    break
            selection.settle()
            rules = selection.rules
            present = self.known & np.where(taken, given, selection.count > 0)
            value, own = levels_reached(self._honest, every, present, squared)
            # In the last turn labels count by themselves, too, unless the list as a whole pays for it.
            if kept is None or value >= kept[0]:
                kept = value, levels, selection
            levels = own if turn == turns - 2 else np.full_like(levels, value)
        assert kept is not None
        _, levels, selection = kept
        prices = [costs.rule, costs.condition, costs.literal]
        return selection.ordered(), {"levels": levels.tolist(), "costs": prices, "targets": digest_of(targets)}

    def trial(self, covers: Covers, lengths: Ints, allowed: Bools, labels: Ints, levels: Ints) -> Selection:
        """Return an empty selection for some labels only, each chosen for a value of its own."""
        costs, gains = self._costs(self.targets), self.gains(self.targets, levels, labels)
        return Selection(covers, lengths, gains, costs, self.taken[:, labels], allowed[:, labels])

    def settled(self, rules: Rules, levels: Ints) -> Rules:
        """Return rules without what does not earn its price, the rule that adds most first."""
        targets, bodies = self.targets, [body for body, _ in rules]
        sizes = np.array([counted_as(body, self.table.features) for body in bodies])
        heads = np.zeros((len(rules), len(self.names)), dtype=bool)
        for head, (_, labels) in zip(heads, rules, strict=True):
            head[list(labels)] = True
        gains = self.gains(targets, levels)
        covers = Covers.pack(np.array([self.covered(body) for body in bodies]))
        selection = Selection(covers, sizes, gains, self._costs(targets), self.taken, heads)
        for number, (_, labels) in enumerate(rules):
            selection.add(Chosen(number, labels))
        selection.settle()
        return [(bodies[rule.body], rule.labels) for rule in selection.ordered()]

    def covered(self, body: Body) -> Bools:
        """Which examples a body covers."""
        covered = np.ones(len(self.table), dtype=bool)
        for condition in body:
            covered &= evaluate(condition, self.table)
        return covered

    @cached_property
    def taken(self) -> Bools:
        """Cells that the rules at the start leave no other."""
        done, _, ended = self._started
        return done | ended[:, None]

    @cached_property
    def _started(self) -> tuple[Bools, Bools, Bools]:
        """Cells that the rules at the start set, those they make present, and examples on which they end the list."""
        if self.start is None or not len(self.start):
            nothing = np.zeros(self.truth.shape, dtype=bool)
            return nothing, nothing, np.zeros(len(self.truth), dtype=bool)
        result = predict(self.start, self.table.decoded())
        stops = np.array([rule.stop for rule in self.start.rules])
        done = result.setter >= 0
        return done, done & (result.labels == 1), (done & stops[result.setter]).any(axis=1)

    def counted(self, rules: Rules) -> RuleList:
        """Return the list with its counts on the training labels and the chances that follow from the targets."""
        if self.real is not None:
            return self.real.counted(rules)
        done, _, ended = self._started
        unset = ~self.taken
        kept = () if self.start is None else self.start.rules
        short = Shortener(self.table).condition if self.pruning.short else _same
        made, searched = [], [0] * len(self.names)
        for body, labels in rules:
            head, covered = [], self.covered(body)
            for label in labels:
                mine = covered & unset[:, label]
                unset[mine, label] = False
                head.append(self.literal(label, mine, n_conditions(body)))
                searched[label] += n_conditions(body)
            weight = unscaled(int(self.weights[covered & ~ended].sum()), self.scale)
            made.append(Rule(tuple(head), tuple(map(short, body)), coverage=weight))
        unset |= ended[:, None] & ~done
        rest = self._counts(slice(None), unset)
        # Where no rule sets a label it is absent: that is what the search flatters.
        absent = [
            expected(wrong, right, tested, None if told is None else right + wrong - told)
            for (right, wrong, told), tested in zip(rest, searched, strict=True)
        ]
        return RuleList(
            (*kept, *made),
            self.table.features,
            self.names,
            default_counts=tuple((right, wrong) for right, wrong, _ in rest),
            default_chances=tuple(round(1 - chance, 4) for chance in absent),
        )

    def literal(self, label: int, mine: Bools, searched: int) -> Literal:
        """Return a present label with what is true of the examples on which it is set, and what to expect of others."""
        if self.real is not None:
            return self.real.literal(label, mine[: len(self.real.truth)], searched)
        ((right, wrong, told),) = self._counts(slice(label, label + 1), mine[:, None])
        return Literal(label, 1, right, wrong, round(expected(right, wrong, searched, told), 4))

    def _counts(self, labels: slice, mine: Bools) -> list[tuple[float, float, float | None]]:
        """Per label, the weight of examples with it and of those without, and the first as a teacher tells it."""
        weights, truth = self.weights.astype(np.float64), self.truth[:, labels]  # products of doubles are quick
        right, wrong = (
            [unscaled(int(sum_), self.scale) for sum_ in weights @ (mine & (truth == value)).astype(np.float64)]
            for value in (1, 0)
        )
        if self.opinion is None:
            return [(one, other, None) for one, other in zip(right, wrong, strict=True)]
        # In whole numbers, so that the order of examples does not matter.
        answers = weights @ np.where(mine, np.rint(QUANTUM * self.opinion[:, labels]), 0.0)
        told = [float(unscaled(int(sum_), self.scale)) / QUANTUM for sum_ in answers]
        return list(zip(right, wrong, told, strict=True))


def _shortest(sizes: Ints, covers: Covers, allowed: Bools | None) -> Ints:
    """Positions of the bodies that are worth a look: of those that cover the same, the first of the shortest."""
    kept: dict[bytes, int] = {}
    for number, size in enumerate(sizes):
        key = covers.key(number) + (b"" if allowed is None else allowed[number].tobytes())
        if size < sizes[kept.setdefault(key, number)]:
            kept[key] = number
    return np.array(sorted(kept.values()), dtype=np.int64)


def _patient(engine: Engine, least: float) -> Callable[[], Candidate | None]:
    """Grow rules until many in a row get too little right to be of use; smaller ones may come between larger ones."""
    misses = 0

    def grow() -> Candidate | None:
        nonlocal misses
        found = engine.grow()
        if found is not None:
            misses = misses + 1 if found.tp < least else 0
        return found if misses <= _PATIENCE else None

    return grow


def _same(condition: Any) -> Any:
    return condition
