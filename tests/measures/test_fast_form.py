"""The forms handed to the native engine, interpreted here in the plainest way, give the best head."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.heads import HeadProblem, search
from polyrule.measures import AVERAGINGS, SCOPES, FunctionMeasure, Objective, RatioMeasure, available
from polyrule.measures.association import round_average

MEASURES = [*available(), "tp - fp", "(1+tp)/(tp+fp+2*fn+1)", "tp/(tp-fp)"]


def random_world(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.integers(1, 8), rng.integers(1, 5)
    truth = (rng.random((rows, labels)) < 0.5).astype(int)
    assigned = np.where(rng.random((rows, labels)) < 0.3, 0, -1)
    return HeadProblem.make(truth, rng.random(rows) < 0.7, assigned, rng.integers(1, 3, rows))


def interpret(form, world, objective):
    """Try all heads with the integers of the form alone."""
    c = world.counts
    literals = [s for s in world.literals() if objective.negative or s[1] == 1]
    best = None
    for mask in range(1, 1 << len(literals)):
        head = [s for i, s in enumerate(literals) if mask >> i & 1]
        limit = form.max_head_size or len(head)
        if len({label for label, _ in head}) < len(head) or len(head) > limit:
            continue
        value = rate(form, world, head) if not form.formula else counted(form, world, head, objective)
        if value is None:
            continue
        if form.rho is not None:
            value *= F(form.rho[len(head)], 1 << 30)
        tp = sum(int(c.tp[s]) for s in head)
        key = value, len(head), tp, [-label for label, _ in head], [v for _, v in head]
        best = max(best, (key, head)) if best else (key, head)
    return best


def rate(form, world, head):
    """Value of a head by the form; None where the form says that it cannot be best."""
    c = world.counts
    inside = {label: [int(x) for x in (c.tp[label, v], c.fp[label, v], c.tn[label], c.fn[label])] for label, v in head}
    if form.kind == "subset":
        sets = set()
        for label, v in head:
            wanted = np.where(world.covered, v, 0)
            free = ~world.covered | (world.assigned[:, label] == -1)
            sets.add(tuple(free & (world.truth[:, label] == wanted)))
        if len(sets) > 1:
            return None
        return F(int(world.weights[list(sets.pop())].sum()), world.total_weight)
    if form.kind == "singles":
        values = {ratio(form, counts) for counts in inside.values()}
        return values.pop() if len(values) == 1 else None
    outside = {
        "head": lambda label: [0] * 4,
        "all": lambda label: [0, 0, c.tn[label] + c.covered_absent[label], c.fn[label] + c.covered_present[label]],
        "full": lambda label: [c.tp[label, 0], c.fp[label, 0], c.tn[label], c.fn[label]],
    }[form.scope]
    counts = [inside.get(label) or [int(x) for x in outside(label)] for label in range(world.n_labels)]
    return ratio(form, [sum(x) for x in zip(*counts, strict=True)])


def counted(form, world, head, objective):
    """Value of a head by a form that is no ratio: of its equal literals, or of the sum of their counts."""
    c = world.counts
    counts = [(int(c.tp[s]), int(c.fp[s]), int(c.tn[s[0]]), int(c.fn[s[0]])) for s in head]
    if form.kind == "micro":
        return objective.measure.value(*(sum(x) for x in zip(*counts, strict=True)))
    values = {objective.measure.value(*x) for x in counts}
    value = values.pop()
    if values or (form.kind == "alone" and len(head) > 1):
        return None
    return round_average(value) if objective.measure.rounded and objective.averaging == "label" else value


def ratio(form, counts):
    bottom = form.den[0] + sum(b * x for b, x in zip(form.den[1:], counts, strict=True))
    return F(form.num[0] + sum(a * x for a, x in zip(form.num[1:], counts, strict=True)), bottom) if bottom else F(0)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(MEASURES),
    st.sampled_from(AVERAGINGS),
    st.sampled_from(SCOPES),
    st.sampled_from(["none", "kln:0.4"]),
    st.sampled_from([None, 2]),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_the_form_gives_the_best_head(seed, measure, averaging, scope, lift, limit, negative):
    world = random_world(seed)
    objective = Objective(measure, averaging, scope, lift=lift, max_head_size=limit, negative=negative)
    form = objective.fast_form(world.n_labels)
    if form is not None and form.kind == "alone":
        objective = replace(objective, max_head_size=1)
    expected = search(world, objective, "exhaustive")
    if form is None or expected is None or form.kind == "example":  # which only names the measure
        return
    key, head = interpret(form, world, objective)
    assert (tuple(head), key[0]) == (expected.head, expected.value)


@pytest.mark.parametrize(
    ("objective", "kind"),
    [
        (Objective("f0.5"), "singles"),
        (Objective("recall"), "singles"),
        (Objective("precision", averaging="label"), "singles"),
        (Objective("hamming", lift="kln:0.1"), "ratio"),
        (Objective("f1", scope="all"), "ratio"),
        (Objective("laplace"), "ratio"),
        (Objective("m2:0.1"), "ratio"),
        (Objective("subset"), "subset"),
        (Objective("subset", scope="all"), None),
        (Objective("subset", lift="kln:1"), None),
        (Objective("m2"), "micro"),
        (Objective("wracc", averaging="label"), "counted"),
        (Objective("matthews", max_head_size=1), "counted"),
        (Objective("rate_difference", scope="all"), None),
        (Objective("wracc", lift="kln:1"), None),
        (Objective(FunctionMeasure("squares", lambda tp, fp, tn, fn: tp * tp - fp), averaging="label"), "counted"),
        (Objective(FunctionMeasure("squares", lambda tp, fp, tn, fn: tp * tp - fp)), "alone"),
        (Objective(FunctionMeasure("roots", lambda tp, fp, tn, fn: np.sqrt(tp) - fp, monotone=True)), "micro"),
        (Objective("f1", averaging="example"), "example"),
        (Objective("f1", averaging="example", scope="all"), None),
        (Objective("f1", averaging="example", lift="kln:1"), None),
        (Objective("recall", averaging="example"), None),
        (Objective("tp/(tp+2*fp)", averaging="example"), None),
        (Objective("f1", averaging="label", lift="kln:1"), None),
        (Objective(RatioMeasure("big", (0, 1, 0, 0, 0), (0, 1, 2**58, 0, 0))), None),
        (Objective("laplace", lift="kln:1000"), None),
        (Objective(RatioMeasure("odd", (0, 1, 0, 0, 0), (0, 1, -1, 0, 0))), None),
    ],
)
def test_which_objectives_have_one(objective, kind):
    form = objective.fast_form(6)
    assert (form and form.kind) == kind


def test_forms_hold_up_to_a_largest_weight():
    """Numerators and denominators must leave room for exact products."""
    million = Objective("1000000*tp/(tp+fp)")
    assert million.fast_form(6, 2**31 - 1) is not None
    assert million.fast_form(600, 2**31 - 1) is None
    assert Objective("m2").in_units(F(1, 2**30)).fast_form(6, 2**30) is not None
    assert Objective("m2").in_units(F(1, 10**18)).fast_form(6, 2**30) is None


def test_factors_of_the_lift():
    form = Objective("f1", lift="root:2").fast_form(4)
    assert [round(x / 2**30, 6) for x in form.rho] == [1, 1, 1.414214, 1.732051, 2]
