"""A rule list as an ONNX graph, for runtimes that know nothing of rules.

The graph keeps two tables over the batch, which labels are set and which of them are present, and an entry per example
that says whether a stop has ended the list there. A rule updates them with a few Boolean operations.
"""

from __future__ import annotations

import numpy as np

from polyrule.model.exports.graph import Graph
from polyrule.model.narrowing import used_features
from polyrule.model.predict import chance_of, default_chance, smoothed
from polyrule.model.rule import Condition, LabelCondition, Rule
from polyrule.model.rule_list import RuleList


def export(model: RuleList) -> bytes:
    """Return an ONNX file with the outputs ``labels`` (int64) and ``probabilities`` (double)."""
    return _ListGraph(model).to_bytes()


class _ListGraph:
    def __init__(self, model: RuleList) -> None:
        self.model = model
        self.graph = graph = Graph(model.features, model.label_names)
        width = len(model.label_names)
        for feature in used_features(model.rules):
            graph.feature(feature)
        chances = [default_chance(model, label) for label in range(width)]
        self.assigned = graph.rows(np.zeros(width, dtype=bool))
        self.present = graph.rows(np.array(model.defaults, dtype=bool))
        self.chances = graph.rows(np.array(chances, dtype=np.float64))
        self.active = graph.rows(np.ones(1, dtype=bool))
        for rule in model.rules:
            self._apply(rule)

    def to_bytes(self) -> bytes:
        graph = self.graph
        graph.output("labels", graph.add("Cast", self.present, to=7), "int64")  # 7: INT64
        graph.output("probabilities", self.chances, "float64")
        return graph.to_bytes("A multi-label rule list, exported by polyrule.")

    def _apply(self, rule: Rule) -> None:
        graph, width = self.graph, len(self.model.label_names)
        fires = graph.every([self.active, *(self._condition(condition) for condition in rule.body)])
        values = np.zeros(width, dtype=bool)
        mask = np.full(width, self.model.full)
        chances = np.full(width, 1.0 - smoothed(rule.tp, rule.fp))
        for literal in rule.head:
            right = chance_of(literal)
            mask[literal.label], values[literal.label] = True, bool(literal.value)
            chances[literal.label] = right if literal.value else 1.0 - right
        reached = graph.add("And", str(fires), graph.constant(mask.reshape(1, -1)))
        newly = graph.add("And", reached, graph.add("Not", self.assigned))
        # Runtimes have no choice between Booleans, so it is written out.
        kept = graph.add("And", self.present, graph.add("Not", newly))
        self.present = graph.add("Or", kept, graph.add("And", newly, graph.constant(values.reshape(1, -1))))
        self.chances = graph.add("Where", newly, graph.constant(chances.reshape(1, -1)), self.chances)
        self.assigned = graph.add("Or", self.assigned, reached)
        if rule.stop:
            any_new = graph.add("ReduceMax", graph.add("Cast", newly, to=6), axes=[1], keepdims=1)  # 6: INT32
            self.active = graph.add("And", self.active, graph.add("Not", graph.add("Cast", any_new, to=9)))  # 9: BOOL

    def _condition(self, condition: Condition) -> str:
        if not isinstance(condition, LabelCondition):
            return self.graph.condition(condition)
        graph, column = self.graph, self.graph.constant(np.array([condition.label]))
        is_set = graph.add("Gather", self.assigned, column, axis=1)
        value = graph.add("Gather", self.present, column, axis=1)
        return graph.add("And", is_set, value if condition.value else graph.add("Not", value))
