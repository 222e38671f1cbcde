from itertools import combinations

import numpy as np
import pytest
from tests.report.worlds import random_model

from polyrule.model import LabelCondition, Literal, NumericCondition, Rule
from polyrule.report import label_graph
from polyrule.report.label_graph import label_edges, layout, summarise


def test_heads_and_label_conditions_become_edges():
    above = NumericCondition(0, ">", 1.0)
    rules = [
        Rule((Literal(0, 1), Literal(1, 0)), (above,)),
        Rule((Literal(0, 1), Literal(1, 0)), (above, LabelCondition(2, 1))),
        Rule((Literal(0, 1), Literal(1, 0))),
        Rule((Literal(0, 1),), (LabelCondition(2, 0),)),
    ]
    found = {(e.kind, e.source, e.target, *e.values, e.conditional): e.rules for e in label_edges(rules)}
    assert found == {
        ("together", 0, 1, 1, 0, True): [0, 1],
        ("together", 0, 1, 1, 0, False): [2],
        ("implies", 2, 0, 1, 1, True): [1],
        ("implies", 2, 1, 1, 0, True): [1],
        ("implies", 2, 0, 0, 1, False): [3],
    }
    assert len(label_edges(rules)[0].rules) == 2  # the strongest first


@pytest.mark.parametrize("seed", range(6))
def test_edges_are_those_of_going_through_all_pairs(seed):
    rules = random_model(seed, rules=30, labels=6).rules
    expected = {}
    for number, rule in enumerate(rules):
        conditional = any(not isinstance(condition, LabelCondition) for condition in rule.body)
        literals = [(literal.label, literal.value) for literal in rule.head]
        tested = {(c.label, c.value) for c in rule.body if isinstance(c, LabelCondition)}
        pairs = [("together", a, b) for a, b in combinations(literals, 2)]
        pairs += [("implies", a, b) for a in tested for b in literals]
        for kind, a, b in pairs:
            expected.setdefault((kind, a, b, conditional), []).append(number)
    edges = label_edges(rules)
    found = {(e.kind, (e.source, e.values[0]), (e.target, e.values[1]), e.conditional): e.rules for e in edges}
    assert found == expected
    assert [len(e.rules) for e in edges] == sorted((len(e.rules) for e in edges), reverse=True)
    assert [e.rules for e in label_edges(rules, 5)] == [e.rules for e in edges[:5]]


def test_the_picture_is_the_same_every_time_and_fills_the_square():
    links = [(0, 1), (1, 2), (4, 5)]
    places = layout(9, links)
    assert (places == layout(9, links)).all()
    assert places.min() == 0
    assert places.max() == 1
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(9)
    assert gaps.min() > 0.05
    assert layout(0, []).shape == (0, 2)
    assert layout(1, []).tolist() == [[0.5, 0.5]]


def test_too_many_edges_are_cut_and_it_says_so(monkeypatch):
    monkeypatch.setattr(label_graph, "MOST_EDGES", 10)
    model = random_model(3, rules=60, labels=12)
    summary = summarise(model.rules, 12)
    assert len(summary["edges"]) == 10
    assert summary["dropped"] == len(label_edges(model.rules)) - 10 > 0
