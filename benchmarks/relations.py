"""Scores with and without relations between labels.

    python benchmarks/relations.py [--splits 5] [--data wines digits weather emotions ...]

Half of a training part is learned from, with the relations that `find` finds in that half and that are true of the
other half; the other half is scored. Test parts are never read. Wines and digits are those of scikit-learn, the weather
of Seattle's days is read from vega_datasets if it is installed. In the trees, some classes imply one more label.
Scores are means over random halves.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_wine

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.data import Dataset, to_table
from polyrule.data.labels import dense_labels
from polyrule.evaluation import score
from polyrule.relations import find, read
from polyrule.relations.data import broken

ONE_LABEL = ("wines", "digits", "weather")
TREES = ("digits-tree", "wines-tree")
SEVERAL = ("emotions", "flags", "genbase", "medical", "birds", "yeast", "scene", "enron")


def one_label(name: str) -> Dataset | None:
    """Return a data set with exactly one label per example."""
    if name == "weather":
        if importlib.util.find_spec("vega_datasets") is None:
            return None
        from vega_datasets import data

        frame = data.seattle_weather()
        X = frame[["precipitation", "temp_max", "temp_min", "wind"]].assign(month=pd.to_datetime(frame.date).dt.month)
        kinds, codes = np.unique(frame.weather, return_inverse=True)
        return Dataset(to_table(X), np.eye(len(kinds), dtype=np.uint8)[codes], tuple(map(str, kinds)), name=name)
    bunch = load_wine(as_frame=True) if name == "wines" else load_digits(as_frame=True)
    labels = tuple(map(str, bunch.target_names))
    return Dataset(to_table(bunch.data), np.eye(len(labels), dtype=np.uint8)[bunch.target], labels, name=name)


def tree(name: str) -> Dataset:
    """Return digits or wines with a label above several classes, of which one implies the other."""
    base = one_label("digits" if name == "digits-tree" else "wines")
    assert base is not None
    above = base.Y[:, :5].max(axis=1) if name == "digits-tree" else base.Y[:, :2].max(axis=1)
    return Dataset(base.X, np.column_stack([above, base.Y]).astype(np.uint8), ("above", *base.label_names), name=name)


def learners() -> Iterator[tuple[str, Any]]:
    """Yield the default list, the default ensemble and one that decides label by label."""
    yield "list", RuleListClassifier()
    yield "ensemble", RuleEnsembleClassifier(max_rules=30, cv=0)
    yield "ensemble, per label", RuleEnsembleClassifier(max_rules=30, cv=0, decision="per-label")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--data", nargs="+", default=(*ONE_LABEL, *TREES, *SEVERAL))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | learner | relations | rows changed | micro F1 | with | subset accuracy | with |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in given.data:
        data = one_label(name) if name in ONE_LABEL else tree(name) if name in TREES else None
        if name in SEVERAL:
            data = datasets.load(name, part="train")
        if data is None:
            print(f"| {name} | needs vega_datasets | | | | | | |")
            continue
        truth = dense_labels(data.Y)
        for learner, estimator in learners():
            rows = []
            for seed in range(given.splits):
                order = np.random.default_rng(seed).permutation(len(data))
                old, new = np.array_split(order, 2)
                relations = read(find(data[old]), data.label_names)
                relations = [one for one in relations if not broken(one, truth)[0]]  # true of the data
                alone = estimator.fit(data[old]).model_
                related = estimator.fit(data[old], relations=relations).model_ if relations else alone
                predicted = [model.predict(data[new]) for model in (alone, related)]
                scores = [score(truth[new], one) for one in predicted]
                assert not any(broken(one, predicted[1])[0] for one in relations)
                rows.append(
                    [
                        len(relations),
                        float((predicted[0] != predicted[1]).any(axis=1).mean()),
                        *(one[measure] for measure in ("micro_f1", "subset_accuracy") for one in scores),
                    ]
                )
            means = np.mean(rows, axis=0)
            print(
                f"| {name} | {learner} | {means[0]:.1f} | {100 * means[1]:.1f} % | "
                + " | ".join(f"{value:.3f}" for value in means[2:])
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
