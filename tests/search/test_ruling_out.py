"""What rules candidates out in the reference engine, against a search that tries them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.search.growing import grown

from polyrule.data.table import Feature, Table
from polyrule.heads import HeadProblem, best_head, search
from polyrule.heads.no_condition import excluding_never_helps, no_condition_wins
from polyrule.measures import FunctionMeasure, Objective
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine, RowScorer


def _data(rng: np.random.Generator) -> tuple[Table, Any, Any]:
    rows, labels = int(rng.integers(4, 12)), int(rng.integers(2, 5))
    values = np.stack([rng.integers(0, 4, rows), rng.integers(0, 3, rows)], axis=1).astype(float)
    truth = (rng.random((rows, labels)) < rng.choice([0.2, 0.5, 0.8], labels)).astype(np.uint8)
    truth[:, 0] = values[:, 0] > 1
    weights = np.ones(rows, np.int64) if rng.random() < 0.5 else rng.integers(1, 4, rows).astype(np.int64)
    return Table.from_array(values, [Feature("a"), Feature("b", "nominal", ("x", "y", "z"))]), truth, weights


def _rules(data: tuple[Table, Any, Any], objective: Objective, options: GrowOptions) -> list[Any]:
    return grown(ReferenceEngine(*data, objective, options), 3)


@pytest.mark.parametrize("lift", ["none", "kln:0.3", "peak:2,1.4"])
@pytest.mark.parametrize("measure", ["precision", "recall", "f0.5", "f1", "f2", "jaccard", "hamming", "3*tp/(tp+5*fp)"])
def test_nothing_is_lost(measure: str, lift: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = []
    for seed in range(3):
        objective = Objective(measure, averaging="example", lift=lift, negative=bool(seed % 3))
        arguments = _data(np.random.default_rng(seed)), objective, GrowOptions(beam_width=1 + seed % 2)
        worlds.append((arguments, _rules(*arguments)))
    monkeypatch.setattr(RowScorer, "ends_growth", lambda self: False)
    monkeypatch.setattr(RowScorer, "_bounds", lambda self, batch, allowed: None)
    for arguments, found in worlds:
        assert found == _rules(*arguments)
        assert found


def _log_gain(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    return np.log2(1 + tp) - np.log2(1 + fp) + 0.1 * np.sqrt(tn) - 0.2 * np.sqrt(fn)


@pytest.mark.parametrize("size", [None, 2])
def test_bounds_of_a_monotone_function_lose_nothing(size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = FunctionMeasure("log gain", _log_gain, monotone=True)
    worlds = []
    for seed in range(5):
        objective = Objective(measure, negative=bool(seed % 3), max_head_size=size)
        arguments = _data(np.random.default_rng(seed)), objective, GrowOptions(beam_width=1 + seed % 2)
        worlds.append((arguments, _rules(*arguments)))
    monkeypatch.setattr(RowScorer, "_bounds", lambda self, batch, allowed: None)
    for arguments, found in worlds:
        assert found
        assert found == _rules(*arguments)


def test_a_best_head_that_is_right_more_often_is_noticed() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(50):
        world = HeadProblem.make((rng.random((int(rng.integers(2, 7)), 3)) < 0.5).astype(np.uint8))
        objective = Objective("f2", averaging="example", lift="peak:2,1.5")
        found = best_head(world, objective)
        assert found is not None
        everything = [node for node in _heads(world, objective) if node[0] == found.value and node[1] > found.tp]
        assert no_condition_wins(world, objective, found) == (not everything)
        seen.add(not everything)
    assert True in seen


def _heads(world: HeadProblem, objective: Objective) -> list[tuple[Any, int]]:
    result = search(world, objective, "exhaustive", trace=True)
    assert result is not None
    assert result.trace is not None
    flat, queue = [], list(result.trace.children)
    while queue:
        node = queue.pop()
        queue.extend(node.children)
        if node.value is not None:
            flat.append((node.value, sum(int(world.counts.tp[literal]) for literal in node.head)))
    return flat


def test_only_measures_without_a_reward_for_silence() -> None:
    assert excluding_never_helps(Objective("f0.5", averaging="example"))
    assert not excluding_never_helps(Objective("f0.5", averaging="example", scope="all"))
    assert not excluding_never_helps(Objective("tp/(tp+fn-0.5*fp+1)", averaging="example"))
    assert not excluding_never_helps(Objective("m2", averaging="example"))
