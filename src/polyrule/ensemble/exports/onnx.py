"""An ensemble as an ONNX graph, for runtimes that know nothing of rules.

Weights are added rule by rule in double precision, in the library's order, so that sums are equal to the last bit.
"""

from __future__ import annotations

import numpy as np

from polyrule.arrays import Bytes
from polyrule.ensemble.decisions import AS_GOOD, membership, pairwise_f1
from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.graph import Graph


def export(model: RuleEnsemble) -> bytes:
    """Return an ONNX file with the outputs ``labels`` (int64), ``probabilities`` and ``scores`` (double)."""
    graph = Graph(model.features, model.label_names)
    conditions = [[graph.condition(condition) for condition in rule.body] for rule in model.rules]  # type: ignore[arg-type]
    scores = graph.rows(np.array(model.intercepts, dtype=np.float64))
    nothing = graph.constant(np.zeros((1, 1)))
    for rule, names in zip(model.rules, conditions, strict=True):
        weights = np.zeros((1, len(model.label_names)))
        for entry in rule.head:
            weights[0, entry.label] = entry.weight
        fires = graph.every(names)
        added = graph.constant(weights)
        scores = graph.add("Add", scores, added if fires is None else graph.add("Where", fires, added, nothing))
    graph.output("labels", _decide(graph, model, scores), "int64")
    odds = graph.add("Mul", scores, graph.constant(np.array(model.unit, dtype=np.float64)))
    graph.output("probabilities", graph.add("Sigmoid", odds), "float64")
    graph.output("scores", scores, "float64")
    return graph.to_bytes("Weighted multi-label rules, exported by polyrule.")


def _decide(graph: Graph, model: RuleEnsemble, scores: str) -> str:
    cuts = graph.constant(np.array(model.decision.every_cut(len(model.label_names)), dtype=np.float64).reshape(1, -1))
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


def _as_good_f1(graph: Graph, totals: str, members: Bytes, unit: float) -> str:
    """1 for the sets whose expected F1 is as large as any, 0 for the others."""
    below = graph.add("Sub", totals, graph.add("ReduceMax", totals, axes=[1], keepdims=1))
    chances = graph.add("Exp", graph.add("Mul", below, graph.constant(np.array(unit))))
    merits = graph.add("MatMul", chances, graph.constant(pairwise_f1(members)))
    least = graph.add("Mul", graph.add("ReduceMax", merits, axes=[1], keepdims=1), graph.constant(np.array(AS_GOOD)))
    return graph.add("Cast", graph.add("GreaterOrEqual", merits, least), to=1)  # 1: FLOAT
