"""A forest that says of each training example what it thinks without that example, and is thrown away.

A label that the forest would not give to an example from the other examples is likely noise, or a case that few rules
cannot express. Lists learned from the forest's opinion beside the labels are shorter and err less on new examples.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import joblib
import numpy as np
from sklearn.tree import ExtraTreeRegressor

from polyrule.arrays import Bytes, Floats32, Ints, Matrix
from polyrule.data.table import Table

Design = Floats32

FEWEST_EXAMPLES = 50  # below, a forest knows too little to correct anybody
_TREES = 30
_LARGEST_SAMPLE = 10_000  # examples of one tree
_LEAVES = 2_000  # of one tree
_FEATURE_SHARE = 0.2
_FEWEST_FEATURES = 10
_MOST_CATEGORIES = 100  # a nominal feature with more is an identifier, not a property
_MOST_MEMBERSHIPS = 5_000_000  # examples times label sets
_MOST_DESIGN = 200_000_000  # bytes of the matrix that the trees see


def out_of_bag(
    table: Table,
    truth: Bytes,
    weights: Ints,
    threads: int = 1,
    deadline: float | None = None,
) -> Matrix | None:
    """Return for every example and label the share of trees, grown without the example, that say "present".

    Half the trees learn the labels one by one, half whole label sets; the two err differently, and their mean is
    better than either. Only one tree per thread is in memory at a time. None where there are too few examples, no
    usable feature, or no time.
    """
    design = design_matrix(table)
    if len(truth) < FEWEST_EXAMPLES or not design.shape[1]:
        return None
    order = _by_content(design, truth, weights)
    told = _of_ordered(design[order], truth[order], weights[order], threads, deadline)
    if told is None:
        return None
    opinion = np.empty_like(told)
    opinion[order] = told
    return opinion


def _by_content(design: Design, truth: Bytes, weights: Ints) -> Ints:
    """Order of the rows by what they hold, so that the samples drawn do not depend on the order in the file."""
    parts = zip(np.ascontiguousarray(design), np.ascontiguousarray(truth), weights, strict=True)
    digests = [blake2b(x.tobytes() + y.tobytes() + w.tobytes(), digest_size=16).digest() for x, y, w in parts]
    return np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)


def _of_ordered(design: Design, truth: Bytes, weights: Ints, threads: int, deadline: float | None) -> Matrix | None:
    trees = int(np.clip(500_000 // len(truth), 20, _TREES))
    opinion = _votes(_label_tree, design, truth.astype(np.float64), weights, trees, threads, deadline)
    sets, member = np.unique(truth, axis=0, return_inverse=True)
    # Where most label sets are unique, predicting whole sets is hopeless.
    hopeful = 1 < len(sets) <= min(len(truth) / 2, _MOST_MEMBERSHIPS / len(truth))
    if opinion is not None and truth.shape[1] > 1 and hopeful:
        told = _votes(
            _set_tree(sets), design, np.eye(len(sets))[member.ravel()], weights, trees, threads, deadline, first=_TREES
        )
        opinion = opinion if told is None else (opinion + told) / 2
    return opinion


Grower = Callable[[Any, Design, Any, Any, Design], Matrix]


def _label_tree(options: Any, design: Design, target: Any, weights: Any, asked: Design) -> Matrix:
    # Checking takes as long as growing a small tree, and is needed only to see that values are missing.
    check = bool(np.isnan(design).any())
    tree = ExtraTreeRegressor(**options).fit(design, target, sample_weight=weights, check_input=check)
    told = tree.predict(asked, check_input=check or bool(np.isnan(asked).any()))
    return np.asarray(told, dtype=np.float64).reshape(len(asked), -1)


def _set_tree(sets: Bytes) -> Grower:
    def grow(options: Any, design: Design, target: Any, weights: Any, asked: Design) -> Matrix:
        return np.asarray(_label_tree(options, design, target, weights, asked) @ sets, dtype=np.float64)

    return grow


def _votes(
    grow: Grower,
    design: Design,
    target: Any,
    weights: Ints,
    trees: int,
    threads: int,
    deadline: float | None,
    first: int = 0,
) -> Matrix | None:
    """Mean opinion of the trees that did not see an example; an example that all of them saw gets the overall mean."""
    examples, features = design.shape
    drawn = min(examples, _LARGEST_SAMPLE)
    options: dict[str, Any] = {
        "max_features": min(features, max(_FEWEST_FEATURES, round(_FEATURE_SHARE * features))),
        "min_samples_leaf": max(1, drawn // _LEAVES),
    }

    def one(number: int) -> tuple[Ints, Matrix]:
        random = np.random.default_rng(number)
        bag = np.bincount(random.integers(examples, size=drawn), minlength=examples)
        inside, outside = np.flatnonzero(bag), np.flatnonzero(bag == 0)
        shares = (bag * weights)[inside].astype(np.float64)
        seeded = {**options, "random_state": int(random.integers(2**31))}
        return outside, grow(seeded, design[inside], target[inside], shares, design[outside])

    total, seen = None, np.zeros(examples)
    pool = joblib.Parallel(n_jobs=threads, prefer="threads", return_as="generator")
    tasks = (joblib.delayed(one)(first + number) for number in _until(deadline, trees))
    for outside, told in pool(tasks):  # in the order of the trees, so that sums do not depend on threads
        if total is None:
            total = np.zeros((examples, told.shape[1]))
        total[outside] += told
        seen[outside] += 1
    if total is None or not seen.any():
        return None
    known = seen > 0
    total[known] /= seen[known, None]
    total[~known] = total[known].mean(axis=0)
    return total


def _until(deadline: float | None, trees: int) -> Any:
    for number in range(trees):
        if deadline is not None and time.monotonic() > deadline:
            return
        yield number


def best_cut(opinion: Matrix, truth: Bytes, weights: Ints) -> tuple[float, float]:
    """Return the cut at which the opinion's micro-F1 is largest, and that F1.

    Examples
    --------
    >>> truth = np.array([[1], [1], [0]], dtype=np.uint8)
    >>> best_cut(np.array([[0.9], [0.4], [0.1]]), truth, np.ones(3, dtype=np.int64))
    (0.4, 1.0)
    """
    chance, every = opinion.ravel(), np.repeat(weights, truth.shape[1])
    order = np.argsort(-chance, kind="stable")
    right = np.cumsum((every * truth.ravel())[order])
    said = np.cumsum(every[order])
    value = 2 * right / (said + right[-1]) if right[-1] else np.zeros(len(order))
    ends = np.append(chance[order][1:] != chance[order][:-1], True)
    best = int(np.argmax(np.where(ends, value, -1.0)))
    return float(chance[order][best]), float(value[best])


def design_matrix(table: Table) -> Design:
    """Return the features as trees see them: ranks of numbers, and one column per category; missing is NaN.

    Ranks, because rules do not see how far apart two numbers are either.
    """
    columns: list[Floats32] = []
    largest = max(1, _MOST_DESIGN // (4 * max(1, len(table))))
    for index, feature in enumerate(table.features):
        if len(columns) >= largest:
            break
        count = len(feature.categories)
        if feature.is_nominal and not 2 <= count <= _MOST_CATEGORIES:
            continue
        column = table.column(index)
        if feature.is_nominal and count > 2:
            columns.extend((column == value).astype(np.float32) for value in range(count))
        else:
            known = ~np.isnan(column)
            ranks = np.full(len(column), np.nan, dtype=np.float32)
            ranks[known] = np.unique(column[known], return_inverse=True)[1]
            columns.append(ranks)
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0), dtype=np.float32)
