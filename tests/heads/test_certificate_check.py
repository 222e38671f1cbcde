"""Certificates hold for what the searches find, and for nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyrule import measures
from polyrule.heads import HeadProblem, best_head, certify, search, verify_certificate
from polyrule.measures import AVERAGINGS, SCOPES, Objective

MEASURES = [*measures.available(), "tp - fp", "(tp + 1) / (tp + fp + 2*fn + 1)"]


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(MEASURES),
    st.sampled_from(AVERAGINGS),
    st.sampled_from(SCOPES),
    st.sampled_from(["none", "none", "kln:0.3"]),
    st.sampled_from([None, 1, 2]),
)
@example(3566, "subset", "micro", "head", "none", None)  # both literals of one label tie in everything but their sign
@settings(max_examples=125, deadline=None)
def test_certificates_verify_and_other_heads_do_not(random_world, seed, measure, averaging, scope, lift, limit):
    world = random_world(seed, max_labels=4)
    objective = Objective(measure, averaging, scope, lift=lift, max_head_size=limit)
    best = best_head(world, objective)
    certificate = certify(world, objective)
    if best is None:
        assert certificate is None
        return
    stored = json.loads(json.dumps(certificate))
    assert verify_certificate(world, objective, best.head, stored) == []
    # Forge it: claim that another head is the best one.
    rng = np.random.default_rng(seed)
    literals = world.literals()
    other = {}
    for index in rng.permutation(len(literals))[: rng.integers(1, 4)]:
        other[literals[index][0]] = literals[index][1]
    head = tuple(sorted(other.items()))
    if head != best.head:
        from polyrule.heads import evaluate

        forged = {**stored, "head": [list(s) for s in head], "value": str(evaluate(world, objective, head))}
        assert verify_certificate(world, objective, head, forged) != []


def test_the_usual_measures_have_short_certificates():
    world = HeadProblem.from_text(covered="0110 1100 1000", uncovered="0011")
    for name, kind in {"f0.5": "singles", "hamming": "singles", "laplace": "ratio", "subset": "subset"}.items():
        assert certify(world, Objective(name))["kind"] == kind
    assert certify(world, Objective("f1", scope="all"))["kind"] == "ratio"
    assert certify(world, Objective("f1", averaging="example"))["kind"] == "heads"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": "1/2"}, "has the value 2/3, not 1/2"),
        ({"kind": "trust me"}, "unknown kind"),
        ({"kind": "subset"}, "malformed"),
        ({"singles": [[0, 1, "1"], [1, 1, "2/3"], [2, 1, "1/3"]]}, "single value of (0, 1) is 2/3, not 1"),
        ({"singles": [[0, 1, "2/3"]]}, "needed for"),
        ({"head": "x"}, "malformed"),
        ({"value": "1/0"}, "malformed"),
    ],
)
def test_a_tampered_certificate_is_refused(change, words):
    world, objective = HeadProblem.from_text(covered="0110 1100 1000"), Objective("precision", negative=False)
    certificate = {**certify(world, objective), **change}
    problems = verify_certificate(world, objective, [(0, 1), (1, 1)], certificate)
    assert problems
    if words != "malformed" or "kind" not in change:
        assert words in problems[0]


def test_a_wrong_level_is_refused():
    world, objective = HeadProblem.from_text(covered="0110 1100 1000"), Objective("laplace", negative=False)
    certificate = certify(world, objective)
    assert verify_certificate(world, objective, search(world, objective).head, certificate) == []
    for level in ("1/3", "9/10"):
        assert (
            "is not the best value"
            in verify_certificate(
                world, objective, search(world, objective).head, {**certificate, "levels": {"any": level}}
            )[0]
        )


def test_a_proof_that_would_take_too_long_is_said_to_be_missing():
    world, objective = HeadProblem.make(np.eye(12, dtype=int)), Objective("f1", averaging="example")
    certificate = certify(world, objective)
    (problem,) = verify_certificate(world, objective, best_head(world, objective).head, certificate)
    assert "too many to try them all" in problem
