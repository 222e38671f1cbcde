"""Counts of each rule of a model on a set of examples: covered examples, set labels, correct labels.

A condition is evaluated once and its cover stored, so that a change of one rule evaluates one; running the list then
is a few operations on words per rule and label.

Sets of examples are bits, 64 to a word, so that counting a hundred thousand takes microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polyrule.conditions import Condition, GroupCondition, group_of, without_labels
from polyrule.conditions.evaluate import evaluate
from polyrule.data.table import Table, packed_bits, unpacked_bits
from polyrule.model.predict import margins
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Bytes, Floats, Ints, Words

#: covers stored per part: at 100,000 examples these are 64 MB
MOST_KEPT = 5000


class PartCovers:
    """The examples of one part, their labels (2 if unknown), and the covers of conditions evaluated so far."""

    def __init__(self, table: Table, truth: Bytes) -> None:
        self.table, self.rows, self.labels = table, len(table), truth.shape[1]
        self.all_rows = packed_bits(np.ones(self.rows, dtype=bool))
        self.present, self.absent = packed_bits(truth.T == 1), packed_bits(truth.T == 0)
        self._covers: dict[Condition, Words] = {}
        self.decided: dict[Any, Words] = {}  # of labels of an ensemble, by all that decides one

    @cached_property
    def judged(self) -> Words:
        """Examples of which at least one label is known."""
        return union(self.present | self.absent)

    def condition(self, condition: Condition) -> Words:
        """Return the examples that satisfy a condition on features."""
        if (group := group_of((condition,))) is not None:
            return self._group(group)
        cover = self._covers.pop(condition, None)
        if cover is None:
            cover = packed_bits(evaluate(condition, self.table))
        self._covers[condition] = cover  # used last, dropped last
        if len(self._covers) > MOST_KEPT:
            del self._covers[next(iter(self._covers))]
        return cover

    def _group(self, group: GroupCondition) -> Words:
        """Return the examples on which enough members hold, from the covers of the members."""
        # examples on which at least 0, 1, ... members hold
        at_least = [self.all_rows, *(np.zeros_like(self.all_rows) for _ in range(group.least))]
        for member in group.members:
            cover = self.condition(member)
            for number in range(group.least, 0, -1):
                at_least[number] = at_least[number] | (at_least[number - 1] & cover)
        return at_least[-1]

    def body(self, body: Sequence[Condition]) -> Words:
        """Return the examples that satisfy all conditions on features; conditions on labels are left out."""
        cover = self.all_rows.copy()
        for condition in without_labels(body):
            cover &= self.condition(condition)
        return cover


@dataclass(frozen=True, eq=False)
class PredictionCounts:
    """Predictions of a model on the examples of one part, and counts of its rules."""

    covers_of: PartCovers
    predicted: Words  # where each label is predicted
    unset: Words  # where no rule set it
    fired: list[Words]  # per rule, the examples that reached it and satisfy its body
    covers: Ints  # how many these are, whether or not anything is left to set
    sets: Ints  # examples of which the rule set at least one label; for an ensemble all covered examples
    # right, wrong: shape (rules, labels); labels the rule set, or weighed, by whether the truth agrees with it; an
    # unknown one is in neither. For a list with full predictions this counts the labels it sets by leaving them out.
    right: Ints
    wrong: Ints
    # the same for all examples that the body covers, whatever other rules set; None for an ensemble, where it is equal
    alone: tuple[Ints, Ints] | None = None

    @cached_property
    def wrong_cells(self) -> Words:
        """Per label, the examples on which it is predicted wrongly or missed."""
        part = self.covers_of
        return np.asarray((self.predicted & part.absent) | (~self.predicted & part.present))

    @property
    def labels(self) -> Bytes:
        """The predictions as a matrix, shape (examples, labels)."""
        return np.ascontiguousarray(unpacked_bits(self.predicted, self.covers_of.rows).T).astype(np.uint8)

    @cached_property
    def per_label(self) -> dict[str, Any]:
        """Counts and ratios per label over the examples whose label is known; 0/0 counts 0."""
        part = self.covers_of
        tp, fp = counts(self.predicted & part.present), counts(self.predicted & part.absent)
        present = counts(part.present)
        precision, recall = _shares(tp, tp + fp), _shares(tp, present)
        totals = {"tp": tp, "fp": fp, "fn": present - tp, "present": present, "predicted": tp + fp}
        return totals | {"precision": precision, "recall": recall, "f1": _shares(2 * tp, tp + fp + present)}

    @cached_property
    def scores(self) -> dict[str, float]:
        """Measures to watch while rules are changed; 0/0 counts 0."""
        per, part = self.per_label, self.covers_of
        tp, fp, fn = (int(per[name].sum()) for name in ("tp", "fp", "fn"))
        n_known = int(counts(part.present).sum() + counts(part.absent).sum())
        judged = count(part.judged)
        return {
            "micro_f1": _share(2 * tp, 2 * tp + fp + fn),
            "macro_f1": float(per["f1"].mean()) if part.labels else 0.0,
            "micro_precision": _share(tp, tp + fp),
            "micro_recall": _share(tp, tp + fn),
            "hamming_accuracy": 1 - _share(fp + fn, n_known) if n_known else 0.0,
            "subset_accuracy": _share(count(part.judged & ~union(self.wrong_cells)), judged),
        }


def count_predictions(model: RuleList | RuleEnsemble, part: PartCovers) -> PredictionCounts:
    """Run a model over all examples of a part at once.

    Examples
    --------
    >>> from polyrule.model import Literal, NumericCondition, Rule
    >>> table = Table.from_array([[6.0], [2.0]])
    >>> rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)), Rule((Literal(0, 0),)))
    >>> covers = PartCovers(table, np.array([[1], [1]], dtype=np.uint8))
    >>> counts = count_predictions(RuleList(rules, table.features, ("red",)), covers)
    >>> counts.covers.tolist(), counts.sets.tolist(), counts.right.tolist(), counts.wrong.tolist()
    ([1, 2], [1, 1], [[1], [0]], [[0], [1]])
    """
    return _count_ensemble(model, part) if isinstance(model, RuleEnsemble) else _count_list(model, part)


def _count_list(model: RuleList, part: PartCovers) -> PredictionCounts:
    width, words = part.labels, len(part.all_rows)
    unset = np.repeat(part.all_rows[None, :], width, axis=0)
    present = np.zeros((width, words), dtype=np.uint64)
    running, fired = part.all_rows.copy(), []
    setter = None if model.plan is None else np.full((part.rows, width), -1, dtype=np.int32)
    rules = len(model.rules)
    covers, sets = np.zeros(rules, dtype=np.int64), np.zeros(rules, dtype=np.int64)
    right, wrong, right_alone, wrong_alone = (np.zeros((rules, width), dtype=np.int64) for _ in range(4))
    for number, rule in enumerate(model.rules):
        body = part.body(rule.body)
        for test in model.label_tests[number]:
            body &= ~unset[test.label] & (present[test.label] if test.value else ~present[test.label])
        covered = running & body
        head = model.heads[number]
        labels = sorted(head)
        newly = covered & unset[labels]
        says = np.array([head[label] for label in labels], dtype=bool)
        agree = np.where(says[:, None], part.present[labels], part.absent[labels])
        differ = np.where(says[:, None], part.absent[labels], part.present[labels])
        right[number, labels], wrong[number, labels] = counts(newly & agree), counts(newly & differ)
        right_alone[number, labels], wrong_alone[number, labels] = counts(body & agree), counts(body & differ)
        if setter is not None:
            for label, fired_rows in zip(labels, newly, strict=True):
                setter[unpacked_bits(fired_rows, part.rows), label] = number
        unset[labels] &= ~covered
        present[labels] |= np.where(says[:, None], newly, np.uint64(0))
        decided = union(newly)
        fired.append(covered)
        covers[number], sets[number] = count(covered), count(decided)
        if rule.stop:
            running &= ~decided
    default = np.array(model.defaults, dtype=bool)[:, None]
    predicted = present | np.where(default, unset, np.uint64(0))
    if model.plan is not None and setter is not None:
        predicted = packed_bits(model.plan.decide(margins(model, setter)).T == 1)
    return PredictionCounts(part, predicted, unset, fired, covers, sets, right, wrong, (right_alone, wrong_alone))


def _count_ensemble(model: RuleEnsemble, part: PartCovers) -> PredictionCounts:
    """Add up the weights of an ensemble over all examples of a part, in the order of its rules."""
    fired = [part.body(rule.body) for rule in model.rules]
    covers = np.array([count(words) for words in fired], dtype=np.int64)
    right, wrong = (np.zeros((len(fired), part.labels), dtype=np.int64) for _ in range(2))
    for number, (rule, words) in enumerate(zip(model.rules, fired, strict=True)):
        for entry in rule.head:
            present, absent = (count(words & side[entry.label]) for side in (part.present, part.absent))
            right[number, entry.label], wrong[number, entry.label] = (
                (present, absent) if entry.weight > 0 else (absent, present)
            )
    if model.decision.uses_sets or model.plan is not None:
        sums = np.stack([_sums(model, label, fired, part) for label in range(part.labels)], axis=1)
        predicted = packed_bits(model.decide(sums).T == 1)
    else:
        predicted = np.stack([_decided(model, label, fired, part) for label in range(part.labels)])
    return PredictionCounts(part, predicted, np.zeros_like(predicted), fired, covers, covers, right, wrong)


def _sums(model: RuleEnsemble, label: int, fired: Sequence[Words], part: PartCovers) -> Floats:
    """Return the sum of the weights of one label per example."""
    sums = np.full(part.rows, model.intercepts[label], dtype=np.float64)
    for rule, words in zip(model.rules, fired, strict=True):
        for entry in rule.head:
            if entry.label == label:
                np.add(sums, entry.weight, out=sums, where=unpacked_bits(words, part.rows))
    return sums


def _decided(model: RuleEnsemble, label: int, fired: Sequence[Words], part: PartCovers) -> Words:
    """Return the examples with a label; stored, so that a changed rule recomputes only its labels."""
    cut = model.decision.cuts[label]
    weighed = tuple((r.body, entry.weight) for r in model.rules for entry in r.head if entry.label == label)
    key = model.intercepts[label], cut, weighed
    rows = part.decided.pop(key, None)
    part.decided[key] = rows if rows is not None else packed_bits(_sums(model, label, fired, part) >= cut)
    if len(part.decided) > MOST_KEPT:
        del part.decided[next(iter(part.decided))]
    return part.decided[key]


def count_labels(labels: Bytes, part: PartCovers) -> PredictionCounts:
    """Return the counts of a model of which only the predictions are known."""
    unset, none = np.zeros((part.labels, len(part.all_rows)), dtype=np.uint64), np.zeros(0, dtype=np.int64)
    return PredictionCounts(part, packed_bits(labels.T == 1), unset, [], none, none, none, none)


def _share(top: int, bottom: int) -> float:
    return top / bottom if bottom else 0.0


def _shares(top: Ints, bottom: Ints) -> Any:
    return np.divide(top, bottom, out=np.zeros(len(top)), where=bottom > 0)


def union(rows: Words) -> Words:
    """Return the union of the rows."""
    return np.asarray(np.bitwise_or.reduce(rows, axis=0, initial=0), dtype=np.uint64)


def count(words: Words) -> int:
    """Return the number of set bits."""
    return int(counts(words))


def counts(words: Words) -> Ints:
    """Return the number of set bits in the last dimension."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.int64))
    return np.asarray(_HALF_WORDS[words.view(np.uint16)].sum(axis=-1, dtype=np.int64))  # NumPy before 2.0


def first(words: Words, rows: int, start: int, size: int) -> tuple[list[int], int]:
    """Return at most `size` set positions after the first `start` ones, and the number of all."""
    places = np.flatnonzero(unpacked_bits(words, rows))
    return places[start : start + size].tolist(), len(places)


_HALF_WORDS = np.array([bin(number).count("1") for number in range(1 << 16)], dtype=np.uint8)
