"""Stores as inputs: headers of any content, and blocks of any content, sealed again so that the checksums fit."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import polyrule
from fuzz.runs import attempt, sealed
from polyrule.data import Dataset, Feature, Table
from polyrule.data.documents import checksum

#: Files of the one block of the seed, in the order in which an input holds their bytes.
PARTS = ("codes", "labels", "weights", "values")


@cache
def seed_store() -> Path:
    """A small store with every kind of feature, weights, missing and original values."""
    rng = np.random.default_rng(0)
    features = (
        Feature("size"),
        Feature("hue", "nominal", ("red", "blue", "green")),
        Feature("level", "ordinal", ("low", "mid", "high")),
        Feature("on", "date"),
    )
    codes = [rng.integers(0, 3, 12), rng.integers(0, 3, 12), rng.integers(0, 9, 12)]
    values = np.column_stack([rng.normal(size=12).round(1), *codes])
    values[3, 0] = np.nan
    truth = np.column_stack([values[:, 1] > 0, values[:, 2] > 1]).astype(np.uint8)
    weights = rng.integers(1, 5, 12).astype(float)
    data = Dataset(Table.from_array(values, features), truth, ("a", "b"), "seed", None, weights)
    folder = Path(tempfile.mkdtemp(prefix="polyrule-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    polyrule.pack(data, out=folder / "seed", keep_values=True)
    shutil.copytree(folder / "seed", folder / "store")
    return folder


def headers() -> list[bytes]:
    return [(seed_store() / "seed" / "header.json").read_bytes()]


def blocks() -> list[bytes]:
    raw = b"".join((seed_store() / "seed" / f"000000.{part}").read_bytes() for part in PARTS)
    return [raw + bytes(more) for more in range(8)]  # what is behind the end decides how the store is used


def run_header(raw: bytes) -> str:
    """Any header beside honest blocks; most are sealed again, so that what they say is looked at."""
    folder = seed_store() / "store"
    (folder / "header.json").write_text(sealed(raw), encoding="utf-8", errors="surrogatepass")
    return attempt(lambda: _use(folder, zlib.crc32(raw)))


def run_blocks(raw: bytes) -> str:
    """Any content of the files, cut or filled up to the right sizes, under a header that is sealed again."""
    seed, folder = seed_store() / "seed", seed_store() / "store"
    document = json.loads((seed / "header.json").read_bytes())
    rest, mark = raw, zlib.crc32(raw)
    for part in PARTS:
        record = document["blocks"][0]["files"][part]
        content, rest = rest[: record["bytes"]].ljust(record["bytes"], b"\0"), rest[record["bytes"] :]
        step = len(content) // len(record["crc32"])
        record["crc32"] = [f"{zlib.crc32(content[j : j + step]):08x}" for j in range(0, len(content), step)]
        (folder / f"000000.{part}").write_bytes(content[: -1 if mark % 64 == 0 else None])
    document.pop("checksum")
    (folder / "header.json").write_text(json.dumps(document | {"checksum": checksum(document)}))
    try:
        return attempt(lambda: _use(folder, mark))
    finally:
        for part in PARTS:
            shutil.copyfile(seed / f"000000.{part}", folder / f"000000.{part}")


def _use(folder: Path, mark: int) -> Any:
    """Open a store, and learn from it: the compiled counts must come to no harm, whatever it holds."""
    with polyrule.limits(max_bytes=1_000_000, max_cells=100_000):
        store = polyrule.Store(folder)
        if mark % 32 == 0:
            polyrule.RuleEnsembleClassifier(max_rules=1, teacher=None, cv=2).fit(store)
        elif mark % 4:
            polyrule.RuleListClassifier.paper(max_rules=2, refine=mark % 4 == 1).fit(store)
        else:
            store.verify()
    return store
