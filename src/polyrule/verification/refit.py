"""A second fit with the options that a model states, compared with the model claim by claim.

Counting a model again shows that its numbers are true. Learning it again shows that it is the model that learning
finds: another body, weight, default or cut is another model, however true its counts are.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from polyrule.data.dataset import Dataset
from polyrule.data.examples import is_of_examples
from polyrule.errors import ModelError, PolyruleError
from polyrule.estimators.config import config_context
from polyrule.estimators.from_model import learner_of
from polyrule.model.printing import Formatter
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList
from polyrule.utils.version import __version__
from polyrule.verification.claims import Claim, differences
from polyrule.verification.result import Finding

_ENDED = {"time_limit": "by its time limit", "callback": "by its caller", "interrupted": "by an interrupt"}
_BY_HAND = "it was changed by hand"
_NO_LIMIT = 1e9  # seconds: some options of a learner with a time limit differ from those of one without


def n_start_rules(model: Any) -> int:
    """Return the number of rules at the front of a list that were there before learning."""
    account = model.info.get("pruning", model.info.get("grown", {}))
    count = account.get("kept", 0) if isinstance(account, dict) else None
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= len(model.rules):
        raise ModelError("the model does not say how many of its rules were there before learning")
    return int(count)


def refit_and_compare(
    model: Any,
    data: Dataset,
    claims: Callable[[Any], Iterable[Claim]],
    *,
    what: str,
    learn: bool = True,
    equal: Callable[[Any, Any], bool] = operator.eq,
) -> tuple[list[Finding], list[str]]:
    """Learn a model again and compare the claims of the two; return the findings, and what was not checked.

    If a list was changed by hand, each of its rules that is marked as learned must be one that learning finds. An
    ensemble whose weights were refitted on its training data is learned and refitted.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    data : Dataset
        The training data.
    claims : callable
        Yields every claim of a model.
    what : str
        What learning would have to find, for the message if `learn` is False.
    learn : bool
        False to skip the second fit.
    equal : callable
        Compares the values of two claims.
    """
    unchecked = ["the rules that were there before learning"] if n_start_rules(model) else []
    if not is_of_examples(model.info.get("data_fingerprint")):
        unchecked.append("that this is the data that the model was learned from")
    if not learn:
        return [], [f"that learning finds {what}, because it was not asked for", *unchecked]
    obstacle = _obstacle(model)
    by_hand = obstacle == _BY_HAND and isinstance(model, RuleList)
    if obstacle:
        unchecked.insert(0, f"that learning finds this model, because {obstacle}")
    if obstacle and not by_hand:
        return [], unchecked
    try:
        again = _fit_again(model, data)
    except PolyruleError as error:
        return [], [f"that learning finds this model, because its options cannot be given again: {error}", *unchecked]
    ended = _reason_of_end(model)
    if ended:
        again.info["stopped"] = model.info["stopped"]
        unchecked.insert(0, f"that learning, which was ended {ended}, had come just so far")
    findings = _check_learned_rules(model, again) if by_hand else differences(claims(model), claims(again), equal)
    elsewhere = environment_difference(model, again) if findings else ""
    if elsewhere:
        return [], [f"that learning finds this model: here it finds another one, {elsewhere}", *unchecked]
    return findings, unchecked


def _check_learned_rules(model: RuleList, again: RuleList) -> list[Finding]:
    """Check that every rule that is marked as learned is one that learning finds, in any order.

    Unless the list was counted again since, its numbers are those from learning, too.
    """
    learned = {(_literals(rule), rule.body, rule.stop): rule for rule in again.rules}
    words, recounted = Formatter(model), "recounted" in model.info
    findings = []
    for number, rule in list(enumerate(model.rules))[n_start_rules(model) :]:
        if rule.origin != "learned":
            continue
        other = learned.get((_literals(rule), rule.body, rule.stop))
        if other is None:
            findings.append(Finding(number, "the rule", words.rule(rule, counts=False), "none that learning finds"))
        elif not recounted and _numbers(rule) != _numbers(other):
            findings.append(Finding(number, "what learning counted", str(_numbers(rule)), str(_numbers(other))))
    for name in () if recounted else ("default_counts", "default_chances"):
        stated, right = getattr(model, name), getattr(again, name)
        if stated != right:
            findings.append(Finding(None, f"what no rule sets ({name})", str(stated), str(right)))
    return findings


def _numbers(rule: Rule) -> tuple[Any, ...]:
    counts = [(literal.tp, literal.fp, literal.chance) for literal in rule.head]
    return counts, rule.coverage, rule.value, rule.bound, rule.unfinished


def _literals(rule: Rule) -> tuple[tuple[int, int], ...]:
    return tuple((literal.label, literal.value) for literal in rule.head)


def _reason_of_end(model: Any) -> str | None:
    stopped = model.info.get("stopped")
    return _ENDED.get(stopped) if isinstance(stopped, str) else None


def is_refitted_on_training_data(model: Any) -> bool:
    """Return True if an ensemble states that its weights were fitted anew to the data it was learned from."""
    account = model.info.get("weights")
    return isinstance(account, dict) and account.get("of_training") is True and "calibration" not in model.info


def _obstacle(model: Any) -> str:
    """Return why a model cannot be learned again; empty if it can."""
    info = model.info
    changed = any(getattr(rule, "origin", "learned") != "learned" for rule in model.rules[n_start_rules(model) :])
    stopped, ended = info.get("stopped", "complete"), _reason_of_end(model)
    if not is_of_examples(info.get("data_fingerprint")):
        return "it was learned from a store, or does not say from what"
    if changed or info.get("edited") or "recounted" in info:
        return _BY_HAND
    is_weighted = isinstance(info.get("options"), dict) and "decision" in info["options"]
    if is_weighted and "calibration" not in info and not is_refitted_on_training_data(model):
        return "its weights were fitted anew after learning"
    if info.get("start"):
        return "it goes on from rules of another model"
    if not ended and stopped not in ("complete", "max_rules"):
        return f"learning was ended by something unknown ({stopped})"
    if ended and ("pruning" in info or is_weighted):
        return f"learning was ended {ended}"
    if ended and not len(model.rules):
        return f"learning was ended {ended} before the first rule"
    if any(getattr(rule, "unfinished", False) for rule in model.rules):
        return "its last rule is unfinished: the time limit ended learning while it grew"
    return ""


def _fit_again(model: Any, data: Dataset) -> Any:
    """Learn a model again; if learning was ended early, stop after the same number of rules."""
    info, n_start = model.info, n_start_rules(model)
    max_rules = len(model.rules) - n_start if _reason_of_end(model) else None
    options = info.get("options")
    limited = isinstance(options, dict) and options.get("time_limit") is not None
    learner = learner_of(model, time_limit=_NO_LIMIT if limited else None, n_jobs=-1, verbose=False)
    start, callback = None, None
    if n_start:
        start = model[:n_start]
    if max_rules is not None:
        callback = partial(_has_rules, number=max_rules)
    try:
        with warnings.catch_warnings(), config_context(kernels=None, device="cpu"):
            warnings.simplefilter("ignore")
            learner.fit(data, start=start, callback=callback, relations=info.get("relations"))
            if "tuned" in info:
                learner.tune_decision(**info["tuned"])
        if is_refitted_on_training_data(model):
            account = info["weights"]
            again = learner.model_.refit(data, ridge=account["ridge"], keep=account["kept"])
        else:
            again = learner.model_
    except (TypeError, ValueError, AttributeError, OverflowError, KeyError) as error:  # a file may hold anything
        raise ModelError(str(error)) from error
    return again if again.relations == model.relations else again.with_relations(model.relations)


def _has_rules(progress: Any, number: int) -> bool:
    return bool(progress.rules >= number)


def environment_difference(model: Any, again: Any) -> str:
    """Return the difference of version or machine that may explain another model; empty if there is none."""
    version = model.info.get("polyrule_version")
    if version != __version__:
        return f"but it was made with polyrule {version}, and this is {__version__}"
    version_there, version_here = model.info.get("made_with"), again.info.get("made_with")
    if version_there != version_here:
        return f"but it was made with {_version_words(version_there)}, and this is {_version_words(version_here)}"
    accounts = [one.info.get("pruning", {}) for one in (model, again)]
    digests = [account.get("targets") if isinstance(account, dict) else None for account in accounts]
    if digests[0] != digests[1]:
        return "but its teacher says something else here than where the model was made"
    return ""


def _version_words(versions: Any) -> str:
    if not isinstance(versions, dict):
        return "unknown versions of libraries"
    return ", ".join(f"{name} {version}" for name, version in versions.items())
