"""How fast polyrule learns and predicts: against its own reference kernels, against MLRL-SeCo, and as data grow.

    python benchmarks/speed.py                  everything (hours on a small machine: the reference kernels are slow)
    python benchmarks/speed.py --quick          small data sets, one repeat
    python benchmarks/speed.py --only scene,flags --skip reference

Every fit runs in a process of its own; the learners take turns, and the best of the repeats counts. Results are written
after every fit to benchmarks/results/speed.csv and speed.md, and a fit that is in the CSV already is not run again
(--fresh forgets them). Ratios compare CPU seconds, which a busy machine distorts less than the clock.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PEER = RESULTS / "mlrl-venv"
SMALL = ["flags", "emotions", "birds", "genbase", "medical", "enron", "scene", "yeast", "CAL500"]
LARGE = ["corel5k", "bibtex", "tmc2007-500", "delicious", "mediamill"]
MEASURES = {"f0.5": "f-measure{beta=0.5}", "precision": "precision"}
FIELDS = [
    "data",
    "measure",
    "learner",
    "threads",
    "fit_s",
    "cpu_s",
    "rules",
    "ms_per_rule",
    "peak_mb",
    "grown_mb",
    "data_mb",
    "complete",
]


def load(name: str) -> Any:
    from polyrule import datasets

    return datasets.load(name, "train")


def size_in_memory(data: Any) -> float:
    """Megabytes of features and labels as the learner gets them."""
    values, truth = data.X.values, data.Y
    total = 0
    for matrix in (values, truth):
        parts = (matrix.data, matrix.indices, matrix.indptr) if hasattr(matrix, "indptr") else (matrix,)
        total += sum(part.nbytes for part in parts)
    return float(total) / 2**20


def fit_worker(job: dict[str, Any]) -> dict[str, Any]:
    """One timed fit of polyrule, in this process."""
    from polyrule.covering.learner import Learner, SeparateOptions, Training
    from polyrule.measures import Objective
    from polyrule.search.protocol import GrowOptions
    from polyrule.utils.compute import Compute

    data = load(job["data"])
    objective = Objective(job["measure"], negative=job["negative"])
    learner = Learner(
        objective, GrowOptions(), SeparateOptions(time_limit=job["limit"]), Compute(job["threads"], job["kernels"])
    )
    weights = np.ones(len(data), dtype=np.int64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    model, reason = learner.rule_list(Training(data.X, data.Y, weights, data.label_names, Fraction(1)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "fit_s": wall,
        "cpu_s": cpu,
        "rules": len(model),
        "peak_mb": peak / 1024,
        "grown_mb": (peak - before) / 1024,
        "data_mb": size_in_memory(data),
        "complete": reason == "complete",
    }


def peer_python() -> str | None:
    """The interpreter of MLRL-SeCo's own environment, made on first use; None where it cannot be had."""
    python = PEER / "bin" / "python"
    ready = PEER / "ready"
    if not ready.exists():
        print("installing MLRL-SeCo into its own environment ...", flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", str(PEER)], check=True, capture_output=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", "mlrl-seco"], check=True, capture_output=True)
            ready.touch()
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"MLRL-SeCo cannot be installed here and is left out ({error})")
            return None
    return str(python)


def exported(name: str) -> str:
    """The data set as plain arrays, for the peer's environment."""
    target = RESULTS / "data" / f"{name}.npz"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        data = load(name)
        truth = data.Y.toarray() if hasattr(data.Y, "toarray") else np.asarray(data.Y)
        nominal = np.flatnonzero([feature.is_nominal for feature in data.features])
        np.savez(target, X=np.asarray(data.X, dtype=np.float32), Y=truth.astype(np.uint8), nominal=nominal)
    return str(target)


def run_job(job: dict[str, Any], peer: str | None) -> dict[str, Any] | None:
    """Run one fit in a process of its own and return its figures."""
    environment = dict(os.environ, OMP_WAIT_POLICY="passive")
    if job["learner"].startswith("mlrl"):
        if peer is None:
            return None
        request = {
            "file": exported(job["data"]),
            "heads": job["heads"],
            "heuristic": MEASURES[job["measure"]],
            "threads": job["threads"],
            "limit": max(1, int(job["limit"])),
        }
        command = [peer, str(HERE / "speed_mlrl.py"), json.dumps(request)]
    else:
        command = [sys.executable, str(Path(__file__).resolve()), "--worker", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        print(f"  failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
        return None
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def plan(args: argparse.Namespace) -> list[dict[str, Any]]:
    """All fits, one data set and measure after the other, the learners of each taking turns."""
    chosen = args.only.split(",") if args.only else (["flags", "emotions", "genbase"] if args.quick else SMALL + LARGE)
    skipped = set(args.skip.split(",")) if args.skip else set()
    threads = sorted({1, args.threads})
    jobs = []
    for name in chosen:
        large = name in LARGE
        for measure in ("f0.5", "precision"):
            learners = [("polyrule", True, None), ("polyrule-positive", False, None)]
            if not large:
                learners += [("reference", True, "reference"), ("mlrl-partial", None, None)]
            for learner, negative, kernels in learners:
                if learner in skipped or learner.split("-")[0] in skipped:
                    continue
                for count in threads:
                    if learner == "reference" and count > 1:
                        continue
                    jobs.append(
                        {
                            "data": name,
                            "measure": measure,
                            "learner": learner,
                            "negative": negative,
                            "kernels": kernels,
                            "heads": "partial",
                            "threads": count,
                            "limit": args.limit,
                            "repeats": 1 if learner == "reference" or large or args.quick else args.repeats,
                        }
                    )
    return jobs


def key(row: dict[str, Any]) -> tuple[str, str, str, str]:
    return row["data"], row["measure"], row["learner"], str(row["threads"])


def read_rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows({name: row.get(name, "") for name in FIELDS} for row in rows)


def measure_fits(args: argparse.Namespace) -> list[dict[str, Any]]:
    table = RESULTS / "speed.csv"
    rows = [] if args.fresh else read_rows(table)
    jobs = [job for job in plan(args) if key(job) not in {key(row) for row in rows}]
    peer = peer_python() if any(job["learner"].startswith("mlrl") for job in jobs) else None
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for job in jobs:
        groups.setdefault((job["data"], job["measure"]), []).append(job)
    for group in groups.values():
        best: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        for turn in range(max(job["repeats"] for job in group)):
            for job in group:
                if turn >= job["repeats"]:
                    continue
                found = run_job(job, peer)
                if found is None:
                    continue
                if found["cpu_s"] < best.get(key(job), {"cpu_s": float("inf")})["cpu_s"]:
                    best[key(job)] = found
        for job in group:
            if key(job) in best:
                found = best[key(job)]
                row = {**{k: job[k] for k in ("data", "measure", "learner", "threads")}, **found}
                row["ms_per_rule"] = 1e3 * row["cpu_s"] / max(1, row["rules"])
                rows.append({k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()})
                print("  ".join(str(rows[-1].get(k, "")) for k in FIELDS), flush=True)
        write_rows(table, rows)
        (RESULTS / "speed.md").write_text(markdown(read_rows(table)), encoding="utf-8")
    return read_rows(table)


def markdown(rows: list[dict[str, Any]]) -> str:
    """One line per fit, with the ratio to the peer's CPU time in total and per rule."""
    lines = [
        "| data | measure | learner | threads | wall s | CPU s | rules | ms/rule "
        "| × peer total | × peer per rule | peak MB | grown/data |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    one_thread = [row for row in rows if row["learner"] == "mlrl-partial" and row["threads"] == "1"]
    peers = {(row["data"], row["measure"]): row for row in one_thread}
    for row in rows:
        peer = peers.get((row["data"], row["measure"]))
        total = per_rule = ""
        if peer and not row["learner"].startswith("mlrl"):
            more = "" if peer["complete"] == "True" else "≥ "
            total = f"{more}{float(peer['cpu_s']) / max(1e-9, float(row['cpu_s'])):.1f}"
            per_rule = f"{float(peer['ms_per_rule']) / max(1e-9, float(row['ms_per_rule'])):.1f}"
        share = f"{float(row['grown_mb']) / float(row['data_mb']):.2f}" if row.get("data_mb") else ""
        cut = "" if row["complete"] == "True" else " (cut off)"
        lines.append(
            f"| {row['data']} | {row['measure']} | {row['learner']}{cut} | {row['threads']} "
            f"| {float(row['fit_s']):.3f} | {float(row['cpu_s']):.3f} | {row['rules']} "
            f"| {float(row['ms_per_rule']):.3f} | {total} | {per_rule} | {float(row['peak_mb']):.0f} | {share} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three small data sets, one repeat")
    parser.add_argument("--only", help="names of data sets, separated by commas")
    parser.add_argument("--skip", help="learners to leave out: polyrule, reference, mlrl")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="besides one thread")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per fit")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--parts", default="fits,scaling,prediction")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(json.dumps(fit_worker(json.loads(args.worker))))
        return
    parts = args.parts.split(",")
    if "fits" in parts:
        measure_fits(args)
    if "scaling" in parts:
        from speed_scaling import measure_scaling

        measure_scaling(RESULTS, args.quick)
    if "prediction" in parts:
        from speed_scaling import measure_prediction

        measure_prediction(RESULTS, args.quick)


if __name__ == "__main__":
    main()
