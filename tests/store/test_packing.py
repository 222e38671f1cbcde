"""Stores: exact cuts whatever the order and the pieces, the same list as from memory, damage found and named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.helpers import ok, run

import polyrule
from polyrule import (
    BinaryRelevanceRuleClassifier,
    SeCoClassifier,
    Store,
    config_context,
    datasets,
    pack,
)
from polyrule.binning.bins import bins_of
from polyrule.binning.quantiles import QuantileFinder
from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, OptionError, OutputError
from polyrule.store import pack_table
from polyrule.store.chunks import join_features
from polyrule.store.folder import write_block
from polyrule.store.packing import _Packer


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 300),
    distinct=st.sampled_from([1, 3, 40, 10**6]),
    max_bins=st.integers(2, 20),
    capacity=st.sampled_from([2, 7, 10_000]),
    parts=st.integers(1, 9),
)
def test_cuts_are_those_of_the_whole_column(seed, rows, distinct, max_bins, capacity, parts) -> None:
    rng = np.random.default_rng(seed)
    column = rng.integers(-distinct, distinct, rows) / 7
    column[rng.random(rows) < 0.1] = np.nan
    finder = QuantileFinder(1, max_bins, max(capacity, max_bins))
    passes = 0
    while finder.unfinished:
        shuffled = rng.permutation(column) if passes % 2 else np.sort(column)
        for part in np.array_split(shuffled, parts):
            finder.add([part])
        finder.end_of_pass()
        passes += 1
        assert passes < 50
    np.testing.assert_array_equal(finder.quantiles[0], bins_of(column, Feature("x"), max_bins).highs)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = 700
    data = pd.DataFrame(
        {
            "tempo": rng.normal(100, 20, rows),
            "level": rng.integers(0, 9, rows),
            "key": rng.choice(["C", "D", "E"], rows),
        }
    )
    data.loc[rng.random(rows) < 0.1, "tempo"] = np.nan
    data["y_calm"] = ((data["tempo"] < 95) ^ (rng.random(rows) < 0.1)).astype(int)
    data["y_bright"] = ((data["key"] != "D") & (data["level"] > 2)).astype(int)
    data["y_odd"] = rng.integers(0, 2, rows)
    return data


FEATURES = ["tempo", "level", "key"]
LABELS = ["y_calm", "y_bright", "y_odd"]


def fitted(data, **options) -> str:
    return str(SeCoClassifier(max_rules=12, **options).fit(data).rules_)


def test_every_source_gives_the_same_store_and_list(frame, tmp_path) -> None:
    arrow_dataset = pytest.importorskip("pyarrow.dataset")
    frame[:300].to_csv(tmp_path / "a.csv", index=False)
    frame[300:].to_csv(tmp_path / "b.csv", index=False)
    frame[:123].to_parquet(tmp_path / "a.parquet")
    frame[123:].to_parquet(tmp_path / "b.parquet")
    arrow = arrow_dataset.dataset([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    sources = {
        "csv": tmp_path / "*.csv",
        "parquet": [tmp_path / "a.parquet", tmp_path / "b.parquet"],
        "frame": frame,
        "arrow": arrow,
    }
    expected = str(SeCoClassifier(max_rules=12, max_bins=16).fit(frame[FEATURES], frame[LABELS]).rules_)
    for name, source in sources.items():
        store = pack(source, out=tmp_path / f"{name}.store", labels="y_*", max_bins=16, block_rows=250)
        assert (len(store), len(store.blocks), store.label_names) == (700, 3, tuple(LABELS))
        for threads in (1, 3):
            assert fitted(store, n_jobs=threads) == expected
        with config_context(kernels="reference"):
            assert fitted(store) == expected


def test_arrays_and_frames_of_dask(frame, tmp_path) -> None:
    """Arrays were taken for frames, and refused."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    X, Y, weights = frame[["tempo", "level"]], frame[LABELS], np.resize([1, 2, 0], len(frame))
    expected = pack(X.to_numpy(), Y.to_numpy(), weights=weights, out=tmp_path / "whole").header.text
    chunked = [da.from_array(one, chunks=(rows, 1)) for one, rows in ((X.to_numpy(), 300), (Y.to_numpy(), 90))]
    assert pack(*chunked, weights=da.from_array(weights), out=tmp_path / "a").header.text == expected
    unknown = [dd.from_pandas(one, npartitions=parts).to_dask_array() for one, parts in ((X, 3), (Y, 2))]
    assert pack(*unknown, weights=weights, out=tmp_path / "b").header.text == expected
    assert np.isnan(unknown[0].chunks[0]).all()
    with pytest.raises(DataError, match="X has 700 rows but y has 8"):
        pack(chunked[0], chunked[1][:8], out=tmp_path / "c")
    frames = [dd.from_pandas(one, npartitions=3) for one in (X, Y)]
    with pytest.raises(OptionError, match="y is for arrays of features"):
        pack(*frames, out=tmp_path / "c")
    parts = pack(dd.from_pandas(frame, npartitions=3), labels="y_*", out=tmp_path / "d")
    assert parts.header.text == pack(frame, labels="y_*", out=tmp_path / "e").header.text


def test_standard_input_is_read_once(frame, tmp_path) -> None:
    text = frame.to_csv(index=False)
    (tmp_path / "songs.csv").write_text(text)
    whole = pack(tmp_path / "songs.csv", labels="y_*", out=tmp_path / "whole")
    ok("pack", "-", "--labels", "y_*", "-o", tmp_path / "piped", input=text)
    assert Store(tmp_path / "piped").header.text == whole.header.text


def test_binary_relevance_from_a_store(frame, tmp_path) -> None:
    store = pack(frame, out=tmp_path / "s", labels=LABELS, max_bins=255, block_rows=100)
    X, Y = frame[FEATURES], frame[LABELS]
    expected = BinaryRelevanceRuleClassifier(max_bins=255, max_conditions=2).fit(X, Y).rules_
    assert str(BinaryRelevanceRuleClassifier(max_conditions=2).fit(store).rules_) == str(expected)


def test_weights_and_examples_without_weight(frame, tmp_path) -> None:
    weights = np.random.default_rng(0).integers(0, 4, len(frame))
    weighted = frame.assign(weight=weights)
    store = pack(weighted, out=tmp_path / "s", labels="y_*", weights="weight", max_bins=16, block_rows=200)
    expected = SeCoClassifier(max_rules=12, max_bins=16).fit(frame[FEATURES], frame[LABELS], weights)
    assert fitted(store) == str(expected.rules_)
    with pytest.raises(DataError, match="whole numbers as weights"):
        pack(weighted.assign(weight=0.5), out=tmp_path / "t", labels="y_*", weights="weight")


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), 0.5, 1e19])
def test_what_is_no_whole_weight_is_refused(frame, tmp_path, wrong) -> None:
    """A negative one, and none, were examples that nobody counted."""
    weights = np.ones(len(frame))
    weights[7] = wrong
    with pytest.raises(DataError, match="whole numbers as weights"):
        pack(frame[FEATURES], frame[LABELS], weights=weights, out=tmp_path / "s")
    with pytest.raises(DataError, match="whole numbers as weights"):
        pack(frame.assign(weight=weights), labels="y_*", weights="weight", out=tmp_path / "s")


def test_bins_that_hold_every_value_change_nothing(benchmark_root) -> None:
    for name in ("flags", "emotions"):
        data = datasets.load(name, "train")
        options = {"max_rules": 6, "max_conditions": 2}
        plain = SeCoClassifier(**options).fit(data).rules_
        assert str(SeCoClassifier(max_bins=1000, **options).fit(data).rules_) == str(plain)


def test_damage_is_named(frame, tmp_path) -> None:
    store = pack(frame, out=tmp_path / "s", labels="y_*", block_rows=300)
    store.verify()
    block = tmp_path / "s" / "000001.codes"
    content = bytearray(block.read_bytes())
    content[5] ^= 1
    block.write_bytes(content)
    with pytest.raises(DataError, match=r"000001\.codes: the block is damaged \(its checksum differs\)"):
        fitted(Store(tmp_path / "s"))
    block.write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"000001\.codes: the block is damaged"):
        fitted(Store(tmp_path / "s"))
    block.unlink()
    with pytest.raises(DataError, match=r"000001\.codes: the block cannot be read"):
        fitted(Store(tmp_path / "s"))
    (tmp_path / "s" / "header.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(DataError, match="not the header of a packed store"):
        Store(tmp_path / "s")
    with pytest.raises(DataError, match="there is no packed store"):
        Store(tmp_path / "nothing")


def test_an_interrupted_packing_goes_on(frame, tmp_path, monkeypatch) -> None:
    frame.to_csv(tmp_path / "all.csv", index=False)
    whole = pack(tmp_path / "all.csv", out=tmp_path / "whole", labels="y_*", block_rows=100)
    write = _Packer._write

    def broken(self, index, *rest):
        if index == 4:
            raise KeyboardInterrupt
        return write(self, index, *rest)

    monkeypatch.setattr(_Packer, "_write", broken)
    with pytest.raises(KeyboardInterrupt):
        pack(tmp_path / "all.csv", out=tmp_path / "s", labels="y_*", block_rows=100)
    assert not (tmp_path / "s").exists()
    monkeypatch.setattr(_Packer, "_write", write)
    monkeypatch.setattr(_Packer, "_make_plan", None)  # the plan is not made again
    again = pack(tmp_path / "all.csv", out=tmp_path / "s", labels="y_*", block_rows=100)
    assert again.header.text == whole.header.text
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == sorted(p.name for p in (tmp_path / "whole").iterdir())


def interrupted(frame, tmp_path, monkeypatch, **options):
    """A packing of six blocks that ended after two, and what packs the same file."""
    frame.to_csv(tmp_path / "all.csv", index=False)
    write = _Packer._write

    def broken(self, index, *rest):
        if index == 2:
            raise KeyboardInterrupt
        return write(self, index, *rest)

    def again(out="s", **changes):
        return pack(tmp_path / "all.csv", out=tmp_path / out, labels="y_*", **{"block_rows": 120, **options, **changes})

    with monkeypatch.context() as patch:
        patch.setattr(_Packer, "_write", broken)
        with pytest.raises(KeyboardInterrupt):
            again()
    return again


@pytest.mark.parametrize("changes", [{"max_bins": 7}, {"block_rows": 90}, {"keep_values": True}, {"drop": ["level"]}])
def test_a_packing_with_other_options_starts_anew(frame, tmp_path, monkeypatch, changes) -> None:
    again = interrupted(frame, tmp_path, monkeypatch)
    store = again(**changes)
    assert store.header.text == again("fresh", **changes).header.text
    store.verify()


def test_a_packing_of_another_file_starts_anew(frame, tmp_path, monkeypatch) -> None:
    again = interrupted(frame, tmp_path, monkeypatch)
    frame[::-1].to_csv(tmp_path / "all.csv", index=False)
    os.utime(tmp_path / "all.csv", (0, 0))
    assert again().header.text == again("fresh").header.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.json", "{}"),
        ("plan.json", "[" * 100_000),
        ("plan.json", '{"key": 1, "features": 1, "labels": 1, "cuts": 1}'),
        ("000001.json", "{}"),
        ("000001.json", '{"block": {"rows": 120, "weight": 120, "files": {}}, "lows": []}'),
        ("000001.codes", "spoilt"),
        ("000000.labels", ""),
    ],
)
def test_what_is_spoilt_of_an_interrupted_packing_is_made_again(frame, tmp_path, monkeypatch, name, text) -> None:
    again = interrupted(frame, tmp_path, monkeypatch)
    assert (tmp_path / "s.part" / name).is_file()
    (tmp_path / "s.part" / name).write_text(text)
    store = again()
    assert store.header.text == again("fresh").header.text
    store.verify()


def test_data_that_changes_while_it_is_packed(frame, tmp_path) -> None:
    frame.to_csv(tmp_path / "all.csv", index=False)

    def touch(what: str, rows: int) -> None:
        if what == "packing":
            os.utime(tmp_path / "all.csv", (0, 0))

    with pytest.raises(DataError, match=r"s: the data changed while it was packed"):
        pack(tmp_path / "all.csv", out=tmp_path / "s", labels="y_*", progress=touch)
    grown = frame.copy()

    class Growing:
        """A collection whose partition is another one when it is computed again."""

        dask, npartitions = {}, 1
        partitions = property(lambda self: [self])

        def compute(self):
            grown["tempo"] += 1000
            return grown

    with pytest.raises(DataError, match=r"s: the data changed while it was packed"):
        pack(Growing(), out=tmp_path / "s", labels="y_*")
    assert not (tmp_path / "s").exists()


def test_one_packer_at_a_time(frame, tmp_path) -> None:
    program = f"""
        import pathlib, time
        from polyrule.utils.atomic import hold
        with hold(pathlib.Path({str(tmp_path / "s.lock")!r})) as mine:
            print(mine, flush=True)
            time.sleep(60)
    """
    holder = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "True"
        with pytest.raises(DataError, match="s: another process is packing into this folder"):
            pack(frame, out=tmp_path / "s", labels="y_*")
    finally:
        holder.kill()
        holder.communicate()
    pack(frame, out=tmp_path / "s", labels="y_*").verify()  # a killed process holds nothing
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_two_packers_publish_one_whole_store(frame, tmp_path) -> None:
    worlds = [frame, frame.assign(tempo=-frame["tempo"])]
    options = {"labels": "y_*", "block_rows": 50}
    clean = {pack(one, out=tmp_path / f"clean{j}", **options).fingerprint for j, one in enumerate(worlds)}
    for turn in range(5):
        told: list[BaseException | Store] = []

        def go(one, out=tmp_path / f"s{turn}", told=told) -> None:
            try:
                told.append(pack(one, out=out, **options))
            except DataError as problem:
                told.append(problem)

        threads = [threading.Thread(target=go, args=(one,)) for one in worlds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(type(one).__name__ for one in told) == ["DataError", "Store"]
        store = Store(tmp_path / f"s{turn}")
        store.verify()
        assert store.fingerprint in clean


def test_a_full_disk_is_said_with_the_path(frame, tmp_path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    (tmp_path / "000000.codes.part").symlink_to("/dev/full")
    block = pack_table(Table.from_array([[1.0], [2.0]]), np.array([[1], [0]]), None, ("a",)).blocks[0]
    with pytest.raises(OutputError, match=r"000000\.codes: cannot be written \(No space left on device\)"):
        write_block(tmp_path, 0, block)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="s: cannot be written"):
        pack(frame, out=tmp_path / "file" / "s", labels="y_*")


def test_pieces_with_other_ordered_values_are_refused() -> None:
    """Sorting them by their names would turn small < mid < large around."""
    size = Feature("size", "ordinal", ("small", "mid", "large"))
    assert join_features([size], [size], "b") == [size]
    with pytest.raises(DataError, match="b: column 'size' has other ordered values here than elsewhere"):
        join_features([size], [replace(size, categories=("small", "large"))], "b")
    with pytest.raises(DataError, match="b: column 'size' is numeric here and ordinal elsewhere"):
        join_features([size], [Feature("size")], "b")
    with pytest.raises(DataError, match="b: its columns are not those"):
        join_features([size], [Feature("other")], "b")


def test_files_of_several_kinds_are_refused(tmp_path) -> None:
    """A file without a date has fewer columns, which were counted before they were looked at."""
    for name, text in {"a": "on,y\n2020-01-01,0\n", "b": "on,y\n,1\n", "c": "y,on\n0,2020-01-01\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(DataError, match=r"b\.csv: its columns are not those of the rows before \(it lacks 'on year', "):
        pack(tmp_path / "[ab].csv", out=tmp_path / "s", labels="y")
    assert len(pack(tmp_path / "[ac].csv", out=tmp_path / "s", labels="y")) == 2


def test_what_a_store_refuses(frame, tmp_path) -> None:
    store = pack(frame, out=tmp_path / "s", labels="y_*")
    with pytest.raises(DataError, match="there is something already"):
        pack(frame, out=tmp_path / "s", labels="y_*")
    with pytest.raises(DataError, match="y must be None if X is a store, which contains the labels and weights"):
        SeCoClassifier().fit(store, frame[LABELS])
    with pytest.raises(OptionError, match="max_bins is chosen when data is packed"):
        SeCoClassifier(max_bins=3).fit(store)
    with pytest.raises(OptionError, match="keep_values=True"):
        SeCoClassifier(refine=True).fit(store)
    with pytest.raises(OptionError, match="name the columns with labels"):
        pack(frame, out=tmp_path / "t")
    with pytest.raises(OptionError, match="max_bins must be a whole number"):
        pack(frame, out=tmp_path / "t", labels="y_*", max_bins=1)
    for option, wrong in (("max_bins", "many"), ("max_bins", None), ("block_rows", 0), ("block_rows", 1.5)):
        with pytest.raises(OptionError, match=f"{option} must be a whole number"):
            pack(frame, out=tmp_path / "t", labels="y_*", **{option: wrong})
    with pytest.raises(DataError, match="data: weights must be numbers"):
        pack(frame[FEATURES], frame[LABELS], out=tmp_path / "t", weights=["heavy"] * len(frame))
    with pytest.raises(DataError, match="data: weights must be numbers"):
        pack(frame, out=tmp_path / "t", labels="y_*", weights="key")
    with pytest.raises(OptionError, match="y is for arrays of features"):
        pack("songs.csv", frame[LABELS], out=tmp_path / "t")
    with pytest.raises(OptionError, match="pass labels= or y, not both"):
        pack(frame[FEATURES], frame[LABELS], labels=["a", "b", "c"], out=tmp_path / "t")
    songs = datasets.load("emotions")
    for option, own in {"y": songs.Y, "labels": "calm", "weights": np.ones(len(songs))}.items():
        with pytest.raises(OptionError, match=f"a Dataset brings its own labels and weights; leave out {option}="):
            pack(songs, out=tmp_path / "t", **{option: own})
    for X, y, what in ((np.zeros((3, 0)), np.ones((3, 1)), "features"), (np.zeros((3, 1)), np.ones((3, 0)), "labels")):
        with pytest.raises(DataError, match=f"there are no {what} to pack"):
            pack(X, y, out=tmp_path / "t")
    with pytest.raises(OptionError, match="refine=True looks between bins"):
        SeCoClassifier(refine=True).fit(frame[FEATURES], frame[LABELS])


def test_labels_keep_their_names_and_fit_the_examples(tmp_path) -> None:
    songs = datasets.load("emotions", part="test")
    store = pack(songs.X, songs.Y, out=tmp_path / "s")
    assert store.label_names == songs.label_names
    for weights, names in ((None, ("a",)), (np.ones(3, dtype=int), songs.label_names)):
        with pytest.raises(DataError, match=r"202 examples and . names, but labels of shape \(202, 6\)"):
            pack_table(songs.X, songs.Y, weights, names)
    with pytest.raises(DataError, match="a store holds codes to learn from, not features"):
        SeCoClassifier(max_rules=1).fit(store).predict(store)


def test_numbers_of_numpy_are_options_too(frame, tmp_path) -> None:
    options = {"max_bins": np.int64(16), "block_rows": np.int64(300), "keep_values": np.True_}
    store = pack(frame, labels="y_*", out=tmp_path / "s", **options)
    assert (len(store.blocks), store.has_values) == (3, True)


def test_many_bins_take_two_bytes(frame, tmp_path) -> None:
    store = pack(frame, out=tmp_path / "s", labels="y_*", max_bins=1000)
    assert store.blocks[0].codes.dtype == np.uint16
    expected = SeCoClassifier(max_rules=12).fit(frame[FEATURES], frame[LABELS]).rules_
    assert fitted(store) == str(expected)


def test_the_command_line_packs_and_trains(frame, tmp_path) -> None:
    frame.to_csv(tmp_path / "songs.csv", index=False)
    told = run("pack", tmp_path / "songs.csv", "--labels", "y_*", "--max-bins", "16", "-o", tmp_path / "store")
    assert told.exit_code == 0
    assert "700 examples, 3 features and 3 labels packed" in told.stderr
    options = ("--max-rules", "5", "-o")
    ok("train", tmp_path / "store", *options, tmp_path / "a.json", "--threads", "2")
    ok("train", tmp_path / "songs.csv", "--labels", "y_*", "--max-bins", "16", *options, tmp_path / "b.json")
    models = [polyrule.load(tmp_path / f"{name}.json") for name in "ab"]
    assert models[0].rules == models[1].rules
    refused = run("train", tmp_path / "store", "--cv", "3")
    assert refused.exit_code == 1
    assert "--cv needs the examples themselves" in refused.stderr
    for option in ("--drop", "--labels", "--id"):  # passed over, it would give a model of other columns than was said
        assert f"{option} is for files" in run("train", tmp_path / "store", option, FEATURES[0]).stderr


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("size,sad", "--labels: there is no column 'calm'"),
        ("width,calm", "its columns are not those of the rows before (it lacks 'size')"),
    ],
)
def test_of_several_files_the_wrong_one_is_named(tmp_path, header, told) -> None:
    (tmp_path / "a.csv").write_text("size,calm\n1,0\n2,1\n")
    (tmp_path / "b.csv").write_text(f"{header}\n1,0\n2,1\n")
    refused = run("pack", tmp_path / "a.csv", tmp_path / "b.csv", "--labels", "calm", "-o", tmp_path / "store")
    assert refused.stderr.startswith(f"Error: {tmp_path / 'b.csv'}: {told}")


def test_commands_that_need_features_say_that_a_store_has_none(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("size,calm\n1,0\n2,1\n")
    ok("pack", tmp_path / "a.csv", "--labels", "calm", "-o", tmp_path / "store")
    assert "name the data it was packed from" in run("data", tmp_path / "store").stderr


def test_a_table_is_packed_like_a_store(frame, tmp_path) -> None:
    from polyrule.data import to_table

    table = to_table(frame[FEATURES])
    packed = pack_table(table, frame[LABELS].to_numpy(), None, tuple(LABELS), 16, 250)
    store = pack(frame, out=tmp_path / "s", labels="y_*", max_bins=16, block_rows=250)
    for mine, its in zip(packed.blocks, store.blocks, strict=True):
        np.testing.assert_array_equal(mine.codes, its.codes)
        np.testing.assert_array_equal(mine.truth, its.truth)
    for mine, its in zip(packed.bins, store.bins, strict=True):
        np.testing.assert_array_equal(mine.lows, its.lows)
        np.testing.assert_array_equal(mine.highs, its.highs)
