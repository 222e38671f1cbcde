"""Small problems as profiles: for micro averages a label is only a few counts, so whole sizes can be enumerated.

A micro-averaged value depends on a problem only through, for each label, how many covered examples are unset and
present, unset and absent, set and present, set and absent, and how many uncovered ones are present. Worlds that agree
in these numbers are one *profile*. There are far fewer profiles than label matrices: all problems with 3 labels and 11
examples, nothing set, are 81 thousand profiles and 7.7 million matrices, even if the order of examples is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from polyrule.measures.definition import N_OUTCOMES, UNSET, LabelCounts, weights_by_truth
from polyrule.measures.small_problems import Batch
from polyrule.utils.arrays import Floats, Ints

LABELS = (2, 3)
BATCH = 2048
TIED_EXAMPLES = 8


@dataclass(frozen=True, eq=False)
class Profiles:
    """Worlds with one number of labels, of which only counts are known."""

    outcomes: Ints  # covered examples by label and kind: (problems, labels, N_OUTCOMES)
    outside: Ints  # uncovered examples by label and truth: (problems, labels, absent or present)

    @classmethod
    def of(cls, rows: Ints) -> Profiles:
        """Make problems of rows of `label_profiles`: (problems, labels, 6)."""
        return cls(rows[..., :N_OUTCOMES], rows[..., N_OUTCOMES:])

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.outcomes.shape[1])

    def counts(self, scope: str) -> Ints:
        """Return the counts of each label for each thing a head may say: (problems, labels, 3, 4)."""
        return LabelCounts.of(self.outcomes, weights_by_truth(self.outcomes) + self.outside).by_prediction(scope)

    def matrices(self, problem: int) -> Batch:
        """Return one of the problems with examples and all, as a batch of one."""
        inside = int(self.outcomes[problem, 0].sum())
        total = inside + int(self.outside[problem, 0].sum())
        truth = np.zeros((total, self.n_labels), np.int8)
        assigned = np.full((total, self.n_labels), UNSET, np.int8)
        for label in range(self.n_labels):
            absent, present, _, present_and_set = self.outcomes[problem, label].tolist()
            unset = absent + present
            truth[:present, label] = 1
            truth[unset : unset + present_and_set, label] = 1
            assigned[unset:inside, label] = 0
            truth[inside : inside + self.outside[problem, label, 1], label] = 1
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
    """Return the largest number of examples for which all problems of 3 labels fit the budget, and their number.

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
    """Yield the same `budget` problems each time: all of up to 3 labels and few examples, then larger random ones."""
    max_examples, used = complete_sizes(budget, nothing_set, scope)
    for examples in range(1, max_examples + 1):
        for labels in LABELS:
            parts = [
                _complete(labels, inside, examples - inside, nothing_set, scope) for inside in range(examples, 0, -1)
            ]
            whole = np.concatenate(parts)
            for start in range(0, len(whole), BATCH):
                yield Profiles.of(whole[start : start + BATCH])
    yield from random_profiles(budget - used, nothing_set, seed)


def random_profiles(budget: int, nothing_set: bool, seed: int = 0) -> Iterator[Profiles]:
    """Yield `budget` random problems with 3 to 5 labels and up to 400 examples, always the same."""
    rng = np.random.default_rng(seed)
    for start in range(0, budget, BATCH // 2):
        yield _random(rng, min(budget - start, BATCH // 2), nothing_set)


def tied_profiles(values: Callable[..., Floats], nothing_set: bool) -> Iterator[Profiles]:
    """Yield problems of two labels that tie, though their counts differ, by a measure of counts over a head's labels.

    Heads of equal literals reveal a measure there by their values; random problems hardly tie.
    """
    for examples in range(2, TIED_EXAMPLES + 1):
        for inside in range(examples, 0, -1):
            rows = label_profiles(inside, examples - inside, nothing_set, "head")
            rows = rows[rows[:, 1] > 0]
            row_values = values(*rows[:, [1, 0, 4, 5]].T)
            order = np.argsort(row_values, kind="stable")
            for step in (1, 2, 4, 8, 16):
                one, other = order[:-step], order[step:]
                tied = np.isclose(row_values[one], row_values[other], rtol=1e-11, atol=1e-11)
                if tied.any():
                    yield Profiles.of(np.stack([rows[one[tied]], rows[other[tied]]], axis=1))


@cache
def _complete(labels: int, inside: int, outside: int, nothing_set: bool, scope: str) -> Ints:
    """Return all problems up to the order of labels: (problems, labels, 6)."""
    rows = label_profiles(inside, outside, nothing_set, scope)
    selected = np.array(list(combinations_with_replacement(range(len(rows)), labels)))
    return np.asarray(rows[selected])


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
