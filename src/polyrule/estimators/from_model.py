"""The estimator that learned a model, made from what the model remembers about it."""

from __future__ import annotations

from inspect import signature
from typing import Any

from polyrule.errors import OptionError
from polyrule.estimators.base import plain
from polyrule.estimators.binary_relevance import BinaryRelevanceRuleClassifier
from polyrule.estimators.ensemble import RuleEnsembleClassifier
from polyrule.estimators.rule_list import RuleListClassifier

_LEARNERS = {
    learner.__name__: learner for learner in (RuleListClassifier, BinaryRelevanceRuleClassifier, RuleEnsembleClassifier)
}


def learner_of(model: Any, **changes: Any) -> Any:
    """Return the estimator that learned a model, with some of its parameters changed.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    **changes
        Parameters in place of those that the model remembers; those that the estimator does not have are left out.

    Examples
    --------
    >>> from polyrule import RuleListClassifier
    >>> model = RuleListClassifier(max_rules=1).fit([[1.0], [2.0]], [[0], [1]]).model_
    >>> learner_of(model, beam_width=2)
    RuleListClassifier(beam_width=2, max_rules=1)
    """
    name, options = model.info.get("learner"), model.info.get("options")
    if name not in _LEARNERS or not isinstance(options, dict):
        raise OptionError("the model does not say how it was learned, so it cannot be learned again")
    accepted = _LEARNERS[name]._get_param_names()
    unknown = sorted(options.keys() - set(accepted))
    if unknown:
        raise OptionError(
            f"the model was learned with {', '.join(unknown)}, which this version of {name} does not have"
        )
    defaults = {key: plain(parameter.default) for key, parameter in signature(_LEARNERS[name]).parameters.items()}
    options = {key: value for key, value in options.items() if repr(value) != repr(defaults[key])}
    return _LEARNERS[name](**options | {key: value for key, value in changes.items() if key in accepted})
