"""One table of speed: every row measured in one run, beside its goal, kept in a file so that a run can go on.

``python benchmarks/table.py --quick`` takes a few minutes; ``--show`` prints what is stored. Rows that are stored
already are not measured again unless the file is removed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets

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
QUICK = ("emotions", "birds", "yeast", "enron", "memory", "scene, times")

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
