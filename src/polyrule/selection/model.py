"""The selected rules as a model, with counts on the user's examples and the precision to expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polyrule.binning.shortener import ThresholdShortener
from polyrule.conditions import n_conditions
from polyrule.conditions.evaluate import evaluate
from polyrule.covering.learner import note_proof
from polyrule.data.examples import unscaled
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.measures import Objective
from polyrule.model.rule import Literal, Rule
from polyrule.model.rule_list import RuleList
from polyrule.selection.estimates import best_constant_value, expected_precision, list_value, margin_over_constants
from polyrule.selection.objective import QUANTUM, Body, HeadedBody, targets_digest
from polyrule.selection.problem import Examples, ListProblem, example_weight
from polyrule.selection.select import Selected
from polyrule.selection.settings import SELECTION_VERSION
from polyrule.soft_targets.targets import MIN_EXAMPLES
from polyrule.utils.arrays import Bools, Floats


def covered_rows(body: Body, table: Table) -> Bools:
    """Return the rows that a body covers."""
    rows = np.ones(len(table), dtype=bool)
    for condition in body:
        rows &= evaluate(condition, table)
    return rows


def estimate(problem: ListProblem, rules: Sequence[HeadedBody]) -> RuleList:
    """Return the rules behind those of `start`, with counts and the precision to expect."""
    examples, n_rows = problem.examples, len(problem.examples)
    cells, set_cells = problem.fixed.cells[:n_rows], problem.fixed.set_cells[:n_rows]
    ended = problem.fixed.ended[:n_rows]
    unset = ~cells
    shorten = ThresholdShortener(examples.table).condition
    rules_made, searched = [], [0] * len(examples.label_names)
    for body, labels in rules:
        head, covered = [], covered_rows(body, examples.table)
        for label in labels:
            rows = covered & unset[:, label]
            unset[rows, label] = False
            ((right, wrong, estimated),) = _counts(problem, slice(label, label + 1), rows[:, None])
            precision = expected_precision(right, wrong, n_conditions(body), estimated)
            head.append(Literal(label, 1, right, wrong, round(precision, 4)))
            searched[label] += n_conditions(body)
        weight = unscaled(int(examples.weights[covered & ~ended].sum()), examples.scale)
        rules_made.append(Rule(tuple(head), tuple(map(shorten, body)), coverage=weight))
    unset |= ended[:, None] & ~set_cells
    rest = _counts(problem, slice(None), unset)
    # A label that no rule predicts is absent: that is the literal here, and the search is optimistic about it.
    absent = [
        expected_precision(wrong, right, conditions, None if estimated is None else right + wrong - estimated)
        for (right, wrong, estimated), conditions in zip(rest, searched, strict=True)
    ]
    return RuleList(
        (*(() if problem.start is None else problem.start.rules), *rules_made),
        examples.table.features,
        examples.label_names,
        default_counts=tuple((right, wrong) for right, wrong, _ in rest),
        default_chances=tuple(round(1 - precision, 4) for precision in absent),
    )


def _counts(problem: ListProblem, labels: slice, cells: Bools) -> list[tuple[float, float, float | None]]:
    """Return for each label the weight of examples with it and without, and the first as estimated."""
    examples = problem.examples
    weights, truth = examples.weights.astype(np.float64), examples.labels[:, labels]  # products of doubles are quick
    right, wrong = (
        [unscaled(int(total), examples.scale) for total in weights @ (cells & (truth == value)).astype(np.float64)]
        for value in (1, 0)
    )
    if problem.estimates is None:
        return [(r, w, None) for r, w in zip(right, wrong, strict=True)]
    # In whole numbers, so that the order of examples does not matter.
    quanta = np.rint(QUANTUM * problem.estimates[: len(truth), labels])
    sums = weights @ np.where(cells & (truth != UNKNOWN), quanta, 0.0)
    estimated = [float(unscaled(int(total), examples.scale)) / QUANTUM for total in sums]
    return list(zip(right, wrong, estimated, strict=True))


def make_model(problem: ListProblem, selected: Selected) -> RuleList:
    """Return the list, which states targets, costs, levels and the value to expect."""
    model = estimate(problem, selected.rules)
    costs, squared = problem.costs, problem.settings.beta_squared
    present, total = _label_weights(problem.examples)
    n_decisions = float((total if squared is None else present).sum())
    model.info["pruning"] = {
        "version": SELECTION_VERSION,
        "levels": selected.levels.tolist(),
        "costs": [costs.rule, costs.condition, costs.literal],
        "targets": targets_digest(problem.targets),
        "expected": round(_expected_value(problem, model, present, total), 4),
        "constant": round(best_constant_value(present, total, squared, problem.settings.min_precision), 4),
        "margin": 0.0 if _few(problem) else round(margin_over_constants(n_decisions, teacher=_has_teacher(problem)), 4),
    }
    if problem.start:
        model.info["pruning"]["kept"] = len(problem.start)
    note_proof(model, Objective(problem.learner.objective.measure, negative=False))  # as bodies are grown
    return model


def _expected_value(problem: ListProblem, model: RuleList, present: Floats, total: Floats) -> float:
    right = predicted = 0.0
    for rule in model.rules:
        for literal in rule.head:
            if literal.value and literal.chance is not None:
                count = literal.tp + literal.fp
                right += literal.tp if _few(problem) else literal.chance * count
                predicted += count
    return list_value(right, predicted, float(present.sum()), float(total.sum()), problem.settings.beta_squared)


def _has_teacher(problem: ListProblem) -> bool:
    return problem.estimates is not None


def _few(problem: ListProblem) -> bool:
    """Return True if there are too few examples to expect anything; then counts are stated."""
    examples = problem.examples
    return problem.estimates is None and int(examples.weights.sum()) < MIN_EXAMPLES * example_weight(examples)


def _label_weights(examples: Examples) -> tuple[Floats, Floats]:
    """Return for each label the weight of examples that have it, and of those for which it is known."""
    scale = float(examples.scale)
    present = examples.weights @ (examples.labels == 1).astype(np.int64) * scale
    return np.asarray(present), np.asarray(examples.weights @ (examples.labels != UNKNOWN).astype(np.int64) * scale)


def shorten(rule_list: RuleList, table: Table, after: int = 0) -> RuleList:
    """Return the list with the shortest thresholds that divide all examples of `table` alike.

    The first `after` rules are not changed.
    """
    shortener = ThresholdShortener(table)
    rules = [replace(rule, body=tuple(map(shortener.condition, rule.body))) for rule in rule_list.rules[after:]]
    return replace(rule_list, rules=(*rule_list.rules[:after], *rules))
