"""What every measure costs, beside the cheapest: CPU time per rule of the paper's learner, as a multiple of F0.5's.

    python benchmarks/measures.py                          all measures, all data sets
    python benchmarks/measures.py --seconds 20 --only yeast,CAL500 --measures lift,matthews

Each cell is a fit of `RuleListClassifier.paper` in a process of its own, on one thread, cut off after some seconds of
CPU time. Its number is (CPU seconds / rules) divided by that of F0.5 with nothing else set, on the same data in one
run. What was cut off has a plus: it is the multiple so far, over fewer rules; "none" means that not one rule was ready
by then. The table is printed and written to benchmarks/results/measures.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from polyrule import RuleListClassifier, datasets
from polyrule.errors import PolyruleError
from polyrule.measures import FunctionMeasure
from polyrule.measures.association import SPECS

RESULTS = Path(__file__).resolve().parent / "results"
DATA = ["emotions", "yeast", "CAL500", "birds", "medical"]


def log_gain(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    """Measure of our own that is no ratio: it never falls with TP and never rises with FP."""
    return np.log2(1 + tp) - np.log2(1 + fp)


OWN = {"log gain": True, "log gain, not declared": False}

#: How the table calls it, and the arguments of the learner.
ROWS: dict[str, dict[str, Any]] = {
    "f0.5": {"measure": "f0.5"},
    "precision": {"measure": "precision"},
    "recall": {"measure": "recall"},
    "f1": {"measure": "f1"},
    "hamming": {"measure": "hamming"},
    "jaccard": {"measure": "jaccard"},
    "laplace": {"measure": "laplace"},
    "subset": {"measure": "subset"},
    "f0.5, label-wise": {"measure": "f0.5", "averaging": "label"},
    "f0.5, scope all": {"measure": "f0.5", "scope": "all"},
    "f0.5, scope full": {"measure": "f0.5", "scope": "full"},
    "f0.5, lift kln:0.1": {"measure": "f0.5", "lift": "kln:0.1"},
    "f0.5, lift root:3": {"measure": "f0.5", "lift": "root:3"},
    "f0.5, lift peak:2,1.2": {"measure": "f0.5", "lift": "peak:2,1.2"},
    "precision, lift kln:0.1": {"measure": "precision", "lift": "kln:0.1"},
    "wracc": {"measure": "wracc"},
    "rate_difference": {"measure": "rate_difference"},
    "matthews": {"measure": "matthews"},
    "m2": {"measure": "m2"},
    **{name: {"measure": name} for name in SPECS},
    "klosgen, label-wise": {"measure": "klosgen", "averaging": "label"},
    "matthews, label-wise": {"measure": "matthews", "averaging": "label"},
    "precision, example-wise": {"measure": "precision", "averaging": "example"},
    "f0.5, example-wise": {"measure": "f0.5", "averaging": "example"},
    "f1, example-wise": {"measure": "f1", "averaging": "example"},
    "hamming, example-wise": {"measure": "hamming", "averaging": "example"},
    "jaccard, example-wise": {"measure": "jaccard", "averaging": "example"},
    "own function, monotone": {"measure": "log gain"},
    "own function, nothing known": {"measure": "log gain, not declared"},
    "own function, label-wise": {"measure": "log gain", "averaging": "label"},
    "tp**2/(tp+fp)": {"measure": "tp**2/(tp+fp)"},
}


def fit(data: Any, row: str, seconds: float) -> dict[str, Any]:
    """One timed fit, in this process."""
    options = dict(ROWS[row])
    measure = options.pop("measure")
    if measure in OWN:
        measure = FunctionMeasure(measure, log_gain, monotone=OWN[measure])
    learner = RuleListClassifier.paper(measure, n_jobs=1, **options)

    def end(*_: Any) -> None:
        raise KeyboardInterrupt  # the learner keeps what it has

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    started = time.process_time()
    try:
        learner.fit(data)
    except KeyboardInterrupt:
        pass
    except PolyruleError as error:
        return {"error": str(error)}
    spent = time.process_time() - started
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {"cpu": spent, "rules": len(learner.model_), "end": learner.stopped_reason_}


def run(data: Any, row: str, seconds: float) -> dict[str, Any]:
    """The same in a process of its own, which is ended if it does not end itself."""
    context = multiprocessing.get_context("fork")  # has imported everything and read the data
    answers, to_us = context.Pipe(duplex=False)
    process = context.Process(target=lambda: to_us.send(fit(data, row, seconds)))
    process.start()
    to_us.close()
    found: dict[str, Any] = {"error": "did not end in time"}
    if answers.poll(20 * seconds + 60):
        try:
            found = answers.recv()
        except EOFError:
            found = {"error": "the process died"}
    process.kill()
    process.join()
    return found


def cell(found: dict[str, Any], unit: float) -> str:
    """One cell of the table."""
    if "error" in found:
        return "refused"
    if not found["rules"]:
        return "none"
    ratio = found["cpu"] / found["rules"] / unit
    shown = f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
    return shown if found["end"] == "complete" else f"{shown}+"


def main() -> None:
    """Fill the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="when a cell is cut off")
    parser.add_argument("--only", default=",".join(DATA), help="data sets")
    parser.add_argument("--measures", default="", help="rows whose names contain one of these words")
    options = parser.parse_args()
    words = [word for word in options.measures.split(",") if word]
    rows = [row for row in ROWS if row != "f0.5" and (not words or any(word in row for word in words))]
    names = options.only.split(",")
    warnings.simplefilter("ignore")
    data = {name: datasets.load(name, "train") for name in names}
    units = {}
    for name in names:
        base = [
            run(data[name], "f0.5", 10 * options.seconds) for _ in range(3)
        ]  # everything is divided by the quickest
        units[name] = min(found["cpu"] / found["rules"] for found in base)
    lines = ["| measure | " + " | ".join(names) + " |", "| --- |" + " ---: |" * len(names)]
    lines.append("| f0.5: ms per rule | " + " | ".join(f"{1000 * units[name]:.2f}" for name in names) + " |")
    print("\n".join(lines), flush=True)
    remarks: dict[str, None] = {}
    for row in rows:
        cells = []
        for name in names:
            found = run(data[name], row, options.seconds)
            if "error" in found:
                remarks[f"- {row}: {found['error']}"] = None
            cells.append(cell(found, units[name]))
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    if remarks:
        lines += ["", *remarks]
        print("\n".join(lines[-len(remarks) - 1 :]))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "measures.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
