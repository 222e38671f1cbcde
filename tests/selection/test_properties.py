"""Properties of fitted lists: nothing can be left out without loss, no label is said of all by rules, five rows a rule.

`make list-properties` fits about 1,000 lists, CI a tenth; set POLYRULE_LIST_FITS for another number.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyrule import RuleListClassifier
from polyrule.conditions import Condition, GroupCondition, NumericCondition, SetCondition, flatten
from polyrule.conditions.evaluate import evaluate
from polyrule.covering.learner import Learner
from polyrule.data.examples import integer_weights
from polyrule.data.table import Feature, Table
from polyrule.measures import Objective, get
from polyrule.model.rule_list import RuleList
from polyrule.selection.problem import Examples, ListProblem, prepare
from polyrule.selection.settings import ListSettings
from polyrule.soft_targets.regression import blas

FITS = int(os.environ.get("POLYRULE_LIST_FITS", "100"))
Body = tuple[Condition, ...]


def world(seed: int) -> tuple[Table, np.ndarray, np.ndarray | None, dict[str, Any]]:
    """Random examples of numbers, categories and words, labels that depend on them or not, weights and options."""
    random = np.random.default_rng(seed)
    n, kinds = int(random.integers(12, 220)), int(random.integers(3, 9))
    columns = [
        random.random((n, 2)).round(2),
        random.integers(0, kinds, (n, 2)).astype(float),
        (random.random((n, 3)) < 0.2).astype(float),
    ]
    columns[0][random.random((n, 2)) < 0.05 * random.integers(2)] = np.nan
    categories = tuple("abcdefghi"[:kinds])
    features = [Feature(f"f{k}", *(("nominal", categories) if k in (2, 3) else ())) for k in range(7)]
    X = np.hstack(columns)
    signals = [X[:, 0] > 0.6, np.isin(X[:, 2], [0, 1]), X[:, 4] + X[:, 5] > 0, (X[:, 1] < 0.5) & (X[:, 3] > 1)]
    chosen = random.permutation(4)[: int(random.integers(1, 5))]
    Y = np.column_stack([signals[k] ^ (random.random(n) < random.choice([0, 0.1, 0.3])) for k in chosen])
    Y = np.hstack([Y, random.random((n, 1)) < random.random()]).astype(float)
    if random.random() < 0.2:
        Y[random.random(Y.shape) < 0.1] = np.nan
    weights = random.integers(1, 5, n) / 2 if random.random() < 0.2 else None
    options: dict[str, Any] = {}
    for name, values in {
        "teacher": [None, "forest", "forest"],
        "optimize": ["f1", "f1", "f0.5", "f2", "hamming"],
        "max_rules": [None, None, 2, 3],
        "max_head_size": [None, None, 1],
        "max_alternatives": [8, 8, 0, 3],
        "simplicity": [1.0, 0.5, 2.0],
        "min_precision": [0, 0, 0.4],
    }.items():
        options[name] = values[int(random.integers(len(values)))]
    return Table.from_array(X, features), Y, weights, options


def problem_of(table: Table, Y: np.ndarray, weights: np.ndarray | None, model: RuleList) -> ListProblem:
    """The problem that the list was selected for, made again."""
    options = model.info["options"]
    labels = np.where(np.isnan(Y), 2, Y).astype(np.uint8)
    units, scale = integer_weights(weights, len(Y))
    examples = Examples(table, labels, units, model.label_names, scale)
    wanted = ListSettings(
        options["optimize"],
        simplicity=options["simplicity"],
        teacher=options["teacher"] is not None,
        min_precision=options["min_precision"],
    )
    with blas().limit(limits=1):
        return prepare(examples, wanted, Learner(Objective(get("f0.5"))))


def value(problem: ListProblem, model: RuleList, rules: list[tuple[Body, tuple[int, ...]]]) -> float:
    """Objective of rules, from its definition and what the model states."""
    stated, predicted, costs = model.info["pruning"], np.zeros(problem.targets.shape, dtype=bool), 0
    rule_cost, condition_cost, label_cost = stated["costs"]
    for body, labels in rules:
        covered = np.ones(len(predicted), dtype=bool)
        for condition in body:
            covered &= evaluate(condition, problem.train.table)
        predicted[np.ix_(covered, labels)] = True
        costs += label_cost * len(labels) + (rule_cost + condition_cost * n_choices(body, model) if body else 0)
    squared, levels = problem.settings.beta_squared, np.array(stated["levels"])
    if squared is None:
        gains = 2 * problem.targets - 2 * levels
    else:
        denominator = squared.denominator
        gains = float((1 + squared) * denominator) * problem.targets - denominator * levels
    gains = np.where(problem.train.labels == 2, 0, gains * problem.train.weights[:, None])
    return float(gains[predicted].sum()) - costs


def n_choices(body: Body, model: RuleList) -> int:
    """Conditions and members of a body; a set of categories counts as the single conditions with as many choices."""
    total = 0
    for condition in flatten(body):
        if isinstance(condition, SetCondition):
            n = len(model.features[condition.feature].categories)
            k, choices = len(condition.values), 1
            for step in range(k):
                choices = choices * (n - step) // (step + 1)
            needed = 1
            while n**needed < choices:
                needed += 1
            total += needed
        else:
            total += 1
    return total


def left_out(rules: list[tuple[Body, tuple[int, ...]]]) -> list[list[tuple[Body, tuple[int, ...]]]]:
    """All lists with one condition, member, label or rule less."""
    lists = []
    for place, (body, labels) in enumerate(rules):
        others = rules[:place] + rules[place + 1 :]
        lists.append(others)
        lists += [[*others, (body, tuple(x for x in labels if x != label))] for label in labels if len(labels) > 1]
        for position, condition in enumerate(body):
            before, after = body[:position], body[position + 1 :]
            lists.append([*others, ((*before, *after), labels)])
            if isinstance(condition, GroupCondition):
                for member in condition.members:
                    rest = tuple(other for other in condition.members if other != member)
                    lists.append(
                        [*others, ((*before, *(rest if len(rest) == 1 else [GroupCondition(rest)]), *after), labels)]
                    )
    return lists


def merged(rules: list[tuple[Body, tuple[int, ...]]]) -> list[tuple[Body, tuple[int, ...]]]:
    """Rules with equal bodies as one."""
    heads: dict[frozenset[Condition], tuple[Body, set[int]]] = {}
    for body, labels in rules:
        heads.setdefault(frozenset(body), (body, set()))[1].update(labels)
    return [(body, tuple(sorted(labels))) for body, labels in heads.values()]


def least_rows(n: int) -> int:
    return 5 if n >= 50 else max(1, n // 10)


def check(seed: int) -> RuleList:
    table, Y, weights, options = world(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RuleListClassifier(**options).fit(table, Y, sample_weight=weights).rules_
    problem = problem_of(table, Y, weights, model)
    rules = [(rule.body, tuple(literal.label for literal in rule.head)) for rule in model.rules]
    best = value(problem, model, rules)
    allowed = options["max_head_size"] or len(model.label_names)
    for fewer in left_out(rules) if options["max_head_size"] else map(merged, left_out(rules)):
        covers = [covered_rows(body, table).sum() for body, _ in fewer]
        if all(rows >= least_rows(len(Y)) for rows in covers) and all(len(head) <= allowed for _, head in fewer):
            assert value(problem, model, fewer) < best, (seed, str(model), fewer)
    for body, labels in rules:
        assert covered_rows(body, table).sum() >= least_rows(len(Y)), (seed, str(model))
        assert len(labels) <= allowed
    predicted = np.zeros(Y.shape, dtype=bool)
    for body, labels in rules:
        predicted[np.ix_(covered_rows(body, table), labels)] |= bool(body)
    constant = {label for body, labels in rules for label in labels if not body}
    for label in set(range(Y.shape[1])) - constant:
        assert not predicted[~np.isnan(Y[:, label]), label].all(), (seed, str(model), "rules that mean always")
    assert options["max_rules"] is None or len(rules) <= options["max_rules"]
    return model


def covered_rows(body: Body, table: Table) -> np.ndarray:
    rows = np.ones(len(table), dtype=bool)
    for condition in body:
        rows &= evaluate(condition, table)
    return rows


@settings(max_examples=max(1, FITS // 10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1))
def test_properties_of_lists_of_any_seed(seed: int) -> None:
    check(seed)


def test_properties_of_lists() -> None:
    models = [check(seed) for seed in range(FITS * 9 // 10)]
    assert sum(any(rule.body for rule in model.rules) for model in models) > len(models) // 2
    assert any(isinstance(c, GroupCondition) for m in models for rule in m.rules for c in rule.body)
    assert any(not rule.body for model in models for rule in model.rules)


def test_a_member_that_is_not_needed_is_found() -> None:
    """The check itself: a list with a superfluous member, condition or label must fail."""
    random = np.random.default_rng(0)
    X = random.random((120, 3)).round(2)
    Y = (X[:, :1] > 0.6).astype(float)
    table = Table.from_array(X)
    model = RuleListClassifier().fit(table, Y).rules_
    problem = problem_of(table, Y, None, model)
    (body, labels), *others = [(rule.body, tuple(x.label for x in rule.head)) for rule in model.rules]
    longer = [((*body, NumericCondition(1, ">", -1.0)), labels), *others]
    assert max(value(problem, model, fewer) for fewer in left_out(longer)) > value(problem, model, longer)
    assert not others
    with pytest.raises(ValueError, match="max"):
        max(value(problem, model, fewer) for fewer in left_out([]))
