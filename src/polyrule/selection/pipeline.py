"""The learner of the default rule list: its stages in order."""

from __future__ import annotations

from polyrule.covering.constraints import Constraints
from polyrule.covering.learner import Learner, Reason
from polyrule.covering.progress import Callback
from polyrule.model.rule_list import RuleList
from polyrule.selection.grow import grow
from polyrule.selection.model import estimate, make_model
from polyrule.selection.pool import build_pool
from polyrule.selection.problem import Examples, prepare
from polyrule.selection.refine import refine
from polyrule.selection.settings import ListSettings
from polyrule.soft_targets.regression import blas


def learn_list(
    examples: Examples,
    settings: ListSettings,
    learner: Learner,
    constraints: Constraints | None = None,
    start: RuleList | None = None,
    callback: Callback | None = None,
) -> tuple[RuleList, Reason]:
    """Learn a short list, and return it with the reason why growth ended.

    Parameters
    ----------
    examples : Examples
    settings : ListSettings
    learner : Learner
        Grows the bodies.
    constraints : Constraints, optional
    start : RuleList, optional
        Rules before those that are learned.
    callback : Callback, optional
    """
    # Threads of BLAS would wait for each other, and the last digits of products would change with their number.
    with blas().limit(limits=1):
        problem = prepare(examples, settings, learner, constraints, start, callback)
        grown = grow(problem)
        if grown.reason == "interrupted" and not grown.bodies:
            return estimate(problem, []), grown.reason
        pool = build_pool(problem, grown)
        return make_model(problem, refine(problem, pool)), grown.reason
