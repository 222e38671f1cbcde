"""The GPU against the processor: same counts and lists on random worlds, and how long it takes. Figures are JSON.

python benchmarks/gpu.py check --worlds 10000 --processes 12   # any differing count or rule ends it with an error
python benchmarks/gpu.py ensembles --seconds 120                # random worlds: any differing digit of a model ends it
python benchmarks/gpu.py time --rows 10000000                  # root count, rules, a list of 100, beside 16 cores
python benchmarks/gpu.py tune --rows 10000000                  # the root count, compiled in other shapes
python benchmarks/gpu.py short --rows 10000000                 # default list of 20 rules, ensemble of 30, by both
python benchmarks/gpu.py store --folder big --rows 100000000 --labels 50    # makes the store where there is none
compute-sanitizer --tool memcheck python benchmarks/gpu.py check --worlds 30
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import processor
from gpu_ensembles import check_ensembles, file_of
from gpu_worlds import check, engine
from polyrule import RuleEnsembleClassifier, RuleListClassifier, config_context
from polyrule.measures import Objective
from polyrule.search.counted.counter import LocalCounter
from polyrule.search.counted.queries import RowCounts
from polyrule.search.counted.requests import Layout, Range
from polyrule.search.gpu import device
from polyrule.search.gpu.counter import GpuCounter
from polyrule.search.protocol import GrowOptions
from polyrule.store import Packed, Store
from polyrule.utils.compute import native
from scale_worlds import store, world

#: Rules that name what is present: those of the planted world have two conditions, later ones three.
OBJECTIVE, OPTIONS = Objective("f0.5", negative=False), GrowOptions(max_conditions=3)
#: Other shapes of the counting kernel.
SHAPES = [(1024, 2, 4, 4096), (1024, 2, 4, 8192), (1024, 2, 4, 2048), (512, 4, 2, 4096), (512, 2, 4, 4096)]
SHAPES += [(1024, 2, 3, 4096), (768, 2, 4, 3072), (512, 3, 3, 4096), (1024, 1, 8, 4096)]


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


def root(packed: Packed) -> RowCounts:
    """The counts of the empty body, before any rule."""
    labels = len(packed.label_names)
    layout = Layout.of(packed.bins, labels, tuple(range(len(packed.features))))
    return RowCounts((), layout, (0,) * labels, None, True, (3,) * labels)


def learn(grower, rules: int) -> tuple[list, list[float]]:
    """Learn a list; return it and the milliseconds that each rule took with its commit."""
    learned: list = []
    times: list[float] = []
    while len(learned) < rules and grower.has_unset:
        started = time.perf_counter()
        found = grower.grow()
        if found is None:
            break
        grower.commit(found, 0.01, True)
        learned.append(found)
        times.append((time.perf_counter() - started) * 1e3)
    return learned, times


def measure(rows: int, features: int, labels: int, rules: int, threads: int) -> dict:
    told: dict[str, Any] = {"rows": rows, "features": features, "labels": labels}
    started = time.perf_counter()
    learn(engine(GpuCounter(small := world(5000, features, labels)), small, OBJECTIVE, OPTIONS), 30)
    told["seconds to compile and warm up"] = time.perf_counter() - started
    packed = world(rows, features, labels)
    words = packed.blocks[0].truth[:100_000]
    told["labels a row"] = float(np.mean([int(w).bit_count() for w in words.ravel()])) * words.shape[1]
    started = time.perf_counter()
    counter = GpuCounter(packed)
    told["seconds to load"] = time.perf_counter() - started
    question = root(packed)
    layout, usual = question.layout, question.modes
    told["root count, ms"] = timed(lambda: counter.run(question))
    told["root count, all kinds possible, ms"] = timed(lambda: counter.run(RowCounts((), layout, usual)))
    tenth = RowCounts((Range(0, 0, 25),), layout, usual, None, True, question.occurring)
    told["a tenth covered, rows known, ms"] = timed(lambda: counter.run(tenth))

    def uncached() -> None:
        counter.state._covers.clear()
        counter.run(tenth)

    told["a tenth covered, rows found anew, ms"] = timed(uncached)
    started = time.perf_counter()
    learned, times = learn(engine(counter, packed, OBJECTIVE, OPTIONS), rules)
    told["list, s"] = time.perf_counter() - started
    lengths = np.array([len(rule.body) for rule in learned])
    long = np.array(times)[lengths == OPTIONS.max_conditions]
    told |= {
        "rules": len(learned),
        "conditions": int(lengths.sum()),
        "first rule, ms": times[0],
        "rule with commit, median ms": float(np.median(times)),
        "rule with commit, slowest ms": float(np.max(times)),
        "rules of three conditions": len(long),
        "rule of three conditions with commit, median ms": float(np.median(long)) if len(long) else None,
    }
    if threads:
        told |= beside(packed, learned, times, threads)
    return told


def beside(packed: Packed, learned: list, times: list[float], threads: int) -> dict:
    """The same counts and the first rules by the processor, compiled in either case."""
    if native is None:
        processor.compile_native()
    question, told = root(packed), {}
    host = LocalCounter(packed, threads)
    host_times = []
    for _ in range(3):
        started = time.perf_counter()
        reply = host.run(question)
        host_times.append((time.perf_counter() - started) * 1e3)
    told[f"root count, {threads} threads, ms"] = float(np.median(host_times))
    assert (reply.outcomes == GpuCounter(packed).run(question).on_host().outcomes).all()
    few = min(3, len(learned))
    again, spent = learn(engine(LocalCounter(packed, threads), packed, OBJECTIVE, OPTIONS), few)
    for mine, its in zip(again, learned, strict=False):
        assert (mine.body, mine.head, mine.value) == (its.body, its.head, its.value)
    told[f"first {few} rules, {threads} threads, ms"] = sum(spent)
    told[f"first {few} rules, GPU, ms"] = sum(times[:few])
    told["times the processor"] = sum(spent) / sum(times[:few])
    return told


def tune(rows: int, features: int, labels: int) -> dict:
    """Time the root count with the kernel compiled in several shapes; the counts must be the same."""
    packed = world(rows, features, labels)
    question, counter = root(packed), GpuCounter(packed)
    usual = device.TUNING
    expected = counter.run(question)
    told = {}
    for shape in SHAPES:
        device.TUNING = device.Tuning(*shape)
        try:
            found = counter.run(question)
            assert bool((found.outcomes == expected.outcomes).all()), "counts differ"
            told[str(device.TUNING)] = timed(lambda: counter.run(question))
        except Exception as problem:
            told[str(device.TUNING)] = f"{type(problem).__name__}: {problem}"[:200]
    device.TUNING = usual
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
    counter = GpuCounter(opened)
    told["seconds to check and load"] = time.perf_counter() - started
    grower = engine(counter, opened, OBJECTIVE, OPTIONS)
    told["rules"] = []
    for _ in range(10):
        started = time.perf_counter()
        found = grower.grow()
        outcome = grower.commit(found, 0.01, True)
        seconds = time.perf_counter() - started
        told["rules"].append({"conditions": len(found.body), "covered": outcome.covered, "seconds": seconds})
    return told


def short(rows: int, features: int, labels: int, threads: int) -> dict[str, Any]:
    """Seconds of a default list of 20 rules and an ensemble of 30, with a GPU and without; models must not differ."""
    packed, found = world(rows, features, labels), {"rows": rows, "features": features, "labels": labels}
    learners = {
        "list": RuleListClassifier(max_rules=20, n_jobs=threads),
        "ensemble": RuleEnsembleClassifier(n_jobs=threads),
    }
    for name, learner in learners.items():
        models = set()
        for run in ("cuda, first in the process", "cuda", "cuda, again", "cpu"):  # the first one compiles the kernels
            started = time.perf_counter()
            with config_context(device=run.split(",")[0]):
                model = learner.fit(packed).model_
            found[f"{name}, {run}, s"] = round(time.perf_counter() - started, 2)
            models.add(file_of(model))
        if len(models) > 1:
            raise SystemExit(f"the {name}s differ")
        found[f"rules of the {name}"] = len(model)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["check", "ensembles", "time", "tune", "store", "short"])
    parser.add_argument("--folder", type=Path, default=Path("store"))
    parser.add_argument("--worlds", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--rules", type=int, default=100)
    parser.add_argument("--threads", type=int, default=16)
    given = parser.parse_args()
    size = given.rows, given.features, given.labels
    found = {
        "check": lambda: check(given.worlds, given.seconds, given.seed, given.processes),
        "ensembles": lambda: check_ensembles(given.worlds, given.seconds, given.seed, given.processes),
        "time": lambda: measure(*size, given.rules, given.threads),
        "tune": lambda: tune(*size),
        "store": lambda: from_store(given.folder, *size),
        "short": lambda: short(*size, given.threads),
    }[given.what]()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
