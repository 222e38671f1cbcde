"""Stretches of boundaries that are ruled out as a whole: the same rules as with every boundary on its own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.search.growing import grown

from polyrule.data.table import Feature, Table
from polyrule.measures import Objective
from polyrule.measures.association import SPECS
from polyrule.search.native import NativeEngine
from polyrule.search.protocol import Candidate, GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="no compiled kernels")

OBJECTIVES: list[dict[str, Any]] = [
    *({"measure": name} for name in ("m2", "m0.5", "laplace", "subset")),
    *({"measure": name} for name in SPECS),
    *({"measure": name, "averaging": "label"} for name in ("m2", *SPECS)),
    *({"measure": "f0.5", "lift": lift} for lift in ("kln:0.1", "kln:1", "root:3", "peak:2,1.3")),
    {"measure": "precision", "lift": "kln:0.2"},
    {"measure": "hamming", "lift": "root:3", "scope": "all"},
    {"measure": "f1", "scope": "all"},
    {"measure": "f2", "scope": "full"},
    {"measure": "tp - fp"},
    {"measure": "(tp - 2*fn + 1) / (tp + fp + 1)"},
    {"measure": "(fp - tp) / (tp + fp + fn + 1)"},  # rewards errors: no stretch may be ruled out
]


def _world(seed: int) -> tuple[Table, Any, Any]:
    """Columns with ties, a block of zeros and missing values; labels that follow them, some alike."""
    rng = np.random.default_rng(seed)
    rows, labels = int(rng.integers(20, 50)), int(rng.integers(2, 9))
    values = np.stack([rng.integers(0, 12, rows), rng.normal(size=rows), rng.poisson(0.7, rows)], axis=1).astype(float)
    if seed % 3 == 0:
        values[rng.random(rows) < 0.2, 1] = np.nan
    scores = np.nan_to_num(values[:, rng.integers(0, 3, labels)])
    truth = (scores > rng.uniform(0, 4, labels)) ^ (rng.random((rows, labels)) < rng.choice([0.02, 0.2, 0.4]))
    truth[:, -1] = truth[:, 0] ^ (rng.random(rows) < 0.05)
    weights = np.ones(rows, np.int64) if seed % 2 else rng.integers(1, 4, rows).astype(np.int64)
    return Table.from_array(values, [Feature(name) for name in "abc"]), truth.astype(np.uint8), weights


@pytest.mark.parametrize("chosen", OBJECTIVES, ids=lambda chosen: " ".join(map(str, chosen.values())))
def test_stretches_of_any_length_give_the_samegrown(chosen: dict[str, Any]) -> None:
    for seed in range(4):
        data = _world(seed)
        arguments = (*data, Objective(**chosen, negative=seed != 1), GrowOptions(beam_width=1 + (seed == 3)))
        by_rows = [grown(NativeEngine(*arguments, limits={"stretch_rows": rows}), 6) for rows in (1, 3, 16, 10_000)]
        assert by_rows[0]
        assert all(rules == by_rows[0] for rules in by_rows[1:])


@pytest.mark.parametrize("chosen", OBJECTIVES, ids=lambda chosen: " ".join(map(str, chosen.values())))
def test_the_reference_finds_the_samegrown(chosen: dict[str, Any]) -> None:
    table, truth, weights = _world(5)
    data = table, truth[:, :4], weights
    arguments = (*data, Objective(**chosen), GrowOptions(max_conditions=3))
    expected = grown(ReferenceEngine(*arguments), 2)
    assert expected
    assert grown(NativeEngine(*arguments, limits={"stretch_rows": 4}), 2) == expected


@pytest.mark.parametrize("measure", sorted({*SPECS} - {"cosine"}))
@pytest.mark.parametrize("most", [None, 7])
def test_a_body_that_covers_everything_has_heads_that_all_tie(measure: str, most: int | None) -> None:
    """With 30 labels, partly set, trying all heads of the empty body would never end."""
    rng = np.random.default_rng(8)
    rows, labels = 24, 30
    truth = (rng.random((rows, labels)) < 0.4).astype(np.uint8)
    truth[0], truth[1] = 0, 1  # no literal is pure
    table = Table.from_array(np.zeros((rows, 1)))
    options = GrowOptions(label_conditions=False)
    engine = NativeEngine(table, truth, np.ones(rows, np.int64), Objective(measure, max_head_size=most), options)
    for first in (0, 3):  # set a label here and there, so that labels differ in what is left of them
        cover = np.arange(first + 2, first + 9)
        engine.commit(Candidate((), ((first, 1, 1, 0),), Fraction(0), cover), None, True)
    rule = engine.grow()
    assert rule is not None
    unset = np.ones((rows, labels), bool)
    unset[2:9, 0] = unset[5:12, 3] = False
    right = np.stack([(unset & (truth == value)).sum(axis=0) for value in (0, 1)])
    best = np.argsort(-right.max(axis=0), kind="stable")[:most]
    assert [label for label, *_ in rule.head] == sorted(best.tolist())
    assert [tp for _, _, tp, _ in rule.head] == right.max(axis=0)[sorted(best)].tolist()
    assert rule.value == (1 if measure == "lift" else 0)
