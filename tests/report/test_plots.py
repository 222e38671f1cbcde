from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.report.worlds import random_data, random_model

from polyrule.errors import OptionError
from polyrule.heads import HeadProblem, search
from polyrule.measures import Objective
from polyrule.report.counts import PartCovers, count_predictions
from polyrule.report.plots import Coverage, CriticalDifferenceDiagram, HeadTree, LabelGraph, LearningCurve, RuleScatter


@pytest.fixture(scope="module")
def world():
    model = random_model(6, rules=15)
    return model, random_data(model, 60, 1), random_data(model, 40, 2)


def draw(plot, **options):
    """A plot draws into its own axes and into given ones; the file it gives is a picture."""
    own = plot.plot(**options)
    given = Figure().add_subplot()
    assert plot.plot(given, **options) is given
    own.figure.canvas.draw()
    return own


def test_learning_curve(world):
    model, data, test = world
    curve = LearningCurve.of({"a": model, "b": replace(model, rules=model.rules[:4])}, data, test)
    frame = curve.frame()
    assert len(frame) == 2 * (16 + 5)
    last = frame.query("model == 'a' and part == 'Test data' and rules == 15").iloc[0]
    assert last["hamming_accuracy"] == pytest.approx((model.predict(test.X) == np.asarray(test.Y)).mean())
    assert len(draw(curve).get_lines()) == 4
    assert draw(curve, score="subset_accuracy").get_ylabel() == "subset accuracy"
    with pytest.raises(OptionError, match="score must be one of"):
        curve.plot(score="beauty")
    with pytest.raises(OptionError, match="needs data"):
        LearningCurve.of(model)


def test_coverage(world):
    model, data, _ = world
    plot = Coverage.of(model, data)
    found = count_predictions(model, PartCovers(data.X, np.asarray(data.Y)))
    assert plot.frame()["covers"].tolist() == found.covers.tolist()
    assert plot.frame()["wrong"].tolist() == found.wrong.sum(axis=1).tolist()
    assert len(draw(plot).patches) == 30
    with pytest.raises(OptionError, match="one rule list"):
        Coverage.of([model, model], data)


def test_rule_scatter(world):
    model, data, _ = world
    frame = RuleScatter.of(model, data).frame()
    counts = Coverage.of(model, data).frame().set_index("rule")
    for row in frame.itertuples():
        rule = counts.loc[row.rule]
        assert row.precision == pytest.approx(rule["right"] / (rule["right"] + rule["wrong"]))
        assert row.covers == rule["covers"]
    assert set(counts.index[counts["sets"] > 0]) == set(frame["rule"])
    draw(RuleScatter.of(model, data))


def test_label_graph(world):
    model, *_ = world
    graph = LabelGraph.of(model)
    assert len(graph.frame()) == len(graph.edges) > 0
    shown = draw(graph, absent=True)
    assert {text.get_text() for text in shown.texts} >= set(model.label_names)


@pytest.mark.parametrize(
    ("strategy", "evaluated"), [("exhaustive", 15), ("antimonotone-tree", 12), ("antimonotone", 10)]
)
def test_head_tree_is_that_of_the_paper(strategy, evaluated):
    paper = HeadProblem.from_text(covered="0110 1100 1000")
    tree = HeadTree(search(paper, Objective("precision"), strategy, trace=True, min_tp=0), "1234")
    frame = tree.frame()
    values = frame.dropna(subset="value").set_index("head")["value"].to_dict()
    assert len(values) == evaluated
    known = {"1": "2/3", "2": "2/3", "1, 2": "2/3", "3": "1/3", "4": "0", "1, 3": "1/2", "1, 4": "1/3"}
    assert {head: values[head] for head in known} == known
    assert frame.query("status == 'best'")["head"].tolist() == ["1, 2"]
    axes = draw(tree)
    assert f"{evaluated} heads evaluated" in axes.get_title()


def test_a_search_without_a_trace_has_no_tree():
    found = search(HeadProblem.from_text(covered="01"), Objective("precision"))
    with pytest.raises(OptionError, match="trace=True"):
        HeadTree(found, "ab")


def test_the_critical_difference_diagram_is_among_the_plots():
    assert {"frame", "plot"} <= set(dir(CriticalDifferenceDiagram))
