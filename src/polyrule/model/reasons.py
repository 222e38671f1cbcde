"""Running a rule list on one example given by cells, and saying which features alone force what happened to a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyrule.model.cells import Asked, Domain, Grid, Trial, split
from polyrule.model.rule import LabelCondition

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


class ListSearch:
    """How the search for the smallest flip (`flips`) looks into a rule list.

    A trial that does not flip gives *reasons*, a few features whose cells alone already force the old outcome. An
    example that flips must leave the cells of at least one of them.
    """

    def __init__(self, rule_list: RuleList, grid: Grid, target: int) -> None:
        self._program, self._target = Program(rule_list, grid), target

    def outcome(self, trial: Trial) -> int:
        """Return the label's value for one example."""
        self._run = self._program.run(trial)
        return self._run.value(self._target)

    def parts(self, domain: Domain, trial: Trial, before: int) -> list[Domain]:
        """Divide a node whose trial, the last one that was judged, has the old outcome."""
        return split(domain, self._run.reasons(self._target, domain).items())[0]


class Program:
    """A rule list compiled to bit masks over cells."""

    def __init__(self, rule_list: RuleList, grid: Grid) -> None:
        self.defaults = rule_list.defaults
        self.stops = [number for number, rule in enumerate(rule_list.rules) if rule.stop]
        self.stop = [rule.stop for rule in rule_list.rules]
        self.asked: list[Asked] = []
        self.label_tests: list[list[tuple[int, int]]] = []
        self.heads: list[dict[int, int]] = []
        width = len(rule_list.label_names)
        self.writers: list[list[int]] = [[] for _ in range(width)]
        for number, rule in enumerate(rule_list.rules):
            self.asked.append(grid.asked(rule.body))
            self.label_tests.append([(c.label, c.value) for c in rule.body if isinstance(c, LabelCondition)])
            head = {literal.label: literal.value for literal in rule.head}
            if rule_list.full:
                head = {label: head.get(label, 0) for label in range(width)}
            self.heads.append(head)
            for label in head:
                self.writers[label].append(number)

    def run(self, trial: Trial) -> Run:
        """Run the list on the example that has these cells."""
        state: dict[int, int] = {}
        setter: dict[int, int] = {}
        fruitless: set[int] = set()
        stopped = None
        for number, head in enumerate(self.heads):
            if not self.asked[number].holds(trial):
                continue
            if not all(state.get(label) == value for label, value in self.label_tests[number]):
                continue
            new = {label: value for label, value in head.items() if label not in state}
            state |= new
            setter |= dict.fromkeys(new, number)
            if not new:
                fruitless.add(number)
            elif self.stop[number]:
                stopped = number
                break
        return Run(self, trial, state, setter, fruitless, stopped)


@dataclass(frozen=True)
class Run:
    """What the list did: state and setter of every label that was set, and where it stopped."""

    program: Program
    trial: Trial
    state: dict[int, int]
    setter: dict[int, int]
    fruitless: set[int]
    stopped: int | None

    def value(self, label: int) -> int:
        """Value of a label in the end."""
        return self.state.get(label, self.program.defaults[label])

    def reasons(self, label: int, domain: Domain) -> Domain:
        """Features and, for each, cells such that every example of `domain` in these cells treats `label` alike.

        Facts to be explained are put on a list: "label j stands as it does just before rule t", "rule q fired", "rule
        q did not fire", "rule q was reached". Each is explained by other facts or by the cell of a feature.
        """
        cause = _Cause(self, domain)
        cause.explain_label(label, len(self.program.heads))
        return cause.found


class _Cause:
    """The growing conjunction of cells that forces what happened."""

    def __init__(self, run: Run, domain: Domain) -> None:
        self.run = run
        self.program = run.program
        self.domain = domain
        self.found: Domain = {}
        self.done: set[tuple[str, int, int]] = set()
        self.todo: list[tuple[str, int, int]] = []

    def explain_label(self, label: int, before: int) -> None:
        self._add("label", label, before)
        while self.todo:
            what, number, before = self.todo.pop()
            match what:
                case "label":
                    self._explain_label(number, before)
                case "fired":
                    self._explain_fired(number)
                case "failed":
                    self._explain_failed(number)
                case "reached":
                    self._explain_reached(number)

    def _add(self, what: str, number: int, before: int = 0) -> None:
        fact = (what, number, before)
        if fact not in self.done:
            self.done.add(fact)
            self.todo.append(fact)

    def _explain_label(self, label: int, before: int) -> None:
        setter = self.run.setter.get(label, before)
        writers = [rule for rule in self.program.writers[label] if rule < min(setter, before)]
        if setter < before:
            self._add("fired", setter)
            self._add("reached", setter)
        elif self.run.stopped is not None and any(rule > self.run.stopped for rule in writers):
            stopped = self.run.stopped
            writers = [rule for rule in writers if rule < stopped]
            self._add("fired", stopped)
            self._add("reached", stopped)
            # The stop took effect because of some label that nobody had set before it; one such label is enough.
            fresh = next(j for j in self.program.heads[stopped] if self.run.setter.get(j) == stopped)
            self._add("label", fresh, stopped)
        for rule in writers:
            self._add("failed", rule)

    def _explain_fired(self, rule: int) -> None:
        asked = self.program.asked[rule]
        for feature, mask in asked.plain.items():
            self._require(feature, mask)
        self._require_some([test for test in asked.members if self._holds(*test)], asked.least)
        for label, _value in self.program.label_tests[rule]:
            self._add("label", label, rule)

    def _explain_failed(self, rule: int) -> None:
        """Pick one condition that failed; best one that cannot hold anywhere in the domain, or is a reason already.

        A group failed because of as many members as are too many to spare.
        """
        asked = self.program.asked[rule]
        plain = [(f, ~mask) for f, mask in asked.plain.items() if not self._holds(f, mask)]
        members = [(f, ~mask) for f, mask in asked.members if not self._holds(f, mask)]
        spare = len(asked.members) - asked.least
        # A member more than can be spared says as much as a plain condition, but takes several reasons to say it.
        if plain:
            self._require_some(plain, 1)
            return
        if len(members) > spare:
            self._require_some(members, spare + 1)
            return
        for label, value in self.program.label_tests[rule]:
            state = self.run.state.get(label) if self.run.setter.get(label, rule) < rule else None
            if state != value:
                self._add("label", label, rule)
                return

    def _explain_reached(self, rule: int) -> None:
        for stop in self.program.stops:
            if stop >= rule:
                return
            if stop not in self.run.fruitless:
                self._add("failed", stop)
                continue
            for label in self.program.heads[stop]:
                self._add("label", label, stop)

    def _holds(self, feature: int, mask: int) -> bool:
        return bool(mask >> self.run.trial[feature] & 1)

    def _require_some(self, tests: list[tuple[int, int]], count: int) -> None:
        """Make reasons of the tests that add least to them: best those that hold all over the domain or are there."""
        for test in sorted(tests, key=self._news)[:count]:
            self._require(*test)

    def _news(self, test: tuple[int, int]) -> int:
        feature, mask = test
        if self.domain[feature] & ~mask == 0 or self.found.get(feature, -1) & ~mask == 0:
            return 0
        return 1 if feature in self.found else 2

    def _require(self, feature: int, mask: int) -> None:
        self.found[feature] = self.found.get(feature, self.domain[feature]) & mask
