"""The worked examples of the paper and of the specification, number by number."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from polyrule import measures
from polyrule.heads import HeadProblem, evaluate, search
from polyrule.measures import Objective
from polyrule.measures.base import Case
from polyrule.measures.trial import find_witness

FIGURE = HeadProblem.from_text(covered="0110 1100 1000")
FIGURE_VALUES = {
    "1": F(2, 3), "2": F(2, 3), "3": F(1, 3), "4": F(0),
    "12": F(2, 3), "13": F(1, 2), "23": F(1, 2), "14": F(1, 3), "24": F(1, 3), "34": F(1, 6),
    "123": F(5, 9), "124": F(4, 9), "134": F(1, 3), "234": F(1, 3), "1234": F(5, 12),
}  # fmt: skip


def head(text):
    """Read "13" as labels 1 and 3, "-1 2" as not 1 and 2."""
    parts = text.split() if " " in text or "-" in text else list(text)
    return [(abs(int(x)) - 1, 0 if x.startswith("-") else 1) for x in parts]


@pytest.mark.parametrize(("labels", "value"), FIGURE_VALUES.items())
def test_all_values_of_figure_1(labels, value):
    assert evaluate(FIGURE, Objective("precision"), head(labels)) == value


@pytest.mark.parametrize(
    ("strategy", "evaluated"),
    [("exhaustive", 15), ("antimonotone-tree", 12), ("antimonotone", 10), ("decomposable", 4)],
)
def test_figure_1_is_searched_with_as_many_heads_as_printed(strategy, evaluated):
    result = search(FIGURE, Objective("precision"), strategy, trace=True, min_tp=0)
    assert (result.evaluated, result.pruned) == (evaluated, 15 - evaluated)
    assert (result.head, result.value, result.counts) == (((0, 1), (1, 1)), F(2, 3), ((2, 1), (2, 1)))


def test_the_trace_of_figure_1_marks_what_is_pruned():
    tree = search(FIGURE, Objective("precision"), "antimonotone", trace=True, min_tp=0).trace
    seen = {}

    def walk(node):
        seen["".join(str(label + 1) for label, _ in node.head)] = (node.value, node.status)
        for child in node.children:
            walk(child)

    walk(tree)
    assert seen[""] == (None, "root")
    assert seen["12"] == (F(2, 3), "best")
    assert seen["13"] == (F(1, 2), "pruned")
    assert seen["123"] == (None, "pruned")  # contains {1,3}, so it is never evaluated
    assert "1234" not in seen
    figure = search(FIGURE, Objective("precision"), "antimonotone-tree", trace=True, min_tp=0).trace
    walk(figure)
    assert seen["123"] == (F(5, 9), "pruned")


def test_association_view():
    world = HeadProblem.from_text(covered="01 11 10")
    assert evaluate(world, Objective("subset"), head("12")) == F(1, 3)
    assert evaluate(world, Objective("precision"), head("12")) == F(2, 3)


# measure, averaging, scope, covered, uncovered, values: the known witnesses and smallest counterexamples
WITNESSES = [
    ("f1", "example", "head", "0011 1100", "", {"13": F(2, 3), "123": F(13, 20), "1234": F(2, 3)}),
    ("subset", "micro", "all", "001 111", "", {"3": F(1, 2), "13": F(0), "123": F(1, 2)}),
    ("subset", "micro", "full", "001 111", "", {"3": F(1, 2), "13": F(0), "123": F(1, 2)}),
    ("m2", "micro", "head", "111", "000 001", {"3": F(7, 9), "13": F(3, 4), "123": F(7, 9)}),
    ("hamming", "micro", "all", "11", "", {"1": F(1, 2), "12": F(1)}),
    ("f1", "micro", "all", "11", "", {"1": F(2, 3), "12": F(1)}),
    ("jaccard", "micro", "all", "11", "", {"1": F(1, 2), "12": F(1)}),
    ("hamming", "micro", "all", "00", "", {"1": F(1, 2), "2": F(1, 2), "12": F(0)}),
    ("subset", "micro", "head", "01 10", "", {"1": F(1, 2), "2": F(1, 2), "12": F(0)}),
    ("f1", "example", "head", "01 10", "", {"1": F(1, 2), "12": F(2, 3)}),
    ("f1", "example", "all", "001 111", "", {"3": F(3, 4), "13": F(11, 15), "123": F(3, 4)}),
    ("f2", "example", "all", "001 001 111", "", {"3": F(31, 39), "13": F(50, 63), "123": F(17, 21)}),
    ("jaccard", "example", "all", "001 110", "", {"3": F(1, 2), "13": F(5, 12), "123": F(1, 2)}),
    ("matthews", "micro", "all", "001 111", "000", {"3": 0.598, "13": 0.55, "123": 0.632}),
    ("matthews", "micro", "head", "01 11", "00 01", {"1": 0.577, "2": 0.577, "12": 0.5}),
    ("laplace", "micro", "head", "11", "", {"1": F(2, 3), "12": F(3, 4)}),
    ("wracc", "micro", "all", "111", "", {"2": F(0), "-1 2": F(-1, 9), "-1 2 -3": F(0)}),
    ("f1", "micro", "head", "011", "001 001 001", {"12": F(2, 3), "23": F(4, 7)}),
]


@pytest.mark.parametrize(("measure", "averaging", "scope", "covered", "uncovered", "values"), WITNESSES)
def test_counterexamples_of_the_table(measure, averaging, scope, covered, uncovered, values):
    world = HeadProblem.from_text(covered, uncovered)
    objective = Objective(measure, averaging, scope)
    for labels, value in values.items():
        found = evaluate(world, objective, head(labels))
        assert found == value if isinstance(value, F) else float(found) == pytest.approx(value, abs=6e-4)


def test_recall_is_decomposable_only_because_literals_need_a_true_positive():
    assert find_witness(Case(measures.recall()), "decomposable", min_tp=1)[0] is None
    witness, _ = find_witness(Case(measures.recall()), "decomposable", min_tp=0)
    assert str(witness) == "covered 01: {2}=1, {1}=0 but {1,2}=1" or witness.values[-1] == 1
