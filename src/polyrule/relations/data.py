"""Relations and labelled data: which hold, and which examples break one."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np

from polyrule.data.dataset import Dataset
from polyrule.data.encode import read_target
from polyrule.data.labels import dense_labels
from polyrule.errors import DataError
from polyrule.relations.relation import Relation
from polyrule.utils.arrays import Bools, Bytes, Floats

MIN_EXAMPLES = 10  # of a label that implies another
FALSE_RATE = 0.01  # probability that any relation is found among unrelated labels


def broken(relation: Relation, truth: Bytes) -> tuple[int, int]:
    """Return how many examples break a relation, and how many it is about; unknown labels break none.

    >>> broken(Relation("at-most-one", (0, 1)), np.array([[1, 1], [1, 0], [0, 0]], dtype=np.uint8))
    (1, 3)
    """
    part = truth[:, list(relation.labels)]
    if relation.kind == "implies":
        first = part[:, 0] == 1
        return int((first & (part[:, 1] == 0)).sum()), int(first.sum())
    present = (part == 1).sum(axis=1)
    wrong = present > 1
    if relation.kind == "exactly-one":
        wrong |= (part == 0).all(axis=1)
    return int(wrong.sum()), len(part)


def check_data(relations: Sequence[Relation], Y: Any, names: Sequence[str]) -> None:
    """Raise DataError, with counts, if examples break a relation."""
    if not relations:
        return
    truth = np.asarray(dense_labels(Y))
    counts = [(one, *broken(one, truth)) for one in relations]
    wrong = [(one, count, total) for one, count, total in counts if count]
    if not wrong:
        return
    shown = "; ".join(f"{one.text(names)!r} in {count} of {total} examples" for one, count, total in wrong[:5])
    more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    raise DataError(
        f"the training data breaks relations: {shown}{more}; correct the labels, leave these relations out, or add "
        "them after learning with with_relations"
    )


def find(data: Any, y: Any = None) -> tuple[str, ...]:
    """Return the relations that hold in all examples and would hardly do so by chance, as texts for `relations=`.

    A label that implies another is in at least 10 examples. Of relations that follow from others, only these are given.

    Parameters
    ----------
    data : Dataset, or features with labels in `y`
    y : array-like, optional

    Examples
    --------
    >>> Y = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0]] * 20)
    >>> find(np.zeros((60, 1)), Y)
    ('y2 => y0', 'y0, y1: exactly one')
    """
    target = read_target(data.Y, data.label_names) if isinstance(data, Dataset) else read_target(y)
    names, truth = target.names, np.asarray(dense_labels(target.truth))
    present, absent = (truth == 1).astype(np.float64), (truth == 0).astype(np.float64)
    implies = _implications(present, absent)
    relations = [Relation("implies", (int(a), int(b))) for a, b in np.argwhere(_reduced(implies))]
    relations += _groups(present, absent, implies)
    return tuple(one.text(names) for one in relations)


def _implications(present: Floats, absent: Floats) -> Bools:
    n_labels = present.shape[1]
    together, apart = present.T @ present, present.T @ absent
    known = np.maximum(present.sum(axis=0) + absent.sum(axis=0), 1)
    share = np.clip(present.sum(axis=0) / known, 1e-12, 1)
    unlikely = together * np.log(share)[None, :] <= log(FALSE_RATE / max(1, n_labels) ** 2)
    holds = (apart == 0) & (together >= MIN_EXAMPLES) & unlikely
    np.fill_diagonal(holds, False)
    return np.asarray(holds & ~(holds.T & np.tril(np.ones_like(holds))))  # of two equal labels, one implication


def _reduced(implies: Bools) -> Bools:
    """Return the implications that do not follow from two others."""
    steps = implies.astype(np.float64)
    return np.asarray(implies & (steps @ steps == 0))


def _groups(present: Floats, absent: Floats, implies: Bools) -> list[Relation]:
    count, n_labels = present.sum(axis=0), present.shape[1]
    together = present.T @ present
    expected = np.outer(count, count) / max(1, len(present))
    never = together == 0
    least = -log(FALSE_RATE / max(1, n_labels) ** 2)
    surprising = never & (expected >= least)
    # what a label excludes, all labels that imply it exclude, too
    steps = implies.astype(np.float64)
    inherited = (steps @ surprising > 0) | (surprising @ steps.T > 0)
    left = surprising & ~inherited
    groups = []
    order = np.argsort(-count, kind="stable").tolist()
    for first in order:
        while left[first].any():
            members = [first, int(np.argmax(left[first] * (1 + count)))]
            for other in order:
                # a rare label joins if it would stand beside the whole group by chance
                together_if_unrelated = expected[other, members].sum()
                fits = never[other, members].all() and not inherited[other, members].any()
                if other not in members and fits and together_if_unrelated >= least:
                    members.append(other)
            whole = list(members)
            for other in order:  # rare labels that are needed for one label per example
                if other not in whole and count[other] and never[other, whole].all():
                    whole.append(other)
            is_exact = not absent[:, whole].all(axis=1).any()
            members = whole if is_exact else members
            left[np.ix_(members, members)] = False
            groups.append(Relation("exactly-one" if is_exact else "at-most-one", tuple(sorted(members))))
    return groups
