"""Cutoffs: the probability from which each label is predicted.

An ensemble gets a per-label decision. A list has one probability per label and rule, so a cutoff decides which labels
of which rules stay: a label is predicted if a rule that covers the example expects it with at least this probability.
Either way the cutoff is part of the model's structure, and every export has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logit

from polyrule.data.dataset import Dataset
from polyrule.data.table import Table
from polyrule.errors import ModelError, OptionError
from polyrule.model import RuleList
from polyrule.model.decisions import Decision
from polyrule.model.predict import fired_rows
from polyrule.model.rule_model import labelled
from polyrule.utils.arrays import Floats
from polyrule.utils.messages import did_you_mean


def set_cutoffs(model: Any, cutoffs: float | Mapping[str, float]) -> Any:
    """Return the model with other cutoffs.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
        A list whose rules only make labels present, as the default learner makes it, or an ensemble.
    cutoffs : float or mapping from label to float
        Probability from which a label is predicted, between 0 and 1; one for all labels, or those to change.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule
    >>> likely = Rule((Literal(0, 1, 8, 2, 0.75),), (NumericCondition(0, ">", 60),))
    >>> possible = Rule((Literal(0, 1, 5, 5, 0.5),), (NumericCondition(0, ">", 40),))
    >>> model = RuleList((likely, possible), (Feature("age"),), ("ill",))
    >>> print(set_cutoffs(model, 0.6).format(counts=False))
    1. ill <- age > 60
    (labels that no rule sets are absent)
    """
    checked_cutoffs = _checked(model, cutoffs)
    if isinstance(model, RuleList):
        return _with_strong_labels(model, checked_cutoffs)
    if model.decision.uses_sets and len(checked_cutoffs) < len(model.label_names):
        lacking = next(name for name in model.label_names if name not in checked_cutoffs)
        raise ModelError(
            f"the model chooses whole label sets, so cutoffs are needed for all labels, and {lacking!r} has none; or "
            "call tune_decision(data, decision='per-label') first"
        )
    cuts = [0.0] * len(model.label_names) if model.decision.uses_sets else list(model.decision.cuts)
    for label, name in enumerate(model.label_names):
        if name in checked_cutoffs:
            cuts[label] = float(np.clip(logit(checked_cutoffs[name]), -1e6, 1e6)) / model.worth[label]
    info = {key: value for key, value in model.info.items() if key not in ("guarantees", "costs")}
    return replace(
        model, decision=Decision("per-label", tuple(cuts)), info=info | {"cutoffs": _noted(model, checked_cutoffs)}
    )


def cutoffs(model: Any) -> dict[str, float]:
    """Return the cutoffs that were set for a model, by label.

    >>> from polyrule.data import Feature
    >>> cutoffs(set_cutoffs(RuleList((), (Feature("age"),), ("ill", "frail")), {"ill": 0.25}))
    {'ill': 0.25}
    """
    return {str(name): float(value) for name, value in model.info.get("cutoffs", {}).items()}


def scores(model: Any, table: Table) -> Floats:
    """Return per row and label the largest cutoff at which the label is predicted; -1 if none predicts it.

    For a list that is the largest precision that a covering rule expects of the label. A label of a rule made by hand
    has no such number and always stays, so its score is 1.
    """
    if not isinstance(model, RuleList):
        return model.chances_of(table)  # type: ignore[no-any-return]
    check_kind(model)
    best = np.full((len(table), len(model.label_names)), -1.0)
    for rule, rows in zip(model.rules, fired_rows(model, table), strict=True):
        for literal in rule.head:
            precision = 1.0 if literal.chance is None else literal.chance
            best[rows, literal.label] = np.maximum(best[rows, literal.label], precision)
    return best


def examples_of(model: Any, data: Any, y: Any = None) -> Dataset:
    """Return labelled examples whose labels stand in the order of a model."""
    examples = labelled(model, data, y)
    if examples.label_names != model.label_names:
        raise ModelError(f"{examples.name or 'data'}: its labels are not those of the model, in the same order")
    return examples


def check_kind(model: Any) -> None:
    """Raise `ModelError` if a list does more than make labels present."""
    if not isinstance(model, RuleList):
        return
    absent = any(literal.value == 0 for rule in model.rules for literal in rule.head)
    if absent or model.full or any(model.defaults) or any(model.label_tests) or any(rule.stop for rule in model.rules):
        raise ModelError(
            "cutoffs need a list whose rules only make labels present, as RuleListClassifier learns it; this one has "
            "absent labels, stops or conditions on labels"
        )


def _with_strong_labels(model: RuleList, checked_cutoffs: Mapping[str, float]) -> RuleList:
    check_kind(model)
    bounds = [checked_cutoffs.get(name, 0.0) for name in model.label_names]
    rules = []
    for rule in model.rules:
        head = tuple(one for one in rule.head if one.chance is None or one.chance >= bounds[one.label])
        if head:
            rules.append(rule if head == rule.head else replace(rule, head=head, value=None))
    edited = model if tuple(rules) == model.rules else model._edited(rules)
    info = {key: value for key, value in edited.info.items() if key not in ("guarantees", "costs")}
    return replace(edited, info=info | {"cutoffs": _noted(model, checked_cutoffs)})


def _noted(model: Any, new_cutoffs: Mapping[str, float]) -> dict[str, float]:
    both = cutoffs(model) | dict(new_cutoffs)
    return {name: both[name] for name in model.label_names if name in both}


def _checked(model: Any, given_cutoffs: float | Mapping[str, float]) -> dict[str, float]:
    named = given_cutoffs if isinstance(given_cutoffs, Mapping) else dict.fromkeys(model.label_names, given_cutoffs)
    for name, value in named.items():
        if name not in model.label_names:
            raise OptionError(f"cutoffs: the model has no label {name!r}{did_you_mean(str(name), model.label_names)}")
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:
            raise OptionError(f"cutoffs: that of {name!r} must be a probability from 0 to 1, got {value!r}")
    return {name: float(value) for name, value in named.items()}
