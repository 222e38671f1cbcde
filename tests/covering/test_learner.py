"""Separate-and-conquer: options, ends, and what stays in the working set."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from polyrule import SeCoClassifier
from polyrule.errors import OptionError
from polyrule.search.protocol import Candidate
from polyrule.search.state import TrainingState


@pytest.fixture
def songs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = np.stack([X[:, 0] > 0, (X[:, 0] > 0) & (X[:, 1] > 0), X[:, 2] > 0.5], axis=1).astype(int)
    return X, Y


def candidate(rows, head=((0, 1, 1, 0),)) -> Candidate:
    return Candidate((), head, Fraction(1), np.array(rows))


class TestCommit:
    def state(self, **options) -> TrainingState:
        truth = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], dtype=np.uint8)
        return TrainingState(truth, np.array([1, 2, 3, 4]), **options)

    def test_open_examples_keep_all_covered_ones(self) -> None:
        state = self.state()
        outcome = state.commit(candidate([0, 1]), 0.01, keep_covered=True)
        assert (outcome.covered, outcome.open, outcome.newly_set, outcome.stopped) == (3, 3, 2, False)
        assert state.remaining == 10

    def test_only_open_ones_stay_without_keep_covered(self) -> None:
        state = self.state()
        state.commit(candidate([0], ((0, 1, 1, 0), (1, 0, 1, 0))), None, keep_covered=True)
        assert state.remaining == 9
        state = self.state()
        state.commit(candidate([0, 1], ((1, 0, 1, 0),)), None, keep_covered=False)
        state.commit(candidate([0], ((0, 1, 1, 0),)), 0.5, keep_covered=False)
        assert not state.working[0]
        assert state.working[1]

    def test_a_stop_drops_everything_covered(self) -> None:
        state = self.state()
        both = ((0, 1, 2, 0), (1, 0, 1, 1))
        outcome = state.commit(candidate([0, 1], both), 0.01, keep_covered=True)
        assert outcome.stopped
        assert state.working.tolist() == [False, False, True, True]

    def test_the_stop_threshold_is_compared_exactly(self) -> None:
        truth = np.zeros((10, 2), dtype=np.uint8)
        for threshold, stopped in ((0.3, True), (0.29999999999999993, False)):
            state = TrainingState(truth, np.ones(10, dtype=np.int64))
            state.commit(candidate(range(7), ((1, 0, 7, 0),)), None, True)
            assert state.commit(candidate(range(10)), threshold, True).stopped is stopped

    def test_without_negative_literals_only_present_labels_are_open(self) -> None:
        state = self.state(negative=False)
        assert state.commit(candidate([0]), 0.0, True).stopped
        assert not state.commit(candidate([1]), 0.0, True).stopped

    def test_full_predictions_set_the_rest_to_absent(self) -> None:
        state = self.state(full=True)
        state.commit(candidate([0, 1]), 0.01, True)
        assert state.assigned[:2].tolist() == [[1, 0], [1, 0]]

    def test_the_first_writer_wins(self) -> None:
        state = self.state()
        state.commit(candidate([0]), 0.01, True)
        state.commit(candidate([0, 1], ((0, 0, 1, 0),)), 0.01, True)
        assert state.assigned[:, 0].tolist() == [1, 0, -1, -1]


def test_every_option_has_its_end(songs) -> None:
    X, Y = songs
    whole = SeCoClassifier("precision").fit(X, Y)
    assert whole.stopped_reason_ == "complete"
    short = SeCoClassifier("precision", max_rules=2).fit(X, Y)
    assert short.stopped_reason_ == "max_rules"
    assert short.rules_.rules == whole.rules_.rules[:2]
    timed = SeCoClassifier("precision", time_limit=1e-9).fit(X, Y)
    assert timed.stopped_reason_ == "time_limit"
    assert len(timed.rules_) <= 1
    told = SeCoClassifier("precision").fit(X, Y, callback=lambda progress: progress.rules == 3)
    assert told.stopped_reason_ == "callback"
    assert told.rules_.rules == whole.rules_.rules[:3]


def test_progress_tells_how_far_it_is(songs) -> None:
    seen = []
    model = SeCoClassifier("precision").fit(*songs, callback=seen.append)
    assert [p.rules for p in seen] == list(range(1, len(model.rules_) + 1))
    assert [p.rule for p in seen] == list(model.rules_)
    assert all(a.remaining >= b.remaining for a, b in pairwise(seen))


def test_an_interrupt_keeps_the_rules_so_far(songs) -> None:
    def interrupt(progress):
        if progress.rules == 2:
            raise KeyboardInterrupt

    model = SeCoClassifier("precision")
    with pytest.raises(KeyboardInterrupt):
        model.fit(*songs, callback=interrupt)
    assert model.stopped_reason_ == "interrupted"
    assert len(model.rules_) == 2
    assert model.predict(songs[0]).shape == songs[1].shape


def test_no_stops_when_switched_off(songs) -> None:
    assert not any(rule.stop for rule in SeCoClassifier("precision", stop_threshold=None).fit(*songs).rules_)
    assert any(rule.stop for rule in SeCoClassifier("precision").fit(*songs).rules_)


@pytest.mark.parametrize(
    "wrong",
    [{"remaining": 2}, {"stop_threshold": -1}, {"max_rules": 0}, {"time_limit": 0}],
)
def test_wrong_options_are_named(wrong) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        SeCoClassifier(**wrong).fit([[1.0], [2.0]], [[0], [1]])
