"""Profiles stand for label matrices: same values, and none is forgotten."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from polyrule import measures
from polyrule.measures.base import Case
from polyrule.measures.definition import UNSET, head_value
from polyrule.measures.profiles import LABELS, Profiles, complete_sizes, label_profiles, profile_batches
from polyrule.measures.small_problems import Batch, head_values, heads_over, usable_heads
from polyrule.measures.trial import Trial, as_head, extent, find_witness


def profile_of(truth, covered, assigned):
    rows = []
    for label in range(len(truth[0])):
        cells = [(t[label], c, a[label] != UNSET) for t, c, a in zip(truth, covered, assigned, strict=True)]
        counts = [
            cells.count(cell) for cell in ((0, 1, False), (1, 1, False), (0, 1, True), (1, 1, True), (1, 0, False))
        ]
        counts[4] += cells.count((1, 0, True))
        rows.append(tuple(counts))
    return tuple(sorted(rows))


@pytest.mark.parametrize(("examples", "nothing_set"), [(3, True), (2, False)])
def test_every_matrix_has_its_profile(examples, nothing_set):
    known = set()
    for worlds in profile_batches(2500, nothing_set, "all"):
        if worlds.n_labels == 2:
            for kinds, outside in zip(worlds.outcomes, worlds.outside, strict=True):
                known.add(tuple(sorted((*kinds[k], outside[k, 1]) for k in range(2))))
    states = (UNSET,) if nothing_set else (UNSET, 0)
    for cells in product((0, 1), repeat=2 * examples):
        truth = [cells[2 * e : 2 * e + 2] for e in range(examples)]
        for covered in product((0, 1), repeat=examples):
            for set_ in product(states, repeat=2 * examples) if any(covered) else ():
                assigned = [set_[2 * e : 2 * e + 2] for e in range(examples)]
                assert profile_of(truth, covered, assigned) in known


@pytest.mark.parametrize("scope", ["head", "all", "full"])
@pytest.mark.parametrize("nothing_set", [True, False])
def test_profiles_have_the_values_of_their_matrices(scope, nothing_set):
    measure = measures.get("matthews")
    for worlds in list(profile_batches(3000, nothing_set, scope))[::4]:
        heads = heads_over(worlds.n_labels, True)
        usable = usable_heads(worlds, heads)
        values = head_values(measure, "micro", scope, worlds, heads, usable)
        for world in range(0, len(worlds), 401):
            batch = worlds.matrices(world)
            assert isinstance(batch, Batch)
            assert (usable_heads(batch, heads)[0] == usable[world]).all()
            truth, covered, assigned = batch.truth[0].tolist(), batch.covered[0].tolist(), batch.assigned[0].tolist()
            for head in np.flatnonzero(usable[world])[::7]:
                exact = head_value(
                    measure, "micro", scope, truth, covered, assigned, [1] * len(truth), as_head(heads[head])
                )
                assert values[world, head] == pytest.approx(float(exact), abs=1e-12)


def test_the_stated_size_is_complete():
    for nothing_set in (True, False):
        examples, count = complete_sizes(5000, nothing_set, "head")
        worlds = list(profile_batches(5000, nothing_set, "head"))
        assert sum(map(len, worlds)) == 5000
        small = [w for w in worlds if w.n_labels <= max(LABELS)][: len(worlds)]
        seen = sum(len(w) for w in small if w.outcomes[0, 0].sum() + w.outside[0, 0].sum() <= examples)
        assert seen >= count
    assert "all with up to 3 labels and 5 examples" in extent(Case(measures.matthews()), 4000)
    assert len(label_profiles(2, 1, True, "head")) == 6
    assert len(label_profiles(2, 1, False, "head")) == 12


@pytest.mark.parametrize(("measure", "inside", "outside"), [("matthews", 4, 6), ("rate_difference", 6, 5)])
def test_profiles_alone_find_what_matrices_missed(measure, inside, outside):
    """The two worlds that refute correlations with both signs are found by enumerating their size."""
    from polyrule.measures.profiles import _complete

    trial = Trial(Case(measures.get(measure)), "anti-monotone")
    rows = _complete(3, inside, outside, True, "head")
    found = (trial.run(Profiles.of(rows[start : start + 2048])) for start in range(0, len(rows), 2048))
    assert any(witness is not None for witness in found)


def test_large_worlds_are_shown_with_repetitions():
    case = Case(measures.get("tn*tp/(tp+fn)**2"), nothing_set=False)
    witness, _ = find_witness(case, "anti-monotone", 40_000, large=True)
    assert witness is not None
    assert len(witness.covered) <= 12 or "×" in str(witness)


def test_a_profile_is_one_world():
    one = Profiles(np.array([[[1, 2, 1, 0]]]), np.array([[[0, 3]]]))
    batch = one.matrices(0)
    assert batch.truth[0, :, 0].tolist() == [1, 1, 0, 0, 1, 1, 1]
    assert batch.assigned[0, :, 0].tolist() == [-1, -1, -1, 0, -1, -1, -1]
