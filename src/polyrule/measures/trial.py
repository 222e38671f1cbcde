"""A claim about a measure on trial before many small problems: known ones, all up to a size, then random ones."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import chain

import numpy as np

from polyrule.measures.base import Case
from polyrule.measures.definition import UNSET, Head, head_value
from polyrule.measures.profiles import Profiles, complete_sizes, profile_batches, random_profiles, tied_profiles
from polyrule.measures.small_problems import (
    ABSENT,
    COMPLETE,
    OUT,
    PRESENT,
    Batch,
    Witness,
    batches,
    head_values,
    heads_over,
    usable_heads,
)
from polyrule.utils.arrays import Bools, Floats, Ints8

CLOSE = 1e-11  # doubles of equal values in problems this small differ by less (relatively), unequal values by more


def find_witness(
    case: Case, claim: str, budget: int = 4000, min_tp: int = 1, deadline: float | None = None, large: bool = False
) -> tuple[Witness | None, int]:
    """Look for the smallest problem that refutes a claim; return it, or None, and the number of problems looked at.

    `budget` is most problems to look at, beside those made of labels that tie, where these can refute the claim;
    `deadline` ends the search, in CPU seconds of the process; `large` looks only at random problems of up to 400
    examples, where profiles are enough. Every literal needs `min_tp` true positives.
    """
    trial, seen = Trial(case, claim, min_tp), 0
    batches = random_profiles(budget, case.nothing_set) if large and case.by_profiles else _problems(budget, case)
    if case.by_profiles and case.scope == "head" and claim == "decomposable":
        batches = chain(batches, tied_profiles(case.measure.quick_values, case.nothing_set))
    for batch in batches:
        witness = trial.run(batch)
        seen += len(batch)
        if witness is not None:
            return trial.shrink(witness), seen
        if deadline is not None and time.process_time() > deadline:
            break
    return None, seen


def extent(case: Case, budget: int) -> str:
    """Return a phrase for the problems that `find_witness` tries.

    >>> from polyrule import measures
    >>> extent(Case(measures.matthews()), 4000)
    '4000 small problems, among them all with up to 3 labels and 5 examples'
    """
    among = ""
    if case.by_profiles:
        n_stored = sum(map(len, _stored_problems(case.nothing_set)))
        examples, _ = complete_sizes(max(budget - n_stored, 0), case.nothing_set, case.scope)
        among = f"all with up to 3 labels and {examples} examples" if examples else ""
    elif case.nothing_set and budget >= 4000:
        among = f"all with {' or '.join(f'{n} labels and {m} examples' for n, m in COMPLETE[-2:])}"
    return f"{budget} small problems" + (f", among them {among}" if among else "")


@dataclass(frozen=True)
class Trial:
    """A claim on trial before batches of problems."""

    case: Case
    claim: str
    min_tp: int = 1

    def run(self, batch: Batch | Profiles) -> Witness | None:
        """Return the first problem of the batch that refutes the claim."""
        case = self.case
        heads = heads_over(batch.n_labels, case.negative)
        usable = usable_heads(batch, heads, self.min_tp)
        values = head_values(case.measure, case.averaging, case.scope, batch, heads, usable)
        values = np.where(usable, values, -np.inf)
        for problem, selected in refutations(self.claim, values, batch.n_labels, case.negative):
            witness = self._confirm(batch.matrices(problem), heads[selected], heads[usable[problem]])
            if witness is not None:
                return witness
        return None

    def shrink(self, witness: Witness) -> Witness:
        """Leave out examples, labels and what is set, one by one, as long as the rest still refutes the claim."""
        while True:
            smaller = next((found for batch in _smaller(witness) if (found := self.run(batch)) is not None), None)
            if smaller is None:
                return witness
            witness = smaller

    def _confirm(self, problem: Batch, selected: Ints8, usable: Ints8) -> Witness | None:
        """Check a refutation by the exact definition, so that rounding can never be the reason."""
        truth, covered, assigned = (x[0].tolist() for x in (problem.truth, problem.covered, problem.assigned))
        case, weights = self.case, [1] * len(truth)

        def exact(row: Ints8) -> Fraction:
            return head_value(case.measure, case.averaging, case.scope, truth, covered, assigned, weights, as_head(row))

        best = max(exact(row) for row in usable)
        values = [exact(row) for row in selected]
        if self.claim == "anti-monotone":
            holds = values[0] > values[1] and values[2] == best
        else:
            holds = all(v == best for v in values[:-1]) != (values[-1] == best)
        if not holds:
            return None
        return Witness(
            self.claim,
            tuple(map(tuple, truth)),
            tuple(covered),
            tuple(map(tuple, assigned)),
            tuple(as_head(row) for row in selected),
            tuple(values),
        )


def _smaller(witness: Witness) -> Iterator[Batch]:
    truth, assigned = np.array([witness.truth], np.int8), np.array([witness.assigned], np.int8)
    covered = np.array([witness.covered])
    _, examples, labels = truth.shape
    for label in range(labels) if labels > 2 else ():
        yield Batch(np.delete(truth, label, 2), covered, np.delete(assigned, label, 2))
    for example in range(examples) if examples > 1 else ():
        yield Batch(np.delete(truth, example, 1), np.delete(covered, example, 1), np.delete(assigned, example, 1))
    for example, label in np.argwhere(assigned[0] != UNSET):
        cleared = assigned.copy()
        cleared[0, example, label] = UNSET
        yield Batch(truth, covered, cleared)


def refutations(claim: str, values: Floats, labels: int, negative: bool) -> Iterator[tuple[int, list[int]]]:
    """Yield problems that seem to refute the claim, each with the numbers of the heads that do."""
    finite = np.isfinite(values)
    best = values.max(axis=1, keepdims=True)
    close = CLOSE * (1 + np.abs(np.where(np.isfinite(best), best, 0)))
    at_best = (values > best - close) & finite
    inside = contained(labels, negative)
    if claim == "decomposable":
        yield from _not_decomposable(at_best, finite, inside, heads_over(labels, negative))
        return
    fell = np.zeros(values.shape, bool)
    for head in np.flatnonzero(inside.any(axis=0)):
        fell[:, head] = values[:, inside[:, head]].max(axis=1) > values[:, head] + close[:, 0]
    fell &= finite
    reached = (fell.astype(np.float32) @ inside.astype(np.float32) > 0) & at_best
    for problem in np.flatnonzero(reached.any(axis=1)):
        v = values[problem]
        falls = inside & (v[:, None] > v[None, :] + close[problem]) & np.isfinite(v)[None, :]
        lost = falls.any(axis=0)[:, None] & inside & at_best[problem][None, :]
        if lost.any():
            low, top = np.unravel_index(int(np.argmax(lost)), lost.shape)
            yield int(problem), [int(np.argmax(falls[:, low])), int(low), int(top)]


@cache
def contained(labels: int, negative: bool) -> Bools:
    """Return a table: whether head i of all heads is a proper part of head j."""
    heads = heads_over(labels, negative)
    agrees = (heads[:, None, :] == OUT) | (heads[:, None, :] == heads[None, :, :])
    size = (heads != OUT).sum(axis=1)
    return np.asarray(agrees.all(axis=2) & (size[:, None] < size[None, :]))


def _not_decomposable(at_best: Bools, finite: Bools, inside: Bools, heads: Ints8) -> Iterator[tuple[int, list[int]]]:
    singles = (heads != OUT).sum(axis=1) == 1
    part = inside | np.eye(len(heads), dtype=bool)
    part[~singles] = False
    # A head must be best exactly if all its single literals are.
    all_best = ~((~at_best)[:, :, None] & part[None]).any(axis=1)
    wrong = (all_best != at_best) & finite & ~singles
    for problem in np.flatnonzero(wrong.any(axis=1)):
        head = int(np.argmax(wrong[problem]))
        yield int(problem), [*np.flatnonzero(part[:, head]).tolist(), head]


def as_head(row: Ints8) -> Head:
    """Turn a row of OUT, ABSENT, PRESENT into a head."""
    values = {ABSENT: 0, PRESENT: 1}
    return tuple((label, values[x]) for label, x in enumerate(row.tolist()) if x != OUT)


# Worlds in which measures are known to fail (covered | uncovered, labels in brackets are set already); looking here
# first makes a refutation cheap.
KNOWN = """
    11| 01| 011| 11|01 01,10| 001,111| 001,110| 011,100| 100,10[0]| 1101,1100| 011,10[1]| 0011,1100| 001,111|000
    111|000,001 01,11|00,01 0[0]1,11[0]| [0]00,11[1]| 000,111,111| 00[1]0,0011| 000,011,101| 100,010,010|
    1[1]01,1100| 001,001,111| 001,[1]0[1]| 0[1]01,110[0]| [0]100,100[1]| [0]0,01|10,11 [0][0]1,110|101
    011,1[1][0]|001 000,[0]1[0],100| 111,11[0],10[0]| 101,[0][0]1,111| 100,101,01[1],000| [1][0]1,100,100,010|
    011,101,100,110,011| [1]00,[1]11,10[1]|000 [1][0]1,100,100,01[0]| 000,[0]1[0],100|101,100
    101,001,010,100,010,010| 011,111,001,110,100,100| 1011,0001,1010,1000,1000| 01[1],100,110,1[1]1,0[1]1|
    100,101,00[0],01[1],00[0]| 110,[1]0[1]|010,100,011,100 001,[0][0]1,111|001,001,000
    0011,1010,1010,0100,1110,1110| [1]01,10[0],[0]0[1]|010,000,111 0001,0101,1011,0101,1010,0111,0111|
    111,111,001,011,101,001,000,001|011,101 101,0[1]1,0[1]1,1[1]1,[0]10|111,101,011
    111,011,000,000|111,111,111,111,111,100 111,011,011,000,000,000|111,111,111,111,100
    111,1[0]0,00[0],0[0]1,1[0][1],[0][1][1]| 000,0[0]0,011,0[0][0],10[1],0[1][0]|100,001,110,000
"""


def read_problem(text: str) -> Batch:
    """Read one problem from a text such as ``"0[1]1,110|001"``: covered | uncovered, set labels in brackets."""
    inside, outside = (part.split(",") if part else [] for part in text.split("|"))
    rows = [re.findall(r"\[?[01]\]?", row) for row in inside + outside]
    truth = np.array([[[int(c.strip("[]")) for c in row] for row in rows]], np.int8)
    assigned = np.array([[[0 if c.startswith("[") else UNSET for c in row] for row in rows]], np.int8)
    return Batch(truth, np.array([[True] * len(inside) + [False] * len(outside)]), assigned)


@lru_cache(maxsize=2)
def _stored_problems(nothing_set: bool) -> tuple[Batch, ...]:
    """Return the known problems, those of one shape as one batch, smallest first."""
    by_shape: dict[tuple[int, ...], list[Batch]] = {}
    for text in KNOWN.split():
        if not (nothing_set and "[" in text):
            problem = read_problem(text)
            by_shape.setdefault(problem.truth.shape[1:], []).append(problem)
    shapes = sorted(by_shape, key=lambda shape: (shape[0] * shape[1], shape))
    return tuple(
        Batch(
            *(np.concatenate([getattr(w, part) for w in by_shape[shape]]) for part in ("truth", "covered", "assigned"))
        )
        for shape in shapes
    )


def _problems(budget: int, case: Case) -> Iterator[Batch | Profiles]:
    stored, nothing_set = _stored_problems(case.nothing_set), case.nothing_set
    yield from stored
    left = max(budget - sum(map(len, stored)), 0)
    yield from profile_batches(left, nothing_set, case.scope) if case.by_profiles else batches(left, nothing_set)
