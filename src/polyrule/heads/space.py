"""The heads a search may choose from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polyrule.heads.world import World
from polyrule.measures.definition import LabelValue
from polyrule.measures.objective import Objective


@dataclass(frozen=True, eq=False)
class HeadSpace:
    """All non-empty sets of usable literals with at most one per label and at most `max_size` labels.

    Parameters
    ----------
    choices : dict
        Usable literals of each label that has any, ``label = 1`` first.
    max_size : int

    Examples
    --------
    >>> HeadSpace({0: [(0, 1)], 1: [(1, 1), (1, 0)]}, 2).size
    5
    """

    choices: dict[int, list[LabelValue]]
    max_size: int

    @classmethod
    def of(cls, world: World, objective: Objective, min_tp: int = 1) -> HeadSpace:
        """Collect the usable literals of a world."""
        choices: dict[int, list[LabelValue]] = {}
        for literal in world.literals(min_tp):
            if objective.negative or literal[1] == 1:
                choices.setdefault(literal[0], []).append(literal)
        limit = len(choices) if objective.max_head_size is None else min(objective.max_head_size, len(choices))
        return cls(choices, limit)

    @property
    def labels(self) -> list[int]:
        """Labels that have a usable literal, in order."""
        return list(self.choices)

    @property
    def literals(self) -> list[LabelValue]:
        """All usable literals, in label order."""
        return [literal for literals in self.choices.values() for literal in literals]

    @cached_property
    def size(self) -> int:
        """Number of heads."""
        by_size = [1] + [0] * self.max_size
        for literals in self.choices.values():
            for k in range(self.max_size, 0, -1):
                by_size[k] += by_size[k - 1] * len(literals)
        return sum(by_size[1:])
