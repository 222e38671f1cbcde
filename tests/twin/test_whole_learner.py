"""The learners against their slow twins: whole lists, counts, stops, defaults and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.campaign.comparing import compare
from tests.campaign.worlds import World, draw
from tests.twin.learner import binary_relevance, rule_list
from tests.twin.predicting import predict, unset_weight

from polyrule import BinaryRelevanceRuleClassifier, SeCoClassifier, config_context
from polyrule.measures import Objective
from polyrule.search.protocol import GrowOptions
from polyrule.utils.compute import native

KERNELS = ["reference"] if native is None else ["reference", None]


def plain(model: Any) -> list[tuple[Any, ...]]:
    rules = []
    for rule in model.rules:
        head = tuple((literal.label, literal.value, literal.tp, literal.fp) for literal in rule.head)
        rules.append((head, rule.body, rule.stop, rule.value, rule.coverage))
    return rules


def small_world(seed: int) -> World:
    rng = np.random.default_rng([2024, seed])
    return draw(rng, fits=0, small=True)


def predictions_by_hand(world: World, model: Any) -> list[list[int]]:
    return [predict(model, row) for row in rows_of(world)]


def rows_of(world: World) -> np.ndarray:
    return np.array(world.X, dtype=float).reshape(len(world.X), -1)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("heads", ["multi", "single"])
def test_separate_and_conquer(kernels: str | None, heads: str) -> None:
    compared = 0
    for seed in range(34):
        world = small_world(seed)
        rng = np.random.default_rng(seed)
        weights = [1, *(max(1, int(w)) for w in world.weights[1:])]
        ends = {
            "remaining": float(rng.choice([0.0, 0.1, 0.2, 0.25, 0.5])),
            "stop_threshold": [0.01, None, 0.0, 0.5][int(rng.integers(4))],
            "keep_covered": bool(rng.random() < 0.7),
        }
        measure = str(rng.choice(["precision", "f0.5", "hamming", "laplace", "subset"]))
        negative = bool(rng.random() < 0.8)
        objective = Objective(measure, negative=negative, max_head_size=1 if heads == "single" else None)
        truth = np.array(world.Y)
        expected = rule_list(world.table(), truth, weights, objective, GrowOptions(), heads, **ends)
        with config_context(kernels=kernels):
            model = SeCoClassifier(measure, heads=heads, negative=negative, **ends)
            found = model.fit(world.table(), truth, weights).rules_
        assert plain(found) == expected, seed
        unset = unset_weight(found, rows_of(world), truth, weights)
        assert [list(pair) for pair in found.default_counts] == unset, seed
        assert found.predict(world.table()).tolist() == predictions_by_hand(world, found), seed
        compared += len(found)
    assert compared > 60


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("measure", ["precision", "f0.5", "hamming"])
def test_binary_relevance(kernels: str | None, measure: str) -> None:
    compared = 0
    for seed in range(100, 116):
        world = small_world(seed)
        weights = [1, *(max(1, int(w)) for w in world.weights[1:])]
        truth = np.array(world.Y)
        expected, defaults, left = binary_relevance(
            world.table(), truth, weights, measure, GrowOptions(label_conditions=False)
        )
        with config_context(kernels=kernels):
            found = BinaryRelevanceRuleClassifier(measure).fit(world.table(), truth, weights).rules_
        assert plain(found) == expected, seed
        assert list(found.defaults) == defaults, seed
        assert [list(pair) for pair in found.default_counts] == left, seed
        assert found.predict(world.table()).tolist() == predictions_by_hand(world, found), seed
        compared += len(found)
    assert compared > 25


def test_learning_goes_on_only_while_more_than_remaining_is_left() -> None:
    """Half of the examples are left after one rule: not more than `remaining`, so it is the last."""
    X, Y = [[0], [0], [1], [1]], [[1, 1], [1, 1], [1, 0], [0, 1]]
    model = SeCoClassifier("precision", remaining=0.5).fit(X, Y).rules_
    assert [rule.coverage for rule in model] == [2]
    assert len(SeCoClassifier("precision", remaining=0.49).fit(X, Y).rules_) > 1


def test_beam_and_every_objective_by_the_book() -> None:
    compared = 0
    for seed in range(200, 250):
        rng = np.random.default_rng([2024, seed])
        world = draw(rng, fits=0, small=True)
        if 0 in world.weights:
            continue
        world = World(**(vars(world) | {"options": world.options | {"beam_width": 1 + seed % 3}}))
        result = compare(world, twin=True)
        assert result is not None
        assert not result.differs, (seed, result)
        compared += result.rules.total()
    assert compared > 150
