"""How cost grows with examples, features and labels, and how fast rule lists predict."""

from __future__ import annotations

import csv
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule import RuleListClassifier
from polyrule.data.table import Table
from polyrule.kernels.dispatch import make_engine
from polyrule.kernels.engine import GrowOptions
from polyrule.measures import Objective
from polyrule.model import Literal, NumericCondition, Rule

RULES = 6


def synthetic(rows: int, features: int, labels: int, seed: int = 0) -> tuple[Table, np.ndarray]:
    """Numeric features; about three labels per example whatever their number, each depending on one feature."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, features))
    drive = values[:, rng.integers(0, features, labels)] + rng.normal(size=(rows, labels))
    cut = np.quantile(drive, 1 - 3 / labels, axis=0)
    return Table.from_array(values), (drive > cut).astype(np.uint8)


def seconds(table: Table, truth: np.ndarray, measure: str) -> float:
    """CPU time of the first rules, the sorting of the features included; the best of three."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        engine = make_engine(table, truth, np.ones(len(table), dtype=np.int64), Objective(measure), GrowOptions())
        for _ in range(RULES):
            found = engine.grow()
            if found is None:
                break
            engine.commit(found, 0.01, True)
        best = min(best, time.process_time() - started)
    return best


def measure_scaling(results: Path, quick: bool) -> None:
    """Fit a line to log(time) over log(size), one dimension growing at a time."""
    base = {"rows": 2000, "features": 40, "labels": 24}
    factors = (1, 2, 4) if quick else (1, 2, 4, 8, 16)
    rows: list[dict[str, Any]] = []
    for measure in ("f0.5", "precision"):
        for what in base:
            sizes, times = [], []
            for factor in factors:
                size = {**base, what: base[what] * factor}
                sizes.append(size[what])
                times.append(seconds(*synthetic(**size), measure))
            slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
            rows.append(
                {
                    "measure": measure,
                    "growing": what,
                    "sizes": sizes,
                    "cpu_s": [round(t, 4) for t in times],
                    "exponent": round(slope, 2),
                }
            )
            print(rows[-1], flush=True)
    write(results / "scaling.csv", rows)


def measure_prediction(results: Path, quick: bool) -> None:
    """Examples per second and core from an array, a sparse matrix and a frame, with a list learned on emotions."""
    import pandas as pd

    from polyrule import datasets

    data = datasets.load("emotions", "train")
    model = RuleListClassifier.paper(measure="f0.5").fit(data)
    values = np.tile(np.asarray(data.X), (100 if quick else 1000, 1))
    frame = pd.DataFrame(values, columns=list(data.feature_names))
    rows = []
    for name, given in (("array", values), ("csr", sp.csr_array(values)), ("frame", frame)):
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            model.predict(given)
            best = min(best, time.process_time() - started)
        rows.append(
            {
                "input": name,
                "examples": len(values),
                "rules": len(model.model_),
                "million_per_second": round(len(values) / best / 1e6, 2),
            }
        )
        print(rows[-1], flush=True)
    write(results / "prediction.csv", rows)
    measure_one_row()


def measure_one_row() -> None:
    """Milliseconds for one row of 50 features, given to a fitted classifier with many rules of three conditions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 50))
    classifier = RuleListClassifier.paper(max_rules=1).fit(X, X[:, :20] > 0)
    for size in (1_000, 10_000):
        rules = tuple(
            Rule(
                (Literal(int(rng.integers(20)), 1),),
                tuple(NumericCondition(int(rng.integers(50)), ">", float(rng.normal())) for _ in range(3)),
            )
            for _ in range(size)
        )
        classifier.model_ = replace(classifier.model_, rules=rules)
        times = []
        for _ in range(101):  # the first brings the rules into the form that the others find
            started = time.perf_counter()
            classifier.predict(X[:1])
            times.append(time.perf_counter() - started)
        first, usual = 1e3 * times[0], 1e3 * float(np.median(times[1:]))
        print({"rules": size, "first_ms": round(first, 2), "median_ms": round(usual, 3)}, flush=True)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
