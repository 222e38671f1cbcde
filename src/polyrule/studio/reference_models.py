"""What the model at hand is measured against: constants, one rule per label, and a forest that nobody can read."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from polyrule.arrays import Bytes
from polyrule.evaluation.encoding import MatrixEncoder
from polyrule.evaluation.simple_models import simple_predictions
from polyrule.report.inputs import Part
from polyrule.studio.jobs import Job
from polyrule.studio.tally import Covers, tally_labels
from polyrule.studio.workbench import interval_entries, resampled

TREES = 100
#: examples from which the forest is grown
MOST_FOREST = 20_000
_SHOWN = ("micro_f1", "macro_f1", "hamming_accuracy", "subset_accuracy")
WORDS = {
    "majority": "every label gets its more frequent value",
    "label set": "every example gets the most frequent set of labels",
    "one rule per label": "a label is present where the one condition with the highest F1 holds",
    "forest": f"a random forest of {TREES} trees, which nobody can read: what is there to be had",
}


def references(train: Part, test: Part, job: Job | None = None, threads: int | None = None) -> list[dict[str, Any]]:
    """Score simple models and a forest on the held-out part, with 95 % intervals."""
    found = simple_predictions(train.table, train.truth, test.table)
    entries = [_entry(name, labels, test) for name, labels in found.items()]
    if job is not None:
        job.tell(references=entries, phase="forest")
        if job.stopping:
            return entries
    return [*entries, _entry("forest", _forest(train, test, threads), test)]


def _forest(train: Part, test: Part, threads: int | None) -> Bytes:
    rows = np.flatnonzero(train.known.all(axis=1))
    if len(rows) > MOST_FOREST:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_FOREST).astype(np.int64)]
    if not len(rows):
        return np.zeros_like(test.truth)
    encoder = MatrixEncoder().fit(train.table[rows])
    truth = train.truth[rows]
    forest = RandomForestClassifier(TREES, random_state=0, n_jobs=threads)
    forest.fit(encoder.transform(train.table[rows]), truth if truth.shape[1] > 1 else truth[:, 0])
    said = np.asarray(forest.predict(encoder.transform(test.table)), dtype=np.uint8)
    return said.reshape(len(test.table), truth.shape[1])


def _entry(name: str, labels: Bytes, test: Part) -> dict[str, Any]:
    scores = tally_labels(labels, Covers(test.table, test.truth)).scores
    return {
        "name": name,
        "words": WORDS[name],
        "scores": {key: round(scores[key], 6) for key in _SHOWN},
        "interval": interval_entries(resampled(test, [labels]), _SHOWN),
    }
