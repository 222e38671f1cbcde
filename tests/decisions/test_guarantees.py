"""Guarantees: allowed errors against their definitions, simulated promises, files, and what is refused."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.helpers import ok_json, run

import polyrule
from polyrule import Dataset, RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import to_table
from polyrule.decisions import calibrate, guarantees
from polyrule.decisions.guarantees import _allowed_errors, check_guarantees, examples_needed
from polyrule.errors import DataError, ModelError, OptionError

SETTINGS = [
    {"risk": "recall", "target_level": 0.6},
    {"risk": "recall", "target_level": 0.6, "confidence_level": 0.9},
    {"risk": "recall", "target_level": 0.6, "per": "set"},
    {"risk": "recall", "target_level": 0.65, "per": "micro"},
    {"risk": "false_alarms", "target_level": 0.1},
    {"risk": "false_alarms", "target_level": 0.15, "confidence_level": 0.9},
    {"risk": "false_alarms", "target_level": 0.1, "per": "micro"},
    {"risk": "precision", "target_level": 0.5},
    {"risk": "f1", "target_level": 0.4},
]


def rows(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(count, 3)).round(2)
    return X, np.c_[X[:, 0] + 0.7 * rng.normal(size=count) > 0.3, X[:, 1] + 0.7 * rng.normal(size=count) > 0.5].astype(
        int
    )


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    X, Y = rows(400, np.random.default_rng(0))
    return {
        "list": RuleListClassifier(teacher=None, simplicity=0.3).fit(X, Y).model_,
        "ensemble": RuleEnsembleClassifier(max_rules=8, teacher=None, decision="per-label").fit(X, Y).model_,
    }


@given(st.integers(0, 60), st.sampled_from([0.05, 0.1, 0.25, 0.5]), st.sampled_from([0.8, 0.9, 0.95]))
def test_allowed_errors_are_those_of_the_definitions(count: int, bound: float, confidence: float) -> None:
    on_average = [e for e in range(count + 1) if (e + 1) / (count + 1) <= bound + 1e-12]
    assert _allowed_errors(count, bound, None) == max(on_average, default=-1)
    tail = np.cumsum([comb(count, e) * bound**e * (1 - bound) ** (count - e) for e in range(count + 1)])
    sure = [e for e in range(count + 1) if tail[e] <= 1 - confidence + 1e-12]
    assert _allowed_errors(count, bound, confidence) == max(sure, default=-1)
    for level in (None, confidence):
        assert (_allowed_errors(count, bound, level) >= 0) == (count >= examples_needed(bound, level))


def level_of(model: Any, X: Any, Y: Any, risk: str, per: str) -> list[float]:
    predicted, present = model.predict(X) == 1, Y == 1
    if per == "set":
        return [float((~(present & ~predicted)).all(axis=1).mean())]
    columns = [slice(None)] if per == "micro" else range(Y.shape[1])
    found = []
    for column in columns:
        p, t = predicted[:, column], present[:, column]
        right, wrong = (p & t).sum(), (p & ~t).sum()
        parts = {"recall": (right, t.sum()), "false_alarms": (wrong, (~t).sum())}
        parts |= {"precision": (right, right + wrong), "f1": (2 * right, p.sum() + t.sum())}
        found.append(float(parts[risk][0] / max(1, parts[risk][1])))
    return found


@pytest.mark.parametrize("kind", ["list", "ensemble"])
@pytest.mark.parametrize("options", SETTINGS, ids=lambda o: "-".join(map(str, o.values())))
def test_promises_hold_on_new_examples(models, kind, options) -> None:
    """60 draws of 300 calibration examples; new examples are many, so that their level is nearly exact."""
    rng = np.random.default_rng(1)
    fresh = rows(4000, rng)
    risk, target, per = options["risk"], options["target_level"], options.get("per", "label")
    levels = []
    for _ in range(60):
        model = calibrate(models[kind], *rows(300, rng), **options)
        levels.append(level_of(model, *fresh, risk, per))
    reached = np.array(levels) if risk != "false_alarms" else -np.array(levels)
    goal = target if risk != "false_alarms" else -target
    confidence = options.get("confidence_level", 0.9 if risk in ("precision", "f1") else None)
    if confidence is None:
        error = reached.std(axis=0) / np.sqrt(60)
        assert (reached.mean(axis=0) >= goal - 2 * error - 0.01).all()
    else:
        assert ((reached >= goal - 0.01).mean(axis=0) >= confidence - 2 * np.sqrt(0.09 / 60)).all()


def test_a_guarantee_is_printed_stored_and_checked(models, tmp_path) -> None:
    X, Y = rows(200, np.random.default_rng(2))
    data = Dataset(to_table(X), Y.astype(np.uint8), ("y0", "y1"), name="held out")
    model = calibrate(models["ensemble"], data, risk="recall", target_level=0.9, labels=["y1"])
    assert [one.label for one in guarantees(model)] == ["y1"]
    assert "(guaranteed: y1: recall at least 0.9 on average (from" in str(model)
    both = calibrate(model, data, risk="precision", target_level=0.5, labels=["y0"])
    assert [(one.label, one.risk) for one in guarantees(both)] == [("y1", "recall"), ("y0", "precision")]
    both.save(tmp_path / "m.json")
    again = polyrule.load(tmp_path / "m.json")
    assert guarantees(again) == guarantees(both)
    assert check_guarantees(again, data) == []
    other = Dataset(to_table(X[:50]), Y[:50].astype(np.uint8), ("y0", "y1"))
    assert len(check_guarantees(again, other)) >= 1


def test_labels_in_another_order_are_refused(models) -> None:
    X, Y = rows(60, np.random.default_rng(2))
    data = Dataset(to_table(X), Y.astype(np.uint8), ("y1", "y0"))
    with pytest.raises(ModelError, match="in the same order"):
        calibrate(models["ensemble"], data)
    with pytest.raises(ModelError, match="in the same order"):
        models["ensemble"].watch(data)


def test_changed_cutoffs_end_a_guarantee(models) -> None:
    from polyrule.decisions import set_cutoffs

    model = calibrate(models["ensemble"], *rows(200, np.random.default_rng(2)), target_level=0.8)
    assert guarantees(set_cutoffs(model, {"y0": 0.7})) == ()


def test_too_few_examples_are_refused_with_the_number_that_is_needed(models) -> None:
    X, Y = rows(12, np.random.default_rng(3))
    with pytest.raises(DataError, match="needs at least 99"):
        calibrate(models["ensemble"], X, Y, target_level=0.99)
    with pytest.raises(DataError, match="no cutoff of 'y0' has a precision"):
        calibrate(models["ensemble"], X, Y, risk="precision", target_level=0.95)
    with pytest.raises(DataError, match="do not suffice"):
        calibrate(models["ensemble"], X, Y, target_level=0.99, per="micro")
    with pytest.raises(DataError, match="none"):
        calibrate(models["ensemble"], X[:0], Y[:0])


def test_a_list_that_misses_too_many_says_so() -> None:
    rng = np.random.default_rng(4)
    X, Y = rows(400, rng)
    model = RuleListClassifier(teacher=None, max_rules=1).fit(X, Y).model_
    with pytest.raises(DataError, match="no rule covers enough"):
        calibrate(model, *rows(300, rng), target_level=0.97)


def test_unknown_labels_count_nowhere(models) -> None:
    rng = np.random.default_rng(5)
    X, Y = rows(300, rng)
    hidden = pd.DataFrame(Y, columns=["y0", "y1"]).astype(float).mask(rng.random(Y.shape) < 0.4)
    model = calibrate(models["ensemble"], X, hidden, target_level=0.8)
    for label, one in enumerate(guarantees(model)):
        assert one.examples == int((hidden.iloc[:, label] == 1).sum())


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"risk": "accuracy"}, "risk"),
        ({"per": "row"}, "per"),
        ({"target_level": 1}, "target_level"),
        ({"confidence_level": 0}, "confidence_level"),
        ({"risk": "precision", "per": "micro"}, "micro"),
        ({"risk": "f1", "per": "set"}, "set"),
        ({"per": "micro", "confidence_level": 0.9}, "micro"),
        ({"labels": ["z"]}, "labels"),
    ],
)
def test_options_are_checked(models, options, name) -> None:
    with pytest.raises(OptionError, match=name):
        calibrate(models["ensemble"], *rows(50, np.random.default_rng(6)), **options)


def test_forged_guarantees_are_refused(models) -> None:
    from dataclasses import replace

    with pytest.raises(ModelError, match="guarantees"):
        guarantees(replace(models["list"], info={"guarantees": [{"risk": "recall"}]}))


def test_the_command_calibrates(models, tmp_path) -> None:
    model, data, out = tmp_path / "m.json", tmp_path / "d.csv", tmp_path / "out.json"
    models["list"].save(model)
    X, Y = rows(300, np.random.default_rng(7))
    pd.DataFrame(np.c_[X, Y], columns=["x0", "x1", "x2", "y0", "y1"]).astype({"y0": int, "y1": int}).to_csv(
        data, index=False
    )
    stated = ok_json("calibrate", model, data, "--risk", "false_alarms", "--target-level", "0.2", "-o", out)
    assert [one["label"] for one in stated] == ["y0", "y1"]
    assert len(guarantees(polyrule.load(out))) == 2
    few = run("calibrate", model, data, "--target-level", "0.999")
    assert few.exit_code == 1
    assert "needs at least 999" in few.stderr
