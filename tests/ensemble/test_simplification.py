"""Bodies without conditions and members that the loss does not miss."""

from __future__ import annotations

import numpy as np

from polyrule.binning.code_tests import ABOVE, AT_MOST, AnyTest, BinGroup, BinTest, satisfied
from polyrule.ensemble.boosting import PooledRule, TrainingExamples
from polyrule.ensemble.pruning import RulePruner
from polyrule.ensemble.simplification import BodySimplifier, shorter_bodies

A, B, C = (BinTest(feature, ABOVE, 0) for feature in range(3))
ROWS = 240


def fitted(bodies: list[tuple[AnyTest, ...]], truth: np.ndarray, *, max_conditions: int = 4, min_rows: int = 1):  # type: ignore[no-untyped-def]
    """Return rules on three columns of 0/1 codes, with their simplifier."""
    codes = np.random.default_rng(1).integers(0, 2, (3, ROWS)).astype(np.uint16)
    targets = truth_of(codes, truth).astype(np.float32)
    examples = TrainingExamples(lambda j: codes[j], targets, np.ones(ROWS), np.arange(ROWS), ROWS)
    head = np.ones(targets.shape[1], dtype=bool)
    covers = np.ones((ROWS, 1 + len(bodies)), dtype=np.uint8)
    for place, tests in enumerate(bodies, start=1):
        covers[:, place] = np.logical_and.reduce([satisfied(test, lambda j: (codes[j], 2)) for test in tests])
    pruner = RulePruner([PooledRule(tests, head) for tests in bodies], covers, examples, 2.0, 0)
    return pruner, BodySimplifier(pruner, examples, lambda feature: 2, max_conditions, min_rows)


def truth_of(codes: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Look up the label of each combination of the three codes, with a tenth of it noise."""
    wrong = np.random.default_rng(2).random(ROWS) < 0.1
    return (np.asarray(truth)[codes[0], codes[1], codes[2]] ^ wrong)[:, None]


def label(function) -> np.ndarray:  # type: ignore[no-untyped-def]
    return np.array([[[function(a, b, c) for c in (0, 1)] for b in (0, 1)] for a in (0, 1)], dtype=bool)


def test_a_condition_that_is_needed_stays() -> None:
    pruner, simplifier = fitted([(A, B)], label(lambda a, b, c: a and b))
    assert not simplifier.simplify()
    assert pruner.bodies == [(A, B)]


def test_a_condition_without_effect_goes_and_the_loss_falls() -> None:
    pruner, simplifier = fitted([(A, C)], label(lambda a, b, c: a))
    before = pruner.solver.objective()
    assert simplifier.simplify()
    assert pruner.bodies == [(A,)]
    assert pruner.solver.objective() < before
    assert pruner.solver.covers[:, 1].sum() > ROWS / 3


def test_a_tautology_in_a_group_goes() -> None:
    pruner, simplifier = fitted([(A, BinGroup((B, A, C), 2))], label(lambda a, b, c: a and (b or c)))
    before = pruner.solver.objective()
    assert simplifier.simplify()
    assert pruner.bodies == [(A, BinGroup((B, C), 1))]
    assert np.isclose(pruner.solver.objective(), before)


def test_a_member_that_costs_more_than_it_brings_goes() -> None:
    pruner, simplifier = fitted([(BinGroup((A, B, C), 1),)], label(lambda a, b, c: a or b))
    assert simplifier.simplify()
    assert pruner.bodies == [(BinGroup((A, B), 1),)]


def test_limits_of_a_body_are_kept() -> None:
    bodies: list[tuple[AnyTest, ...]] = [(BinGroup((A, B, C), 2),)]
    pruner, simplifier = fitted(bodies, label(lambda a, b, c: a and b), max_conditions=1)
    assert not simplifier.simplify()
    pruner, simplifier = fitted(bodies, label(lambda a, b, c: a and b), min_rows=110)
    simplifier.simplify()
    assert pruner.solver.covers[:, 1].sum() >= 110


def test_rules_that_become_equal_are_merged() -> None:
    pruner, simplifier = fitted([(A,), (A, C)], label(lambda a, b, c: a))
    assert simplifier.simplify()
    assert pruner.bodies == [(A,)]


def test_of_complementary_rules_that_of_fewer_rows_stays() -> None:
    below = BinTest(0, AT_MOST, 0)
    pruner, _ = fitted([(A,), (below,), (B,)], label(lambda a, b, c: a))
    covers = {A: 0, below: 0} | {test: int(pruner.solver.covers[:, 1].sum()) for test in pruner.bodies[0]}
    assert len(pruner.bodies) == 2
    assert pruner.bodies[1] == (B,)
    assert 0 < max(covers.values()) <= ROWS / 2


def test_shorter_bodies_are_never_empty_and_cover_no_other_kind_of_tests() -> None:
    assert list(shorter_bodies((A,))) == []
    assert list(shorter_bodies((A, B))) == [(B,), (A,)]
    assert list(shorter_bodies((BinGroup((A, B), 1),))) == [(B,), (A,)]
    assert (A, B) in list(shorter_bodies((BinGroup((A, B, C), 2),)))
