"""Many small problems at once: all of them up to a size, then random ones; and the values of all heads in each.

This is the ground on which claims about measures are tested. It counts with arrays and doubles, fast but rounded;
what it finds is confirmed exactly, by the definition in `counting`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, groupby, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyrule.measures.base import Measure, SubsetAccuracy
from polyrule.measures.definition import UNSET, Head, cells
from polyrule.utils.arrays import Bools, Floats, Ints, Ints8

if TYPE_CHECKING:
    from polyrule.measures.profiles import Profiles


# (labels, examples) of the problems that are enumerated completely, smallest first.
COMPLETE = ((2, 1), (3, 1), (2, 2), (4, 1), (3, 2), (2, 3), (2, 4), (4, 2), (3, 3), (2, 5))
OUT, ABSENT, PRESENT = 0, 1, 2  # the prediction of a head for a label, as an index


@dataclass(frozen=True, eq=False)
class Batch:
    """Worlds of one shape: `truth` and `assigned` (problems, examples, labels), `covered` (problems, examples)."""

    truth: Ints8
    covered: Bools
    assigned: Ints8

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.truth.shape[2])

    def cells(self, scope: str) -> Ints:
        """Return the counts of each cell by prediction: (problems, examples, labels, 3, 4)."""
        return cells(self.truth, self.covered, self.assigned != UNSET, scope)

    def counts(self, scope: str) -> Ints:
        """Return the counts of each label for each thing a head may say: (problems, labels, 3, 4)."""
        return np.asarray(self.cells(scope).sum(axis=1))

    def matrices(self, problem: int) -> Batch:
        """Return one of the problems, as a batch of one."""
        part = slice(problem, problem + 1)
        return Batch(self.truth[part], self.covered[part], self.assigned[part])


def batches(budget: int, nothing_set: bool, seed: int = 0, size: int = 512) -> Iterator[Batch]:
    """Yield about `budget` problems, smallest first, always the same for the same arguments.

    With `nothing_set` false, every problem has labels already set at random.
    """
    rng = np.random.default_rng(seed)
    left = budget
    if left <= 0:
        return
    for labels, examples in COMPLETE:
        whole = _complete(labels, examples)
        for start in range(0, len(whole), size):
            part = whole[start : start + size][:left]
            if len(part):
                yield _batch(part[:, :, 1:], part[:, :, 0] == 1, nothing_set, rng)
            left -= len(part)
            if left <= 0:
                return
    while left > 0:
        count = min(left, 128)
        labels, examples = int(rng.integers(3, 6)), int(rng.integers(2, 13))
        density = rng.uniform(0.2, 0.8, size=(count, 1, labels))
        truth = rng.random((count, examples, labels)) < density
        yield _batch(truth, rng.random((count, examples)) < rng.uniform(0.3, 1.0), nothing_set, rng)
        left -= count


@cache
def _complete(labels: int, examples: int) -> Ints8:
    """Return all problems up to the order of examples that cover something; column 0 is the cover."""
    rows_of_labels = np.array(list(product((1, 0), *[(0, 1)] * labels)), dtype=np.int8)
    selected = np.array(list(combinations_with_replacement(range(len(rows_of_labels)), examples)))
    problems = rows_of_labels[selected]
    return np.asarray(problems[problems[:, :, 0].any(axis=1)])


def _batch(truth: npt.NDArray[np.generic], covered: Bools, nothing_set: bool, rng: np.random.Generator) -> Batch:
    assigned = np.full(truth.shape, UNSET, np.int8)
    if not nothing_set:
        share = rng.choice([0.15, 0.4], size=(len(truth), 1, 1))
        selected = rng.random(truth.shape) < share
        assigned[selected] = rng.integers(0, 2, size=int(selected.sum()), dtype=np.int8)
    return Batch(truth.astype(np.int8), covered, assigned)


@cache
def heads_over(labels: int, negative: bool) -> Ints8:
    """Return all heads, small ones first, then in label order; a column per label holds OUT, ABSENT or PRESENT."""
    predictions = (OUT, PRESENT, ABSENT) if negative else (OUT, PRESENT)
    rows = [row for row in product(predictions, repeat=labels) if any(row)]

    def order(row: tuple[int, ...]) -> tuple[int, list[int], list[int]]:
        used = [label for label, x in enumerate(row) if x != OUT]
        return len(used), used, [-row[label] for label in used]

    return np.array(sorted(rows, key=order), dtype=np.int8)


def usable_heads(batch: Batch | Profiles, heads: Ints8, min_tp: int = 1) -> Bools:
    """Return a mask of the heads whose literals have at least `min_tp` true positives: (problems, heads)."""
    fine = batch.counts("head")[..., 0] >= min_tp
    fine[..., OUT] = True
    usable = np.ones((len(batch), len(heads)), bool)
    for label in range(heads.shape[1]):
        usable &= fine[:, label, heads[:, label]]
    return usable


def head_values(
    measure: Measure, averaging: str, scope: str, problems: Batch | Profiles, heads: Ints8, usable: Bools
) -> Floats:
    """Return the value of every usable head in every problem, in doubles: shape (problems, heads)."""
    if averaging == "micro" and not isinstance(measure, SubsetAccuracy):
        return _measured(measure, _summed(problems.counts(scope), heads), usable)
    assert isinstance(problems, Batch)
    if isinstance(measure, SubsetAccuracy):
        return _subset_values(scope, problems, heads)
    where = problems.cells(scope)
    if averaging == "example":
        return np.asarray(measure.quick_values(*np.moveaxis(_summed(where, heads), -1, 0)).mean(axis=1))
    if averaging == "label":
        per_label = measure.quick_values(*np.moveaxis(where.sum(axis=1), -1, 0))
    else:
        per_label = measure.quick_values(*np.moveaxis(where, -1, 0)).mean(axis=1)
    labels = heads.shape[1]
    total = np.zeros((len(problems), len(heads)))
    for label in range(labels):
        counted = np.ones(len(heads)) if scope != "head" else (heads[:, label] != OUT).astype(float)
        total += per_label[:, label, heads[:, label]] * counted
    return np.asarray(total / ((heads != OUT).sum(axis=1) if scope == "head" else labels))


def _measured(measure: Measure, counts: Ints, usable: Bools) -> Floats:
    """Measure the counts of usable heads; a measure need have no value where there is no true positive."""
    return measure.quick_values(*np.moveaxis(np.where(usable[..., None], counts, 1), -1, 0))


def _summed(ground: Ints, heads: Ints8) -> Ints:
    """Sum over labels, for each head, what the label contributes: (..., labels, 3, 4) becomes (..., heads, 4)."""
    counts = ground[..., 0, :, :][..., heads[:, 0], :]
    for label in range(1, heads.shape[1]):
        counts = counts + ground[..., label, :, :][..., heads[:, label], :]
    return counts


def _subset_values(scope: str, batch: Batch, heads: Ints8) -> Floats:
    where = batch.cells("all")
    right = where[..., 0] + where[..., 2] > 0
    if scope == "head":
        right[..., OUT] = True
    fine = np.ones((*batch.truth.shape[:2], len(heads)), bool)
    for label in range(heads.shape[1]):
        fine &= right[:, :, label, heads[:, label]]
    return np.asarray(fine.mean(axis=1))


MOST_ROWS = 12  # a problem with more examples is written with repetitions


@dataclass(frozen=True)
class Witness:
    """A problem and heads in it that contradict a claim.

    Attributes
    ----------
    claim : {"anti-monotone", "decomposable"}
    truth : tuple of tuples
        The labels of every example.
    covered : tuple of bool
        Which examples the body covers.
    assigned : tuple of tuples
        What earlier rules have set, -1 where nothing.
    heads : tuple of tuples
        For ``anti-monotone``, a head, a larger one whose value is lower, and a still larger one that is the best again;
        for ``decomposable``, single literals and a head of them that is better or worse than it should be.
    values : tuple of Fraction
        Value of each head.

    Examples
    --------
    >>> from polyrule import measures
    >>> print(measures.f(1).properties("example").witness)
    covered 0011,1100: {1,3}=2/3 > {1,2,3}=13/20 but {1,2,3,4}=2/3
    """

    claim: str
    truth: tuple[tuple[int, ...], ...]
    covered: tuple[bool, ...]
    assigned: tuple[tuple[int, ...], ...]
    heads: tuple[Head, ...]
    values: tuple[Fraction, ...]

    @property
    def negative(self) -> bool:
        """True if a literal ``label = 0`` takes part."""
        return any(value == 0 for head in self.heads for _, value in head)

    @property
    def nothing_set(self) -> bool:
        """True if no label of the problem is set."""
        return all(x == UNSET for row in self.assigned for x in row)

    def __str__(self) -> str:
        short = len(self.covered) > MOST_ROWS
        where = "covered " + _rows((self._row(e) for e, inside in enumerate(self.covered) if inside), short)
        outside = _rows((self._row(e) for e, inside in enumerate(self.covered) if not inside), short)
        if outside:
            where += f", uncovered {outside}"
        if not self.nothing_set:
            where += " (labels in brackets are set already)"
        texts = [f"{head_text(h)}={value_text(v)}" for h, v in zip(self.heads, self.values, strict=True)]
        if self.claim == "anti-monotone":
            return f"{where}: {texts[0]} > {texts[1]} but {texts[2]}"
        *singles, last = texts
        return f"{where}: {', '.join(singles)} but {last}"

    def _row(self, example: int) -> str:
        inside = self.covered[example]
        return "".join(
            f"[{t}]" if inside and a != UNSET else str(t)
            for t, a in zip(self.truth[example], self.assigned[example], strict=True)
        )


def _rows(rows: Iterable[str], short: bool) -> str:
    """Join rows by commas; written short, ``3×011`` stands for a row that occurs three times.

    >>> _rows(["11", "01", "01"], short=True)
    '11,2×01'
    """
    if not short:
        return ",".join(rows)
    counted = [(row, len(list(same))) for row, same in groupby(sorted(rows, reverse=True))]
    return ",".join(row if count == 1 else f"{count}×{row}" for row, count in counted)


def head_text(head: Head) -> str:
    """Write a head as a set of labels, counted from 1.

    >>> head_text(((0, 1), (2, 0)))
    '{1,¬3}'
    """
    return "{" + ",".join(("" if value else "¬") + str(label + 1) for label, value in head) + "}"


def value_text(value: Fraction) -> str:
    """Write a value as a short fraction, or as a decimal if the fraction is long.

    >>> value_text(Fraction(13, 20)), value_text(Fraction(123457, 1 << 40))
    ('13/20', '1.123e-07')
    """
    return str(value) if value.denominator < 10_000 else f"{float(value):.4g}"
