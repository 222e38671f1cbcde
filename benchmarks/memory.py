"""Memory that a fit adds, divided by the size of the data as it is given.

    python benchmarks/memory.py [CASE ...]
    python benchmarks/memory.py --ensemble corel5k:30 1e5x50:float32F     ensembles of 30 rules, CPU seconds, too

A case is a benchmark set with a number of rules (`delicious:200`), or rows x features of random numbers with the
type they come in, by rows or by columns (`1e6x50:float32`, `1e5x50:float64F`, `1e6x50:int8`). Every fit runs in a
process of its own: its largest resident size, less what was resident before it. A small fit goes first, so that
libraries are loaded.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets

CASES = [
    *(
        f"{rows}x50:{kind}"
        for rows in ("1e5", "1e6")
        for kind in ("float32", "float32F", "float64", "float64F", "int8")
    ),
    "mediamill:20",
    "delicious:200",
]
LABELS = 20


def resident(field: str) -> int:
    """VmRSS (now) or VmHWM (at most) of this process, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def random_data(shape: str, kind: str) -> tuple[Any, Any]:
    rows, features = (int(float(part)) for part in shape.split("x"))
    rng = np.random.default_rng(0)
    order = "F" if kind.endswith("F") else "C"
    dtype = np.dtype(kind.rstrip("F"))
    X = np.empty((rows, features), dtype=dtype, order=order)  # column by column: nothing large besides it
    Y = np.zeros((rows, LABELS), dtype=np.uint8)
    for j in range(features):
        X[:, j] = 20 * rng.standard_normal(rows, dtype=np.float32)
    for label in range(LABELS):
        Y[:, label] = (X[:, label % features] > 20) & (X[:, (7 * label + 3) % features] < 5)
        Y[:, label] ^= rng.random(rows, dtype=np.float32) < 0.02
    return X, Y


def size(*arrays: Any) -> int:
    total = 0
    for array in arrays:
        total += sum(
            part.nbytes for part in ((array.data, array.indices, array.indptr) if sp.issparse(array) else (array,))
        )
    return total


def measure(case: str, preset: str) -> None:
    """Print one row; runs in a process of its own."""
    name, _, detail = case.partition(":")
    RuleListClassifier().fit(np.arange(40.0).reshape(-1, 2), np.arange(20).reshape(-1, 1) > 9)
    if name[0].isdigit():
        X, Y = random_data(name, detail)
        given, rules = size(X), 10
    else:
        data = datasets.load(name, "train")
        X, Y = data.X, data.Y
        given, rules = size(X.values, Y), int(detail)
    model: Any = RuleListClassifier.paper("f0.5") if preset == "paper" else RuleListClassifier()
    if preset.startswith("ensemble"):  # some libraries are loaded only by a teacher
        model = RuleEnsembleClassifier(teacher=None if "plain" in preset else "forest")
        clone(model).set_params(max_rules=2).fit(np.arange(80.0).reshape(-1, 2), np.arange(40).reshape(-1, 1) > 9)
        given, rules = given + (size(Y) if name[0].isdigit() else 0), 30
    model.set_params(n_jobs=2, max_rules=rules, **({"max_conditions": 3} if preset == "paper" else {}))
    used = time.process_time()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the largest size starts anew
    model.fit(X, Y)
    added = resident("VmHWM") - before
    used = time.process_time() - used
    print(
        f"| {case} | {preset} | {given / 1e6:.1f} | {added / 1e6:.1f} | {added / given:.2f} | {used:.1f} |", flush=True
    )


def main(cases: list[str]) -> None:
    presets = ["paper", "default"]
    if cases[:1] == ["--ensemble"]:
        cases, presets = cases[1:], ["ensemble", "ensemble-plain"]
    print("| data | preset | MB given | MB added | times | CPU s |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    for case in cases or CASES:
        for preset in presets:
            subprocess.run([sys.executable, __file__, "--one", case, preset], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(*sys.argv[2:])
    else:
        main(sys.argv[1:])
