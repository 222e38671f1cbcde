"""Heads of many labels: more sizes than the compiled core has lanes, so that sizes are judged in groups first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.search.growing import grown

from polyrule.data.table import Feature, Table
from polyrule.measures import Objective
from polyrule.measures.association import SPECS
from polyrule.search.native import NativeEngine
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="no compiled kernels")


def _world(rng: np.random.Generator, labels: int, rows: int) -> tuple[Table, Any, Any]:
    columns = [rng.integers(0, 6, rows), rng.normal(size=rows), rng.integers(0, 3, rows)]
    kinds = [Feature("a"), Feature("b"), Feature("c", "nominal", ("x", "y", "z"))]
    values = np.stack(columns, axis=1).astype(float)
    shares = rng.choice([0.05, 0.3, 0.5, 0.9], labels)
    truth = (rng.random((rows, labels)) < shares).astype(np.uint8)
    tied = rng.integers(0, labels, labels // 2)
    truth[:, tied] = truth[:, [0]] ^ (values[:, [0]] > 2)  # equal columns make ties
    weights = np.ones(rows, np.int64) if rng.random() < 0.5 else rng.integers(0, 4, rows).astype(np.int64)
    weights[0] = 1
    return Table.from_array(values, kinds), truth, weights


LIFTS = ("kln:0.1", "kln:1", "root:3", "peak:5,1.3")
JUDGES = (("f0.5", "head"), ("laplace", "head"), ("f1", "all"), ("jaccard", "full"))


@pytest.mark.parametrize("lift", range(len(LIFTS)), ids=LIFTS.__getitem__)
@pytest.mark.parametrize("judge", range(len(JUDGES)), ids=lambda judge: "-".join(JUDGES[judge]))
def test_lifted_heads_of_many_labels(judge: int, lift: int) -> None:
    seed = (judge + lift) % 2  # both kinds of worlds and options for every lift and every measure
    measure, scope = JUDGES[judge]
    rng = np.random.default_rng(seed)
    data = _world(rng, int(rng.integers(17, 21)), int(rng.integers(8, 14)))
    objective = Objective(measure, scope=scope, lift=LIFTS[lift], negative=bool(seed))
    options = GrowOptions(beam_width=1 + seed)
    count = 2 - seed  # absences and a beam: the reference takes long
    expected = grown(ReferenceEngine(*data, objective, options), count)
    assert expected
    assert grown(NativeEngine(*data, objective, options), count) == expected


@pytest.mark.parametrize("measure", ["m2", *SPECS])
def test_correlations_of_heads_whose_labels_are_partly_set(measure: str) -> None:
    several = 0
    for seed in range(3):
        rng = np.random.default_rng(100 + seed)
        data = _world(rng, int(rng.integers(3, 6)), int(rng.integers(12, 25)))
        objective = Objective(measure, negative=bool(seed % 2))
        options = GrowOptions(max_conditions=2, beam_width=1 + seed % 2)
        count = 2 if seed == 1 else 5  # absences and a beam: the reference takes long
        expected = grown(ReferenceEngine(*data, objective, options), count)
        assert grown(NativeEngine(*data, objective, options), count) == expected
        several += sum(len(head) > 1 for _, head, _, _ in expected)
    assert several > 0


def _world_with_alike_labels(rng: np.random.Generator) -> tuple[Table, Any, Any]:
    """Rare, common and repeated labels: many literals have equal counts, or better ones than others."""
    rows, labels = int(rng.integers(8, 25)), int(rng.integers(4, 8))
    values = np.stack([rng.integers(0, 4, rows), rng.integers(0, 2, rows), rng.normal(size=rows)], axis=1).astype(float)
    truth = rng.random((rows, labels)) < rng.choice([0, 0.05, 0.3, 0.5, 0.95], labels)
    for label in range(1, labels):
        if rng.random() < 0.4:
            truth[:, label] = (values[:, 0] > rng.integers(0, 3)) ^ (rng.random(rows) < rng.choice([0, 0.1]))
        elif rng.random() < 0.4:
            truth[:, label] = truth[:, rng.integers(0, label)]
    weights = np.ones(rows, np.int64) if rng.random() < 0.6 else rng.integers(1, 4, rows).astype(np.int64)
    kinds = [Feature("a"), Feature("b", "nominal", ("x", "y")), Feature("c")]
    return Table.from_array(values, kinds), truth.astype(np.uint8), weights


@pytest.mark.parametrize("measure", ["m2", *SPECS])
def test_what_is_beaten_is_not_missed(measure: str) -> None:
    several = 0
    for seed in (0, 2, 3, 4):  # worlds that the reference searches in a second
        rng = np.random.default_rng(seed)
        data = _world_with_alike_labels(rng)
        objective = Objective(measure, negative=seed % 4 != 0, max_head_size=2 if seed % 5 == 0 else None)
        options = GrowOptions(max_conditions=1 + seed % 2)
        count = 2 if seed == 3 else 3  # two conditions: the reference takes long
        expected = grown(ReferenceEngine(*data, objective, options), count)
        assert grown(NativeEngine(*data, objective, options), count) == expected
        several += sum(len(head) > 1 for _, head, _, _ in expected)
    assert several > 2
