"""Random worlds, learned from by the GPU and by the processor: every count, every rule, every outcome is compared."""

from __future__ import annotations

import time
from multiprocessing import get_context

import numpy as np

from polyrule.data.table import Feature, Table
from polyrule.measures import Objective
from polyrule.search.counted.counter import LocalCounter
from polyrule.search.counted.engine import CountedEngine
from polyrule.search.counted.queries import RowCounts
from polyrule.search.counted.requests import Layout, Range
from polyrule.search.gpu.counter import GpuCounter
from polyrule.search.protocol import GrowOptions
from polyrule.store import Packed, pack_table

MEASURES = ("f0.5", "precision", "recall", "hamming", "jaccard", "laplace")


def engine(counter, packed: Packed, objective: Objective, options: GrowOptions, **more) -> CountedEngine:
    return CountedEngine(counter, packed, objective, options, **more)


def check(worlds: int, seconds: float, seed: int, processes: int) -> dict:
    """Divide the worlds among processes that share the GPU; any difference ends it with an error."""
    started = time.monotonic()
    shares = [(worlds * i // processes, worlds * (i + 1) // processes, seconds, seed) for i in range(processes)]
    if processes == 1:
        found = [check_some(*shares[0])]
    else:
        with get_context("spawn").Pool(processes) as pool:
            found = pool.starmap(check_some, shares)
    told = {name: sum(part[name] for part in found) for name in found[0]}
    return told | {"seed": seed, "differences": 0, "seconds": time.monotonic() - started}


def random_world(rng: np.random.Generator) -> Packed:
    rows, features = int(rng.integers(1, 400)), int(rng.integers(1, 7))
    labels = int(rng.choice([1, 2, 3, 5, 20, 63, 64, 65, 130]))
    columns, kinds = [], []
    for j in range(features):
        if rng.random() < 0.3:
            size = int(rng.integers(1, 5))
            kinds.append(Feature(f"f{j}", "nominal", tuple("abcd"[:size])))
            column = rng.integers(0, size, rows).astype(float)
        else:
            kinds.append(Feature(f"f{j}"))
            column = rng.choice([rng.normal(size=rows), rng.integers(0, 4, rows).astype(float)])
        columns.append(np.where(rng.random(rows) < 0.1, np.nan, column))
    truth = (rng.random((rows, labels)) < rng.choice([0.1, 0.5, 0.9])).astype(np.uint8)
    weights = None
    if rng.random() < 0.4:
        weights = rng.integers(1, 2**31 // rows if rng.random() < 0.5 else 5, rows)
    table = Table.from_array(np.stack(columns, axis=1), kinds)
    names = tuple(f"y{i}" for i in range(labels))
    return pack_table(table, truth, weights, names, int(rng.choice([3, 16, 255, 1000])))


def check_some(first: int, last: int, seconds: float, seed: int) -> dict:
    """Learn a few rules with both; after every rule compare counts of random bodies, then the next rule."""
    started = time.monotonic()
    told = {"worlds": 0, "counts compared": 0, "rules compared": 0}
    for number in range(first, last):
        if time.monotonic() - started > seconds:
            break
        counts, rules = check_one(np.random.default_rng([seed, number]))
        told["worlds"] += 1
        told["counts compared"] += counts
        told["rules compared"] += rules
    return told


def check_one(rng: np.random.Generator) -> tuple[int, int]:
    packed = random_world(rng)
    labels = len(packed.label_names)
    options = GrowOptions(1, bool(rng.random() < 0.7), float(rng.integers(0, 3)), int(rng.integers(1, 4)))
    objective = Objective(str(rng.choice(MEASURES)), negative=bool(rng.random() < 0.7))
    host, device = LocalCounter(packed), GpuCounter(packed)
    here, there = engine(host, packed, objective, options, compiled=False), engine(device, packed, objective, options)
    columns = tuple(range(len(packed.features) + labels))
    layout = Layout.of(packed.bins, labels, columns)
    counts = rules = 0
    for _ in range(int(rng.integers(1, 4))):
        column = int(rng.integers(len(packed.features)))
        low, high = np.sort(rng.integers(0, len(packed.bins[column]) + 1, 2))
        body = (Range(column, int(low), int(high)),) if rng.random() < 0.8 else ()
        usual = tuple(int(k) for k in rng.integers(0, 4, labels))
        occurring = (3,) * labels if rng.random() < 0.5 else None
        question = RowCounts(body, layout, usual, None, False, occurring)
        mine, its = host.run(question), device.run(question).on_host()
        assert (mine.kinds == its.kinds).all(), "counts differ"
        assert (mine.weight == its.weight).all(), "weights differ"
        counts += 1
        if not here.has_unset or not here.remaining:
            break
        a, b = here.grow(), there.grow()
        assert (a is None) == (b is None), "one finds a rule, the other does not"
        if a is None:
            break
        assert (a.body, a.head, a.value) == (b.body, b.head, b.value), (a, b)
        commit = [(0.01, True), (None, False), (0.3, False)][int(rng.integers(3))]
        assert here.commit(a, *commit) == there.commit(b, *commit), "outcomes differ"
        assert (here.leftover() == there.leftover()).all(), "leftovers differ"
        rules += 1
    return counts, rules
