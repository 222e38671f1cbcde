"""What a user should know about a measure before learning with it: one sentence each."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from polyrule.errors import MeasureError
from polyrule.measures.base import Measure
from polyrule.measures.facts import is_constant
from polyrule.measures.subset import SubsetAccuracy
from polyrule.measures.witness import value_text

# Counts to try a measure on: TP from 1, the others from 0.
_GRID = np.array([(a, b, c, d) for a in (1, 2, 3, 5, 8) for b in range(4) for c in (0, 1, 4, 9) for d in (0, 1, 3, 7)])

# 1000 examples of which 300 have the label. A rule that covers 240 of them and is right in half; and the rule that
# covers all.
_RULE, _ALWAYS = (120, 120, 580, 180), (300, 700, 0, 0)


@lru_cache(maxsize=256)
def remarks(measure: Measure) -> tuple[str, ...]:
    """Return what is odd about a measure; nothing about most.

    Examples
    --------
    >>> from polyrule import measures
    >>> remarks(measures.get("f0.5"))
    ()
    >>> remarks(measures.get("fp - tp"))
    ('it rewards errors: a false instead of a true positive (tp 2, fp 0, tn 0, fn 0) raises it from -2 to 0',)
    """
    if isinstance(measure, SubsetAccuracy):
        return ()
    try:
        return _remarks(measure)
    except MeasureError:  # it has no value for some counts that may never occur
        return ()


def _remarks(measure: Measure) -> tuple[str, ...]:
    values = measure.quick_values(*_GRID.T)
    if is_constant(measure) or (values == values[0]).all():
        return (f"it is constant: every head has the value {value_text(measure.value(*map(int, _GRID[0])))}",)
    found = [_rewards_errors(measure), _ignores_false_positives(measure, values)]
    found.append(_always_wins(measure) if found == [None, None] else None)
    return tuple(remark for remark in found if remark is not None)


def _rewards_errors(measure: Measure) -> str | None:
    before = _GRID[_GRID[:, 0] > 1]
    after = before + np.array([-1, 1, 0, 0])
    gained = measure.quick_values(*after.T) - measure.quick_values(*before.T)
    for index in np.flatnonzero(gained > 1e-9):
        right, wrong = (measure.value(*map(int, counts[index])) for counts in (before, after))
        if wrong > right:
            return (
                f"it rewards errors: a false instead of a true positive ({_words(before[index])}) raises it from "
                f"{value_text(right)} to {value_text(wrong)}"
            )
    return None


def _ignores_false_positives(measure: Measure, values: npt.NDArray[np.float64]) -> str | None:
    if not np.array_equal(measure.quick_values(*(_GRID + np.array([0, 3, 0, 0])).T), values):
        return None
    return "it ignores false positives: a rule may be wrong as often as it likes, so 'label <- true' is hard to beat"


def _always_wins(measure: Measure) -> str | None:
    rule, always = measure.value(*_RULE), measure.value(*_ALWAYS)
    if rule >= always:
        return None
    return (
        "it makes 'label <- true' win easily, and lists of such rules predict nothing useful: where 30 % have a label, "
        f"a rule that is right in half and finds 40 % of them is worth {float(rule):.2g}, 'label <- true' "
        f"{float(always):.2g}"
    )


def _words(counts: npt.NDArray[np.int64]) -> str:
    return ", ".join(f"{name} {count}" for name, count in zip(("tp", "fp", "tn", "fn"), counts.tolist(), strict=True))
