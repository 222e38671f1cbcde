"""Reports from within a rule: nobody waits in silence, and callbacks that did not ask for them get none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyrule import SeCoClassifier, config_context
from polyrule.covering.progress import Progress, describe, telling, within_rules
from polyrule.search import growth
from polyrule.search import native as compiled
from polyrule.search import protocol as engine
from polyrule.utils.compute import native


def _data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, (X[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0).astype(int)


def _fitted(callback: Any) -> SeCoClassifier:
    with config_context(kernels="reference"):
        return SeCoClassifier("f0.5", max_rules=3).fit(*_data(), callback=callback)


def test_only_callbacks_that_ask_hear_about_a_rule_in_the_making(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "PACE", 0.0)
    told: list[Progress] = []
    plain = _fitted(told.append)
    assert [progress.rules for progress in told] == [1, 2, 3]
    assert all(progress.rule is not None and progress.bodies == 0 for progress in told)
    told.clear()

    @within_rules
    def listen(progress: Progress) -> None:
        told.append(progress)

    fitted = _fitted(listen)
    assert fitted.model_.rules == plain.model_.rules
    inside = [progress for progress in told if progress.rule is None]
    assert len(told) - len(inside) == 3
    assert inside[-1].bodies > 0
    assert inside[-1].best is not None
    assert all(0 <= progress.rules < 3 and progress.elapsed >= 0 for progress in inside)


def test_learning_can_be_ended_within_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "PACE", 0.0)

    @within_rules
    def enough(progress: Progress) -> bool:
        return progress.rule is None and progress.rules == 1

    fitted = _fitted(enough)
    assert fitted.stopped_reason_ == "callback"
    assert len(fitted.model_) == 1


@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
def test_the_compiled_search_reports_and_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "PACE", 0.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 60))
    Y = (rng.random((1500, 10)) < 0.4).astype(int)
    told: list[Progress] = []

    @within_rules
    def listen(progress: Progress) -> bool:
        told.append(progress)
        return progress.rule is None

    # with a lift a rule gets dozens of conditions; the first report ends it
    learner = SeCoClassifier("f0.5", lift="kln:0.1", n_jobs=1, max_rules=40).fit(X, Y, callback=listen)
    assert learner.stopped_reason_ == "callback"
    assert told[-1].rule is None
    assert told[-1].bodies > 0
    assert told[-1].best is not None
    assert len(learner.model_) == told[-1].rules


def test_verbose_says_how_far_the_next_rule_is(capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[Any] = []
    tell = telling(heard.append, verbose=True)
    assert tell is not None
    tell(Progress(1, 1.0, 0.4, 9.0, None, 120_000, 0.75))
    assert "120,000 bodies judged, best value 0.75" in capsys.readouterr().err
    assert heard == []  # it did not ask
    assert "next" not in describe(Progress(0, 1.0, 0.0, 9.0, None))
    assert engine.PACE <= 1
