"""How a list comes to its predictions: after every rule, what is set, what is open, how good ending here would be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyrule.model.rule_list import RuleList
from polyrule.report.counts import PredictionCounts, count, counts, union
from polyrule.utils.arrays import Floats, Ints


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


def curve(model: RuleList, run: PredictionCounts) -> Curve:
    """Score every prefix of a list; a prefix predicts the labels that its rules set.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.model import Literal, NumericCondition, Rule
    >>> from polyrule.report.counts import PartCovers, count_predictions
    >>> table = Table.from_array([[6.0], [2.0]])
    >>> rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)),)
    >>> model = RuleList(rules, table.features, ("red",))
    >>> covers = PartCovers(table, np.array([[1], [0]], dtype=np.uint8))
    >>> curve(model, count_predictions(model, covers)).hamming_accuracy.tolist()
    [0.5, 1.0]
    """
    part = run.covers_of
    unset = np.repeat(part.all_rows[None, :], part.labels, axis=0)
    predicted = np.where(np.array(model.defaults, dtype=bool)[:, None], unset, np.uint64(0))
    off = (predicted & part.absent) | (~predicted & part.present)
    running, left = part.all_rows, part.rows * part.labels
    hits, wrong = counts(predicted & part.present), counts(off)
    points = [(left, count(running & union(unset)), hits.sum(), wrong.sum(), count(part.judged & ~union(off)))]
    for rule, head, fired in zip(model.rules, model.heads, run.fired, strict=True):
        labels, says = list(head), np.array(list(head.values()), dtype=bool)[:, None]
        newly = fired & unset[labels]
        unset[labels] ^= newly
        running = running & ~union(newly) if rule.stop else running
        updated = (predicted[labels] & ~newly) | np.where(says, newly, np.uint64(0))
        predicted[labels], off[labels] = updated, (updated & part.absent[labels]) | (~updated & part.present[labels])
        left -= int(counts(newly).sum())
        hits[labels], wrong[labels] = counts(updated & part.present[labels]), counts(off[labels])
        points.append((left, count(running & union(unset)), hits.sum(), wrong.sum(), count(part.judged & ~union(off))))
    lefts, still, right, missed, matches = np.array(points, dtype=np.int64).T
    cells, n_known = part.rows * part.labels, int(counts(part.present | part.absent).sum())
    return Curve(
        set_share=(cells - lefts) / max(1, cells),
        open_examples=still,
        micro_f1=2 * right / np.maximum(1, 2 * right + missed),
        hamming_accuracy=1 - missed / max(1, n_known),
        subset_accuracy=matches / max(1, count(part.judged)),
    )
