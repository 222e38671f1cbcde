"""What bodies may test: features that are forbidden, belong to some labels only, or count in one direction only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.arrays import Bools
from polyrule.errors import OptionError, did_you_mean
from polyrule.model.rule import Condition, LabelCondition, NumericCondition, plain_conditions

_DIRECTIONS = {"up": ">", 1: ">", "down": "<=", -1: "<="}


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which feature may be tested for which label, and in which direction.

    Parameters
    ----------
    allowed : ndarray of bool, shape (features, labels)
    directions : dict
        Position of a feature -> the only comparison that bodies may use.
    """

    allowed: Bools
    directions: dict[int, str]

    @classmethod
    def read(
        cls,
        table: Any,
        labels: Sequence[str],
        features: Mapping[str, Sequence[str]] | None,
        forbid: Sequence[str] | None,
        monotone: Mapping[str, Any] | None,
    ) -> Constraints:
        """Read what the user gave by names."""
        for option, given in (("features", features), ("monotone", monotone)):
            if given and not isinstance(given, Mapping):
                raise OptionError(f"{option} must be a dict with names as keys, got {given!r}")
        names = table.feature_names
        allowed = np.ones((len(names), len(labels)), dtype=bool)
        for label, some in (features or {}).items():
            column = _position(labels, label, "features", "label")
            allowed[:, column] = False
            allowed[[_position(names, name, "features", "feature") for name in _listed(some, "features")], column] = (
                True
            )
        allowed[[_position(names, name, "forbid", "feature") for name in _listed(forbid or (), "forbid")]] = False
        directions = {}
        for name, direction in (monotone or {}).items():
            feature = _position(names, name, "monotone", "feature")
            if direction not in _DIRECTIONS:
                raise OptionError(f"monotone: {name!r} must go 'up' or 'down', got {direction!r}")
            if table.features[feature].is_nominal:
                raise OptionError(f"monotone: {name!r} is nominal, so it goes neither up nor down")
            directions[feature] = _DIRECTIONS[direction]
        return cls(allowed, directions)

    @property
    def none(self) -> bool:
        """Whether everything is allowed."""
        return bool(self.allowed.all()) and not self.directions

    def groups(self) -> list[tuple[Bools, list[int]]]:
        """Return labels that may use the same features, and these features."""
        found: dict[bytes, tuple[Bools, list[int]]] = {}
        for label in range(self.allowed.shape[1]):
            column = self.allowed[:, label]
            found.setdefault(column.tobytes(), (column, []))[1].append(label)
        return list(found.values())

    def kept(self, body: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return a body without the conditions that point in the wrong direction."""
        return tuple(condition for condition in body if self._points_well(condition))

    def _points_well(self, condition: Condition) -> bool:
        if not isinstance(condition, NumericCondition):
            return True
        return self.directions.get(condition.feature, condition.op) == condition.op

    def heads(self, bodies: Sequence[tuple[Condition, ...]]) -> Bools:
        """Which label may stand over which body, shape (bodies, labels)."""
        fits = np.ones((len(bodies), self.allowed.shape[1]), dtype=bool)
        for number, body in enumerate(bodies):
            for condition in plain_conditions(body):
                if not isinstance(condition, LabelCondition):
                    fits[number] &= self.allowed[condition.feature]
        return fits


def _listed(names: Any, what: str) -> Sequence[str]:
    if isinstance(names, str):
        raise OptionError(f"{what} must hold lists of names, not one text: {names!r}")
    return list(names)


def _position(names: Sequence[str], name: str, option: str, what: str) -> int:
    if name not in names:
        raise OptionError(f"{option}: there is no {what} {name!r}{did_you_mean(name, names)}")
    return list(names).index(name)
