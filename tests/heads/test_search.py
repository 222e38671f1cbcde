"""Every search, on random worlds, against the definition and against trying every head."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule import measures
from polyrule.errors import OptionError, UnsoundSearchError
from polyrule.heads import HeadProblem, best_head, check_search, evaluate, search
from polyrule.heads.valuation import valuation
from polyrule.measures import AVERAGINGS, SCOPES, FunctionMeasure, Lift, Objective, RatioMeasure

OTHERS = [
    RatioMeasure("tp - fp", (0, 1, -1, 0, 0), (1, 0, 0, 0, 0)),
    RatioMeasure("specificity", (0, 0, 0, 1, 0), (0, 0, 1, 1, 0)),
    RatioMeasure("odd", (1, 2, -3, 1, 0), (1, 1, 2, 0, 3)),
    RatioMeasure("mixed", (0, 1, 0, 2, 0), (0, 1, 1, 1, 2)),
    measures.get("tp**2 / (tp + fp)**2"),
    measures.get("tp**2 / (tp + fp)"),
    measures.get("tp * tn"),
    measures.get("tp / (tp + fp) - fn"),
    FunctionMeasure("root", lambda tp, fp, tn, fn: np.sqrt(tp) - 0.25 * fp),
    FunctionMeasure("log", lambda tp, fp, tn, fn: np.log1p(tp + tn) - np.log1p(fp + fn), monotone=True),
    measures.get("sqrt(tp) / (1 + fp)"),
]
MEASURES = [measures.get(name) for name in measures.available()] + [measures.m_estimate(2, 0.3), measures.f(0), *OTHERS]
LIFTS = [Lift.none(), Lift.none(), Lift.kln(0.16), Lift.root(4), Lift.kln(2.0), Lift.peak(1, 1.5)]
SEARCHES = ("auto", "antimonotone", "antimonotone-tree", "decomposable", "ratio", "subset", "bound")
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def objectives(draw, lifts=LIFTS):
    return Objective(
        draw(st.sampled_from(MEASURES)),
        draw(st.sampled_from(AVERAGINGS)),
        draw(st.sampled_from(SCOPES)),
        lift=draw(st.sampled_from(lifts)),
        max_head_size=draw(st.sampled_from([None, None, 1, 2, 3])),
        negative=draw(st.booleans()),
    )


@given(SEEDS, objectives())
@settings(max_examples=200, deadline=None)
def test_fast_values_follow_the_definition(random_world, seed, objective):
    world = random_world(seed, max_labels=4)
    said = np.random.default_rng(seed).integers(-1, 2, world.n_labels)
    if (said == -1).all():
        said[0] = 1
    head = tuple((label, int(v)) for label, v in enumerate(said) if v != -1)
    assert valuation(world, objective).value(head) == evaluate(world, objective, head)


@given(SEEDS, objectives())
@settings(max_examples=150, deadline=None)
def test_every_search_that_is_allowed_finds_the_best_head(random_world, seed, objective):
    world = random_world(seed)
    expected = search(world, objective, "exhaustive")
    for strategy in SEARCHES:
        try:
            found = search(world, objective, strategy)
        except UnsoundSearchError:
            assert strategy not in ("auto", "bound")
            continue
        if expected is None:
            assert found is None
            continue
        assert (found.head, found.value, found.counts) == (expected.head, expected.value, expected.counts), strategy
        assert found.evaluated + found.pruned == expected.evaluated
        assert found.tp >= len(found.head)


@given(SEEDS, objectives(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_auto_equals_exhaustive_on_eight_labels(random_world, seed, objective, set_labels):
    world = random_world(seed, max_labels=8, negative=False, set_labels=set_labels)
    expected, found = search(world, objective, "exhaustive"), best_head(world, objective)
    assert (expected is None and found is None) or (found.head, found.value) == (expected.head, expected.value)


@pytest.mark.parametrize("name", measures.available())
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("averaging", AVERAGINGS)
def test_registered_measures_one_by_one(random_world, name, averaging, scope):
    """The random test above may miss a combination; this one cannot."""
    objective = Objective(name, averaging, scope)
    for seed in range(4):
        world = random_world(seed, max_labels=4, set_labels=seed % 2 == 1)
        expected = search(world, objective, "exhaustive")
        for strategy in ("auto", "bound"):
            found = search(world, objective, strategy)
            assert expected is None or (found.head, found.value) == (expected.head, expected.value)


def test_the_best_head_is_the_first_by_value_size_tp_and_label_order():
    tie = HeadProblem.from_text(covered="110 110 001")  # {1,2} = 2/3 beats {1} and {2} by size, {3} by value
    assert best_head(tie, Objective("precision")).head == ((0, 1), (1, 1))
    more_tp = HeadProblem.make([[1, 1], [0, 1]], assigned=[[-1, -1], [0, -1]])
    assert best_head(more_tp, Objective("precision", max_head_size=1)).head == ((1, 1),)
    first = HeadProblem.from_text(covered="111")
    assert best_head(first, Objective("precision", max_head_size=2)).head == ((0, 1), (1, 1))
    both_signs = HeadProblem.make([[0], [1]])
    assert best_head(both_signs, Objective("precision")).head == ((0, 1),)


def test_no_literal_with_a_true_positive_gives_none():
    assert best_head(HeadProblem.from_text(covered="00"), Objective("f1", negative=False)) is None
    assert best_head(HeadProblem.make(np.zeros((0, 3), int)), Objective("hamming")) is None
    assert best_head(HeadProblem.make([[1]], covered=[False]), Objective("recall")) is None
    assert best_head(HeadProblem.make([[1, 1]], weights=[0]), Objective("recall")) is None


def test_lifted_heads_compete_by_size_and_two_best_singles_are_not_the_best_pair():
    world = HeadProblem.from_text(covered="011", uncovered="001 001 001")
    pairs = {h: evaluate(world, Objective("f1"), [(a - 1, 1) for a in h]) for h in [(1, 2), (2, 3), (1, 3)]}
    assert pairs[1, 2] == pytest.approx(2 / 3)
    assert pairs[2, 3] == pytest.approx(4 / 7)
    # {1} has no true positive, so what may be chosen is {2}, {3}, {2,3}; a strong lift prefers the pair.
    assert best_head(world, Objective("f1", negative=False)).head == ((1, 1),)
    assert best_head(world, Objective("f1", negative=False, lift="kln:2")).head == ((1, 1), (2, 1))


def test_exhaustive_search_refuses_what_it_cannot_finish():
    world = HeadProblem.make(np.ones((2, 40), int))
    with pytest.raises(OptionError, match="max_head_size"):
        search(world, Objective("f1"), "exhaustive")
    assert len(search(world, Objective("f1", max_head_size=2), "exhaustive").head) == 2
    with pytest.raises(OptionError, match="search must be one of"):
        search(world, Objective("f1"), "clever")


def test_bound_refuses_a_function_without_bound_on_many_labels():
    world = HeadProblem.make(np.ones((2, 40), int))
    with pytest.raises(OptionError, match="no bound is known"):
        best_head(world, Objective(OTHERS[-3], negative=False))


@pytest.mark.parametrize(
    ("objective", "strategy", "words"),
    [
        (Objective("f1", averaging="example"), "antimonotone", "not anti-monotone; covered 0011,1100: {1,3}=2/3 >"),
        (Objective("subset", scope="all"), "antimonotone", "not anti-monotone; covered 001,111: {3}=1/2 > {1,3}=0"),
        (Objective("m2"), "antimonotone", "not anti-monotone; covered 111, uncovered 000,001: {3}=7/9 > {1,3}=3/4"),
        (Objective("laplace"), "decomposable", "not decomposable; covered 11: {1}=2/3, {2}=2/3 but {1,2}=3/4"),
        (Objective("subset"), "decomposable", "not decomposable; covered 01,10: {1}=1/2"),
        (Objective("f1", averaging="example"), "ratio", "needs an objective that is a ratio of sums"),
        (Objective("f1"), "subset", "is for subset accuracy"),
        (Objective("f1", lift="kln:0.1"), "decomposable", "not exact with the lift kln:0.1"),
        (Objective("matthews"), "antimonotone", "not anti-monotone; covered 111,011,000,000"),
        (Objective(OTHERS[-3]), "antimonotone", "not proved exact"),
        (Objective(OTHERS[-1], averaging="example"), "antimonotone", "not anti-monotone; covered"),
    ],
)
def test_an_unsound_search_is_refused_with_a_witness(objective, strategy, words):
    world = HeadProblem.from_text(
        covered="0110 1100 1000", uncovered="0001", negative=objective.measure.name == "matthews"
    )
    with pytest.raises(UnsoundSearchError) as caught:
        search(world, objective, strategy)
    assert words in str(caught.value)
    assert "search='auto'" in str(caught.value)


def test_facts_that_need_unset_labels_are_not_used_once_labels_are_set():
    fresh = HeadProblem.make([[0, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert search(fresh, Objective("precision", averaging="example")).strategy == "decomposable"
    later = HeadProblem.make(fresh.truth, assigned=[[-1] * 3, [0, -1, 0], [-1] * 3])
    assert search(later, Objective("precision", averaging="example")).strategy == "bound"
    with pytest.raises(UnsoundSearchError, match="set already"):
        search(later, Objective("precision", averaging="example"), "decomposable")


def test_branch_and_bound_really_prunes():
    rng = np.random.default_rng(5)
    profiles = rng.random((6, 12)) < 0.4
    truth = profiles[rng.integers(0, 6, 60)] ^ (rng.random((60, 12)) < 0.05)
    world = HeadProblem.make(truth.astype(int), covered=rng.random(60) < 0.5)
    for objective in (
        Objective("f1", averaging="example"),
        Objective("jaccard", averaging="example", scope="all"),
        Objective("matthews"),
        Objective("rate_difference"),
        Objective("m2"),
        Objective("subset", lift="kln:0.3"),
    ):
        result = search(world, objective, "bound")
        assert result.evaluated < 2000 < 0.01 * result.pruned, (str(objective), result.evaluated)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (Objective("hamming", averaging="example", search="decomposable"), "set already"),
        (Objective("matthews", search="antimonotone"), "not anti-monotone; covered"),
        (Objective("f1", search="subset"), "is for subset accuracy"),
        (Objective("f1", search="antimonotone", lift="kln:1"), "not exact with the lift"),
        (Objective("m2", search="ratio"), "needs an objective that is a ratio"),
    ],
)
def test_a_search_that_may_fail_later_is_refused_before_learning(objective, words):
    with pytest.raises(UnsoundSearchError, match=words):
        check_search(objective)


def test_searches_that_stay_exact_are_let_through():
    check_search(Objective("hamming", averaging="example", search="decomposable"), nothing_set=True)
    check_search(Objective("f1", search="ratio", lift="kln:1"))
    check_search(Objective("subset", search="subset"))
    check_search(Objective("subset", scope="all", search="subset"))
    check_search(Objective("hamming", scope="all", search="ratio"))
    check_search(Objective("f1", averaging="example", search="bound"))


@pytest.mark.parametrize(("measure", "strategy"), [("precision", "decomposable"), ("subset", "subset")])
def test_single_literals_are_lifted_where_the_peak_is_at_one_label(measure, strategy):
    objective = Objective(measure, lift="peak:1,1.5", max_head_size=1)
    found = search(HeadProblem.from_text(covered="011 010", uncovered="100"), objective, strategy)
    assert (found.head, found.value) == (
        ((1, 1),),
        evaluate(HeadProblem.from_text("011 010", "100"), objective, [(1, 1)]),
    )


@pytest.mark.parametrize("measure", ["fn/tp", "(tn+fn)/(tp+fp)", "f1", "kappa"])
@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_literals_that_are_never_right_may_be_tried(random_world, measure, seed):
    world, objective = random_world(seed, max_labels=4), Objective(measure)
    found, best = search(world, objective, min_tp=0), search(world, objective, "exhaustive", min_tp=0)
    assert (found is None and best is None) or (found.head, found.value) == (best.head, best.value)


def test_nothing_is_best_where_nothing_counts():
    world = HeadProblem.make([[1, 0]], weights=[0])
    assert search(world, Objective("f1", averaging="example", lift="root:2"), min_tp=0) is None
