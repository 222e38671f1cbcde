"""One cut per label for macro-F1, where a label with five examples counts as much as one with five hundred.

A cut tuned on five examples is mostly luck. So all cuts first lie on one line over the labels' log-odds of being
present at all; then each label moves away from the line as far as its own examples speak for it: its F1 is averaged
with that of all labels, which weighs as much as a few examples.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from polyrule.arrays import Bytes, Matrix
from polyrule.ensemble.cut_curves import f1_curves, smoothed

_HEIGHTS = np.linspace(-3.5, 2.0, 56)
_TILTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOVES = np.linspace(-2.0, 2.0, 41)
_PRIOR_EXAMPLES = 30.0


def rare_label_cuts(scores: Matrix, truth: Bytes, weights: Matrix) -> Matrix:
    """Return a cut for every label.

    Parameters
    ----------
    scores : ndarray, shape (examples, labels)
        Log-odds of examples that the model did not see.
    truth : ndarray of uint8, same shape
    weights : ndarray, shape (examples,)
    """
    present = weights @ truth
    usual = np.round(logit((present + 0.5) / (weights.sum() + 1)), 9)
    best, line = -1.0, np.zeros(truth.shape[1])
    for tilt in _TILTS:
        heights = smoothed(f1_curves(scores - tilt * usual, truth, weights, _HEIGHTS).mean(axis=1))
        if heights.max() > best + 1e-12:
            best = float(heights.max())
            line = _HEIGHTS[int(np.argmax(heights))] + tilt * usual
    own = f1_curves(scores - line, truth, weights, _MOVES)
    shrunk = (present * own + _PRIOR_EXAMPLES * own.mean(axis=1, keepdims=True)) / (present + _PRIOR_EXAMPLES)
    return np.asarray(line + _MOVES[np.argmax(smoothed(shrunk), axis=0)])
