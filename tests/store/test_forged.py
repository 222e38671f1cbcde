"""Stores from strangers: whatever a folder holds, it is a store or one typed error that names the file."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyrule
from polyrule import SeCoClassifier, Store, pack
from polyrule.data.documents import checksum
from polyrule.errors import DataError, LimitError

ROWS = 240


@pytest.fixture
def folder(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=ROWS).round(2),
            "level": pd.Categorical(rng.choice(["low", "mid", "high"], ROWS), ["low", "mid", "high"], ordered=True),
            "hue": rng.choice(["red", "blue", "green"], ROWS),
            "weight": rng.integers(1, 4, ROWS),
        }
    )
    frame["y_a"], frame["y_b"] = (frame["size"] > 0).astype(int), (frame["hue"] == "red").astype(int)
    options = {"labels": "y_*", "weights": "weight", "keep_values": True, "block_rows": 100}
    pack(frame, out=tmp_path / "store", **options)
    return tmp_path / "store"


def header_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "header.json").read_text())


def reseal(folder: Path, document: dict[str, Any]) -> None:
    """Write a header with a checksum that fits, as whoever forges a store would."""
    content = {name: value for name, value in document.items() if name != "checksum"}
    (folder / "header.json").write_text(json.dumps(content | {"checksum": checksum(content)}))


def forge(folder: Path, part: str, array: np.ndarray, **changes: Any) -> None:
    """Put other content into a file of the first block, and reseal everything."""
    raw = array.tobytes()
    (folder / f"000000.{part}").write_bytes(raw)
    document = header_of(folder) | changes
    pieces = array if part == "values" else [array]
    sums = [f"{zlib.crc32(np.ascontiguousarray(piece).tobytes()):08x}" for piece in pieces]
    document["blocks"][0]["files"][part] = {"bytes": len(raw), "crc32": sums}
    reseal(folder, document)


def refused(folder: Path, message: str) -> None:
    """Both ways to use a store end in the same error."""
    with pytest.raises(DataError, match=message):
        Store(folder).verify()
    with pytest.raises(DataError, match=message):
        SeCoClassifier(max_rules=2, refine=True).fit(Store(folder))


def stored(folder: Path, part: str, dtype: str, *shape: int) -> np.ndarray:
    return np.fromfile(folder / f"000000.{part}", dtype=dtype).reshape(shape)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_codes_outside_the_bins(folder, column) -> None:
    codes = stored(folder, "codes", "u1", 3, 100)
    codes[column, 7] = 255
    forge(folder, "codes", codes)
    name = ("size", "level", "hue")[column]
    refused(folder, rf"000000\.codes: the block is damaged \(feature '{name}' has a code of 255, and \d+ bins\)")


def test_codes_of_two_bytes_outside_the_bins(tmp_path) -> None:
    rng = np.random.default_rng(0)
    pack(rng.normal(size=(400, 2)), rng.integers(0, 2, (400, 2)), out=tmp_path / "s", max_bins=300)
    codes = stored(tmp_path / "s", "codes", "<u2", 2, 400)
    codes[1] = 65535
    forge(tmp_path / "s", "codes", codes)
    with pytest.raises(DataError, match="feature 'x1' has a code of 65535, and 300 bins"):
        SeCoClassifier(max_rules=2).fit(Store(tmp_path / "s"))


def test_a_header_without_its_categories(folder) -> None:
    document = header_of(folder)
    document["features"][2]["categories"] = []
    reseal(folder, document)
    refused(folder, r"feature 'hue' has a code of 2, and 0 bins")


def test_labels_weights_and_values_that_are_none(folder) -> None:
    labels, weights = stored(folder, "labels", "<u8", 100, 1), stored(folder, "weights", "<i8", 100)
    values = stored(folder, "values", "<f8", 3, 100)
    forge(folder, "labels", labels | np.uint64(4))
    refused(folder, r"000000\.labels: the block is damaged \(a row has more than 2 labels\)")
    forge(folder, "labels", labels)
    for change in (-1, 2**62):  # the sum of four times 2**62 runs over and is 0
        wrong = weights.copy()
        wrong[:4] += change
        forge(folder, "weights", wrong)
        refused(folder, r"000000\.weights: the block is damaged \(weights must be at least 1 and add up to \d+\)")
    forge(folder, "weights", weights)
    for wrong in (1e9, np.nan, -np.inf):
        other = values.copy()
        other[0, 3] = wrong
        forge(folder, "values", other)
        refused(folder, r"000000\.values: the block is damaged \(a value of column 0 lies outside its bin\)")
    forge(folder, "values", values)
    Store(folder).verify()


#: A place in the header, what stands there instead, and what is said about it.
WRONG = {
    "codes": ("|u4", r"codes must be one of \|u1, <u2"),
    "examples": (ROWS + 1, r"examples must be 240, what the blocks add up to"),
    "weight": (-1, r"weight must be between 0 and"),
    "labels": ([], "labels must name at least one"),
    "labels.0": (1, r"labels\[0\] must be a string"),
    "features": ([], "features must name at least one"),
    "features.0.kind": ("date", r"features\[0\] is date and has bins that do not end at whole numbers"),
    "features.0.highs": ([1.0], r"features\[0\] must have as many lows \(\d+\) as highs \(1\)"),
    "features.0.highs.0": (1e9, r"features\[0\] has bins that do not ascend"),
    "features.0.lows.3": ("x", r"features\[0\]\.lows\[3\] must be a number, found 'x'"),
    "features.1.categories": (["low"], r"features\[1\] has bins outside its 1 categories"),
    "features.2.lows": ([0.0], r"features\[2\] is nominal and has lows or highs"),
    "blocks": ({}, "blocks must be an array"),
    "blocks.0.rows": (0, r"blocks\[0\]\.rows must be between 1 and"),
    "blocks.0.weight": (1, r"blocks\[0\]\.weight must be between 100 and"),
    "blocks.0.files.codes.bytes": (301, r"blocks\[0\]\.files\.codes\.bytes must be 300 for 100 rows, found 301"),
    "blocks.0.files.values.crc32": (["00000000"], r"blocks\[0\]\.files\.values\.crc32 must list 3, found 1"),
    "blocks.0.files.labels.crc32.0": ("0", r"blocks\[0\]\.files\.labels\.crc32\[0\] must be eight hexadecimal digits"),
    "blocks.0.files.more": ({}, r"blocks\[0\]\.files has an unknown member 'more'"),
    "version": (2, "version of the format must be 1"),
}


@pytest.mark.parametrize("place", WRONG)
def test_a_header_that_does_not_fit_together_is_refused_by_field(folder, place) -> None:
    document = header_of(folder)
    *way, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    holder = document
    for step in way:
        holder = holder[step]
    holder[last], message = WRONG[place]
    reseal(folder, document)
    with pytest.raises(DataError, match=r"header\.json: " + message):
        Store(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": NaN}', "[" * 100_000, '{"a": 1, "a": 2}', "\ud800"])
def test_a_header_that_is_none(folder, text) -> None:
    (folder / "header.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=r"header\.json: "):
        Store(folder)


def test_the_digest_covers_header_and_blocks(folder) -> None:
    before = Store(folder).fingerprint
    text = (folder / "header.json").read_text()
    (folder / "header.json").write_text(text.replace("red", "rad"))
    with pytest.raises(DataError, match="does not match its checksum"):
        Store(folder)
    (folder / "header.json").write_text(text)
    labels = stored(folder, "labels", "<u8", 100, 1)
    forge(folder, "labels", labels ^ np.uint64(1))
    assert Store(folder).fingerprint != before


def fitted(store: Store, callback: Any = None, **options: Any) -> str:
    return str(SeCoClassifier(max_rules=4, **options).fit(store, callback=callback).rules_)


def test_a_file_that_is_cut_short_while_it_is_used(folder) -> None:
    store = Store(folder)
    expected = fitted(store)

    def cut(*_: Any) -> None:
        os.truncate(folder / "000001.codes", 0)

    assert fitted(store) == expected
    # The rows are counted once more when the list is grown: what remains of the file is refused, not counted.
    for use in (lambda: fitted(store, callback=cut), store.verify, lambda: fitted(store)):
        with pytest.raises(DataError, match=r"000001\.codes: the block is damaged \(0 bytes instead of 300\)"):
            use()


def test_a_file_that_is_cut_short_before_it_is_read_again(folder, monkeypatch) -> None:
    monkeypatch.setattr("polyrule.search.counted.counter.room_for_blocks", lambda: 0)
    with pytest.raises(DataError, match=r"000001\.codes: the block is damaged \(0 bytes instead of 300\)"):
        fitted(Store(folder), callback=lambda *_: os.truncate(folder / "000001.codes", 0))


@pytest.mark.parametrize("room", [0, 700, 10**9])
def test_what_does_not_fit_memory_is_read_again(folder, monkeypatch, room) -> None:
    expected = fitted(Store(folder), refine=True)
    monkeypatch.setattr("polyrule.search.counted.counter.room_for_blocks", lambda: room)
    assert fitted(Store(folder), refine=True, n_jobs=2) == expected


def test_limits_hold_for_stores(folder) -> None:
    header = len((folder / "header.json").read_bytes())
    for limits, message in (
        ({"max_bytes": header - 1}, rf"header\.json: {header} bytes are more"),
        ({"max_bytes": header + 1}, "store: 10320 bytes are more"),
        ({"max_cells": ROWS * 5 - 1}, "store: 1200 cells are more"),
        ({"seconds": 0}, r"header\.json: not finished within"),
    ):
        with polyrule.limits(**limits), pytest.raises(LimitError, match=message):
            Store(folder)
    with polyrule.limits(max_bytes=10**6, max_cells=ROWS * 5, seconds=60):
        store = Store(folder)
    with polyrule.limits(seconds=0), pytest.raises(LimitError, match="store: not finished within"):
        store.verify()
