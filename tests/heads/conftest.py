"""Small random worlds with every kind of oddity the searches must survive."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.heads import HeadProblem


def make_world(seed, max_labels=5, negative=None, set_labels=None):
    """Repeated rows (so that ties are frequent), labels set at random, weights with zeros, literals not allowed."""
    rng = np.random.default_rng(seed)
    labels, rows = int(rng.integers(1, max_labels + 1)), int(rng.integers(1, 10))
    kinds = rng.random((int(rng.integers(1, rows + 1)), labels)) < rng.uniform(0.2, 0.8)
    truth = kinds[rng.integers(0, len(kinds), rows)].astype(int)
    covered = rng.random(rows) < rng.uniform(0.4, 1.0)
    assigned = np.full((rows, labels), -1)
    if rng.random() < 0.5 if set_labels is None else set_labels:
        chosen = rng.random((rows, labels)) < 0.3
        assigned[chosen] = rng.integers(0, 2, int(chosen.sum()))
    weights = rng.integers(0, 4, rows) if rng.random() < 0.5 else None
    allowed = rng.random((labels, 2)) < rng.choice([0.7, 1.0])
    both = bool(rng.random() < 0.5) if negative is None else negative
    return HeadProblem.make(truth, covered, assigned, weights, allowed, negative=both)


@pytest.fixture(scope="session")
def random_world():
    return make_world
