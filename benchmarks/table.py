"""One table of speed: every row measured in one run, beside its goal, kept in a file so that a run can go on.

``python benchmarks/table.py --quick`` takes a few minutes; ``--show`` prints what is stored. Rows that are stored
already are not measured again unless the file is removed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parent))
from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from speed_scaling import one_row, synthetic

STORED = Path("build/bench.json")


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def default_list(name: str) -> float:
    """Fit the default list with one thread."""
    data = datasets.load(name, part="train")
    return cpu(lambda: RuleListClassifier(n_jobs=1).fit(data))


def ensemble(name: str) -> float:
    """Fit thirty weighted rules with one thread."""
    data = datasets.load(name, part="train")
    return cpu(lambda: RuleEnsembleClassifier(max_rules=30, n_jobs=1, random_state=0).fit(data))


def weighted(name: str, decimals: int | None, rules: int = 20) -> float:
    """Return how many times the CPU per rule example weights take."""
    data = datasets.load(name, part="train")
    weights = np.random.default_rng(0).random(len(data)) + 0.5
    each = []
    for given in (None, weights if decimals is None else weights.round(decimals)):
        learner = RuleListClassifier.paper(max_rules=rules, n_jobs=1)
        taken = cpu(lambda given=given, learner=learner: learner.fit(data.X, data.Y, sample_weight=given))
        each.append(taken / len(learner.model_))
    return each[1] / each[0]


def wider(name: str, beam: int, rules: int = 10) -> float:
    """Return how many times the CPU per rule a beam takes."""
    data = datasets.load(name, part="train")
    each = []
    for width in (1, beam):
        learner = RuleListClassifier.paper(max_rules=rules, beam_width=width, n_jobs=1)
        taken = cpu(lambda learner=learner: learner.fit(data))
        each.append(taken / len(learner.model_))
    return each[1] / each[0]


def doublings(what: str, most: int) -> float:
    """Return the largest ratio of a default list's time to that with half as many rows, features or labels."""
    size = {"rows": 2_000, "features": 20, "labels": 10}
    taken = []
    while True:
        table, truth = synthetic(**size)
        taken.append(cpu(lambda table=table, truth=truth: RuleListClassifier(n_jobs=1).fit(np.asarray(table), truth)))
        if size[what] == most:
            return max(after / before for before, after in pairwise(taken))
        size[what] = min(2 * size[what], most)


@cache
def from_store(kind: str) -> dict[str, Any]:
    """Fit the default list or an ensemble from a store of 10^6 examples by two threads, in a process of its own."""
    program = str(Path(__file__).with_name("scale.py"))
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "store")
        subprocess.run([sys.executable, program, "make", place, "--rows", "1000000"], check=True)
        done = subprocess.run([sys.executable, program, kind, place], check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@cache
def predicting(rules: int) -> dict[str, dict[str, Any]]:
    """Return what predictions of random models take."""
    return {found["model"]: found for found in one_row(rules)}


def ensemble_beside_list() -> float:
    """Return how many times longer an ensemble of 100 rules takes to predict than a list."""
    found = predicting(100)
    return float(found["RuleList"]["million_per_second"] / found["RuleEnsemble"]["million_per_second"])


def times(changed: Callable[[], RuleListClassifier], plain: Callable[[], RuleListClassifier]) -> float:
    """Return how many times the CPU per rule one fit takes of another."""
    each = []
    for fitted in (plain, changed):
        started = time.process_time()
        rules = len(fitted().model_)
        each.append((time.process_time() - started) / rules)
    return each[1] / each[0]


def missing() -> float:
    """Return what 30 % of missing values cost, per rule."""
    table, truth = synthetic(200_000, 8, 5)
    whole = np.asarray(table)
    holed = np.where(np.random.default_rng(1).random(whole.shape) < 0.3, np.nan, whole)
    options: dict[str, Any] = {"max_rules": 10, "max_conditions": 3, "n_jobs": 1}
    return times(*(lambda X=X: RuleListClassifier.paper(**options).fit(X, truth) for X in (holed, whole)))


def dense() -> float:
    """Return what a dense table costs beside the same one as a sparse matrix, per rule."""
    data = datasets.load("enron", part="train")
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    options: dict[str, Any] = {"max_rules": 100, "n_jobs": 1}
    return times(*(lambda X=X: RuleListClassifier.paper(**options).fit(X, data.Y) for X in (X, sp.csc_array(X))))


def short_hamming() -> float:
    """Return what `max_conditions=3` costs example-wise Hamming accuracy, over the first five rules."""
    data = datasets.load("emotions", part="train")
    options: dict[str, Any] = {"averaging": "example", "max_rules": 5, "n_jobs": 1}
    return times(
        *(lambda c=c: RuleListClassifier.paper("hamming", max_conditions=c, **options).fit(data) for c in (3, None))
    )


def reading() -> float:
    """Gigabytes a second that one thread reads: the limit of one pass over 10^6 x 50 codes of a byte."""
    codes = np.ones(400_000_000 // 8, dtype=np.int64)
    return 3 * codes.nbytes / 1e9 / cpu(lambda: [codes.max() for _ in range(3)])


def warm_up() -> None:
    """Load what is loaded at first use, so that no row pays for it."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 3)), rng.integers(0, 2, (60, 2))
    for learner in (RuleListClassifier(), RuleEnsembleClassifier(max_rules=3)):
        learner.fit(X, Y)


LISTS = {"emotions": 0.13, "birds": 0.22, "yeast": 1, "enron": 1, "CAL500": 1.5}
LISTS |= {"bibtex": 4, "corel5k": 4, "mediamill": 15}
ENSEMBLES = {"emotions": 0.85, "yeast": 3.5, "scene": 4.2, "CAL500": 4.8, "bibtex": 23}
QUICK = ("emotions", "birds", "yeast", "enron", "memory read", "scene, times", "one row")

ROWS: dict[str, tuple[float | None, Callable[[], float]]] = {
    "memory read, GB/s (10^6 x 50 codes are 0.05 GB)": (None, reading),
    **{f"default list, {name}, CPU s": (goal, lambda name=name: default_list(name)) for name, goal in LISTS.items()},
    **{f"ensemble of 30, {name}, CPU s": (goal, lambda name=name: ensemble(name)) for name, goal in ENSEMBLES.items()},
    "weights of 3 decimals, scene, times per rule": (1.5, lambda: weighted("scene", 3)),
    "weights of all decimals, scene, times per rule": (1.5, lambda: weighted("scene", None)),
    "weights of 3 decimals, tmc2007-500, times per rule": (1.5, lambda: weighted("tmc2007-500", 3)),
    "weights of all decimals, tmc2007-500, times per rule": (1.5, lambda: weighted("tmc2007-500", None)),
    "beam 2, scene, times per rule": (4, lambda: wider("scene", 2)),
    "beam 4, scene, times per rule": (8, lambda: wider("scene", 4)),
    "beam 2, yeast, times per rule": (4, lambda: wider("yeast", 2)),
    "30 % missing, 2 x 10^5 x 8 x 5, times per rule": (1.5, missing),
    "dense instead of sparse, enron, times per rule": (1.5, dense),
    "example-wise Hamming, emotions, `max_conditions=3`, times per rule": (None, short_hamming),
    "default list, 10^6 x 50 x 20 from a store, two threads, CPU s": (60, lambda: from_store("list")["cpu_s"]),
    "its memory, MB": (1000, lambda: from_store("list")["peak_mb"]),
    "ensemble of 30 from the same store, CPU s": (120, lambda: from_store("ensemble")["cpu_s"]),
    "its memory, MB ": (1000, lambda: from_store("ensemble")["peak_mb"]),
    "default list, largest ratio of a doubling of rows, 2,000 to 10^6": (2.2, lambda: doublings("rows", 1_000_000)),
    "default list, largest ratio of a doubling of features, 20 to 10^4": (2.2, lambda: doublings("features", 10_000)),
    "default list, largest ratio of a doubling of labels, 10 to 10^3": (2.2, lambda: doublings("labels", 1_000)),
    "100 rules, many rows: an ensemble's time beside a list's": (
        2,
        lambda: (
            predicting(100)["RuleList"]["million_per_second"] / predicting(100)["RuleEnsemble"]["million_per_second"]
        ),
    ),
    **{
        f"{words} of 1,000 rules, one row, {what}, {form}, ms": (
            goal,
            lambda model=model, what=what, form=form: predicting(1_000)[model][f"{what}_{form}_ms"],
        )
        for model, words in (("RuleList", "list"), ("RuleEnsemble", "ensemble"))
        for what, form, goal in (
            ("predict", "array", 0.3),
            ("predict_proba", "array", 0.3),
            ("explain", "array", 5),
            ("predict", "frame", 1),
        )
    },
}


def table(stored: dict[str, float]) -> str:
    """Return the rows that have been measured, as Markdown."""
    lines = ["| | measured | goal |", "| --- | ---: | ---: |"]
    for name, (goal, _) in ROWS.items():
        if name in stored:
            lines.append(f"| {name} | {stored[name]:.3g} | {'' if goal is None else f'{goal:g}'} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not stored yet, row by row, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only rows of a few seconds")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    options = parser.parse_args()
    stored: dict[str, float] = json.loads(STORED.read_text()) if STORED.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up()
    for name, (_, measure) in ROWS.items():
        if options.show or name in stored or (options.quick and not any(part in name for part in QUICK)):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stored[name] = measure()
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_text(json.dumps(stored, indent=1))
        print(f"{name}: {stored[name]:.3g}", flush=True)
    print(table(stored))


if __name__ == "__main__":
    main()
