"""The same list, whoever counts: random worlds in 1, 2 and 5 blocks; benchmark sets from array, store and cluster.

python benchmarks/same_list.py worlds --count 200     # threads, dask and the NumPy twin, all against the reference
python benchmarks/same_list.py sets                   # prints a hash per set and source; any difference is an error
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

import polyrule.dask
from dask import dataframe as dd
from polyrule import RuleListClassifier, datasets, pack
from polyrule.dask.counter import DaskCounter
from polyrule.data.table import Feature, Table
from polyrule.measures import Objective
from polyrule.search.counted.counter import LocalCounter
from polyrule.search.counted.engine import CountedEngine
from polyrule.search.counted.workers import Share
from polyrule.search.protocol import Engine, GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.store import Packed, pack_table

MEASURES = ("f0.5", "precision", "recall", "hamming", "jaccard", "laplace", "f1", "wracc")
COMMITS = [(0.01, True), (None, False), (0.3, False)]
SETS = ["flags", "emotions", "birds", "genbase", "medical", "enron", "scene", "yeast", "CAL500"]
SETS += ["corel5k", "bibtex", "tmc2007-500", "delicious", "mediamill"]
#: Rules learned from each set; one of the large ones takes minutes for a whole list.
RULES = {"corel5k": 5, "bibtex": 5, "tmc2007-500": 5, "delicious": 2, "mediamill": 3}


def world(rng: np.random.Generator) -> tuple[Table, np.ndarray, np.ndarray]:
    """Numbers, categories and missing values, ties and weights."""
    rows, width, labels = int(rng.integers(5, 60)), int(rng.integers(1, 5)), int(rng.choice([1, 2, 3, 4, 6]))
    labels = 66 if rng.random() < 0.05 else labels
    columns, features = [], []
    for j in range(width):
        if rng.random() < 0.3:
            features.append(Feature(f"f{j}", "nominal", tuple("abc")))
            column = rng.integers(0, 3, rows).astype(float)
        else:
            features.append(Feature(f"f{j}"))
            column = rng.normal(size=rows) if rng.random() < 0.5 else rng.integers(0, 5, rows).astype(float)
        columns.append(np.where(rng.random(rows) < 0.1, np.nan, column))
    truth = (rng.random((rows, labels)) < rng.choice([0.2, 0.5, 0.8])).astype(np.uint8)
    weights = rng.integers(1, 4, rows) if rng.random() < 0.5 else np.ones(rows, dtype=np.int64)
    return Table.from_array(np.stack(columns, axis=1), features), truth, weights


def learn(engine: Engine, rules: int, commit: tuple[float | None, bool]) -> list[Any]:
    found: list[Any] = []
    while len(found) < rules and engine.remaining and engine.has_unset:
        rule = engine.grow()
        if rule is None:
            break
        outcome = engine.commit(rule, *commit)
        found.append((rule.body, rule.head, rule.value, outcome, engine.leftover().tolist()))
    return found


def answers(client: Client, seed: list[int]) -> tuple[list[Any], list[list[Any]]]:
    """What the reference learns from a random world, and what everybody else does, for 1, 2 and 5 blocks."""
    rng = np.random.default_rng(seed)
    table, truth, weights = world(rng)
    names = tuple(f"y{i}" for i in range(truth.shape[1]))
    objective = Objective(str(rng.choice(MEASURES)), negative=bool(rng.random() < 0.7))
    options = GrowOptions(int(rng.choice([1, 1, 2])), bool(rng.random() < 0.7), 0, int(rng.integers(1, 4)))
    commit = COMMITS[int(rng.integers(3))]
    expected = learn(ReferenceEngine(table, truth, weights, objective, options), 3, commit)
    lists = []
    for blocks in (1, 2, 5):
        packed = pack_table(table, truth, weights, names, 255, -(-len(table) // blocks))
        remote = DaskCounter(client, partial(spread, client, packed))
        for counter, compiled in [(LocalCounter(packed, 3), True), (LocalCounter(packed), False), (remote, True)]:
            lists.append(learn(CountedEngine(counter, packed, objective, options, compiled), 3, commit))
    return expected, lists


def spread(client: Client, packed: Packed) -> list[Any]:
    return [client.submit(Share, [block], len(packed.label_names), pure=False) for block in packed.blocks]


def worlds(count: int, seed: int) -> dict[str, Any]:
    told = {"worlds": 0, "lists": 0, "rules": 0, "differences": 0}
    with cluster() as client:
        for number in range(count):
            expected, lists = answers(client, [seed, number])
            told["worlds"] += 1
            told["lists"] += len(lists)
            told["rules"] += len(expected)
            told["differences"] += sum(found != expected for found in lists)
    return told


@contextmanager
def cluster() -> Iterator[Client]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as local, Client(local) as client:
        yield client


def frames(data: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The features and labels of a data set as frames, categories as they are."""
    columns = {}
    for j, feature in enumerate(data.X.features):
        values = data.X.column(j)
        if feature.is_nominal:
            codes = np.where(np.isnan(values), -1, values).astype(int)
            columns[feature.name] = pd.Series(pd.Categorical.from_codes(codes, list(feature.categories)))
        else:
            columns[feature.name] = pd.Series(values)
    truth = data.Y.toarray() if hasattr(data.Y, "toarray") else np.asarray(data.Y)
    return pd.DataFrame(columns), pd.DataFrame(truth.astype(int), columns=list(data.label_names))


def digest(learner: Any) -> str:
    text = str(learner.rules_) + str(learner.model_.default_counts)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def sources(client: Client, name: str, folder: Path) -> dict[str, Callable[[], Any]]:
    """The ways to learn the list of one set."""
    data = datasets.load(name, "train")
    plain = RuleListClassifier.paper(max_bins=255, max_rules=RULES.get(name, 10))
    threads = RuleListClassifier.paper(max_rules=plain.max_rules, n_jobs=2)
    store = pack(data, out=folder / name, max_bins=255, block_rows=-(-len(data) // 3))
    collections = [dd.from_pandas(frame, npartitions=3) for frame in frames(data)]
    remote = polyrule.dask.RuleListClassifier(client, **plain.get_params())
    return {
        "array": lambda: plain.fit(data),
        "store, 2 threads": lambda: threads.fit(store),
        "dask, store": lambda: remote.fit(store),
        "dask, frames": lambda: remote.fit(*collections),
    }


def sets(only: list[str]) -> None:
    with cluster() as client, tempfile.TemporaryDirectory() as folder:
        for name in only:
            hashes, spent = {}, {}
            for source, fit in sources(client, name, Path(folder)).items():
                started = time.process_time()
                hashes[source] = digest(fit())
                spent[source] = round(time.process_time() - started, 1)
            print(name, "rules:", RULES.get(name, 10), json.dumps(hashes), "CPU s:", json.dumps(spent), flush=True)
            assert len(set(hashes.values())) == 1, f"{name}: the lists differ"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["worlds", "sets"])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="sets to look at, with commas between")
    given = parser.parse_args()
    if given.what == "worlds":
        print(json.dumps(worlds(given.count, given.seed)))
    else:
        sets(given.only.split(",") if given.only else SETS)


if __name__ == "__main__":
    main()
