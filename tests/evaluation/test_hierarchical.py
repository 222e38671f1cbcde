"""Hierarchical scores against a count by hand."""

import numpy as np
import pytest

from polyrule.evaluation import score, score_hierarchical

NAMES = ("a", "b", "c", "d")


def ancestors(labels: set[int]) -> set[int]:
    """Labels with what they imply, where d => c => a."""
    return labels | ({2, 0} if 3 in labels else set()) | ({0} if 2 in labels else set())


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_sets_with_ancestors(seed: int) -> None:
    truth, predicted = np.random.default_rng(seed).integers(0, 2, (2, 50, 4))
    found = score_hierarchical(truth, predicted, ["d => c => a", "b, d: at most one"], NAMES)
    pairs = [tuple(ancestors(set(np.flatnonzero(row))) for row in both) for both in zip(truth, predicted, strict=True)]
    assert found.right == sum(len(t & p) for t, p in pairs)
    assert (found.present, found.predicted) == tuple(sum(map(len, side)) for side in zip(*pairs, strict=True))
    assert found.f1 == pytest.approx(2 * found.right / (found.present + found.predicted))


def test_without_implications_they_are_the_micro_scores() -> None:
    truth, predicted = np.random.default_rng(9).integers(0, 2, (2, 50, 4))
    found, plain = score_hierarchical(truth, predicted, None, NAMES), score(truth, predicted)
    assert found.as_dict() == {name: pytest.approx(plain[f"micro_{name}"]) for name in ("precision", "recall", "f1")}


def test_an_unknown_label_counts_nowhere_unless_another_implies_it() -> None:
    truth = np.array([[2, 0, 0, 0], [2, 0, 1, 0]], dtype=np.uint8)
    predicted = np.array([[1, 0, 0, 0], [1, 0, 1, 0]])
    found = score_hierarchical(truth, predicted, "c => a", NAMES)
    assert (found.right, found.predicted, found.present) == (2, 2, 2)
