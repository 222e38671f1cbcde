"""Lists whose search was limited say so: in rules, files, print, proofs and checks."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from polyrule import RuleListClassifier, load
from polyrule.covering.learner import CoveringLoop, SeparateOptions
from polyrule.data.dataset import Dataset
from polyrule.data.table import Table
from polyrule.measures import Objective
from polyrule.model.printing import format_counts
from polyrule.model.rule import Literal, Rule
from polyrule.search.native import NativeEngine
from polyrule.search.protocol import GrowOptions, OutOfTime
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native
from polyrule.verification import certify, verify

ENGINES = [ReferenceEngine, pytest.param(NativeEngine, marks=pytest.mark.skipif(native is None, reason="not built"))]


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(2)
    truth = (rng.random((60, 14)) < rng.random(14)).astype(np.uint8)
    return Dataset(Table.from_array(rng.normal(size=(60, 3)).round(1)), truth, tuple("abcdefghijklmn"), "data")


@pytest.fixture(scope="module")
def limited(data: Dataset):
    model = RuleListClassifier.paper("m2", effort=30, max_conditions=2, max_rules=6).fit(data).model_
    assert any(rule.bound is not None for rule in model.rules)
    return model


@pytest.fixture(scope="module")
def proved(limited, data):
    return certify(limited, data)


def test_a_limited_list_is_stored_and_printed_with_its_bounds(limited, tmp_path) -> None:
    limited.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.rules == limited.rules
    lines = str(limited).splitlines()
    for line, rule in zip(lines, limited.rules, strict=False):
        assert ("from the best head)" in line) == (rule.bound is not None)
    assert json.loads((tmp_path / "model.json").read_text())["info"]["options"]["effort"] == 30


def test_a_limited_list_is_verified_but_not_called_exact(limited, proved, data) -> None:
    for model in (limited, proved):
        found = verify(model, data)
        assert found.ok, str(found)
        doubtful = sum(rule.bound is not None for rule in model.rules)
        assert found.unchecked == (f"that the heads of {doubtful} of 6 rules are the best, which nobody has proved",)


def test_a_bound_that_is_too_low_is_found(limited, proved, data) -> None:
    number = next(k for k, rule in enumerate(limited.rules) if rule.bound is not None)
    for bound in (None, limited.rules[number].value):
        rules = list(limited.rules)
        rules[number] = replace(rules[number], bound=bound)
        found = verify(replace(limited, rules=tuple(rules)), data, learn=False)
        assert [finding.what for finding in found.findings] == ["the bound on other heads"]
    rules = list(proved.rules)
    assert rules[number].certificate is not None
    rules[number] = replace(rules[number], certificate={**rules[number].certificate, "bound": "0"})
    found = verify(replace(limited, rules=tuple(rules)), data, learn=False)
    assert "it is proved that no head is worth more than" in str(found)


class _Late:
    """A clock that lets a search look at it so often, then says that the time is over."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self) -> float:
        self.left -= 1
        return 0.0 if self.left > 0 else 1e9


def test_a_rule_is_kept_as_far_as_it_has_come(data, monkeypatch) -> None:
    objective, options = Objective("wracc", negative=False), GrowOptions(label_conditions=False)
    engine = ReferenceEngine(data.X, np.asarray(data.Y), np.ones(60, dtype=np.int64), objective, options)
    whole = engine.grow()
    assert whole is not None
    assert len(whole.body) > 1
    engine.deadline = 1.0
    monkeypatch.setattr("polyrule.search.growth.time.monotonic", _Late(6))
    with pytest.raises(OutOfTime) as late:
        engine.grow()
    best = late.value.best
    assert best is not None
    assert len(best.body) >= 1
    assert best.value <= whole.value


@pytest.mark.parametrize("kind", ENGINES)
def test_a_time_limit_within_a_rule_keeps_it_as_unfinished(kind, data) -> None:
    """Whatever an engine has come to is committed, counted and marked."""
    engine = kind(data.X, np.asarray(data.Y), np.ones(60, dtype=np.int64), Objective("f0.5"), GrowOptions())
    first, second = engine.grow(), None
    learning = CoveringLoop(SeparateOptions())
    assert first is not None

    def grow():
        nonlocal second
        if not learning.rules:
            return first
        second = engine.grow()
        raise OutOfTime(second)

    learning.run(engine, grow, 60)
    assert learning.reason == "time_limit"
    assert [rule.unfinished for rule in learning.rules] == [False, True]
    assert second is not None
    assert learning.rules[1].tp == second.tp


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
def test_the_compiled_search_hands_over_what_it_has() -> None:
    rng = np.random.default_rng(0)
    rows, labels = 400, 120
    truth = (rng.random((rows, labels)) < rng.random(labels)).astype(np.uint8)
    table = Table.from_array(rng.normal(size=(rows, 30)))
    engine = NativeEngine(table, truth, np.ones(rows, dtype=np.int64), Objective("kappa"), GrowOptions())
    for _ in range(3):  # labels set in part make heads hard to find
        rule = NativeEngine.grow(engine, 0, 1)
        assert rule is not None
        engine.commit(rule, -1.0, True)
    engine._seconds = lambda: 1e-9  # type: ignore[method-assign]
    with pytest.raises(OutOfTime) as late:
        engine.grow()
    best = late.value.best
    assert best is not None
    assert best.bound is None or best.bound > best.value


def test_words_about_what_is_not_proved() -> None:
    plain = Rule((Literal(0, 1, 3, 1),), value=Fraction(1, 2), coverage=4)
    assert format_counts(plain) == "(TP 3, FP 1)"
    assert format_counts(replace(plain, bound=Fraction(1))) == "(TP 3, FP 1, at most 50 % from the best head)"
    assert format_counts(replace(plain, unfinished=True)) == "(TP 3, FP 1, unfinished)"
    negative = replace(plain, value=Fraction(-1, 8), bound=Fraction(1, 8))
    assert format_counts(negative) == "(TP 3, FP 1, at most 0.25 from the best head)"
