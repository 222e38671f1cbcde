"""Models side by side on the same examples."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.errors import OptionError
from polyrule.evaluation import compare_models, score

TRUTH = (np.random.default_rng(0).random((300, 4)) < 0.4).astype(np.uint8)


def noisy(share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return TRUTH ^ (rng.random(TRUTH.shape) < share).astype(np.uint8)


def test_differences_are_those_of_the_scores_and_intervals_those_of_pairs():
    old, new = noisy(0.2, 1), noisy(0.1, 2)
    found = compare_models({"old": old, "new": new}, None, TRUTH)
    value, low, high = found.difference("micro_f1", "new")
    assert value == pytest.approx(score(TRUTH, new)["micro_f1"] - score(TRUTH, old)["micro_f1"])
    assert 0 < low < value < high
    rng, drawn = np.random.default_rng(9), []
    for _ in range(400):
        rows = rng.integers(0, 300, 300)
        drawn.append(score(TRUTH[rows], new[rows])["micro_f1"] - score(TRUTH[rows], old[rows])["micro_f1"])
    assert (low, high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.01)
    assert "better" in found.text()
    assert found.difference("hamming_loss", "new")[2] < 0


def test_models_that_are_alike_are_level():
    old = noisy(0.2, 1)
    found = compare_models({"old": old, "same": old.copy()}, None, TRUTH)
    assert found.difference("macro_f1", "same") == (0, 0, 0)
    assert found.differing("same") == []
    assert "level" in found.text()
    assert "better" not in found.text()


def test_rows_that_differ_are_named_with_the_truth():
    old, new = TRUTH.copy(), TRUTH.copy()
    new[7, 2] ^= 1
    old[9, 0] ^= 1
    hidden = TRUTH.astype(float)
    hidden[11, 1] = np.nan
    new[11, 1] ^= 1
    found = compare_models({"old": old, "new": new}, None, hidden)
    assert [row for row, _ in found.differing("new")] == [7, 9, 11]
    assert found.differing("new")[0][1] == [("label 3", int(TRUTH[7, 2]), int(new[7, 2]), int(TRUTH[7, 2]))]
    assert found.differing("new")[2][1][0][3] is None
    assert found.changes("new") == {"rows": 3, "set right": 1, "spoilt": 1}
    assert "truth unknown" in found.text()
    assert len(found.frame()) == 2 * 15


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(OptionError, match="at least two"):
        compare_models({"one": TRUTH}, None, TRUTH)
    found = compare_models({"a": TRUTH, "b": TRUTH}, None, TRUTH)
    with pytest.raises(OptionError, match="no model 'c'"):
        found.difference("micro_f1", "c")
    with pytest.raises(OptionError, match="unknown measure"):
        found.difference("f1", "b")
