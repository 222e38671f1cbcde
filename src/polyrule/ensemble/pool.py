"""Pool of the rules of several builds, each of which learns from a subsample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polyrule.binning.code_tests import canonical_key
from polyrule.ensemble.boosting import Booster, PooledRule, TrainingExamples
from polyrule.ensemble.options import FitOptions
from polyrule.utils.arrays import Bools, Floats, Words

_SPREAD = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio


class Pool:
    """Distinct rules of several builds.

    Parameters
    ----------
    start : sequence of PooledRule
        Rules of the model from the beginning, which come first in every build; their heads do not change.
    """

    def __init__(self, start: Sequence[PooledRule] = ()) -> None:
        self._n_first = len(start)
        self._start = {canonical_key(rule.tests) for rule in start}
        self._rules: dict[object, PooledRule] = {}

    @property
    def n_start(self) -> int:
        """Number of distinct start rules, the first of `rules`."""
        return len(self._start)

    def add(self, booster: Booster) -> None:
        """Add the rules of a build; equal bodies become one rule with the labels of both."""
        for place, rule in enumerate(booster.rules):
            key = canonical_key(rule.tests)
            if key not in self._rules:
                self._rules[key] = rule
            elif key not in self._start or place < self._n_first:
                self._rules[key] = self._rules[key].with_labels(rule.head)

    @property
    def rules(self) -> list[PooledRule]:
        """The rules, in the order in which they were added."""
        return list(self._rules.values())


class Sampler:
    """Subsamples of training examples, drawn by content.

    Examples with equal codes are drawn together, so that a subsample depends neither on the order of rows nor on a
    weight in place of repeated rows. Each build gets other synthetic examples, if there are several for each example.
    """

    def __init__(self, examples: TrainingExamples, features: int, options: FitOptions) -> None:
        self._examples, self._options = examples, options
        self._hashes = code_hashes(examples, features) if options.n_builds > 1 else None

    def draw(self, number: int) -> TrainingExamples:
        """Return the subsample of a build."""
        examples, options = self._examples, self._options
        if self._hashes is None:
            return examples
        weights = examples.weights[: examples.examples]
        inside = drawn(self._hashes, weights, options.sample, options.seed, number)[examples.sources]
        rounds = np.arange(len(examples)) // examples.examples  # 0: examples of the user
        if rounds[-1] >= options.n_builds:
            inside &= (rounds == 0) | (rounds % options.n_builds == number)
        part = examples[np.flatnonzero(inside)]
        weights = part.weights.copy()
        if 0 < part.examples < len(part):
            weights[part.examples :] *= weights[: part.examples].sum() / weights[part.examples :].sum()
        return replace(part, weights=weights)


def drawn(hashes: Words, weights: Floats, share: float, seed: int, number: int) -> Bools:
    """Draw examples that have together a share of the weight; those with equal hashes are drawn together.

    A draw therefore depends neither on the order of rows nor on a weight in place of repeated rows.

    Examples
    --------
    >>> hashes = np.array([5, 9, 5, 7], dtype=np.uint64)
    >>> draws = [drawn(hashes, np.ones(4), 0.5, 0, number) for number in range(9)]
    >>> all(draw[0] == draw[2] for draw in draws), min(int(draw.sum()) for draw in draws) > 0
    (True, True)
    """
    offset = np.uint64(((seed + 1) * 0x2545F4914F6CDD1D + (number + 1) * _SPREAD) % 2**64)
    keys = _mix(hashes + offset)
    order = np.argsort(keys, kind="stable")
    total = np.cumsum(weights[order])
    return np.asarray(keys <= keys[order[min(len(order) - 1, int(np.searchsorted(total, share * total[-1])))]])


def code_hashes(examples: TrainingExamples, features: int) -> Words:
    """Return a hash of the codes of each example: equal for examples that no condition distinguishes."""
    hashes = np.zeros(examples.examples, dtype=np.uint64)
    for feature in range(features):
        codes = examples.column(feature)[: examples.examples].astype(np.uint64)
        hashes += _mix((codes + np.uint64(1)) * _mix(np.array([(feature + 1) * _SPREAD % 2**64], dtype=np.uint64)))
    return hashes


def _mix(bits: Words) -> Words:
    """Spread every bit over all 64 (SplitMix64, Steele, Lea and Flood 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
