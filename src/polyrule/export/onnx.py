"""A model as an ONNX graph, for runtimes that know nothing of rules.

The graph of a list keeps two tables over the batch, which labels are set and which of them are present, and an entry
per example that says whether a stop has ended the list there. A rule updates them with a few Boolean operations. That
of an ensemble adds the weights rule by rule in double precision, in the library's order: sums are equal to the bit.
"""

from __future__ import annotations

import numpy as np

from polyrule.export.graph import Graph
from polyrule.export.language import relation_constants, title
from polyrule.model.columns import used_features
from polyrule.model.decisions import AS_GOOD, membership, pairwise_f1
from polyrule.model.predict import margin_table
from polyrule.model.rule import Rule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Bytes, Floats


def export(model: RuleList | RuleEnsemble) -> bytes:
    """Return an ONNX file with the outputs ``labels`` (int64), ``probabilities`` and, of sums, ``scores`` (double)."""
    return _ListGraph(model).to_bytes() if isinstance(model, RuleList) else _ensemble(model)


class _ListGraph:
    def __init__(self, model: RuleList) -> None:
        self.model = model
        self.graph = graph = Graph(model.features, model.label_names)
        width = len(model.label_names)
        for feature in used_features(model.rules):
            graph.feature(feature)
        self.assigned = graph.rows(np.zeros(width, dtype=bool))
        self.present = graph.rows(np.array(model.defaults, dtype=bool))
        self.probabilities = graph.rows(model.chances[-1])
        table = margin_table(model) if relation_constants(model) else np.zeros((len(model) + 1, 0))
        self.margins = graph.rows(table[-1]) if table.size else ""
        self.active = graph.rows(np.ones(1, dtype=bool))
        for rule, head, probabilities, margins in zip(model.rules, model.heads, model.chances, table, strict=False):
            self._apply(rule, head, probabilities, margins)

    def to_bytes(self) -> bytes:
        graph = self.graph
        if relation_constants(self.model):
            labels = _related(graph, self.model, self.margins)
        else:
            labels = graph.add("Cast", self.present, to=7)  # 7: INT64
        graph.output("labels", labels, "int64")
        graph.output("probabilities", self.probabilities, "float64")
        return graph.to_bytes(title(self.model))

    def _apply(self, rule: Rule, head: dict[int, int], probabilities: Floats, margins: Floats) -> None:
        graph = self.graph
        fires = graph.all_of([self.active, *(graph.condition(condition, self._label) for condition in rule.body)])
        labels = range(len(self.model.label_names))
        mask, values = (np.array([head.get(label, -1) >= smallest for label in labels]) for smallest in (0, 1))
        reached = graph.add("And", str(fires), graph.constant(mask.reshape(1, -1)))
        newly = graph.add("And", reached, graph.add("Not", self.assigned))
        # Runtimes have no choice between Booleans, so it is written out.
        before = graph.add("And", self.present, graph.add("Not", newly))
        self.present = graph.add("Or", before, graph.add("And", newly, graph.constant(values.reshape(1, -1))))
        self.probabilities = graph.add("Where", newly, graph.constant(probabilities.reshape(1, -1)), self.probabilities)
        if self.margins:
            self.margins = graph.add("Where", newly, graph.constant(margins.reshape(1, -1)), self.margins)
        self.assigned = graph.add("Or", self.assigned, reached)
        if rule.stop:
            any_new = graph.add("ReduceMax", graph.add("Cast", newly, to=6), axes=[1], keepdims=1)  # 6: INT32
            self.active = graph.add("And", self.active, graph.add("Not", graph.add("Cast", any_new, to=9)))  # 9: BOOL

    def _label(self, label: int) -> tuple[str, str]:
        """Return the columns that state if a label is set so far, and present."""
        graph, column = self.graph, self.graph.constant(np.array([label]))
        is_set, present = (graph.add("Gather", table, column, axis=1) for table in (self.assigned, self.present))
        return is_set, present


def _ensemble(model: RuleEnsemble) -> bytes:
    graph = Graph(model.features, model.label_names)
    conditions = [[graph.condition(condition) for condition in rule.body] for rule in model.rules]
    scores = graph.rows(np.array(model.intercepts, dtype=np.float64))
    nothing = graph.constant(np.zeros((1, 1)))
    for rule, names in zip(model.rules, conditions, strict=True):
        weights = np.zeros((1, len(model.label_names)))
        for entry in rule.head:
            weights[0, entry.label] = entry.weight
        fires = graph.all_of(names)
        added = graph.constant(weights)
        scores = graph.add("Add", scores, added if fires is None else graph.add("Where", fires, added, nothing))
    graph.output("labels", _decide(graph, model, scores), "int64")
    odds = graph.add("Mul", scores, graph.constant(np.array(model.unit, dtype=np.float64)))
    graph.output("probabilities", graph.add("Sigmoid", odds), "float64")
    graph.output("scores", scores, "float64")
    return graph.to_bytes(title(model))


def _decide(graph: Graph, model: RuleEnsemble, scores: str) -> str:
    cuts = graph.constant(np.array(model.decision.every_cut(len(model.label_names)), dtype=np.float64).reshape(1, -1))
    if relation_constants(model):
        worth = graph.constant(model.worth.reshape(1, -1))
        return _related(graph, model, graph.add("Mul", graph.add("Sub", scores, cuts), worth))
    if not model.decision.uses_sets:
        return graph.add("Cast", graph.add("GreaterOrEqual", scores, cuts), to=7)  # 7: INT64
    members = membership(model.decision.label_sets, len(model.label_names))
    beyond = graph.add("Sub", scores, cuts)
    totals = graph.rows(np.array(model.decision.every_bonus))
    nothing = graph.constant(np.zeros((1, 1)))
    for label in range(len(model.label_names)):  # one after the other, as the library adds
        column = graph.add("Gather", beyond, graph.constant(np.array([label])), axis=1)
        there = graph.constant(members[:, label].astype(bool).reshape(1, -1))
        totals = graph.add("Add", totals, graph.add("Where", there, column, nothing))
    if model.decision.kind == "expected-f1":
        totals = _as_good_f1(graph, totals, members, model.common_unit)
    best = graph.add("ArgMax", totals, axis=1, keepdims=0)  # the first of equals
    return graph.add("Gather", graph.constant(members.astype(np.int64)), best, axis=0)


def _related(graph: Graph, model: RuleList | RuleEnsemble, margins: str) -> str:
    """Decide related labels together; the relations between labels hold, whatever the margins are."""
    plan = relation_constants(model)
    strength = []
    for below in plan["BELOW"]:
        columns = graph.add("Gather", margins, graph.constant(np.array(below)), axis=1)
        strength.append(graph.add("ReduceMax", columns, axes=[1], keepdims=1) if len(below) > 1 else columns)
    possible: dict[int, str] = {}
    forced: dict[int, str] = {}
    infinite, least = (graph.constant(np.array(value)) for value in (np.inf, -np.inf))
    for members, exactly in plan["GROUPS"]:
        ranks = []
        for k in members:
            rank = graph.add("Where", forced[k], infinite, strength[k]) if k in forced else strength[k]
            ranks.append(graph.add("Where", possible[k], rank, least) if k in possible else rank)
        winner = graph.add("ArgMax", graph.add("Concat", *ranks, axis=1), axis=1, keepdims=1)  # the first of equals
        for place, member in enumerate(members):
            won = graph.add("Equal", winner, graph.constant(np.array(place, dtype=np.int64)))
            for label in plan["BELOW"][member]:
                possible[label] = graph.add("And", possible[label], won) if label in possible else won
            for label in plan["ABOVE"][member] if exactly else ():
                forced[label] = graph.add("Or", forced[label], won) if label in forced else won
    results = []
    for label, column in enumerate(strength):
        present = graph.add("GreaterOrEqual", column, graph.constant(np.array(0.0)))
        present = graph.add("Or", present, forced[label]) if label in forced else present
        results.append(graph.add("And", present, possible[label]) if label in possible else present)
    return graph.add("Cast", graph.add("Concat", *results, axis=1), to=7)  # 7: INT64


def _as_good_f1(graph: Graph, totals: str, members: Bytes, unit: float) -> str:
    """1 for the sets whose expected F1 is as large as any, 0 for the others."""
    below = graph.add("Sub", totals, graph.add("ReduceMax", totals, axes=[1], keepdims=1))
    probabilities = graph.add("Exp", graph.add("Mul", below, graph.constant(np.array(unit))))
    expected_f1 = graph.add("MatMul", probabilities, graph.constant(pairwise_f1(members)))
    smallest = graph.add(
        "Mul", graph.add("ReduceMax", expected_f1, axes=[1], keepdims=1), graph.constant(np.array(AS_GOOD))
    )
    return graph.add("Cast", graph.add("GreaterOrEqual", expected_f1, smallest), to=1)  # 1: FLOAT
