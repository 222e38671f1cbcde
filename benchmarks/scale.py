"""A large store on this machine: what it costs to learn rules from it, beside LightGBM on the same bins.

python benchmarks/scale.py make FOLDER --rows 10000000       # a synthetic store, 50 features and 20 labels
python benchmarks/scale.py list FOLDER --threads 2           # the default list; CPU and memory of this process
python benchmarks/scale.py ensemble FOLDER --threads 2       # an ensemble of thirty rules
python benchmarks/scale.py samples . --rows 1000000 --features 30    # F1 on new examples by the size of the sample
python benchmarks/scale.py grown FOLDER --threads 2          # ten rules as they are grown, from all examples
python benchmarks/scale.py dask FOLDER --workers 2           # the same by a local cluster
python benchmarks/scale.py kills FOLDER --times 20           # ... while something breaks (a small store is enough)
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sklearn.metrics import f1_score

import scale_worlds
from polyrule import RuleEnsembleClassifier, RuleListClassifier, Store
from polyrule.store.packed_table import unpack

OPTIONS = {"max_rules": 10, "max_conditions": 3, "negative": False}


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def peak_mb() -> float:
    """Memory that this process has held at most; a child inherits its parent's ``ru_maxrss``, so that is not asked."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


LEARNERS: dict[str, Any] = {
    "list": RuleListClassifier,
    "ensemble": RuleEnsembleClassifier,
    "grown": lambda **options: RuleListClassifier.paper(**OPTIONS | options),
}


def fit(folder: Path, threads: int, what: str = "grown") -> dict[str, Any]:
    before, started = cpu(), time.perf_counter()
    learner = LEARNERS[what](n_jobs=threads).fit(Store(folder))
    return {
        "rules": str(learner.rules_).splitlines(),
        "cpu_s": cpu() - before,
        "wall_s": time.perf_counter() - started,
        "peak_mb": peak_mb(),
    }


def samples(rows: int, features: int, labels: int, threads: int) -> dict[str, Any]:
    """Micro and macro F1 on new examples of lists and ensembles that were learned from more and more of them."""
    data, found = scale_worlds.noisy_world(rows, features, labels), {}
    table, truth, _ = unpack(scale_worlds.noisy_world(200_000, features, labels, seed=77))
    for most in (50_000, 100_000, 200_000, None):
        for kind, options in (("list", {}), ("ensemble", {"teacher": None})):
            learner = LEARNERS[kind](max_samples=most, n_jobs=threads, **options).fit(data)
            said = learner.predict(np.asarray(table))
            scores = [float(f1_score(truth, said, average=name, zero_division=0)) for name in ("micro", "macro")]
            found[f"{kind}, {most or 'all'}"] = scores
            print(kind, most, scores, file=sys.stderr, flush=True)
    return found


def disturb(cluster: Any, client: Any, kind: str, number: int) -> bool:
    """Kill a worker, have its nanny restart it, or cut the client's connection; False where there was nothing to do."""
    if kind == "reconnect":
        client.loop.add_callback(client.scheduler_comm.comm.abort)
        return True
    started = [n for n in cluster.workers.values() if n.process and n.process.status.name == "running"]
    up = [nanny for nanny in started if nanny.worker_address in cluster.scheduler.workers]
    if not up:
        return False
    nanny = up[number % len(up)]
    if kind == "kill":
        os.kill(nanny.pid, signal.SIGKILL)
    else:
        cluster.loop.add_callback(nanny.restart)
    return True


def with_cluster(folder: Path, workers: int, threads: int = 1) -> dict[str, Any]:
    """CPU of one fit by a cluster, workers and scheduler included, beside that of the same fit on threads."""
    from dask.distributed import Client, LocalCluster

    from polyrule.dask import RuleListClassifier as DaskClassifier

    cluster = LocalCluster(n_workers=workers, threads_per_worker=threads, dashboard_address=None)
    with cluster, Client(cluster) as client:
        DaskClassifier.paper(client=client, **OPTIONS | {"max_rules": 1}).fit(
            Store(folder)
        )  # imports, and blocks checked once
        before, started = cpu() + sum(client.run(cpu).values()), time.perf_counter()
        rules = str(DaskClassifier.paper(client=client, **OPTIONS).fit(Store(folder)).rules_)
        used, wall = cpu() + sum(client.run(cpu).values()) - before, time.perf_counter() - started
        peak = max(client.run(peak_mb).values())
    RuleListClassifier.paper(n_jobs=workers, **OPTIONS | {"max_rules": 1}).fit(Store(folder))
    alone = fit(folder, workers)
    return {
        "same list as threads": alone["rules"] == rules.splitlines(),
        "cpu_s": used,
        "cpu_s on threads": alone["cpu_s"],
        "ratio": used / alone["cpu_s"],
        "wall_s": wall,
        "worker_peak_mb": peak,
    }


def kills(folder: Path, workers: int, times: int, seed: int) -> dict[str, Any]:
    """Fit again and again while something breaks at a random moment; every list must be that of an undisturbed fit."""
    from dask.distributed import Client, LocalCluster

    import dask
    from polyrule.dask import RuleListClassifier as DaskClassifier

    # a local cluster gives up workers that are not back after 15 seconds, which a busy machine may take to start one
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    rng = np.random.default_rng(seed)
    expected = str(RuleListClassifier.paper(**OPTIONS).fit(Store(folder)).rules_)
    done: dict[str, int] = {}
    same = fits = 0
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:

        def learn() -> str:
            return str(DaskClassifier.paper(client=client, **OPTIONS).fit(Store(folder)).rules_)

        learn()
        started = time.perf_counter()
        learn()
        alone = time.perf_counter() - started
        while sum(done.values()) < times:
            kind, number = str(rng.choice(["kill", "nanny restart", "reconnect"])), int(rng.integers(99))

            def strike(kind: str = kind, number: int = number) -> None:
                if disturb(cluster, client, kind, number):
                    done[kind] = done.get(kind, 0) + 1

            client.wait_for_workers(workers, timeout=300)
            timer = threading.Timer(float(rng.random()) * 0.9 * alone, strike)
            timer.start()
            same += learn() == expected
            fits += 1
            timer.join()
            print(f"fit {fits}: {kind}, {same} lists the same", file=sys.stderr, flush=True)
    return {"fits": fits, "same": same, "disturbed": done, "wall_s of an undisturbed fit": alone}


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
    parser.add_argument("what", choices=["make", *LEARNERS, "samples", "dask", "kills", "lightgbm"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.what == "make":
        scale_worlds.store(given.folder, given.rows, given.features, given.labels)
        return
    found = {
        **{name: partial(fit, given.folder, given.threads, name) for name in LEARNERS},
        "samples": lambda: samples(given.rows, given.features, given.labels, given.threads),
        "dask": lambda: with_cluster(given.folder, given.workers),
        "kills": lambda: kills(given.folder, given.workers, given.times, given.seed),
        "lightgbm": lambda: lightgbm(given.folder, given.rows),
    }[given.what]()
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
