"""Without a teacher, an ensemble depends on no library: these hashes hold for every supported version of each of them.

``tools/versions.sh tests/ensemble/test_same_everywhere.py`` checks that. Change a hash only when the definition of the
ensemble has changed, and say in the commit why.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from polyrule import RuleEnsembleClassifier, config_context
from polyrule.utils.compute import native

# Of the rules, weights and decisions; the first digits.
HASHES = {
    "plain": "3747f6c4b56034ba",
    "points": "c9be1b216ad3a577",
    "subset": "29c79d38306586a6",
    "macro-f1": "dc2fe3ec2bbe07cf",
}
OPTIONS = {
    "plain": {},
    "points": {"points": 5},
    "subset": {"optimize": "subset"},
    "macro-f1": {"optimize": "macro-f1", "labels_per_head": None},
}


def numbers(count: int, seed: int) -> list[int]:
    """Whole numbers from 0 to 999 by Lehmer's generator, which no library can change."""
    found = []
    for _ in range(count):
        seed = seed * 48271 % 2147483647
        found.append(seed // 1000 % 1000)
    return found


def world() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features with ties and missing values, labels that depend on them with noise, and weights."""
    rows, columns = 240, 7
    X = np.array(numbers(rows * columns, 7), dtype=float).reshape(rows, columns)
    X[:, 1] = X[:, 1] // 100
    X[:, 2] = X[:, 2] / 8
    noise = np.array(numbers(rows * 5, 11)).reshape(rows, 5)
    first = (X[:, 0] > 400) & (X[:, 1] < 7)
    sums = [first, X[:, 2] > 60, ~first & (X[:, 3] < 500), X[:, 4] + X[:, 5] > 1100, first & (X[:, 6] > 800)]
    Y = np.column_stack(sums) ^ (noise < 80)
    X[np.array(numbers(rows, 13)) < 50, 3] = np.nan
    return X, Y.astype(int), 1 + np.array(numbers(rows, 17)) % 3


def digest(case: str, kernels: str) -> str:
    X, Y, weights = world()
    with config_context(kernels=kernels):
        learner = RuleEnsembleClassifier(10, teacher=None, **OPTIONS[case]).fit(X, Y, sample_weight=weights)
    model = learner.model_
    told = [[str(rule.body), [(e.label, e.weight) for e in rule.head], rule.coverage] for rule in model.rules]
    decision = model.decision
    told += [list(model.intercepts), model.unit, decision.kind, list(decision.cuts), list(decision.bonuses)]
    told.append([list(labels) for labels in decision.label_sets])
    told.append([round(float(chance), 12) for chance in learner.predict_proba(X[:20]).ravel()])
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


@pytest.mark.parametrize(("case", "kernels"), [*((case, "native") for case in HASHES), ("plain", "reference")])
def test_the_ensemble_is_the_one_it_always_was(case: str, kernels: str) -> None:
    if kernels == "native" and native is None:
        pytest.skip("the compiled kernels are not built")
    assert digest(case, kernels) == HASHES[case]
