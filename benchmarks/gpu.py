"""The GPU against the processor: same counts and lists on random worlds, and how long it takes.

python benchmarks/gpu.py check --worlds 10000     # any differing count or rule ends it with an error
python benchmarks/gpu.py time --rows 10000000     # prints one figure a line, as JSON
python benchmarks/gpu.py store --folder big --rows 100000000 --labels 50    # makes the store where there is none
compute-sanitizer --tool memcheck python benchmarks/gpu.py check --worlds 30
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from polyrule.data.table import Feature, Table
from polyrule.kernels.engine import GrowOptions
from polyrule.measures import Objective
from polyrule.native import native
from polyrule.scale.coded import Layout, Range
from polyrule.scale.counter import LocalCounter
from polyrule.scale.engine import CountedEngine
from polyrule.scale.gpu import GpuCounter
from polyrule.scale.questions import CountRows
from polyrule.store import Packed, Store, pack_table
from scale_worlds import store, world

MEASURES = ("f0.5", "precision", "recall", "hamming", "jaccard", "laplace")


def engine(counter, packed: Packed, measure: str, options: GrowOptions) -> CountedEngine:
    return CountedEngine(counter, packed.features, packed.bins, len(packed.label_names), Objective(measure), options)


def compile_counting() -> None:
    """Where the extension is not built, compile its counting alone, so that the processor's side is fair."""
    import ctypes
    import subprocess
    import tempfile

    import polyrule.scale.count as counting

    root = Path(__file__).resolve().parents[1]
    library = Path(tempfile.mkdtemp()) / "count.so"
    sources = [root / "benchmarks" / "count_shim.cpp", root / "native" / "count" / "count.cpp"]
    flags = ["-O3", "-march=native", "-std=gnu++20", "-shared", "-fPIC", f"-I{root / 'src/polyrule/scale'}"]
    subprocess.run(["g++", *flags, *map(str, sources), "-o", str(library)], check=True)
    call = ctypes.CDLL(str(library)).count_bytes

    class Shim:
        @staticmethod
        def count_rows(codes, truth, set, value, weights, rows, columns, starts, usual, kinds, weight) -> None:
            assert weights is None
            assert codes.dtype == np.uint8
            size = ctypes.c_size_t
            at = [ctypes.c_void_p(a.ctypes.data) for a in (codes, truth, set, value)]
            sizes = [size(n) for n in (*codes.shape, truth.shape[1], len(usual))]
            rest = [ctypes.c_void_p(a.ctypes.data) for a in (columns, starts)]
            out = [ctypes.c_void_p(a.ctypes.data) for a in (usual, kinds, weight)]
            call(*at, *sizes, ctypes.c_void_p(rows.ctypes.data), size(len(rows)), *rest, size(len(columns)), *out)

    counting.native = Shim


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


def check(worlds: int, seconds: float, seed: int) -> dict:
    """Learn a few rules with both; after every rule compare counts of random bodies, then the next rule."""
    started, rng = time.monotonic(), np.random.default_rng(seed)
    rules = counts = done = 0
    while done < worlds and time.monotonic() - started < seconds:
        packed = random_world(rng)
        labels = len(packed.label_names)
        options = GrowOptions(1, bool(rng.random() < 0.7), float(rng.integers(0, 3)), int(rng.integers(1, 4)))
        measure = str(rng.choice(MEASURES))
        host, device = LocalCounter(packed), GpuCounter(packed)
        here, there = (engine(counter, packed, measure, options) for counter in (host, device))
        columns = tuple(range(len(packed.features) + labels))
        layout = Layout.of(packed.bins, labels, columns)
        for _ in range(int(rng.integers(1, 4))):
            column = int(rng.integers(len(packed.features)))
            low, high = np.sort(rng.integers(0, len(packed.bins[column]) + 1, 2))
            body = (Range(column, int(low), int(high)),)
            usual = tuple(int(k) for k in rng.integers(0, 4, labels))
            question = CountRows(body, layout, usual, None, compiled=False)
            mine, its = host.ask(question), device.ask(question).on_host()
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
        done += 1
    return {"worlds": done, "counts compared": counts, "rules compared": rules, "seconds": time.monotonic() - started}


def timed(call, repeat: int = 7) -> float:
    """Median milliseconds, device idle before and after."""
    import cupy

    call()
    found = []
    for _ in range(repeat):
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        found.append((time.perf_counter() - started) * 1e3)
    return float(np.median(found))


def measure(rows: int, features: int, labels: int, rules: int, threads: int) -> dict:
    told: dict = {"rows": rows, "features": features, "labels": labels}
    started = time.perf_counter()
    packed = world(rows, features, labels)
    told["seconds to make the data"] = time.perf_counter() - started
    words = np.concatenate([b.truth[: 1 << 16] for b in packed.blocks])
    told["labels a row"] = float(np.mean([int(w).bit_count() for w in words.ravel()[:100_000]])) * words.shape[1]
    started = time.perf_counter()
    device = GpuCounter(packed)
    told["seconds to load"] = time.perf_counter() - started
    layout, usual = Layout.of(packed.bins, labels, tuple(range(features))), (0,) * labels
    occurring = (3,) * labels
    told["root count, ms"] = timed(lambda: device.ask(CountRows((), layout, usual, None, True, occurring)))
    told["root count, all kinds possible, ms"] = timed(lambda: device.ask(CountRows((), layout, usual)))
    tenth = (Range(0, 0, 25),)
    told["a tenth covered, rows known, ms"] = timed(
        lambda: device.ask(CountRows(tenth, layout, usual, None, True, occurring))
    )

    def uncached() -> None:
        device.state._covers.clear()
        device.ask(CountRows(tenth, layout, usual, None, True, occurring))

    told["a tenth covered, rows found anew, ms"] = timed(uncached)
    options = GrowOptions(max_conditions=3)
    grower = engine(device, packed, "f0.5", options)
    grower.grow()
    told["first rule, root known, ms"] = timed(grower.grow)
    times, list_started = [], time.perf_counter()
    learned = []
    while len(learned) < rules and grower.has_unset:
        started = time.perf_counter()
        found = grower.grow()
        if found is None:
            break
        grower.commit(found, 0.01, True)
        learned.append(found)
        times.append((time.perf_counter() - started) * 1e3)
    told |= {
        "rules": len(learned),
        "conditions": sum(len(rule.body) for rule in learned),
        "list, s": time.perf_counter() - list_started,
        "rule with commit, median ms": float(np.median(times)),
        "rule with commit, slowest ms": float(np.max(times)),
    }
    if threads:
        if native is None:
            compile_counting()
        host = LocalCounter(packed, threads)
        question = CountRows((), layout, usual, None, True, occurring)
        reply = device_reply = None
        host_times = []
        for _ in range(3):
            started = time.perf_counter()
            reply = host.ask(question)
            host_times.append((time.perf_counter() - started) * 1e3)
        told[f"root count, {threads} threads, ms"] = float(np.median(host_times))
        fresh = GpuCounter(packed)
        device_reply = fresh.ask(question).on_host()
        assert (reply.kinds == device_reply.kinds).all()
        if native is None:
            return told
        checker = engine(LocalCounter(packed, threads), packed, "f0.5", options)
        few = min(5, len(learned))
        started = time.perf_counter()
        for i in range(few):
            found = checker.grow()
            assert (found.body, found.head, found.value) == (learned[i].body, learned[i].head, learned[i].value)
            checker.commit(found, 0.01, True)
        told[f"first {few} rules, {threads} threads, ms each"] = (time.perf_counter() - started) * 1e3 / max(1, few)
        told[f"first {few} rules, GPU, ms each"] = float(np.mean(times[:few]))
    return told


def from_store(folder: Path, rows: int, features: int, labels: int) -> dict:
    """Ten rules from a store that is checked, loaded and counted on the GPU."""
    told: dict = {}
    if not folder.exists():
        started = time.perf_counter()
        store(folder, rows, features, labels)
        told["seconds to make the store"] = time.perf_counter() - started
    started = time.perf_counter()
    opened = Store(folder)
    device = GpuCounter(opened)
    told["seconds to check and load"] = time.perf_counter() - started
    grower = engine(device, opened, "f0.5", GrowOptions(max_conditions=3))
    told["rules"] = []
    for _ in range(10):
        started = time.perf_counter()
        found = grower.grow()
        outcome = grower.commit(found, 0.01, True)
        seconds = time.perf_counter() - started
        told["rules"].append({"conditions": len(found.body), "covered": outcome.covered, "seconds": seconds})
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["check", "time", "store"])
    parser.add_argument("--folder", type=Path, default=Path("store"))
    parser.add_argument("--worlds", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--rules", type=int, default=100)
    parser.add_argument("--threads", type=int, default=16)
    given = parser.parse_args()
    if given.what == "check":
        print(json.dumps(check(given.worlds, given.seconds, given.seed)))
    elif given.what == "store":
        print(json.dumps(from_store(given.folder, given.rows, given.features, given.labels), indent=1))
    else:
        found = measure(given.rows, given.features, given.labels, given.rules, given.threads)
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
