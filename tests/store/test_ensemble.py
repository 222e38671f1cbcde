"""Ensembles from stores: the ordinary ensemble where no value is lost, and never a threshold inside a bin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.helpers import ok
from tests.ensemble.worlds import random_table

import polyrule
from polyrule import RuleEnsembleClassifier, datasets, pack
from polyrule.binning.binning import Binning
from polyrule.data import Table
from polyrule.store import pack_table
from polyrule.store.packed_table import unpack

LABELS = ("a", "b", "c")
QUICK = {"max_rules": 4, "teacher": None, "cv": 3}


def told(learner: RuleEnsembleClassifier) -> tuple[object, ...]:
    """Everything in a model but what says where it came from."""
    model = learner.model_
    kept = {name: value for name, value in model.info.items() if name not in ("data_fingerprint", "options")}
    return model.rules, model.features, model.label_names, model.intercepts, model.decision, model.unit, kept


def labels_of(rng: np.random.Generator, table: Table) -> np.ndarray:
    first, second = table.column(0), table.column(1)
    truth = np.stack([first > np.nanmedian(first), second > 0, rng.random(len(table)) < 0.4], axis=1)
    return (truth ^ (rng.random(truth.shape) < 0.1)).astype(np.uint8)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    max_bins=st.sampled_from([3, 64, 255]),
    block_rows=st.sampled_from([None, 17]),
    weighted=st.booleans(),
    points=st.booleans(),
)
def test_where_no_value_is_lost_the_model_is_the_ordinary_one(seed, max_bins, block_rows, weighted, points) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, 60)
    truth = labels_of(rng, table)
    weights = rng.integers(1, 4, len(table)) if weighted else None
    learner = RuleEnsembleClassifier(max_bins=max_bins, points=points, **QUICK)
    expected = told(learner.fit(table, truth, weights, label_names=LABELS))
    packed = pack_table(table, truth, weights, LABELS, 255, block_rows)
    assert told(learner.fit(packed)) == expected


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 200),
    bins=st.integers(2, 40),
    max_bins=st.sampled_from([2, 5, 16, 64]),
    digits=st.integers(0, 6),
)
def test_no_threshold_lies_inside_a_bin(seed, rows, bins, max_bins, digits) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(0, 30, (rows, 1)), digits)
    values[rng.random(rows) < 0.1] = np.nan
    plain = Table.from_array(values)
    coded, _, _ = unpack(pack_table(plain, np.ones((rows, 1), dtype=np.uint8), None, ("a",), bins))
    binning = Binning.of(coded, max_bins)
    assert len(binning.thresholds[0]) < max_bins
    np.testing.assert_array_equal(binning.encode(0, coded.column(0)), binning.encode(0, plain.column(0)))
    # as fine as asked for: with bins enough, every two neighbouring bins of the store are told apart
    if max_bins >= bins:
        occurring = len(np.unique(coded.column(0)[~np.isnan(values[:, 0])]))
        assert len(binning.thresholds[0]) == max(0, occurring - 1)


def test_the_model_of_a_store_holds_on_the_values_that_were_packed(tmp_path) -> None:
    data = datasets.load("emotions", "train")
    store = pack(data, out=tmp_path / "s", max_bins=20, block_rows=100)
    learner = RuleEnsembleClassifier(**QUICK).fit(store)
    assert learner.n_features_in_ == len(data.features)
    checked = learner.model_.verify(data)
    assert checked.ok, checked
    again = RuleEnsembleClassifier(n_jobs=2, **QUICK).fit(pack_table(data.X, data.Y, None, data.label_names, 20))
    assert told(again) == told(learner)


def test_a_teacher_teaches_from_codes(tmp_path, benchmark_root) -> None:
    data = datasets.load("flags", "train")
    learner = RuleEnsembleClassifier(max_rules=5)
    expected = told(learner.fit(data))
    assert told(learner.fit(pack(data, out=tmp_path / "s"))) == expected


def test_the_command_line_learns_an_ensemble_from_a_store(tmp_path) -> None:
    rng = np.random.default_rng(2)
    table = random_table(rng, 80, missing=0)
    frame = pd.DataFrame({"size": table.column(0), "words": table.column(1)})
    frame[["y_a", "y_b", "y_c"]] = labels_of(rng, table)
    frame.to_csv(tmp_path / "songs.csv", index=False)
    ok("pack", tmp_path / "songs.csv", "--labels", "y_*", "-o", tmp_path / "store")
    options = ("--learner", "ensemble", "--max-rules", "3", "-o")
    ok("train", tmp_path / "store", *options, tmp_path / "a.json")
    ok("train", tmp_path / "songs.csv", "--labels", "y_*", *options, tmp_path / "b.json")
    from_store, from_file = (polyrule.load(tmp_path / f"{name}.json") for name in "ab")
    assert from_store.rules == from_file.rules
    assert from_store.decision == from_file.decision


def test_a_coded_table_is_a_table() -> None:
    table = random_table(np.random.default_rng(1), 30)
    coded, _, _ = unpack(pack_table(table, np.ones((30, 1), dtype=np.uint8), None, ("a",)))
    np.testing.assert_array_equal(np.asarray(coded), np.asarray(table))
    np.testing.assert_array_equal(np.asarray(coded[[3, 1]]), np.asarray(table[[3, 1]]))
    with pytest.raises(ValueError, match="leave out copy=False"):
        np.array(coded, copy=False)
    assert coded.values.dtype == np.uint8
