"""Warnings of a fit about the measure and the model, one sentence each."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from polyrule.data.columns import listing
from polyrule.errors import MeasureWarning, ModelWarning
from polyrule.measures import Objective
from polyrule.measures.check import remarks
from polyrule.model.rule_list import RuleList
from polyrule.utils.messages import depth_of_caller, parameter_name

FREQUENT = 0.2
"""Share of examples from which on a label is missed if no rule predicts it; rarer ones may well not earn a rule."""


def warn_about_measure(objective: Objective) -> None:
    """Warn if every rule is as good as any other, if errors are rewarded, or if false positives do not count."""
    for remark in remarks(objective.measure):
        if not remark.startswith("it makes"):  # that depends on the data; see `warn_about_rules`
            warnings.warn(f"measure {objective.measure.name!r}: {remark}", MeasureWarning, stacklevel=depth_of_caller())


def warn_about_model(model: RuleList, truth: Any, reason: str, whole: bool = True) -> None:
    """Warn if a list has no rules, is no better than constants, or cannot predict a frequent label or any present one.

    A list that was ended before its time, or whose classes are decided by probabilities (not `whole`), is only expected
    to have a rule.
    """
    poor = model.shortfall() if model.rules else ""
    for text in filter(None, (poor and f"the list is {poor}", _shortcoming(model, truth, reason, whole))):
        warnings.warn(text, ModelWarning, stacklevel=depth_of_caller())


def _shortcoming(model: RuleList, truth: Any, reason: str, whole: bool) -> str:
    frequent = np.asarray((truth == 1).mean(axis=0)).ravel() >= FREQUENT
    frequent &= np.array(model.defaults) == 0
    if not frequent.any() or reason in ("interrupted", "callback"):
        return ""  # little is there to be predicted, or the user knows
    if not model.rules:
        smaller = f"{parameter_name('simplicity')} or {parameter_name('min_coverage')}"
        why = f"none was good enough; a smaller {smaller} allows more"
        if reason == "time_limit":
            why = "the time limit ended learning before the first; allow more time"
        return f"the list has no rules: {why}"
    if reason != "complete" or not whole:
        return ""
    said = {literal.label for rule in model.rules for literal in rule.head if literal.value}
    if not said and not any(model.defaults):
        return (
            "the list can only say that labels are absent; a measure that rewards what is present, such as f0.5, or "
            "negative=False gives rules for them"
        )
    never = [name for k, name in enumerate(model.label_names) if frequent[k] and k not in said]
    if not never:
        return ""
    which = listing(never)
    return (
        f"never predicted by this model: {which}, though at least one example in {round(1 / FREQUENT)} has "
        f"{'it' if len(never) == 1 else 'each of them'}; more or longer rules may predict "
        f"{'it' if len(never) == 1 else 'them'} (a smaller simplicity, more conditions)"
    )
