"""Selection and pruning of rules until each label is as precise as the user asks."""

from __future__ import annotations

from dataclasses import replace

from polyrule.selection.model import estimate
from polyrule.selection.pool import Pool
from polyrule.selection.problem import ListProblem
from polyrule.selection.pruning import prune
from polyrule.selection.select import Selected, select


def refine(problem: ListProblem, pool: Pool) -> Selected:
    """Select rules without labels that are expected to be less precise than asked for, and prune them."""
    allowed, selected = pool.allowed.copy(), select(problem, pool)
    bodies = {body: number for number, body in enumerate(pool.bodies)}
    while imprecise := _imprecise(problem, selected):
        for rule, label in imprecise:
            allowed[bodies[selected.rules[rule][0]], label] = False
        selected = select(problem, pool, allowed)
    selected = replace(selected, rules=prune(problem, selected.rules, selected.levels))
    while imprecise := _imprecise(problem, selected):
        heads = [tuple(x for x in head if (n, x) not in imprecise) for n, (_, head) in enumerate(selected.rules)]
        rules = [(body, head) for (body, _), head in zip(selected.rules, heads, strict=True) if head]
        selected = replace(selected, rules=prune(problem, rules, selected.levels))
    return selected


def _imprecise(problem: ListProblem, selected: Selected) -> list[tuple[int, int]]:
    """Return rules and labels, by number, whose expected precision is below the minimum."""
    minimum = problem.settings.min_precision
    if not minimum:
        return []
    n_start = 0 if problem.start is None else len(problem.start)
    rules = estimate(problem, selected.rules).rules[n_start:]
    return [
        (number, literal.label)
        for number, rule in enumerate(rules)
        for literal in rule.head
        if literal.chance is not None and literal.chance < minimum
    ]
