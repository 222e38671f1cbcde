"""Parameters of the ensemble, checked and brought into the form the learner takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from polyrule.arrays import Bools, Bytes, Ints
from polyrule.ensemble.building import BuildOptions
from polyrule.ensemble.control import LearnOptions
from polyrule.ensemble.gain import native_kernel
from polyrule.ensemble.growing import Growth
from polyrule.ensemble.soft_targets import Teaching
from polyrule.ensemble.tuning import MEASURES, check_monotone
from polyrule.errors import OptionError
from polyrule.model.decisions import KINDS
from polyrule.native import Compute
from polyrule.scale.gpu_slopes import kernels_of

_POINTS = 10
_TRIED_LABELS = 8  # labels that a rule may weigh before pruning, for every one that may stay on average
_SEARCH_COST = 0.5  # what a label must gain to count for a body, where heads shall be short


def options_of(given: Any, threads: int) -> LearnOptions:
    """Check all parameters of an ensemble estimator and bring them into the form the learner takes."""
    for name, least in (
        ("max_rules", 0),
        ("max_conditions", 1),
        ("max_members", 2),
        ("beam_width", 1),
        ("swaps", 0),
        ("restarts", 1),
    ):
        _whole(name, getattr(given, name), least)
    if isinstance(given.cv, (str, bytes, bool, float)) or given.cv is None:
        raise OptionError(f"cv must be a number of folds, a splitter, or pairs of row numbers, not {given.cv!r}")
    if isinstance(given.cv, (int, np.integer)):
        _whole("cv", given.cv, 0)
        if given.cv == 1:
            raise OptionError("cv must be 0, which holds nothing out, or at least 2 folds, not 1")
    if given.time_limit is not None and not (_is_number(given.time_limit) and given.time_limit > 0):
        raise OptionError(f"time_limit must be None or a positive number of seconds, not {given.time_limit!r}")
    wanted = given.labels_per_head
    if wanted is not None and not (_is_number(wanted) and wanted >= 1):
        raise OptionError(f"labels_per_head must be None or a number of at least 1, not {wanted!r}")
    _whole("max_bins", given.max_bins, 2, 60_000)
    if given.teacher not in ("forest", None):
        raise OptionError(f"teacher must be 'forest' or None, not {given.teacher!r}")
    if given.kernels not in (None, "native", "reference"):
        raise OptionError(f"kernels must be None, 'native' or 'reference', not {given.kernels!r}")
    if given.kernels == "native" and native_kernel() is None:
        raise OptionError("kernels='native' needs the compiled kernels, which are not built here; use None")
    if given.decision != "auto" and given.decision not in KINDS:
        raise OptionError(f"decision must be 'auto' or one of {', '.join(KINDS)}, not {given.decision!r}")
    check_monotone(given.monotone, given.decision)
    if given.optimize not in MEASURES:
        raise OptionError(f"optimize must be one of {', '.join(MEASURES)}, not {given.optimize!r}")
    if given.label_cost != "auto" and (not _is_number(given.label_cost) or float(given.label_cost) < 0):
        raise OptionError(f"label_cost must be 'auto' or a number of at least 0, not {given.label_cost!r}")
    if given.ridge != "auto" and (not _is_number(given.ridge) or float(given.ridge) <= 0):
        raise OptionError(f"ridge must be 'auto' or a positive number, not {given.ridge!r}")
    if given.alternatives not in ("auto", True, False):
        raise OptionError(f"alternatives must be 'auto', True or False, not {given.alternatives!r}")
    points = _POINTS if given.points is True else 0 if given.points is False else given.points
    _whole("points", points, 0)
    members = int(given.max_members) if given.alternatives else 1
    growth = Growth(given.max_conditions, members, given.beam_width)
    plain = LearnOptions()
    prices = plain.prices if given.label_cost == "auto" else (float(given.label_cost),)
    return LearnOptions(
        build=BuildOptions(
            given.max_rules,
            label_cost=prices[0],
            search_cost=0.0 if wanted is None else _SEARCH_COST,
            max_head=None if wanted is None else int(_TRIED_LABELS * wanted),
            swaps=given.swaps,
            growth=growth,
        ),
        teaching=Teaching() if given.teacher else None,
        prices=prices,
        ridges=() if given.ridge == "auto" else (float(given.ridge),),
        restarts=int(given.restarts),
        labels_per_head=None if wanted is None else float(wanted),
        folds=int(given.cv) if isinstance(given.cv, (int, np.integer)) else 0,
        max_bins=int(given.max_bins),
        points=int(points),
        decision=given.decision,
        optimize=given.optimize,
        time_limit=None if given.time_limit is None else float(given.time_limit),
        seed=int(check_random_state(given.random_state).randint(2**31 - 1)),
        compute=Compute(threads, given.kernels, None if given.device == "cpu" else kernels_of(given.device)),
    )


def folds_of(cv: Any, truth: Bytes, kept: Bools | None) -> Ints | None:
    """In which part of the cross-validation each example is held out, -1 for never; None for folds of our own.

    Row numbers count all examples that were given; a splitter is asked about those of positive weight.
    """
    if isinstance(cv, (int, np.integer)):
        return None
    splits = cv
    if hasattr(cv, "split"):
        splits, kept = cv.split(np.zeros((len(truth), 1)), truth), None
    fold = np.full(len(truth) if kept is None else len(kept), -1, dtype=np.int64)
    try:
        for number, (_, test) in enumerate(splits):
            fold[np.asarray(test)] = number
    except (TypeError, ValueError, IndexError) as error:
        raise OptionError(f"cv must be a number of folds, a splitter, or pairs of row numbers: {error}") from error
    return fold if kept is None else np.asarray(fold[kept])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and bool(np.isfinite(value))


def _whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise OptionError(f"{name} must be a whole number of at least {least}, not {value!r}")
    if most is not None and value > most:
        raise OptionError(f"{name} must be at most {most}, not {value!r}")
