"""Rule lists checked against their training data, and proofs that no other head is better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyrule.data.dataset import Dataset
from polyrule.data.preparation import as_fitted
from polyrule.errors import ModelError
from polyrule.heads.certificate import certify as certify_head
from polyrule.measures.proofs import recheck
from polyrule.measures.proofs.smt import load as load_z3
from polyrule.model.rule_list import RuleList
from polyrule.model.staleness import OUTDATED_DEFAULTS
from polyrule.verification.claims import list_claims
from polyrule.verification.inputs import check_data, check_features, check_relations, check_thresholds, hand_made_names
from polyrule.verification.refit import n_start_rules, refit_and_compare
from polyrule.verification.replay import ListReplay
from polyrule.verification.result import Finding, Verification
from polyrule.verification.selection import RuleGains


def verify_list(model: RuleList, data: Dataset, *, learn: bool = True) -> Verification:
    """Count a list again on its training data, learn it again, and compare everything it states.

    Parameters
    ----------
    model : RuleList
        As an estimator of polyrule learned it, with the options that it states.
    data : Dataset
        The training data.
    learn : bool
        False to skip learning it again, which takes as long as training. Each rule is then shown to be true, but not
        that learning finds these rules and no others.

    Examples
    --------
    >>> from polyrule import RuleListClassifier, datasets
    >>> data = datasets.load("emotions", part="train")
    >>> print(verify_list(RuleListClassifier.paper(max_rules=2).fit(data).model_, data))
    2 rules replayed, 2 heads searched anew, learned anew: everything is as the model says
    """
    findings = [*check_data(model, data)]
    if not findings:
        findings = [*check_features(model, as_fitted(data.X, model.features))]
    if findings:
        return Verification(0, tuple(findings))
    replay = ListReplay.of(model, data)
    checked = _check_rules(model, replay)
    measure, wrong = _check_measure(model, replay)
    thresholds = () if replay.counted_on else check_thresholds(model, replay.table)
    alone = () if replay.counted_on else replay.compare_alone(model, n_start_rules(model))
    marks = (*_check_unfinished(model), *_check_stale(model))
    findings = [*checked.findings, *alone, *marks, *replay.compare_defaults(model), *thresholds, *wrong]
    unchecked = [*checked.unchecked, *_stale_counts(model)]
    if not findings:
        what = "these rules and no others"
        findings, not_learned = refit_and_compare(model, data, list_claims, what=what, learn=learn)
        unchecked = [*not_learned, *unchecked] if not_learned else []  # an equal list has equal counts
    broken, unstated = check_relations(model, data)
    findings, unchecked = [*findings, *broken], [*unchecked, *unstated]
    n_bounded = sum(rule.bound is not None for rule in model.rules)
    if n_bounded:
        unchecked.append(f"that the heads of {n_bounded} of {len(model)} rules are the best, which nobody has proved")
    unchecked += hand_made_names(model)
    n_relations = len(model.relations)
    return replace(
        checked, findings=tuple(findings), measure=measure, unchecked=tuple(unchecked), relations=n_relations
    )


def _check_rules(model: RuleList, replay: ListReplay) -> Verification:
    """Check every number that a list states about its rules."""
    elsewhere = (f"the counts, because they are those on {replay.counted_on}",) if replay.counted_on else ()
    if "pruning" in model.info:
        return _check_pruned(model, replay, elsewhere)
    if "grown" in model.info:
        why = "the counts, because lists behind kept rules, or with features of single labels, are not replayed"
        return Verification(0, unchecked=(why,))
    findings: list[Finding] = []
    certified = searched = 0
    recounted, edited = "recounted" in model.info, bool(model.info.get("edited"))
    for step in replay.steps(model):
        if step.rule.stale or (edited and recounted):
            continue  # another state of training than when it was learned
        findings += [*(() if recounted else step.compare_counts()), *step.compare_value()]
        if step.rule.origin != "learned":
            continue
        if not replay.searches_heads:
            findings += _check_unproved(step.number, model)
            continue
        findings += step.compare_bound()
        if step.rule.certificate is not None:
            certified += 1
            findings += step.check_certificate()
        else:
            searched += 1
            findings += step.search_again()
    if recounted:
        findings += replay.compare_run(model)
    elif OUTDATED_DEFAULTS not in model.info:
        findings += replay.compare_default_counts(model, replay.default_counts(model))
    return Verification(len(model), tuple(findings), elsewhere, certified, searched)


def _check_pruned(model: RuleList, replay: ListReplay, elsewhere: tuple[str, ...]) -> Verification:
    """Check a list whose rules were selected for the list as a whole: its counts, and the gain of each rule."""
    gains, n_start = RuleGains.of(model, replay), n_start_rules(model)
    findings = [] if isinstance(gains, str) else list(gains.check())
    findings += replay.compare_run(model, n_start)
    for number, rule in list(enumerate(model.rules))[n_start:]:
        if rule.origin == "learned":
            if rule.stop:
                findings.append(Finding(number, "the stop", "True", "False"))
            if rule.value is not None:
                findings.append(Finding(number, "the value", str(rule.value), "None"))
            findings += _check_unproved(number, model, proof=not isinstance(gains, str))
    if isinstance(gains, str):
        return Verification(len(model), tuple(findings), (f"what each rule adds, because {gains}", *elsewhere))
    proofs = sum(rule.certificate is not None for rule in model.rules)
    return Verification(len(model), tuple(findings), elsewhere, proofs, len(model) - proofs)


def _check_unproved(number: int, model: RuleList, *, proof: bool = False) -> Iterator[Finding]:
    """Check that a rule whose head was not searched for has no bound, and without `proof` no proof."""
    rule = model.rules[number]
    if rule.bound is not None:
        yield Finding(number, "the bound on other heads", str(rule.bound), "None")
    if rule.certificate is not None and not proof:
        yield Finding(number, "the proof of the head", "there", "missing, because its best head is not searched for")


def _check_stale(model: RuleList) -> Iterator[Finding]:
    """Check that only an edit left counts stale; rules that were there before learning may come from an edited list."""
    for number, rule in list(enumerate(model.rules))[n_start_rules(model) :]:
        if rule.stale and not model.info.get("edited"):
            yield Finding(number, "that its counts are those before an edit", "True", "False")
    if OUTDATED_DEFAULTS in model.info and not model.info.get("edited"):
        yield Finding(None, "that its default counts are those before an edit", "True", "False")


def _stale_counts(model: RuleList) -> list[str]:
    numbers = ", ".join(str(number) for number, rule in enumerate(model.rules, start=1) if rule.stale)
    what = [f"of rule {numbers}"] if numbers else []
    if model.info.get(OUTDATED_DEFAULTS):
        what.append("of labels that no rule sets")
    return [f"the counts {' and '.join(what)}, which are those before an edit"] if what else []


def _check_unfinished(model: RuleList) -> Iterator[Finding]:
    """Check that only a time limit left a rule unfinished."""
    for number, rule in enumerate(model.rules):
        if rule.unfinished and model.info.get("stopped") != "time_limit":
            yield Finding(number, "that it is unfinished", "True", "False")


def _check_measure(model: RuleList, replay: ListReplay) -> tuple[str, list[Finding]]:
    """Check the proof on which the head searches relied, if one is stored."""
    stored = model.info.get("measure_proof")
    if stored is None:
        return "", []
    problems = recheck(replay.objective.measure, stored)
    if problems and isinstance(stored, dict) and stored.get("by") == "z3" and load_z3() is None:
        return "the proof about the measure not checked: that takes z3", []
    wrong = [Finding(None, "the proof about the measure", "valid", f"wrong, because {p}") for p in problems]
    return "the proof about the measure checked", wrong


def certify(model: RuleList, data: Dataset) -> RuleList:
    """Return the list with a proof in every rule that no other head is better for its body.

    Rules of a list with one label per head get none: there the best head is not searched for a given body. In a pruned
    list the proof states the gain of each label and the cost of the rule; if they cannot be computed, the list is
    returned unchanged.

    Parameters
    ----------
    model : RuleList
    data : Dataset
        The training data.
    """
    replay = ListReplay.of(model, data)
    if replay.fingerprint != model.info.get("data_fingerprint"):
        raise ModelError("this is not the data that the model was learned from, so nothing can be proved about it")
    rules = list(model.rules)
    if "pruning" in model.info:
        gains = RuleGains.of(model, replay)
        if isinstance(gains, str):
            return model
        return replace(model, rules=tuple(replace(r, certificate=gains.proof(k)) for k, r in enumerate(rules)))
    for step in replay.steps(model):
        if replay.searches_heads and step.rule.origin == "learned":
            rules[step.number] = replace(step.rule, certificate=certify_head(step.world, step.objective))
    return replace(model, rules=tuple(rules))
