"""Smoothing a measure over neighbouring cuts, since a lone peak is luck."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_REACH = 2


def smoothed(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Mean of each value and its two neighbours on either side, along the first axis.

    Examples
    --------
    >>> smoothed(np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    array([1., 1., 1., 1., 1., 0.])
    """
    edges = [(_REACH, _REACH)] + [(0, 0)] * (values.ndim - 1)
    padded = np.pad(values, edges, mode="edge")
    windows = [padded[shift : shift + len(values)] for shift in range(2 * _REACH + 1)]
    return np.asarray(np.mean(windows, axis=0))
