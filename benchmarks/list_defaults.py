"""What `RuleListClassifier()` does was chosen by this: cross-validation on training parts, one row per setting and set.

    python benchmarks/list_defaults.py                       3-fold cross-validation on the training parts
    python benchmarks/list_defaults.py --test default paper  train -> test, only for settings that are settled

Counts are pooled over folds before micro-F1 is taken; the calibration error has 10 intervals over all labels of all
examples. Rows go to --out as they come; finished ones are not measured again.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np

from polyrule import RuleListClassifier, SeCoClassifier, datasets
from polyrule.evaluation.cross_validation import make_folds

SETS = ("flags", "emotions", "birds", "genbase", "medical", "yeast", "scene", "CAL500")
GROWN: dict[str, dict[str, Any]] = {
    "paper": {},
    "grown": {"negative": False, "label_conditions": False, "max_conditions": 3},
}
SETTINGS: dict[str, dict[str, Any]] = {
    **GROWN,
    "no teacher": {"teacher": None},
    "default": {},
    "simplicity 0.5": {"simplicity": 0.5},
    "simplicity 2": {"simplicity": 2},
    "2 conditions": {"max_conditions": 2},
    "4 conditions": {"max_conditions": 4},
}
COLUMNS = (
    "data",
    "split",
    "setting",
    "micro_f1",
    "macro_f1",
    "calibration_error",
    "rules",
    "conditions",
    "labels",
    "cpu_s",
)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    parser.add_argument("--test", nargs="+", default=[], help="settings to score on the test parts instead")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "list_defaults.csv")
    given = parser.parse_args()
    split = "train-test" if given.test else "3-fold"
    rows = list(csv.DictReader(given.out.open())) if given.out.exists() else []
    done = {(row["data"], row["split"], row["setting"]) for row in rows}
    for name in given.data:
        for setting in given.test or given.settings:
            if (name, split, setting) in done:
                continue
            rows.append(measure(name, setting, split))
            write(given.out, rows)
            print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)


def measure(name: str, setting: str, split: str) -> dict[str, Any]:
    """Fit and score one setting on one data set."""
    train = datasets.load(name, part="train")
    if split == "train-test":
        parts = [(train, datasets.load(name, part="test"))]
    else:
        folds = make_folds(train.Y, 3, seed=1)
        parts = [(train[fit], train[held_out]) for fit, held_out in folds]
    truth, said, chances, sizes, seconds = [], [], [], [], 0.0
    for fit, held_out in parts:
        began = time.process_time()
        learner = SeCoClassifier if setting in GROWN else RuleListClassifier
        model = learner(**SETTINGS[setting]).fit(fit)
        seconds += time.process_time() - began
        truth.append(dense(held_out.Y))
        said.append(dense(model.predict(held_out.X)))
        chances.append(model.predict_proba(held_out.X))
        stats = model.rules_.statistics()
        sizes.append([stats["rules"], stats["conditions_per_rule"], stats["labels_per_head"]])
    right, told = np.vstack(truth), np.vstack(said)
    hits, both = (right * told).sum(axis=0), (right.sum(axis=0) + told.sum(axis=0))
    values = (
        2 * hits.sum() / max(1, both.sum()),
        np.mean(np.divide(2 * hits, both, out=np.zeros(len(hits)), where=both > 0)),
        calibration_error(right, np.vstack(chances)),
        *np.mean(sizes, axis=0),
        seconds / len(parts),
    )
    return dict(zip(COLUMNS, (name, split, setting, *(f"{value:.4f}" for value in values)), strict=True))


def dense(labels: Any) -> np.ndarray:
    """Labels as an array."""
    return np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels).astype(np.int64)


def calibration_error(truth: np.ndarray, chances: np.ndarray) -> float:
    """Expected calibration error: mean distance of probabilities from shares, over 10 intervals."""
    places = np.minimum((chances * 10).astype(int), 9)
    error = 0.0
    for place in range(10):
        inside = places == place
        if inside.any():
            error += inside.mean() * abs(truth[inside].mean() - chances[inside].mean())
    return float(error)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write all rows."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
