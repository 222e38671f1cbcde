"""Parameters that make no sense are refused in one sentence that names them, by all estimators alike."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyrule import (
    BinaryRelevanceRuleClassifier,
    Constraints,
    RuleEnsembleClassifier,
    RuleListClassifier,
    SeCoClassifier,
)
from polyrule.errors import OptionError, PolyruleError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, :2] + RNG.normal(size=(60, 2)) / 5 > 0).astype(int)
EVERY = {
    "list": RuleListClassifier,
    "grown": SeCoClassifier,
    "relevance": BinaryRelevanceRuleClassifier,
    "ensemble": RuleEnsembleClassifier,
}
SHARED = ["max_conditions", "time_limit", "n_jobs", "max_bins"]
OWN = {
    "list": ["max_alternatives", "max_rules", "max_head_size", "simplicity", "min_precision", "max_samples"],
    "grown": ["beam_width", "max_rules", "max_head_size", "remaining", "stop_threshold", "effort"],
    "relevance": ["beam_width"],
    "ensemble": [
        "max_rules",
        "max_alternatives",
        "min_coverage",
        "labels_per_head",
        "label_cost",
        "ridge",
        "points",
        "max_samples",
    ],
}


@pytest.mark.parametrize("value", ["x", "5", float("nan"), [1], {}, -7.5])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, own in OWN.items() for name in [*SHARED, *own]])
def test_every_number_is_checked(kind: str, name: str, value: Any) -> None:
    with pytest.raises(OptionError, match=rf"^{name} must be "):
        EVERY[kind](**{name: value}).fit(X, Y)


@pytest.mark.parametrize("value", ["x", -1, 1.5, 2**40])
def test_the_seed_is_checked(value: Any) -> None:
    with pytest.raises(OptionError, match=rf"^random_state must be None or a whole .*, got {value!r}$"):
        RuleEnsembleClassifier(random_state=value).fit(X, Y)


@pytest.mark.parametrize("value", ["x", 0, 1.5, True])
@pytest.mark.parametrize("kind", EVERY)
def test_threads_are_told_without_the_smallest_number(kind: str, value: Any) -> None:
    told = rf"^n_jobs must be None or a number of threads \(-1: all cores\), got {value!r}$"
    with pytest.raises(OptionError, match=told):
        EVERY[kind](n_jobs=value).fit(X, Y)


@pytest.mark.parametrize("kind", ["list", "grown", "relevance"])
def test_a_whole_number_of_bins_may_be_a_float(kind: str) -> None:
    """As in pack(); it was taken by the check, and failed while bins were made."""
    models = [EVERY[kind](max_bins=bins).fit(X, Y).model_ for bins in (5, 5.0, np.float64(5))]
    assert models[0].rules == models[1].rules == models[2].rules


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"forbid": 5}, "forbid must be None or a list of feature names, got 5"),
        ({"forbid": [0]}, "forbid: there is no feature 0; did you mean 'x0'?"),
        ({"features": {"y0": None}}, "features must hold lists of names, got None"),
        ({"features": {0: ["x0"]}}, "features: there is no label 0; did you mean 'y0'?"),
        ({"monotone": {"x0": ["up"]}}, r"monotone: 'x0' must go 'up' or 'down', got \['up'\]"),
    ],
)
@pytest.mark.parametrize("kind", ["list", "grown", "ensemble"])
def test_names_of_anything_are_checked(kind: str, options: dict[str, Any], told: str) -> None:
    for constraints in (options, Constraints(**options)):
        with pytest.raises(OptionError, match=told):
            EVERY[kind](constraints=constraints).fit(X, Y)


@pytest.mark.parametrize("kind", EVERY)
def test_the_callback_is_checked(kind: str) -> None:
    with pytest.raises(OptionError, match="callback must be None or a function, got 5"):
        EVERY[kind]().fit(X, Y, callback=5)


@pytest.mark.parametrize(("kind", "most"), [("list", 16), ("grown", 23), ("relevance", 8), ("ensemble", 19)])
def test_there_are_few_parameters(kind: str, most: int) -> None:
    assert len(EVERY[kind]().get_params()) <= most


@pytest.mark.parametrize("kind", ["list", "grown", "ensemble"])
def test_names_may_come_as_an_index_or_an_array(kind: str) -> None:
    """As columns of a frame are chosen; more than one name ended in a traceback, and `verify` could not learn anew."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    plain, *others = (
        EVERY[kind](constraints={"forbid": names}).fit(frame, Y).model_
        for names in (["a", "c"], frame.columns[[0, 2]], np.array(["a", "c"]))
    )
    for model in others:
        assert str(model) == str(plain)
        assert model.info["options"]["constraints"] == {"forbid": ["a", "c"]}


@pytest.mark.parametrize("kind", ["list", "grown", "ensemble"])
def test_going_on_takes_a_model_of_the_same_kind(kind: str) -> None:
    for other in (None if kind == "ensemble" else "ensemble", "list" if kind == "ensemble" else None):
        start: Any = "model.json" if other is None else EVERY[other]().fit(X, Y).model_
        with pytest.raises(OptionError, match=f"start must be a Rule.*, not {type(start).__name__}"):
            EVERY[kind]().fit(X, Y, start=start)


@pytest.mark.parametrize("name", ["negative", "label_conditions"])
def test_truth_values_of_numpy_are_truth_values(name: str) -> None:
    """A grid over an array gives NumPy's own; its False was taken for a yes."""
    either = (X[:, 0] > 0.5) | (X[:, 1] > 0.5)
    Y = np.column_stack([either, either & (np.arange(60) % 5 > 0)])
    plain, other = (SeCoClassifier(**{name: no}).fit(X, Y).model_ for no in (False, np.False_))
    assert str(plain) == str(other) != str(SeCoClassifier().fit(X, Y).model_)


STRANGE = {
    "array": np.array([1, 2]),
    "missing": pd.NA,
    "series": pd.Series([1, 2]),
    "index": pd.Index(["a"]),
    "400 digits": 10**400,
    "5000 digits": 10**5000,
    "a lot": 2**64,
    "largest": 1e308,
    "list": [],
    "not a number": float("nan"),
    "function": len,
    "complex": 1j,
    "object": object(),
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("kind", EVERY)
def test_strange_values_are_refused_by_name(kind: str, value: Any) -> None:
    """Each ends in a typed error that names the parameter, or in a model."""
    problems = []
    names = set(EVERY[kind]().get_params())
    frame = pd.DataFrame(X[:24], columns=["a", "b", "c"])
    for name in sorted(names):
        options = ({"max_rules": 1} if "max_rules" in names else {}) | {name: value}
        try:
            str(EVERY[kind](**options).fit(frame, Y[:24]).model_)
        except (PolyruleError, TypeError) as error:
            if name not in str(error) or len(str(error)) > 600:
                problems.append((name, error))
    assert problems == []


def test_a_fraction_is_a_number() -> None:
    """It was stored as text, which `verify` could not give to the learner again."""
    estimator = SeCoClassifier(min_coverage=Fraction(7, 2), remaining=Fraction(1, 3), max_rules=2).fit(X, Y)
    options = estimator.model_.info["options"]
    assert (options["min_coverage"], options["remaining"]) == (3.5, 1 / 3)
    again = SeCoClassifier(min_coverage=3.5, remaining=1 / 3, max_rules=2).fit(X, Y)
    assert estimator.model_.rules == again.model_.rules
    assert estimator.verify(X, Y).ok


def test_an_option_of_another_learner_is_named() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'keep_covered'"):
        RuleListClassifier(keep_covered=False)  # type: ignore[call-arg]
