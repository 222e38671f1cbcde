"""Kernels and device are settings of the process or of a context, captured when `fit` begins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from polyrule import RuleListClassifier, SeCoClassifier, config_context, get_config, set_config
from polyrule.errors import OptionError
from polyrule.estimators.config import current_config

X = np.arange(24.0).reshape(12, 2)
Y = (X[:, :1] > 9).astype(int)


class Spy(SeCoClassifier):
    """A learner that records the kernels of its fits."""

    def __init__(self, measure="f0.5", *, max_rules=None) -> None:
        super().__init__(measure, max_rules=max_rules)

    def _learn(self, training, counting, start, context):
        self.kernels = context.compute.kernels
        return super()._learn(training, counting, start, context)


def test_a_context_changes_settings_and_restores_them() -> None:
    assert get_config() == {"kernels": None, "device": "cpu"}
    with config_context(kernels="reference"):
        with config_context(kernels=None):
            assert get_config()["kernels"] is None
        assert get_config() == {"kernels": "reference", "device": "cpu"}
        assert Spy().fit(X, Y).kernels == "reference"
    assert Spy().fit(X, Y).kernels is None


def test_a_context_ends_with_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), config_context(kernels="reference"):
        raise ZeroDivisionError
    assert get_config()["kernels"] is None


def test_settings_of_the_process_reach_all_threads_and_a_context_only_its_own() -> None:
    set_config(kernels="reference")
    try:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: Spy().fit(X, Y).kernels).result() == "reference"
    finally:
        set_config(kernels=None)
    with config_context(kernels="reference"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(current_config).result().kernels is None


def test_what_a_callback_changes_does_not_reach_the_fit_that_called_it() -> None:
    learner = Spy(max_rules=2)

    def change(_) -> None:
        set_config(kernels="reference")

    try:
        assert learner.fit(X, Y, callback=change).kernels is None
    finally:
        set_config(kernels=None)


def test_settings_are_no_parameters_and_no_part_of_a_model() -> None:
    with config_context(kernels="reference"):
        model = RuleListClassifier(teacher=None).fit(X, Y).model_
    assert model.info["options"].keys().isdisjoint({"kernels", "device"})
    assert clone(RuleListClassifier()).get_params().keys().isdisjoint({"kernels", "device", "callback"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernels": "gpu"}, "kernels must be None, 'native' or 'reference', got 'gpu'"),
        ({"device": "tpu"}, "device must be 'cpu' or 'cuda', got 'tpu'"),
        ({"threads": 2}, "there is no setting 'threads'"),
    ],
)
def test_wrong_settings_are_named(settings, message) -> None:
    with pytest.raises(OptionError, match=message), config_context(**settings):
        pass
    with pytest.raises(OptionError, match=message):
        set_config(**settings)


def test_the_alias_of_the_paper_takes_settings():
    X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 1], [1, 0], [1, 0]]
    learner = RuleListClassifier.paper("precision", kernels="reference")
    assert "kernels" not in learner.get_params()
    assert learner._context(None).compute.kernels == "reference"
    assert learner.fit(X, Y).rules_.rules == RuleListClassifier.paper("precision").fit(X, Y).rules_.rules
    with pytest.raises(OptionError, match="kernels must be"):
        RuleListClassifier.paper(kernels="fast").fit(X, Y)
