"""Engines that count, beside the reference, on the same problem."""

from __future__ import annotations

import numpy as np
from tests.search.strategies import Problem

from polyrule.data.table import Table
from polyrule.measures import Objective
from polyrule.search.counted.counter import Counter, LocalCounter
from polyrule.search.counted.engine import CountedEngine
from polyrule.search.protocol import Candidate, GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.store import Packed, pack_table

COMMITS = [(0.01, True), (None, False), (0.3, False), (0.3, True), (0.0, True)]


def packed_of(problem: Problem, blocks: int, max_bins: int = 255, keep_values: bool = False) -> Packed:
    names = tuple(f"y{i}" for i in range(problem.truth.shape[1]))
    rows = -(-len(problem.table) // blocks)
    return pack_table(problem.table, problem.truth, problem.weights, names, max_bins, rows, keep_values)


def counted(packed: Packed, counter: Counter, objective: Objective, options: GrowOptions, **more) -> CountedEngine:
    return CountedEngine(counter, packed, objective, options, **more)


def assert_same(found: Candidate | None, expected: Candidate | None, same_body: bool = True) -> None:
    assert (found is None) == (expected is None)
    if found is None or expected is None:
        return
    assert (found.value, found.head) == (expected.value, expected.head)
    if same_body:
        assert found.body == expected.body
    else:
        assert [(type(c), c.feature if hasattr(c, "feature") else c.label) for c in found.body] == [
            (type(c), c.feature if hasattr(c, "feature") else c.label) for c in expected.body
        ]


def learn_both(mine, reference: ReferenceEngine, seed: int, rounds: int = 6, same_body: bool = True) -> int:
    """Grow and commit rules of all kinds with both engines and compare everything they say."""
    rng = np.random.default_rng(seed)
    labels = reference.state.truth.shape[1]
    compared = 0
    for _ in range(rounds):
        assert (mine.has_unset, mine.remaining) == (reference.has_unset, reference.remaining)
        if not mine.has_unset or not mine.remaining:
            break
        kind = rng.random()
        if kind < 0.75:
            found, expected = mine.grow(), reference.grow()
        elif kind < 0.9:
            literal = int(rng.integers(labels)), int(rng.integers(2))
            found, expected = mine.grow(*literal), reference.grow(*literal)
        else:
            found, expected = mine.grow_single(), reference.grow_single()
        assert_same(found, expected, same_body)
        if found is None or expected is None:
            break
        commit = COMMITS[int(rng.integers(len(COMMITS)))]
        assert mine.commit(found, *commit) == reference.commit(expected, *commit)
        np.testing.assert_array_equal(mine.leftover(), reference.leftover())
        compared += 1
    return compared


def code_table(packed: Packed) -> Table:
    """The packed codes as an ordinary table: what the reference learns from when values are binned."""
    codes = np.concatenate([block.codes for block in packed.blocks], axis=1).astype(float).T
    for j, bins in enumerate(packed.bins):
        codes[codes[:, j] == len(bins), j] = np.nan
    return Table.from_array(codes, packed.features)


def local(packed: Packed, threads: int = 1) -> LocalCounter:
    return LocalCounter(packed, threads)
