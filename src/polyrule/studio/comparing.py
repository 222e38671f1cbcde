"""Two versions of a model side by side: rules, scores with intervals, examples decided otherwise.

And what a model is measured against: constants, one rule per label, and a forest.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier

from polyrule.data import Dataset
from polyrule.data.labels import UNKNOWN
from polyrule.evaluation.baseline import simple_predictions
from polyrule.evaluation.encoding import MatrixEncoder
from polyrule.report.comparison import shared_rules
from polyrule.report.counts import count_labels
from polyrule.report.inputs import DataPart
from polyrule.report.model_summary import signed_rules
from polyrule.report.scoring import interval_entries
from polyrule.studio.jobs import Job
from polyrule.studio.sentences import sentence
from polyrule.studio.setup import thinned
from polyrule.studio.workbench import Workbench, resampled
from polyrule.utils.arrays import Bytes, Floats
from polyrule.utils.names import visible

#: examples decided otherwise that a page gets of each part
MOST_DIFFERING = 50
_SHOWN = ("micro_f1", "macro_f1", "hamming_accuracy", "subset_accuracy")


def compare(bench: Workbench, first: Any, second: Any) -> dict[str, Any]:
    """Return as plain values what two models share, and where they differ.

    same: pairs of rules that say the same; rules: the texts of both; effect: what going from one to the other does;
    scores: per measure value, low and high of both on the held-out part; level: whether they cannot be told apart;
    rows: per part, the first examples decided otherwise.
    """
    models = (first, second)
    same, _ = shared_rules(signed_rules(first), signed_rules(second))
    drawn = resampled(bench.parts[1], [bench.tallies(model)[1].labels for model in models])
    return {
        "same": same,
        "rules": [[visible(sentence(model, rule)) for rule in model.rules] for model in models],
        "effect": bench.effect(first, second),
        "scores": {
            name: [[bench.tallies(model)[1].scores[name], *drawn.interval(name, at)] for at, model in enumerate(models)]
            for name in _SHOWN
        },
        "level": {name: all(drawn.level_with(name, 0)) for name in _SHOWN},
        "rows": [_differing(bench, first, second, at) for at in range(len(bench.parts))],
    }


def judged(data: Dataset, models: dict[int, Any]) -> list[dict[str, Any]]:
    """Return the scores of some versions on separate examples, with intervals."""
    bench = Workbench(data, data)
    return [
        {
            "version": number,
            "rules": len(model.rules),
            "scores": {name: bench.tallies(model)[1].scores[name] for name in _SHOWN},
            "interval": bench.intervals(model),
        }
        for number, model in models.items()
    ]


def _differing(bench: Workbench, first: Any, second: Any, at: int) -> list[dict[str, Any]]:
    """The first examples of a part that two models decide otherwise: [label, first says, second says, truth]."""
    part, left, right = bench.parts[at], bench.tallies(first)[at].labels, bench.tallies(second)[at].labels
    ids = part.data.row_ids
    entries = []
    for row in np.flatnonzero((left != right).any(axis=1))[:MOST_DIFFERING].tolist():
        labels = np.flatnonzero(left[row] != right[row]).tolist()
        entries.append(
            {
                "name": str(row + 1) if ids is None else visible(ids[row]),
                "labels": [[k, int(left[row, k]), int(right[row, k]), int(part.truth[row, k])] for k in labels],
            }
        )
    return entries


TREES = 100
#: examples from which the forest is grown
MOST_FOREST = 20_000
WORDS = {
    "majority": "every label gets its more frequent value",
    "label set": "every example gets the most frequent set of labels",
    "one rule per label": "a label is present where the one condition with the highest F1 holds",
    "forest": f"a random forest of {TREES} trees, cut per label where F1 is highest on out-of-bag examples",
}


def references(
    train: DataPart, test: DataPart, job: Job | None = None, threads: int | None = None
) -> list[dict[str, Any]]:
    """Score simple models and a forest on the held-out part, with 95 % intervals."""
    predictions = simple_predictions(train.table, train.truth, test.table)
    entries = [_entry(name, labels, test) for name, labels in predictions.items()]
    if job is not None:
        job.tell(references=entries, phase="forest")
        if job.stopping:
            return entries
    return [*entries, _entry("forest", _forest(train, test, threads), test)]


def _forest(train: DataPart, test: DataPart, threads: int | None) -> Bytes:
    rows = thinned(np.flatnonzero((train.truth != UNKNOWN).all(axis=1)), MOST_FOREST)
    if not len(rows):
        return np.zeros_like(test.truth)
    encoder = MatrixEncoder().fit(train.table[rows])
    truth = train.truth[rows]
    forest = RandomForestClassifier(TREES, random_state=0, n_jobs=threads, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few examples some are in the sample of every tree
        forest.fit(_for_trees(encoder.transform(train.table[rows])), truth if truth.shape[1] > 1 else truth[:, 0])
    classes = forest.classes_ if truth.shape[1] > 1 else [forest.classes_]
    votes = forest.predict_proba(_for_trees(encoder.transform(test.table)))
    held_out = votes if truth.shape[1] > 1 else [votes]
    oob = np.asarray(forest.oob_decision_function_).reshape(len(rows), -1, truth.shape[1])
    predicted = np.zeros((len(test.table), truth.shape[1]), dtype=np.uint8)
    for label, values in enumerate(classes):
        if 1 in values:
            one = list(values).index(1)
            cutoff = best_f1_cutoff(np.nan_to_num(oob[:, one, label]), truth[:, label])
            predicted[:, label] = held_out[label][:, one] >= cutoff
    return predicted


def _for_trees(inputs: Any) -> Any:
    """Return inputs as trees take them: a sparse matrix with indices of 32 bits."""
    if sp.issparse(inputs):
        inputs.indices, inputs.indptr = inputs.indices.astype(np.int32), inputs.indptr.astype(np.int32)
    return inputs


def best_f1_cutoff(scores: Floats, truth: Bytes) -> float:
    """Return the score from which predicting a label gives the highest F1.

    >>> best_f1_cutoff(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 0, 1], dtype=np.uint8))
    0.2
    """
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], np.cumsum(truth[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + truth.sum())
    last = np.append(ordered[1:] < ordered[:-1], True)  # a cutoff takes all examples with one score
    return float(ordered[int(np.argmax(np.where(last, f1, -1.0)))])


def _entry(name: str, labels: Bytes, test: DataPart) -> dict[str, Any]:
    scores = count_labels(labels, test.covers).scores
    return {
        "name": name,
        "words": WORDS[name],
        "scores": {key: round(scores[key], 6) for key in _SHOWN},
        "interval": interval_entries(resampled(test, [labels]), _SHOWN),
    }
