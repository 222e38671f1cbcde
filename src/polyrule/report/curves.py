"""How a list comes to its predictions: after every rule, what is set, what is open, how good ending here would be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyrule.arrays import Bools, Bytes, Floats, Ints, Ints32
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.model.predict import predict
from polyrule.model.rule_list import RuleList


@dataclass(frozen=True, eq=False)
class Curve:
    """One point for the empty list and one after every rule."""

    set_share: Floats  # share of all labels of all examples that some rule has set
    open_examples: Ints  # examples that no stop has ended and that have a label not yet set
    # micro_f1, hamming_accuracy, subset_accuracy: scores of the list cut off here, with its defaults for what is not
    # set; 0/0 counts 0
    micro_f1: Floats
    hamming_accuracy: Floats
    subset_accuracy: Floats

    def __len__(self) -> int:
        return len(self.set_share)


def curve(model: RuleList, table: Table, truth: Bytes) -> Curve:
    """Follow a list rule by rule; a prefix of the list predicts what the whole list had set by then.

    Examples
    --------
    >>> from polyrule.model import Literal, NumericCondition, Rule
    >>> table = Table.from_array([[6.0], [2.0]])
    >>> rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)),)
    >>> model = RuleList(rules, table.features, ("red",))
    >>> curve(model, table, np.array([[1], [0]], dtype=np.uint8)).hamming_accuracy.tolist()
    [0.5, 1.0]
    """
    run = predict(model, table)
    steps, (examples, width) = len(model) + 1, run.labels.shape
    defaults = np.broadcast_to(np.array(model.defaults, dtype=np.uint8), run.labels.shape)
    rows, columns = np.nonzero(run.setter >= 0)
    when = run.setter[rows, columns].astype(np.int64)
    order = np.argsort(when, kind="stable")
    rows, columns, when = rows[order], columns[order], when[order]
    is_known, is_present = truth != UNKNOWN, (truth == 1).astype(np.int64)
    known = is_known[rows, columns].astype(np.int64)
    before, after, present = (matrix[rows, columns].astype(np.int64) for matrix in (defaults, run.labels, is_present))

    def total(start: int, change: Ints) -> Ints:
        per_rule = np.bincount(when, change, steps - 1).astype(np.int64)
        return start + np.concatenate([[0], np.cumsum(per_rule)])

    predicted = total(int((defaults * is_known).sum()), (after - before) * known)
    hits = total(int((defaults * is_present).sum()), (after - before) * present)
    wrong_before, wrong_after = ((said != present) * known for said in (before, after))
    wrong = total(int(((defaults != is_present) & is_known).sum()), wrong_after - wrong_before)
    judged = is_known.any(axis=1)
    return Curve(
        set_share=total(0, np.ones_like(when)) / max(1, examples * width),
        open_examples=_open(model, run.setter),
        micro_f1=2 * hits / np.maximum(1, predicted + int(is_present.sum())),
        hamming_accuracy=1 - wrong / max(1, int(is_known.sum())),
        subset_accuracy=_exact_matches(
            ((defaults != is_present) & is_known).sum(axis=1), judged, rows, when, wrong_after - wrong_before, steps
        )
        / max(1, int(judged.sum())),
    )


def _exact_matches(errors: Ints, judged: Bools, rows: Ints, when: Ints, change: Ints, steps: int) -> Ints:
    """Examples that are right in every known label after each rule; `rows`, `when` and `change` are sorted by rule."""
    errors = errors + ~judged  # an example without a known label is never right
    right = int((errors == 0).sum())
    matches = [right]
    starts = np.searchsorted(when, np.arange(steps))
    for rule in range(steps - 1):
        span = slice(starts[rule], starts[rule + 1])
        touched = np.unique(rows[span])
        right -= int((errors[touched] == 0).sum())
        np.add.at(errors, rows[span], change[span])
        right += int((errors[touched] == 0).sum())
        matches.append(right)
    return np.array(matches, dtype=np.int64)


def _open(model: RuleList, setter: Ints32) -> Ints:
    """Examples still open after each rule: nobody stopped them and a label is unset."""
    beyond = len(model)
    stops = np.array([rule.stop for rule in model.rules] + [False], dtype=bool)
    stopped = np.where(stops[setter], setter, beyond).min(axis=1, initial=beyond)
    latest = np.where(setter < 0, beyond, setter).max(axis=1, initial=-1)
    ended = np.minimum(stopped, latest)
    closed = np.bincount(ended[ended < beyond], minlength=beyond) if beyond else np.zeros(0, dtype=np.int64)
    return np.asarray(len(setter) - np.concatenate([[0], np.cumsum(closed)]), dtype=np.int64)
