"""Few rules beside the models people would take instead, at equal numbers of rules, all tuned alike in one run.

    python benchmarks/peers.py --peer PEER/bin/python       every row that is not there yet
    python benchmarks/peers.py --data flags --learners ours tree figs
    python benchmarks/peers.py --table                      Markdown: mean micro-F1 by number of rules
    python benchmarks/peers.py --picture strength.svg       micro-F1 against the number of conditions

PEER has interpret-core, imodels, six and mlrl-boomer (0.15.6, Python 3.13); trees and forests are scikit-learn's.
Settings are frozen in SETTINGS below and were committed before data of FRESH was scored; nobody's are searched.

Everybody gets the same features, the same three folds, and one cut on the probabilities of all labels, tuned on the
left-out folds of the training part for the measure of the row; so do we (`decision="threshold"`), by the same folds'
worth of evidence that `fit` keeps. The rule list has no cut: it decides by its rules. Each row is fitted in a process
of its own and written as it comes; finished rows are not fitted again, failed ones say why and are tried again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.ensemble.learning import deal
from polyrule.ensemble.measures import MEASURES
from polyrule.evaluation.model_size import model_size
from quality import HERE, SETS, TUNED, by_cut, matrix, read, write

FRESH = ("corel5k", "mediamill")  # never used to choose anything about polyrule
SIZES = (30, 100, 300, 1000)
ONE_THREAD = {f"parallel_{part}": "false" for part in ("rule_refinement", "statistic_update", "prediction")}
# Learner: the sizes it is asked for (rules, leaves or trees), and its options. Frozen.
SETTINGS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "ours": (SIZES, {"decision": "threshold"}),
    "list": ((0,), {}),  # as many rules as it likes
    "boomer": (SIZES, ONE_THREAD),
    "figs": (SIZES, {"random_state": 0}),
    "tree": (SIZES, {"random_state": 0}),
    "forest": ((100,), {"random_state": 0, "n_jobs": 1}),
    "ebm": ((0,), {"random_state": 0, "n_jobs": 1}),
}
ELSEWHERE = ("boomer", "figs", "ebm")  # fitted by the Python of --peer
NAMES = {
    "ours": "polyrule, weighted rules",
    "list": "polyrule, rule list",
    "boomer": "BOOMER",
    "figs": "FIGS per label",
    "tree": "one decision tree",
    "forest": "label-powerset forest, 100 trees",
    "ebm": "EBM per label",
}
COLUMNS = ["data", "learner", "size", "tuned_for", "decision", *TUNED, "rules", "conditions", "cpu_s", "error"]
MOST_SECONDS = 6 * 3600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*SETS, *FRESH])
    parser.add_argument("--learners", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[0, *SIZES])
    parser.add_argument("--peer", help="Python of an environment with interpret-core, imodels, six and mlrl-boomer")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "peers.csv")
    parser.add_argument("--table", action="store_true", help="print the table and fit nothing")
    parser.add_argument("--picture", type=Path, help="draw the picture and fit nothing")
    parser.add_argument("--one", nargs=3, metavar=("DATA", "LEARNER", "SIZE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, learner, size = given.one
        print(json.dumps(measured(name, learner, int(size), given.peer)))
        return
    rows = read(given.out) if given.out.exists() else []
    if given.table:
        print(table(rows))
    elif given.picture:
        draw(rows, given.picture)
    else:
        measure_all(rows, given)


def measure_all(rows: list[dict[str, Any]], given: Any) -> None:
    """Fit what is not there yet; cheap learners first, so that an interrupted run has most of the table."""
    given.out.parent.mkdir(exist_ok=True)
    done = {(row["data"], row["learner"], int(row["size"])) for row in rows if not row["error"]}
    rows[:] = [row for row in rows if not row["error"]]
    for learner in given.learners:
        if learner in ELSEWHERE and not given.peer:
            print(f"{learner}: left out, it needs --peer", flush=True)
            continue
        for size in (size for size in SETTINGS[learner][0] if size in given.sizes):
            for name in given.data:
                if (name, learner, size) not in done:
                    rows += one(name, learner, size, given.peer)
                    write(given.out, rows, COLUMNS)
                    told = rows[-1]["error"] or f"micro-F1 {rows[-len(TUNED)]['micro-f1']}, {rows[-1]['cpu_s']} s"
                    print(f"{learner:7s} {size:5d} {name:12s} {told}", flush=True)


def one(name: str, learner: str, size: int, peer: str | None) -> list[dict[str, Any]]:
    """The rows of one fit, made in a process of its own; one row that says what went wrong if it fails."""
    command = [sys.executable, __file__, "--one", name, learner, str(size), *(["--peer", peer] if peer else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        if done.returncode == 0:
            found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
            return found
        error = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        error = f"more than {MOST_SECONDS // 3600} hours"
    return [{"data": name, "learner": learner, "size": size, "error": error[:200]}]


def measured(name: str, learner: str, size: int, peer: str | None) -> list[dict[str, Any]]:
    """Fit, tune and score one learner of one size on one data set: a row per measure that was tuned for."""
    train, test = datasets.load(name, part="train"), datasets.load(name, part="test")
    truth = dense(test.Y)
    fit = own if learner in ("ours", "list") else peers
    decided, facts = fit(train, test, learner, size, peer)
    rows = []
    for wanted in TUNED:
        kind, predicted = decided[wanted]
        scores = {m: f"{MEASURES[m](truth, predicted, np.ones(len(truth))):.5f}" for m in TUNED}
        start = {"data": name, "learner": learner, "size": size, "tuned_for": wanted, "decision": kind}
        rows.append(start | scores | facts | {"error": ""})
    return rows


def own(train: Any, test: Any, learner: str, size: int, _: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit a model of polyrule."""
    options = SETTINGS[learner][1]
    used = time.process_time()
    model: Any = RuleEnsembleClassifier(size, **options) if learner == "ours" else RuleListClassifier(**options)
    model.fit(train)
    spent = time.process_time() - used
    decided = {}
    for wanted in TUNED:
        if learner == "ours":
            model.tune_decision(wanted)
        kind = model.model_.decision.kind if learner == "ours" else "rules"
        decided[wanted] = kind, dense(model.predict(test.X))
    count = model_size(model)
    return decided, {"rules": count.rules, "conditions": count.conditions, "cpu_s": f"{spent:.2f}"}


def peers(train: Any, test: Any, learner: str, size: int, peer: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit a peer, in this environment or in its own."""
    Y = dense(train.Y)
    python = peer if learner in ELSEWHERE else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, X=matrix(train), Y=Y, X_test=matrix(test), fold=deal(Y, 3, 0))
        options = json.dumps(SETTINGS[learner][1])
        command = [str(python), str(HERE / "peers_fit.py"), str(source), str(target), learner, str(size), options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
        with np.load(target) as stored:
            facts = {key: int(stored[key]) for key in ("rules", "conditions")} | {"cpu_s": f"{stored['cpu_s']:.2f}"}
            return by_cut(stored["left_out"], Y, stored["test"]), facts


def dense(labels: Any) -> Any:
    return np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels).astype(np.uint8)


def means(rows: list[dict[str, Any]], measure: str = "micro-f1") -> list[tuple[str, int, float, float, float]]:
    """Learner, size, mean score, mean rules and mean conditions, over the data that every learner and size has."""
    own = [row for row in rows if row["tuned_for"] == measure and not row["error"]]
    models = list(dict.fromkeys((row["learner"], int(row["size"])) for row in own))
    scored = {(row["data"], row["learner"], int(row["size"])): row for row in own}
    names = [name for name in dict.fromkeys(row["data"] for row in own) if all((name, *m) in scored for m in models)]
    if not names:
        raise SystemExit("no data set has rows of every learner; fit those that are missing, or name fewer")
    return [
        (
            learner,
            size,
            *(
                fmean(float(scored[name, learner, size][key]) for name in names)
                for key in (measure, "rules", "conditions")
            ),
        )
        for learner, size in models
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """Mean scores in Markdown: a row per learner, a column per size."""
    found = {(learner, size): score for learner, size, score, *_ in means(rows)}
    lines = ["| | " + " | ".join(f"{size:,} rules" for size in SIZES) + " | as it comes |"]
    lines.append("| --- |" + " ---: |" * (len(SIZES) + 1))
    for learner in dict.fromkeys(learner for learner, _ in found):
        sizes = SETTINGS[learner][0]
        cells = [f"{found[learner, size]:.3f}" if sizes == SIZES and (learner, size) in found else "" for size in SIZES]
        alone = f"{found[learner, sizes[0]]:.3f}" if sizes != SIZES else ""
        lines.append(f"| {NAMES[learner]} | " + " | ".join([*cells, alone]) + " |")
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw mean micro-F1 against the mean number of conditions, a line per learner; points that are models alone."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "polyrule", "svg.fonttype": "none"})  # the same file from the same rows
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    found = means(rows)
    for learner in dict.fromkeys(learner for learner, *_ in found):
        points = sorted((conditions, score) for one, _, score, _, conditions in found if one == learner)
        ours = learner in ("ours", "list")
        axes.plot(*zip(*points, strict=True), marker="o", linewidth=2.5 if ours else 1.2, zorder=3 if ours else 2)
        axes.annotate(
            NAMES[learner],
            points[-1],
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=axes.lines[-1].get_color(),
            fontweight="bold" if ours else "normal",
        )
    axes.set_xscale("log")
    axes.set_xlabel("conditions in the model (EBM: steps of its curves)")
    axes.set_ylabel("mean micro-F1 on test data")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.3)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
