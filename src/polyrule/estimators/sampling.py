"""Samples of many examples to learn from, and counts of the model on all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from polyrule.binning.thresholds import short_between
from polyrule.conditions import NumericCondition, map_thresholds
from polyrule.conditions.packed import coverage_weights
from polyrule.data.examples import content_hashes, unscaled
from polyrule.data.labels import dense_labels
from polyrule.data.table import Table, row_blocks
from polyrule.estimators.inputs import TrainingData
from polyrule.model import RuleList
from polyrule.model.columns import used_features
from polyrule.model.counting import default_counts, list_counts, with_counts
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.search.counted.coverage import EncodedBodies, encoded_list_counts, reads_codes
from polyrule.store import Bins, Packed
from polyrule.store.sample import Examples, drawn_rows, sample_of, sum_over_examples
from polyrule.utils.arrays import Ints

_ROWS = 1 << 16  # counted at a time


def sampled(training: TrainingData, size: int, threads: int = 1) -> TrainingData:
    """Return a sample of the training data; a weight is the number of times that an example was drawn."""
    if isinstance(training.table, Packed):
        sample = sample_of(training.table, int(size), threads)
        return replace(training, table=sample, weights=np.array([size], dtype=np.int64), scale=Fraction(1))
    hashes = np.concatenate([content_hashes(*examples) for examples in _parts(training)])
    rows, times = drawn_rows(hashes, training.weights, int(size))
    return replace(
        training,
        table=training.table[rows],
        truth=training.truth[rows],
        weights=times,
        scale=Fraction(1),
        positive=None,
    )


def share_of(sample: TrainingData, training: TrainingData) -> Fraction:
    """Return the weight of the examples learned from, as a share of that of all."""
    return int(sample.weights.sum()) * sample.scale / (int(training.weights.sum()) * training.scale)


def list_on_all(model: RuleList, training: TrainingData, size: int, after: int = 0, threads: int = 1) -> RuleList:
    """Return a list that was learned from a sample of `size` with its counts on all examples.

    The first `after` rules stay as they are.
    """
    model = replace(model, rules=(*model.rules[:after], *_out_of_empty_bins(model.rules[after:], training.table)))
    if "pruning" in model.info:  # not where an interrupt came before there was anything to choose from
        model.info["pruning"]["sample"] = size
    simple = not (model.flat.stop.any() or model.full)
    bodies = _encoded(model, training) if simple else None
    counts = _added(training, partial(_list_counts, model=model, bodies=bodies), threads)
    return with_counts(model, counts, partial(unscaled, scale=training.scale), after)


def with_default_counts(model: RuleList, training: TrainingData, threads: int = 1) -> RuleList:
    """Return a grown list with the weight of the examples on which, as it predicts, no rule sets a label.

    That is not always what training has left: examples leave the working set, and rules grown later set their labels.
    """
    counts = _added(training, partial(_default_counts, model=model), threads).tolist()
    pairs = tuple((unscaled(present, training.scale), unscaled(absent, training.scale)) for present, absent in counts)
    return replace(model, default_counts=pairs)


def _default_counts(examples: Examples, model: RuleList) -> Ints:
    table, truth, weights = examples
    return default_counts(model, table.decoded(used_features(model.rules)), truth, weights)


def ensemble_on_all(model: RuleEnsemble, training: TrainingData, threads: int = 1) -> RuleEnsemble:
    """Return an ensemble with the coverage of its rules on all examples."""
    model = replace(model, rules=tuple(_out_of_empty_bins(model.rules, training.table)))
    covered = _added(training, partial(_coverage, model=model, bodies=_encoded(model, training)), threads).tolist()
    scale = float(training.scale)
    rules = [replace(rule, coverage=weight * scale) for rule, weight in zip(model.rules, covered, strict=True)]
    return replace(model, rules=tuple(rules))


def _added(training: TrainingData, ask: Any, threads: int) -> Ints:
    if isinstance(training.table, Packed):
        return sum_over_examples(training.table, ask, threads)
    return np.asarray(np.sum([ask(examples) for examples in _parts(training)], axis=0, dtype=np.int64))


def _encoded(model: RuleList | RuleEnsemble, training: TrainingData) -> EncodedBodies | None:
    """Return the bodies of a model on codes; None if they need the values."""
    table, flat = training.table, model.flat.bodies
    return EncodedBodies.of(flat, table.bins) if isinstance(table, Packed) and reads_codes(flat) else None


def _list_counts(examples: Examples, model: RuleList, bodies: EncodedBodies | None) -> Ints:
    table, truth, weights = examples
    if bodies is not None:
        return encoded_list_counts(model, bodies, table.values.T, truth, _unless_all_one(weights))
    return list_counts(model, table.decoded(used_features(model.rules)), truth, weights)


def _coverage(examples: Examples, model: RuleEnsemble, bodies: EncodedBodies | None) -> Ints:
    table, _, weights = examples
    if bodies is not None:
        return bodies.weights(table.values.T, _unless_all_one(weights))
    return coverage_weights(model.fired(table.decoded(used_features(model.rules))), weights)


def _unless_all_one(weights: Ints) -> Ints | None:
    return None if (weights == 1).all() else weights


def _parts(training: TrainingData) -> Iterator[Examples]:
    """Yield the examples in memory in blocks of rows."""
    assert isinstance(training.table, Table)
    for rows in row_blocks(len(training.table), 1, _ROWS):
        yield training.table[rows], dense_labels(training.truth[rows]), training.weights[rows]


def _out_of_empty_bins(rules: Sequence[Any], table: Table | Packed) -> list[Any]:
    """Move the thresholds of rules that were learned from packed data."""
    if not isinstance(table, Packed):
        return list(rules)
    return [replace(rule, body=map_thresholds(rule.body, partial(_between, bins=table.bins))) for rule in rules]


def _between(condition: NumericCondition, bins: tuple[Bins, ...]) -> NumericCondition:
    """Move a threshold out of a bin that has no example in the sample, to its lower end."""
    intervals = bins[condition.feature]
    place = int(
        np.searchsorted(intervals.highs, condition.threshold, side="right")
    )  # the first bin that goes on above it
    if not 0 < place < len(intervals) or condition.threshold < intervals.lows[place]:
        return condition
    return replace(condition, threshold=short_between(float(intervals.highs[place - 1]), float(intervals.lows[place])))
