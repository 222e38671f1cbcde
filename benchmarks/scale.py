"""A large store on this machine: what it costs to learn rules from it, beside LightGBM on the same bins.

python benchmarks/scale.py make FOLDER --rows 10000000       # a synthetic store, 50 features and 20 labels
python benchmarks/scale.py fit FOLDER --threads 2            # ten rules; CPU and memory of this process
python benchmarks/scale.py dask FOLDER --workers 2           # the same by a local cluster
python benchmarks/scale.py kills FOLDER --times 20           # ... while workers are killed at random moments
python benchmarks/scale.py lightgbm FOLDER --rows 2000000    # a tree of four leaves for every label
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import scale_worlds
from polyrule import RuleListClassifier, Store

OPTIONS = {"max_rules": 10, "max_conditions": 3, "negative": False}


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def fit(folder: Path, threads: int) -> dict[str, Any]:
    before, started = cpu(), time.perf_counter()
    learner = RuleListClassifier(n_jobs=threads, **OPTIONS).fit(Store(folder))
    return {
        "rules": str(learner.rules_).splitlines(),
        "cpu_s": cpu() - before,
        "wall_s": time.perf_counter() - started,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def kill_a_worker(cluster: Any, number: int) -> None:
    found = sorted(nanny.pid for nanny in cluster.workers.values() if nanny.pid)
    if found:
        os.kill(found[number % len(found)], signal.SIGKILL)


def with_cluster(folder: Path, workers: int, kills: int = 0) -> dict[str, Any]:
    from dask.distributed import Client, LocalCluster

    from polyrule.dask import RuleListClassifier as DaskClassifier

    started = time.perf_counter()
    rng = np.random.default_rng(0)
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        DaskClassifier(client, **OPTIONS | {"max_rules": 1}).fit(Store(folder))  # imports, and blocks checked once
        before = cpu() + sum(client.run(cpu).values())
        alone = time.perf_counter()
        expected = str(DaskClassifier(client, **OPTIONS).fit(Store(folder)).rules_)
        alone = time.perf_counter() - alone
        used = cpu() + sum(client.run(cpu).values()) - before
        same = 1
        for _ in range(kills):
            killer = threading.Timer(float(rng.random()) * 0.9 * alone, kill_a_worker, [cluster, int(rng.integers(99))])
            killer.start()
            same += str(DaskClassifier(client, **OPTIONS).fit(Store(folder)).rules_) == expected
            killer.join()
        client.wait_for_workers(workers)
        peak = max(client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024).values())
    return {
        "rules": str(expected).splitlines(),
        "fits": kills + 1,
        "same": same,
        "cpu_s of one fit": used,
        "wall_s of one fit": alone,
        "wall_s": time.perf_counter() - started,
        "worker_peak_mb": peak,
    }


def lightgbm(folder: Path, rows: int) -> dict[str, Any]:
    """CPU of one tree of four leaves per label, and of one rule, on the same rows and bins."""
    import lightgbm as lgb

    store = Store(folder)
    blocks, left = [], rows
    for block in store.blocks:
        take = min(left, len(block))
        blocks.append((np.array(block.codes[:, :take]), np.array(block.truth[:take])))
        left -= take
    codes = np.concatenate([b[0] for b in blocks], axis=1).T.astype(np.float32)
    words = np.concatenate([b[1] for b in blocks])
    parameters = {"objective": "binary", "num_leaves": 4, "max_bin": 255, "num_threads": 1, "verbosity": -1}
    data = lgb.Dataset(codes, label=np.zeros(len(codes)), params=parameters, free_raw_data=False).construct()
    del codes
    before = cpu()
    for label in range(len(store.label_names)):
        data.set_label(((words[:, label // 64] >> np.uint64(label % 64)) & np.uint64(1)).astype(np.float32))
        lgb.train(parameters, data, num_boost_round=1)
    return {"rows": rows, "cpu_s of one tree per label": cpu() - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["make", "fit", "dask", "kills", "lightgbm"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    if given.what == "make":
        scale_worlds.store(given.folder, given.rows, given.features, given.labels)
        return
    found = {
        "fit": lambda: fit(given.folder, given.threads),
        "dask": lambda: with_cluster(given.folder, given.workers),
        "kills": lambda: with_cluster(given.folder, given.workers, given.times),
        "lightgbm": lambda: lightgbm(given.folder, given.rows),
    }[given.what]()
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
