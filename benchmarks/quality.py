"""How strong are few rules? `RuleEnsembleClassifier` beside BOOMER and a label-powerset forest, all tuned alike.

    python benchmarks/quality.py                                    8 data sets, train -> test, one table
    python benchmarks/quality.py --peer PEER/bin/python             BOOMER, too; PEER has mlrl-boomer installed
    python benchmarks/quality.py --data emotions yeast --learners ours-30 forest

Everybody decides by what was tuned on the training part: we by the decision that `fit` chooses, the others by one cut
on their probabilities, tuned by 3-fold cross-validation for the measure of that row (for subset accuracy the forest may
also take its most probable label set). Nothing is chosen on test data. Each row is measured in a process of its own:
CPU seconds and growth of the peak resident size cover fitting and tuning. Rows go to --out as they come; finished ones
are not measured again. F1 with an empty denominator counts 0.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from polyrule import RuleEnsembleClassifier, datasets
from polyrule.ensemble.decision import MEASURES
from polyrule.ensemble.fit import stratified_folds

HERE = Path(__file__).parent
SETS = ("flags", "emotions", "birds", "genbase", "medical", "yeast", "scene", "CAL500")
LEARNERS = ("ours-10", "ours-30", "ours-100", "forest", "boomer")
TUNED = ("micro-f1", "macro-f1", "subset", "hamming")
CUTS = np.arange(2, 91) / 100
COLUMNS = ["data", "learner", "tuned_for", "decision", *TUNED, "log_loss", "brier", "calibration_error"]
COLUMNS += ["cpu_s", "wall_s", "mb", "conditions", "labels_per_head"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS))
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    parser.add_argument("--peer", help="Python of an environment with mlrl-boomer")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "quality.csv")
    parser.add_argument("--one", nargs=2, metavar=("DATA", "LEARNER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(*given.one, given.peer)))
        return
    given.out.parent.mkdir(exist_ok=True)
    rows = read(given.out) if given.out.exists() else []
    learners = [learner for learner in given.learners if learner != "boomer" or given.peer]
    for learner in learners:
        for name in given.data:
            if any(row["data"] == name and row["learner"] == learner for row in rows):
                continue
            command = [
                sys.executable,
                __file__,
                "--one",
                name,
                learner,
                *(["--peer", given.peer] if given.peer else []),
            ]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            rows += json.loads(answer.splitlines()[-1])
            write(given.out, rows)
            best = rows[-len(TUNED)]
            print(f"{learner:9s} {name:9s} micro-F1 {float(best['micro-f1']):.3f}  {best['cpu_s']} s", flush=True)
    report([row for row in rows if row["data"] in given.data])


def measured(name: str, learner: str, peer: str | None) -> list[dict[str, Any]]:
    """Fit, tune and score one learner on one data set."""
    train, test = datasets.load(name, part="train"), datasets.load(name, part="test")
    truth = np.asarray(test.Y).astype(np.uint8)
    if learner.startswith("ours"):
        chances, decided, facts = ours(train, test, int(learner.split("-")[1]))
    else:
        chances, decided, facts = (forest if learner == "forest" else boomer)(train, test, peer)
    rows = []
    for wanted in TUNED:
        kind, predicted = decided[wanted]
        scores = {m: MEASURES[m](truth, predicted, np.ones(len(truth))) for m in TUNED}
        row = {"data": name, "learner": learner, "tuned_for": wanted, "decision": kind}
        row |= {m: f"{scores[m]:.5f}" for m in TUNED} | probability_scores(truth, chances)
        rows.append(row | {key: f"{value:.2f}" for key, value in facts.items()})
    return rows


def ours(train: Any, test: Any, rules: int) -> tuple[Any, Any, Any]:
    before, start, used = peak(), time.perf_counter(), time.process_time()
    learner = RuleEnsembleClassifier(rules).fit(train)
    facts = spent(before, start, used)
    stats = learner.model_.statistics()
    facts |= {"conditions": stats["conditions_per_rule"], "labels_per_head": stats["labels_per_head"]}
    decided = {}
    for wanted in TUNED:
        learner.tune_decision(wanted)
        decided[wanted] = learner.model_.decision.kind, np.asarray(learner.predict(test.X))
    return learner.predict_proba(test.X), decided, facts


def forest(train: Any, test: Any, _: str | None) -> tuple[Any, Any, Any]:
    """A random forest on whole label sets; probabilities of labels are sums over sets."""
    from sklearn.ensemble import RandomForestClassifier

    X, Y, asked = matrix(train), np.asarray(train.Y).astype(np.uint8), matrix(test)
    before, start, used = peak(), time.perf_counter(), time.process_time()
    sets, member = np.unique(Y, axis=0, return_inverse=True)
    member = member.ravel()
    fold = stratified_folds(Y, 3, 0)
    left_out, whole = np.zeros(Y.shape), np.zeros(Y.shape, dtype=np.uint8)
    for number in np.unique(fold):
        held = fold == number
        trees = RandomForestClassifier(random_state=0).fit(X[~held], member[~held])
        chances = trees.predict_proba(X[held])
        left_out[held] = chances @ sets[trees.classes_]
        whole[held] = sets[trees.classes_[np.argmax(chances, axis=1)]]
    trees = RandomForestClassifier(random_state=0).fit(X, member)
    chances = trees.predict_proba(asked)
    marginal = chances @ sets[trees.classes_]
    decided = by_cut(left_out, Y, marginal)
    own = MEASURES["subset"](Y, whole, np.ones(len(Y)))
    if own >= max(MEASURES["subset"](Y, (left_out >= c).astype(np.uint8), np.ones(len(Y))) for c in CUTS):
        decided["subset"] = "label set", sets[trees.classes_[np.argmax(chances, axis=1)]]
    return marginal, decided, spent(before, start, used)


def boomer(train: Any, test: Any, peer: str | None) -> tuple[Any, Any, Any]:
    """BOOMER with 1,000 rules, in its own environment."""
    assert peer is not None
    Y = np.asarray(train.Y).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, X=matrix(train), Y=Y, X_test=matrix(test), fold=stratified_folds(Y, 3, 0))
        subprocess.run([peer, HERE / "quality_boomer.py", source, target], check=True, stdout=subprocess.DEVNULL)
        with np.load(target) as stored:
            facts = {key: float(stored[key]) for key in ("cpu_s", "wall_s", "mb")}
            return stored["test"], by_cut(stored["left_out"], Y, stored["test"]), facts


def by_cut(left_out: Any, truth: Any, asked: Any) -> dict[str, tuple[str, Any]]:
    """Decide by the cut that does best on the training part, for each measure; of equals the one nearest one half."""
    decided = {}
    for wanted in TUNED:
        merit = [MEASURES[wanted](truth, (left_out >= c).astype(np.uint8), np.ones(len(truth))) for c in CUTS]
        best = max(range(len(CUTS)), key=lambda k: (round(merit[k], 9), -abs(CUTS[k] - 0.5)))
        decided[wanted] = f"cut {CUTS[best]:.2f}", (asked >= CUTS[best]).astype(np.uint8)
    return decided


def probability_scores(truth: Any, chances: Any) -> dict[str, str]:
    """Log loss, Brier score and expected calibration error (ten equal intervals) over all labels together."""
    kept, wanted = np.clip(chances, 1e-4, 1 - 1e-4).ravel(), truth.ravel()
    log_loss = -np.mean(np.where(wanted == 1, np.log(kept), np.log(1 - kept)))
    brier = np.mean((chances.ravel() - wanted) ** 2)
    place = np.minimum((10 * chances.ravel()).astype(int), 9)
    count = np.bincount(place, minlength=10)
    gap = np.bincount(place, chances.ravel(), 10) - np.bincount(place, wanted, 10)
    error = np.abs(gap[count > 0]).sum() / len(wanted)
    return {"log_loss": f"{log_loss:.5f}", "brier": f"{brier:.5f}", "calibration_error": f"{error:.5f}"}


def matrix(data: Any) -> Any:
    """Features for the peers: a column per number and per category; a missing number lies below all others."""
    columns = []
    for j, feature in enumerate(data.X.features):
        column = data.X.column(j)
        if feature.is_nominal:
            columns += [(column == value).astype(float) for value in range(len(feature.categories))]
        else:
            columns.append(np.nan_to_num(column, nan=-1e6))
    return np.column_stack(columns)


def peak() -> float:
    """Largest resident size so far, in MB; `getrusage` would count what the process that started this one held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def spent(before: float, start: float, used: float) -> dict[str, float]:
    return {"cpu_s": time.process_time() - used, "wall_s": time.perf_counter() - start, "mb": peak() - before}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, rows: list[dict[str, Any]], columns: list[str] = COLUMNS) -> None:
    partial = path.with_suffix(".part")
    with partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(path)


def report(rows: list[dict[str, Any]]) -> None:
    """Print one table per measure, each deciding for it, then probabilities, time and memory."""
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    names = [n for n in SETS if all(any(r["data"] == n and r["learner"] == x for r in rows) for x in learners)]
    columns = [(m, m) for m in TUNED]
    columns += [("micro-f1", m) for m in ("log_loss", "brier", "calibration_error", "cpu_s", "mb", "labels_per_head")]
    for tuned_for, column in columns:
        print(f"\n{column}" + (f", deciding for it ({tuned_for})" if column in TUNED else ""))
        print(f"  {'':10s}", *(f"{learner:>9s}" for learner in learners))
        table = np.full((len(names), len(learners)), np.nan)
        for i, name in enumerate(names):
            for j, learner in enumerate(learners):
                found = [r for r in rows if (r["data"], r["learner"], r["tuned_for"]) == (name, learner, tuned_for)]
                table[i, j] = float(found[0][column]) if found and found[0].get(column) else np.nan
            print(f"  {name:10s}", *(f"{value:9.3f}" for value in table[i]))
        total = table.sum(axis=0) if column == "cpu_s" else table.mean(axis=0)
        print(f"  {'sum' if column == 'cpu_s' else 'mean':10s}", *(f"{value:9.3f}" for value in total))


if __name__ == "__main__":
    main()
