"""How cost grows with examples, features and labels, and how fast models predict."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule import RuleListClassifier
from polyrule.data.table import Feature, Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.measures import Objective
from polyrule.model import Literal, NumericCondition, Rule, RuleList
from polyrule.search.native import make_engine
from polyrule.search.protocol import GrowOptions

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
    """Print what random lists and ensembles of 100 and 1,000 rules take."""
    for size in (100, 1_000):
        for found in one_row(size):
            print(found, flush=True)


def one_row(size: int) -> list[dict[str, Any]]:
    """A list and an ensemble with the same bodies: million rows a second, then milliseconds for one row."""
    import pandas as pd

    rng = np.random.default_rng(size)
    features, labels = tuple(Feature(f"f{j}") for j in range(30)), tuple(f"y{k}" for k in range(10))
    many = rng.random((100_000, 30))
    row = many[:1]
    frame = pd.DataFrame(row, columns=[feature.name for feature in features])
    bodies = [
        tuple(NumericCondition(int(rng.integers(30)), ">", float(rng.random())) for _ in range(3)) for _ in range(size)
    ]
    heads = [int(rng.integers(10)) for _ in bodies]
    rules = tuple(Rule((Literal(k, 1, 5, 1),), body) for k, body in zip(heads, bodies, strict=True))
    weighted = tuple(WeightedRule((Entry(k, float(rng.normal())),), b) for k, b in zip(heads, bodies, strict=True))
    decision = Decision("threshold", (0.0,) * 10)
    rows = []
    for model in (
        RuleList(rules, features, labels),
        RuleEnsemble(weighted, features, labels, (0.0,) * 10, decision),
    ):
        found: dict[str, Any] = {"model": type(model).__name__, "rules": size}
        found["million_per_second"] = round(0.1 / _best(lambda model=model: model.predict(many), 3), 2)
        for what in ("predict", "predict_proba", "explain"):
            call = getattr(model, what)
            for name, given in (("array", row), ("frame", frame)):
                taken = _best(lambda call=call, given=given: call(given), 30)
                found[f"{what}_{name}_ms"] = round(1e3 * taken, 3)
        rows.append(found)
    return rows


def _best(call: Callable[[], Any], times: int) -> float:
    """Least processor time of several calls; the first brings the rules into the form that the others find."""
    call()
    taken = []
    for _ in range(times):
        started = time.process_time()
        call()
        taken.append(time.process_time() - started)
    return min(taken)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
