"""Estimator of a stored model, with the options that the model states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyrule.errors import OptionError
from polyrule.estimators.binary_relevance import BinaryRelevanceRuleClassifier
from polyrule.estimators.ensemble import RuleEnsembleClassifier
from polyrule.estimators.rule_list import RuleListClassifier
from polyrule.estimators.seco import SeCoClassifier

_LEARNERS = {
    learner.__name__: learner
    for learner in (RuleListClassifier, SeCoClassifier, BinaryRelevanceRuleClassifier, RuleEnsembleClassifier)
}

_ANY = object()
# Options of earlier versions that are left out, by learner of today -> the value that had no effect.
_GROWN_ONLY: dict[str, Any] = {"averaging": "micro", "scope": "head", "search": "auto", "effort": None, "lift": None}
_GROWN_ONLY |= {"remaining": 0.1, "stop_threshold": 0.01, "keep_covered": True}
_SELECTED_ONLY = dict.fromkeys(("prune", "simplicity", "teacher", "alternatives", "max_members", "min_precision"), _ANY)
_WITHOUT_EFFECT: dict[str, dict[str, Any]] = {
    "RuleListClassifier": {**_GROWN_ONLY, "beam_width": 1, "refine": False, "thresholds": "short"},
    "SeCoClassifier": {**_SELECTED_ONLY, "max_samples": _ANY, "thresholds": "midpoint"},
    "BinaryRelevanceRuleClassifier": {"refine": False, "keep_columns": "*"},
    "RuleEnsembleClassifier": {"beam_width": 1, "swaps": 0, "restarts": 1, "label_cost": "auto"},
}
_MACHINE = ("kernels", "device", "callback")  # settings that never had an effect on a model
_CONSTRAINTS = ("features", "forbid", "monotone", "keep_columns")


def learner_of(model: Any, **changes: Any) -> Any:
    """Return the estimator that learned a model, with some of its parameters changed.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    **changes
        Parameters in place of those that the model states; those that the estimator does not have are left out.

    Examples
    --------
    >>> from polyrule import RuleListClassifier
    >>> model = RuleListClassifier(max_rules=1).fit([[1.0], [2.0]], [[0], [1]]).model_
    >>> learner_of(model, simplicity=2.0)
    RuleListClassifier(max_rules=1, simplicity=2.0)
    """
    learner, options = model.info.get("learner"), model.info.get("options")
    if learner not in _LEARNERS or not isinstance(options, dict):
        raise OptionError("the model does not say how it was learned, so it cannot be learned again")
    name, options = current_options(learner, options)
    accepted = _LEARNERS[name]._get_param_names()
    unknown = sorted(options.keys() - set(accepted))
    if unknown:
        raise OptionError(
            f"the model was learned with {', '.join(unknown)}, which this version of {name} does not have"
        )
    return _LEARNERS[name](**options | {key: value for key, value in changes.items() if key in accepted})


def current_options(learner: str, in_model: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return learner and options that a model of any version states, in the names of this one.

    An option without a place in this version is returned unchanged.

    Examples
    --------
    >>> current_options("RuleListClassifier", {"measure": "f1", "heads": "single", "kernels": None})
    ('SeCoClassifier', {'measure': 'f1', 'heads': 'single'})
    >>> current_options("RuleListClassifier", {"prune": "f2", "heads": "single", "forbid": ["age"]})
    ('RuleListClassifier', {'optimize': 'f2', 'max_head_size': 1, 'constraints': {'forbid': ['age']}})
    """
    options = {name: value for name, value in in_model.items() if name not in _MACHINE}
    is_earlier_list = learner == "RuleListClassifier" and "optimize" not in options
    if is_earlier_list and options.get("prune") is None:
        learner = "SeCoClassifier"
        for name in ("negative", "label_conditions"):
            if options.get(name, True) is None:
                options[name] = True
    elif is_earlier_list:
        options = _selected_list(options)
    idle = _WITHOUT_EFFECT.get(learner, {})
    for name in [name for name in options if name in idle and idle[name] in (_ANY, options[name])]:
        del options[name]
    limits = {name: options.pop(name) for name in _CONSTRAINTS if name in options}
    # An empty list of columns to keep is the default of all learners but one.
    limits = {name: value for name, value in limits.items() if value or (learner == "SeCoClassifier" and value == [])}
    return learner, options | ({"constraints": limits} if limits else {})


def _selected_list(in_model: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an earlier version's list whose rules were selected."""
    options = {"optimize": in_model["prune"]}
    options |= {name: value for name, value in in_model.items() if name not in ("prune", "alternatives", "max_members")}
    if in_model.get("alternatives") is False:
        options["max_alternatives"] = 0
    elif "max_members" in in_model:
        options["max_alternatives"] = in_model["max_members"]
    if options.pop("heads", "multi") == "single":
        options["max_head_size"] = 1
    if options.get("max_conditions", 3) is None:
        options["max_conditions"] = 3
    for name in ("negative", "label_conditions"):
        if not options.get(name, True):
            del options[name]
    return options
