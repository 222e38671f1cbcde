"""The decision for related labels together: a fixed sequence of steps, after which every relation holds.

Each label enters with a *margin*: at least 0 if it would be predicted alone, and larger the more probable it is.

1. The strength of a label is the largest margin among itself and the labels that imply it.
2. Groups follow one another. In each, the strongest member that is still possible wins (the first of equals); the other
   members, and all labels that imply them, are no longer possible. The winner of an "exactly one" group is forced to be
   present, with all labels that it implies.
3. A label is present if it is possible, and forced or of a strength of at least 0.

An implied label is at least as strong as the label that implies it, and possible whenever that one is, so implications
hold. Of a group only the winner stays possible, so exclusions hold. That every "exactly one" group has a possible
member, whatever the margins are, is checked once, over all choices of winners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyrule.errors import OptionError
from polyrule.relations.relation import Relation, quoted
from polyrule.utils.arrays import Bytes, Floats

MAX_CHOICES = 100_000  # of winners, to be checked for "exactly one" groups


@dataclass(frozen=True)
class Group:
    """Labels of which at most one is present, or exactly one."""

    members: tuple[int, ...]
    exactly: bool


@dataclass(frozen=True)
class Because:
    """Cause of a label that relations changed: another label, and the relation between the two, as texts."""

    other: str
    relation: str

    def __str__(self) -> str:
        return f"because {self.other} ({self.relation})" if self.other else f"because of {self.relation}"


@dataclass(frozen=True)
class Plan:
    """Steps of the decision.

    Parameters
    ----------
    above, below : tuple of tuples of int
        Per label, itself and the labels that it implies; itself and the labels that imply it.
    groups : tuple of Group
        In the order in which winners are chosen.

    Examples
    --------
    >>> names = ("pneumonia", "lung disease", "healthy")
    >>> plan = Plan.of([Relation("implies", (0, 1)), Relation("at-most-one", (1, 2))], names)
    >>> plan.decide(np.array([[0.9, -1.0, 0.5], [-1.0, 0.1, 0.5]])).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    above: tuple[tuple[int, ...], ...]
    below: tuple[tuple[int, ...], ...]
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, relations: Sequence[Relation], names: Sequence[str]) -> Plan:
        """Return the steps for some relations; raise OptionError if they contradict each other."""
        above = _closure([one.labels for one in relations if one.kind == "implies"], names)
        below: list[list[int]] = [[] for _ in names]
        for label, implied in enumerate(above):
            for other in implied:
                below[other].append(label)
        groups = [Group(one.labels, one.kind == "exactly-one") for one in relations if one.kind != "implies"]
        # groups of labels that are implied come first
        groups.sort(key=lambda group: max(len(above[member]) for member in group.members))
        plan = cls(above, tuple(map(tuple, below)), tuple(groups))
        plan._check(names)
        return plan

    @property
    def related(self) -> tuple[int, ...]:
        """Labels that some relation is about."""
        grouped = {label for group in self.groups for label in group.members}
        return tuple(k for k, above in enumerate(self.above) if k in grouped or len(above) + len(self.below[k]) > 2)

    def component(self, label: int) -> tuple[int, ...]:
        """Return the labels on whose margins a label depends."""
        component, todo = {label}, [label]
        groups = [group.members for group in self.groups]
        while todo:
            one = todo.pop()
            joined = {*self.above[one], *self.below[one], *(k for group in groups if one in group for k in group)}
            todo += joined - component
            component |= joined
        return tuple(sorted(component))

    def decide(self, margins: Floats) -> Bytes:
        """Return the labels of every row of `margins`."""
        return self._steps(margins)[0]

    def _steps(self, margins: Floats) -> tuple[Bytes, list[Floats]]:
        """Return the labels, and the winner of each group."""
        strength = np.array(margins, dtype=np.float64)
        for label, below in enumerate(self.below):
            if len(below) > 1:
                strength[:, label] = margins[:, below].max(axis=1)
        possible, forced = np.ones(strength.shape, dtype=bool), np.zeros(strength.shape, dtype=bool)
        winners = []
        for group in self.groups:
            members = list(group.members)
            rank = np.where(forced[:, members], np.inf, strength[:, members])
            rank[~possible[:, members]] = -np.inf
            best = np.argmax(rank, axis=1)
            winners.append(np.array(members)[best])
            for place, member in enumerate(members):
                possible[np.ix_(best != place, self.below[member])] = False
                if group.exactly:
                    forced[np.ix_(best == place, self.above[member])] = True
        return (possible & (forced | (strength >= 0))).astype(np.uint8), winners

    def reasons(self, margins: Floats, names: Sequence[str]) -> dict[int, Because]:
        """Return the cause of every label of one example that is not as its margin alone says.

        Examples
        --------
        >>> plan = Plan.of([Relation("at-most-one", (0, 1))], ("benign", "malignant"))
        >>> print(plan.reasons(np.array([0.9, 0.6]), ("benign", "malignant"))[1])
        because benign is present (benign, malignant: at most one)
        """
        labels, winners = self._steps(margins[None, :])
        first = [int(winner[0]) for winner in winners]
        reasons = {}
        for label in np.flatnonzero(labels[0] != (margins >= 0)).tolist():
            make = self._why_present if labels[0, label] else self._why_absent
            reasons[label] = make(label, margins, labels[0], first, names)
        return reasons

    def _why_present(
        self, label: int, margins: Floats, labels: Bytes, winners: list[int], names: Sequence[str]
    ) -> Because:
        strongest = max(self.below[label], key=lambda k: (margins[k], -k))
        if margins[strongest] >= 0:
            relation = Relation("implies", (strongest, label)).text(names)
            state = "is present" if labels[strongest] else "was found"
            return Because(f"{quoted(names[strongest])} {state}", relation)
        for group, winner in zip(self.groups, winners, strict=True):
            if group.exactly and label in self.above[winner]:
                if winner == label:
                    return Because("", _text(group, names))
                return Because(f"{quoted(names[winner])} is present", Relation("implies", (winner, label)).text(names))
        raise AssertionError("a label that is weak and not forced is absent")

    def _why_absent(
        self, label: int, margins: Floats, labels: Bytes, winners: list[int], names: Sequence[str]
    ) -> Because:
        for group, winner in zip(self.groups, winners, strict=True):
            if any(member != winner and label in self.below[member] for member in group.members):
                state = "is present" if labels[winner] else "is more probable"
                return Because(f"{quoted(names[winner])} {state}", _text(group, names))
        raise AssertionError("a strong label that lost in no group is present")

    def _check(self, names: Sequence[str]) -> None:
        for group in self.groups:
            inside = set(group.members)
            for label, above in enumerate(self.above):
                both = sorted(inside.intersection(above))
                if len(both) > 1:
                    raise OptionError(
                        f"relations: {names[label]!r} can never be present, because of {_text(group, names)!r}: it "
                        f"implies {' and '.join(repr(names[k]) for k in both if k != label)}"
                    )
        if any(group.exactly for group in self.groups):
            self._check_choices(names)

    def _check_choices(self, names: Sequence[str]) -> None:
        """Try all winners: each "exactly one" group needs a member that is possible, and winners that stay so."""
        linked = self._groups_beside_exact()
        seen: set[tuple[int, frozenset[int], frozenset[int]]] = set()
        todo: list[tuple[int, frozenset[int], frozenset[int], tuple[int, ...]]] = [(0, frozenset(), frozenset(), ())]
        while todo:
            place, impossible, forced, chosen = todo.pop()
            if place == len(linked) or (place, impossible, forced) in seen:
                continue
            seen.add((place, impossible, forced))
            if len(seen) > MAX_CHOICES:
                raise OptionError("relations: too many groups depend on each other to check that they are consistent")
            group = linked[place]
            members = [member for member in group.members if member not in impossible]
            must = [member for member in members if member in forced]
            if len(must) > 1 or (group.exactly and not members):
                given = " and ".join(repr(names[k]) for k in dict.fromkeys(chosen))
                wrong = f"{names[must[0]]!r} and {names[must[1]]!r} would both be" if must else "no label could be"
                begin = f"with {given} present, " if given else ""
                raise OptionError(f"relations: {begin}{wrong} present in {_text(group, names)!r}")
            if not members:  # none of an "at most one" group
                todo.append((place + 1, impossible, forced, chosen))
            for winner in must or members:
                lost = (k for member in group.members if member != winner for k in self.below[member])
                gained = self.above[winner] if group.exactly else ()
                todo.append((place + 1, impossible.union(lost), forced.union(gained), (*chosen, winner)))

    def _groups_beside_exact(self) -> list[Group]:
        """Return the groups that share labels, through implications, with an "exactly one" group."""
        reach = [{k for member in g.members for k in (*self.above[member], *self.below[member])} for g in self.groups]
        chosen = [group.exactly for group in self.groups]
        changed = True
        while changed:
            changed = False
            for i, labels in enumerate(reach):
                if not chosen[i] and any(chosen[j] and labels & other for j, other in enumerate(reach)):
                    chosen[i] = changed = True
        return [group for group, is_chosen in zip(self.groups, chosen, strict=True) if is_chosen]


def _text(group: Group, names: Sequence[str]) -> str:
    return Relation("exactly-one" if group.exactly else "at-most-one", group.members).text(names)


def _closure(pairs: Sequence[tuple[int, ...]], names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return, per label, itself and all labels that it implies; raise OptionError for a cycle."""
    direct: dict[int, list[int]] = {}
    for label, implied in pairs:
        direct.setdefault(label, []).append(implied)
    done: dict[int, set[int]] = {}
    for start in direct:
        stack, path = [(start, iter(direct[start]))], [start]
        while stack:
            label, left = stack[-1]
            follow = next((k for k in left if k not in done), None)
            if follow is None:
                done[label] = {label}.union(*(done.get(k, {k}) for k in direct.get(label, ())))
                stack.pop()
                path.pop()
            elif follow in path:
                loop = [*path[path.index(follow) :], follow]
                raise OptionError(f"relations: labels imply each other: {' => '.join(quoted(names[k]) for k in loop)}")
            else:
                stack.append((follow, iter(direct.get(follow, ()))))
                path.append(follow)
    return tuple(tuple(sorted(done.get(label, {label}))) for label in range(len(names)))
