"""From training data to packed data, where a fit counts."""

from __future__ import annotations

from dataclasses import replace

from polyrule.errors import OptionError
from polyrule.estimators.base import TrainingData
from polyrule.scale.counting import Counting
from polyrule.store import Packed, Store, pack_table
from polyrule.store.coded_table import unpack, unpack_values
from polyrule.store.packed import BLOCK_ROWS


def packed_training(training: TrainingData, counting: Counting) -> TrainingData:
    """Pack a table where bins are asked for; say so where an option does not fit the data."""
    table = training.table
    if isinstance(table, Packed):
        if counting.max_bins is not None:
            raise OptionError("max_bins is chosen when data is packed; leave it out to fit a store")
        if counting.refine and isinstance(table, Store) and not table.has_values:
            raise OptionError("refine=True needs the original values; pack the data with keep_values=True")
        return training
    if counting.max_bins is None:
        counting.check_used()
        return training
    t = training
    packed = pack_table(
        table, t.truth, t.weights, t.target.names, counting.max_bins, BLOCK_ROWS, keep_values=counting.refine
    )
    return replace(training, table=packed, truth=None)


def examples_of(training: TrainingData, counting: Counting) -> TrainingData:
    """Return packed data as a table of codes, or of values where thresholds are looked for between them."""
    if not isinstance(training.table, Packed):
        return training
    table, truth, weights = unpack(training.table)
    return replace(
        training,
        table=unpack_values(training.table) if counting.refine else table,
        truth=truth,
        weights=weights,
    )
