"""Regions of examples that all rules of a model treat alike, as sets that a search can divide.

Features that are derived from one date change together and share their regions (`date_regions`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from polyrule.conditions import (
    Condition,
    FeatureCondition,
    NumericCondition,
    feature_conditions,
    group_of,
    thresholds,
    ungrouped_conditions,
)
from polyrule.data.derive.base import Derivation
from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.model.date_regions import DateRegions
from polyrule.model.regions import FeatureRegions, Regions
from polyrule.utils.arrays import Floats

Domain = dict[int, int]
"""Regions of every feature that an example may have, as masks."""
Trial = dict[int, int]
"""The one region of every feature that an example has."""


class RegionGrid:
    """The regions of everything that a model tests, as reached from one example.

    Features named in `fixed` do not change; the name of a date fixes its parts, too. Neither do the parts of dates in
    `parts`, which the model need not test.
    """

    def __init__(
        self, model: Any, row: Floats, fixed: Collection[str] = (), parts: Collection[Derivation] = ()
    ) -> None:
        features: tuple[Feature, ...] = model.features
        alone = {j: FeatureRegions(j, features[j], ends, float(row[j])) for j, ends in _ends(model).items()}
        dated = {j: d for j, f in enumerate(features) if (d := derivation_of(f)) is not None and d.CHANGES_SOURCE}
        fixed_parts = {d.column: [part for part in parts if part.column == d.column] for d in dated.values()}
        joint = {
            d.column
            for j, d in dated.items()
            if j in alone and (features[j].derived is not None or fixed_parts[d.column])
        }
        self.regions: dict[int, Regions] = {}
        self._owner: dict[int, int] = {}
        for j, regions in alone.items():
            column = features[j].column
            if not (j in dated and column in joint):
                self.regions[j], self._owner[j] = regions, j
            elif j not in self._owner:
                related = [k for k, derivation in dated.items() if derivation.column == column]
                group = {k: dated[k] for k in sorted(related, key=lambda k: features[k].derived is not None)}
                tests = {k: alone[k] for k in alone if k in group}
                self.regions[j] = DateRegions.of(group, tests, row, fixed_parts[column])
                self._owner |= dict.fromkeys(group, j)
        self._locked = {j for j, regions in self.regions.items() if regions.name in fixed}

    @property
    def present(self) -> Trial:
        """Regions of the example."""
        return {j: regions.present for j, regions in self.regions.items()}

    @property
    def everything(self) -> Domain:
        """Every example that it can be changed to."""
        return {j: 1 << r.present if j in self._locked else r.everything for j, r in self.regions.items()}

    def of_condition(self, condition: FeatureCondition) -> tuple[int, int]:
        """Return the owner of the regions that a condition tests, and the mask of those in which it holds."""
        owner = self._owner[condition.feature]
        return owner, self.regions[owner].satisfying(condition)

    def of_body(self, body: Iterable[Condition]) -> BodyRegions:
        """Return the regions in which a body holds; its conditions on labels are left out."""
        body = tuple(body)
        plain: Domain = {}
        for owner, mask in map(self.of_condition, ungrouped_conditions(body)):
            plain[owner] = plain.get(owner, mask) & mask
        group = group_of(body)
        if group is None:
            return BodyRegions(plain)
        return BodyRegions(plain, tuple(map(self.of_condition, group.members)), group.least)

    def cheapest(self, domain: Domain) -> Trial:
        """Return the example of a domain that is nearest to the present one."""
        return {j: self.regions[j].cheapest(mask) for j, mask in domain.items()}

    def cost(self, domain: Domain) -> tuple[int, int]:
        """Return the number of features that must change, and the fewest steps that takes."""
        changed = {j: mask for j, mask in domain.items() if not mask >> self.regions[j].present & 1}
        return len(changed), sum(self.regions[j].steps(self.regions[j].cheapest(mask)) for j, mask in changed.items())


@dataclass(frozen=True)
class BodyRegions:
    """Regions in which a body holds: every plain condition, and enough members of its group."""

    # The regions in which the plain conditions on them hold, joined, so that a body that cannot hold is detected
    plain: Domain
    members: tuple[tuple[int, int], ...] = ()  # as `RegionGrid.of_condition` returns them
    min_members: int = 0

    def holds(self, trial: Trial) -> bool:
        """Return True if one example satisfies the body."""
        return (
            all(mask >> trial[owner] & 1 for owner, mask in self.plain.items())
            and sum(mask >> trial[owner] & 1 for owner, mask in self.members) >= self.min_members
        )

    def possible(self, domain: Domain) -> bool:
        """Return True if some example of a domain may satisfy the body: if false, none does."""
        return (
            all(mask & domain[owner] for owner, mask in self.plain.items())
            and sum(mask & domain[owner] != 0 for owner, mask in self.members) >= self.min_members
        )

    def certain(self, domain: Domain) -> bool:
        """Return True if every example of a domain is sure to satisfy the body, condition by condition."""
        return (
            all(not domain[owner] & ~mask for owner, mask in self.plain.items())
            and sum(not domain[owner] & ~mask for owner, mask in self.members) >= self.min_members
        )

    def parts(self, domain: Domain) -> list[Domain]:
        """Divide a domain in which the body is neither certain nor impossible; each part is nearer to a decision."""
        undecided = [(owner, mask) for owner, mask in self.plain.items() if domain[owner] & ~mask]
        # With the plain conditions decided, some member both may hold and may fail: else the group would be decided.
        members = ((owner, mask) for owner, mask in self.members if domain[owner] & mask and domain[owner] & ~mask)
        failing, passing = split(domain, undecided or [next(members)])
        return [*failing, passing]


def split(domain: Domain, tests: Iterable[tuple[int, int]]) -> tuple[list[Domain], Domain]:
    """Return the parts of a domain that fail the tests, without overlap, and the one that passes all of them."""
    failing, passing = [], dict(domain)
    for owner, mask in tests:
        outside = passing[owner] & ~mask
        if outside:
            failing.append(passing | {owner: outside})
        passing[owner] &= mask
    return failing, passing


def _ends(model: Any) -> dict[int, tuple[NumericCondition, ...]]:
    """Return the upper ends of the regions of every feature that some rule tests, ascending."""
    tests: dict[int, dict[float, NumericCondition]] = {}
    for rule in model.rules:
        for condition in feature_conditions(rule.body):
            tests.setdefault(condition.feature, {})
        for limit in thresholds(rule.body):
            # 0.0 and -0.0 are one threshold; so are equal ints and floats.
            tests[limit.feature].setdefault(limit.threshold + 0.0, replace(limit, op="<="))
    return {j: tuple(ends[threshold] for threshold in sorted(ends)) for j, ends in sorted(tests.items())}
