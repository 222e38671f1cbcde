import sys

import numpy as np
import pytest

from polyrule.data.results import MissingExtraError
from polyrule.evaluation.figures import CriticalDifferenceDiagram, TrainingTimes
from polyrule.evaluation.figures.canvas import svg_text
from polyrule.evaluation.statistics import compare_learners


def comparison(data_sets=9):
    rng = np.random.default_rng(1)
    table = {f"learner {i}": rng.random(data_sets) + i / 3 for i in range(6)}
    return compare_learners(table, range(data_sets), measure="micro_f1")


def rows():
    for data, labels in (("flags", 7), ("yeast", 14)):
        for measure in ("precision", "f0.5"):
            for family, seconds in (("single", 2.0), ("multi", 3.0), ("BR", 1.0)):
                yield {
                    "status": "ok",
                    "data": data,
                    "labels": labels,
                    "measure": measure,
                    "family": family,
                    "fit_cpu_seconds": seconds,
                }


def test_critical_difference_frame_is_sorted_and_names_groups():
    diagram = CriticalDifferenceDiagram(comparison())
    frame = diagram.frame()
    assert list(frame["average_rank"]) == sorted(frame["average_rank"])
    groups = comparison().groups()
    for name, listed in zip(frame["learner"], frame["groups"], strict=True):
        assert listed == ", ".join(str(i) for i, group in enumerate(groups, 1) if name in group)


def test_critical_difference_drawing_names_every_learner():
    text = svg_text(CriticalDifferenceDiagram(comparison()))
    assert all(f"learner {i}" in text for i in range(6))
    assert "critical difference" in text


def test_too_few_data_sets_are_drawn_without_a_claim():
    text = svg_text(CriticalDifferenceDiagram(comparison(3)))
    assert "learner 0" in text
    assert "critical difference" not in text
    assert "no test" in text


def test_training_times_pair_single_and_multi():
    times = TrainingTimes.from_rows([*rows(), {"status": "timeout", "family": "single"}])
    frame = times.frame()
    assert len(frame["data"]) == 4
    assert list(frame["single_seconds_times_labels"]) == [14.0, 14.0, 28.0, 28.0]
    assert list(frame["multi_to_single"]) == [1.5] * 4
    assert "yeast" in svg_text(times)


def test_nothing_to_pair():
    times = TrainingTimes.from_rows([])
    assert list(times.frame().columns)[:2] == ["data", "measure"]
    times.plot()


def test_drawing_on_given_axes():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert TrainingTimes.from_rows(rows()).plot(axes) is axes


def test_without_matplotlib_there_are_still_numbers(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    diagram = CriticalDifferenceDiagram(comparison())
    assert len(diagram.frame()["learner"]) == 6
    with pytest.raises(MissingExtraError, match=r"install polyrule\[plot\]"):
        diagram.plot()


def test_a_notebook_shows_a_figure_and_an_svg_leaves_none_behind(monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    plt.switch_backend("agg")
    figure = CriticalDifferenceDiagram(compare_learners({"a": [0.1] * 6, "b": [0.2] * 6}, list("uvwxyz")))
    axes = figure.plot()
    assert plt.get_fignums() == [axes.figure.number]
    plt.close(axes.figure)
    assert svg_text(figure).startswith("<svg")
    assert plt.get_fignums() == []
