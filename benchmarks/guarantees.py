"""Promised beside reached levels of cutoffs with a guarantee.

    python benchmarks/guarantees.py [--splits 200] [--data flags emotions ...]

One ensemble is learned from half of a training part. The other half is split at random, many times: one part
calibrates, the rest is new. Test parts are never read. A promise on average holds if the mean reached level is at least
the promised one less two standard errors; one with a confidence level, if the share of splits that reach it is.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from polyrule import RuleEnsembleClassifier, datasets
from polyrule.data.labels import dense_labels
from polyrule.decisions import calibrate
from polyrule.errors import DataError

SETS = ("flags", "emotions", "birds", "genbase", "medical", "yeast", "scene", "CAL500")
PROMISES: dict[str, dict[str, Any]] = {
    "recall per label": {"risk": "recall", "target_level": 0.8},
    "recall per label, confidence 0.9": {"risk": "recall", "target_level": 0.8, "confidence_level": 0.9},
    "recall, all labels": {"risk": "recall", "target_level": 0.8, "per": "micro"},
    "no label missed": {"risk": "recall", "target_level": 0.8, "per": "set"},
    "false alarms per label": {"risk": "false_alarms", "target_level": 0.1},
    "precision per label": {"risk": "precision", "target_level": 0.5},
    "F1 per label": {"risk": "f1", "target_level": 0.4},
}


def reached(model: Any, data: Any, columns: list[int], risk: str, per: str) -> float:
    """Return the level on new examples; the mean over labels if it is per label."""
    predicted, present = model.predict(data.X)[:, columns] == 1, dense_labels(data.Y)[:, columns] == 1
    if per == "set":
        return float((~(present & ~predicted)).all(axis=1).mean())
    right, wrong = predicted & present, predicted & ~present
    parts = {"recall": (right, present), "false_alarms": (wrong, ~present), "precision": (right, predicted)}
    if risk == "f1":
        part, whole = 2 * right.sum(axis=0), (predicted.astype(int) + present).sum(axis=0)
    else:
        part, whole = (one.sum(axis=0) for one in parts[risk])
    if per == "micro":
        return float(part.sum() / max(1, whole.sum()))
    return float((part[whole > 0] / whole[whole > 0]).mean()) if (whole > 0).any() else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--data", nargs="+", default=SETS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | promise | labels | splits | promised | reached | standard error | holds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in given.data:
        data = datasets.load(name, part="train")
        order = np.random.default_rng(0).permutation(len(data))
        learned, rest = data[np.sort(order[: len(data) // 2])], data[np.sort(order[len(data) // 2 :])]
        fit = RuleEnsembleClassifier(max_rules=15, teacher=None, decision="per-label", cv=2, n_jobs=1)
        model = fit.fit(learned).model_
        for promise, options in PROMISES.items():
            report(name, promise, options, model, rest, given.splits)


def report(name: str, promise: str, options: dict[str, Any], model: Any, rest: Any, splits: int) -> None:
    """Print one row: the labels are the four most frequent ones, which have the examples to calibrate with."""
    frequent = np.argsort(-dense_labels(rest.Y).sum(axis=0, dtype=np.int64), kind="stable")[:4].tolist()
    per, target = options.get("per", "label"), options["target_level"]
    columns = sorted(frequent) if per == "label" else list(range(len(rest.label_names)))
    labels = [rest.label_names[column] for column in columns]
    levels = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(rest))
        first, second = rest[np.sort(order[::2])], rest[np.sort(order[1::2])]
        try:
            sure = calibrate(model, first, labels=labels, **options)
        except DataError:
            continue
        levels.append(reached(sure, second, columns, options["risk"], per))
    values = np.array(levels)
    if not len(values):
        print(f"| {name} | {promise} | {len(labels)} | 0 | {target} | refused: too few examples |  |  |")
        return
    confidence = options.get("confidence_level", 0.9 if options["risk"] in ("precision", "f1") else None)
    sign = -1 if options["risk"] == "false_alarms" else 1
    error = values.std() / np.sqrt(len(values))
    holds = sign * np.nanmean(values) >= sign * target - 2 * error
    if confidence is not None:
        holds = np.nanmean(values) >= target - 2 * error
    print(
        f"| {name} | {promise} | {len(labels)} | {len(values)} | {target} | {np.nanmean(values):.3f} | {error:.4f} | "
        f"{'yes' if holds else 'NO'} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
