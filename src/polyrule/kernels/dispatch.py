"""Which engine a fit gets: the compiled one where it is built and can do it, else the NumPy reference."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.labels import has_unknown
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.kernels.engine import Engine, GrowOptions
from polyrule.kernels.native import NativeEngine, is_supported
from polyrule.kernels.reference import ReferenceEngine
from polyrule.measures import Objective
from polyrule.measures.subset import SubsetAccuracy
from polyrule.native import native

logger = logging.getLogger(__name__)

KERNELS = ("native", "reference")


def make_engine(
    table: Table,
    truth: Any,
    weights: npt.NDArray[np.int64],
    objective: Objective,
    options: GrowOptions,
    n_jobs: int = 1,
    kernels: str | None = None,
) -> Engine:
    """Return the fastest engine that can optimise the objective, or the one asked for.

    Parameters
    ----------
    kernels : {None, "native", "reference"}
        None takes the compiled engine where possible. Both give the same rules.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0]])
    >>> truth, weights = np.array([[1], [0]], dtype=np.uint8), np.ones(2, dtype=np.int64)
    >>> make_engine(table, truth, weights, Objective("f1"), GrowOptions(), kernels="reference").name
    'reference'
    """
    if kernels is not None and kernels not in KERNELS:
        raise OptionError(f"kernels must be None or one of {', '.join(KERNELS)}, got {kernels!r}")
    if kernels == "native" and native is None:
        raise OptionError("kernels='native' was asked for, but the compiled kernels are not installed or switched off")
    unknown_subset = False
    if has_unknown(truth):
        _check_unknown(objective)
        # where an example may be right without a TP or TN, the compiled search for subset accuracy is not exact
        unknown_subset = isinstance(objective.measure, SubsetAccuracy)
        if kernels == "native" and unknown_subset:
            raise OptionError("kernels='native' cannot learn subset accuracy from unknown labels; leave it out")
    if kernels == "reference" or unknown_subset:
        return ReferenceEngine(table, truth, weights, objective, options, n_jobs)
    if kernels == "native" or is_supported(objective, len(table), truth.shape[1], int(weights.sum())):
        return NativeEngine(table, truth, weights, objective, options, n_jobs)
    logger.info("%s has no compiled search; growing rules with the NumPy kernels", objective)
    return ReferenceEngine(table, truth, weights, objective, options, n_jobs)


def _check_unknown(objective: Objective) -> None:
    """Refuse what no search is exact for when examples count different numbers of labels."""
    subset = isinstance(objective.measure, SubsetAccuracy)
    if (objective.averaging == "example" and not subset) or (subset and objective.scope != "head"):
        what = f"subset accuracy with scope={objective.scope!r}" if subset else "averaging='example'"
        raise OptionError(f"{what} needs every label to be known; fill in Y or choose another measure")
