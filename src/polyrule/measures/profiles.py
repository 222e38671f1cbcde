"""Small worlds as profiles: for micro averages a label is no more than a few counts, so whole sizes can be enumerated.

A micro-averaged value depends on a world only through, for each label, how many covered examples are unset and
present, unset and absent, set and present, set and absent, and how many uncovered ones are present. Worlds that agree
in these numbers are one *profile*. There are far fewer profiles than label matrices: all worlds with 3 labels and 11
examples, nothing set, are 81 thousand profiles and 7.7 million matrices, even if the order of examples is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from polyrule.measures.definition import KINDS, UNSET, LabelCounts, weights_by_truth
from polyrule.measures.small_worlds import Batch
from polyrule.utils.arrays import Floats, Ints

LABELS = (2, 3)
BATCH = 2048
TIED_EXAMPLES = 8


@dataclass(frozen=True, eq=False)
class Profiles:
    """Worlds with one number of labels, of which only counts are known."""

    kinds: Ints  # covered examples by label and kind: (worlds, labels, KINDS)
    outside: Ints  # uncovered examples by label and truth: (worlds, labels, absent or present)

    @classmethod
    def of(cls, rows: Ints) -> Profiles:
        """Make worlds of rows of `label_profiles`: (worlds, labels, 6)."""
        return cls(rows[..., :KINDS], rows[..., KINDS:])

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.kinds.shape[1])

    def counts(self, scope: str) -> Ints:
        """Return the counts of each label for each thing a head may say: (worlds, labels, 3, 4)."""
        return LabelCounts.of(self.kinds, weights_by_truth(self.kinds) + self.outside).said(scope)

    def matrices(self, world: int) -> Batch:
        """Return one of the worlds with examples and all, as a batch of one."""
        inside = int(self.kinds[world, 0].sum())
        total = inside + int(self.outside[world, 0].sum())
        truth = np.zeros((total, self.n_labels), np.int8)
        assigned = np.full((total, self.n_labels), UNSET, np.int8)
        for label in range(self.n_labels):
            absent, present, _, present_and_set = self.kinds[world, label].tolist()
            unset = absent + present
            truth[:present, label] = 1
            truth[unset : unset + present_and_set, label] = 1
            assigned[unset:inside, label] = 0
            truth[inside : inside + self.outside[world, label, 1], label] = 1
        return Batch(truth[None], (np.arange(total) < inside)[None], assigned[None])


@cache
def label_profiles(covered: int, uncovered: int, nothing_set: bool, scope: str) -> Ints:
    """Return all profiles of one label: rows of covered examples by kind, then uncovered ones, absent and present.

    Only with scope ``all`` it makes a difference whether a label that is set is present.
    """
    rows = []
    for present in range(covered, -1, -1):
        for absent in (covered - present,) if nothing_set else range(covered - present, -1, -1):
            rest = covered - present - absent
            for set_present in range(rest + 1 if scope == "all" else 1):
                inside = absent, present, rest - set_present, set_present
                rows += [(*inside, uncovered - fn, fn) for fn in range(uncovered + 1)]
    return np.array(rows, dtype=np.int64)


def complete_sizes(budget: int, nothing_set: bool, scope: str) -> tuple[int, int]:
    """Return the most examples such that all worlds with up to 3 labels fit the budget, and how many worlds that is.

    >>> complete_sizes(4000, True, "head")
    (5, 2320)
    """
    used = examples = 0
    while True:
        size = sum(
            comb(len(label_profiles(inside, examples + 1 - inside, nothing_set, scope)) + labels - 1, labels)
            for labels in LABELS
            for inside in range(1, examples + 2)
        )
        if used + size > budget:
            return examples, used
        used += size
        examples += 1


def profile_batches(budget: int, nothing_set: bool, scope: str, seed: int = 0) -> Iterator[Profiles]:
    """Yield `budget` worlds, always the same: all of up to 3 labels and so many examples, then larger random ones."""
    most, used = complete_sizes(budget, nothing_set, scope)
    for examples in range(1, most + 1):
        for labels in LABELS:
            parts = [
                _complete(labels, inside, examples - inside, nothing_set, scope) for inside in range(examples, 0, -1)
            ]
            whole = np.concatenate(parts)
            for start in range(0, len(whole), BATCH):
                yield Profiles.of(whole[start : start + BATCH])
    yield from random_profiles(budget - used, nothing_set, seed)


def random_profiles(budget: int, nothing_set: bool, seed: int = 0) -> Iterator[Profiles]:
    """Yield `budget` random worlds with 3 to 5 labels and up to 400 examples, always the same."""
    rng = np.random.default_rng(seed)
    for start in range(0, budget, BATCH // 2):
        yield _random(rng, min(budget - start, BATCH // 2), nothing_set)


def tied_profiles(values: Callable[..., Floats], nothing_set: bool) -> Iterator[Profiles]:
    """Yield worlds of two labels that tie, though their counts differ, by a measure of counts over a head's labels.

    There a measure gives itself away by which heads of equal literals are worth less or more; random worlds hardly tie.
    """
    for examples in range(2, TIED_EXAMPLES + 1):
        for inside in range(examples, 0, -1):
            rows = label_profiles(inside, examples - inside, nothing_set, "head")
            rows = rows[rows[:, 1] > 0]
            found = values(*rows[:, [1, 0, 4, 5]].T)
            order = np.argsort(found, kind="stable")
            for step in (1, 2, 4, 8, 16):
                one, other = order[:-step], order[step:]
                tied = np.isclose(found[one], found[other], rtol=1e-11, atol=1e-11)
                if tied.any():
                    yield Profiles.of(np.stack([rows[one[tied]], rows[other[tied]]], axis=1))


@cache
def _complete(labels: int, inside: int, outside: int, nothing_set: bool, scope: str) -> Ints:
    """Return all worlds up to the order of labels: (worlds, labels, 6)."""
    rows = label_profiles(inside, outside, nothing_set, scope)
    chosen = np.array(list(combinations_with_replacement(range(len(rows)), labels)))
    return np.asarray(rows[chosen])


def _random(rng: np.random.Generator, count: int, nothing_set: bool) -> Profiles:
    """Worlds with 3 to 5 labels and up to 400 examples, mostly few; shares are often near 0 or 1."""
    labels = int(rng.integers(3, 6))
    inside, outside = int(200 ** rng.random()), int(200 ** rng.random()) - 1
    shape = (count, labels)

    def share() -> Floats:
        return np.asarray(rng.beta(0.6, 0.6, size=shape))

    closed = np.zeros(shape, np.int64) if nothing_set else rng.binomial(inside, 0.5 * share())
    present = rng.binomial(inside - closed, share())
    closed_present = rng.binomial(closed, share())
    fn = rng.binomial(outside, share())
    covered = inside - closed - present, present, closed - closed_present, closed_present
    return Profiles.of(np.stack([*covered, outside - fn, fn], axis=-1))
