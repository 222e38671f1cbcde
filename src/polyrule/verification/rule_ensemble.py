"""Ensembles and scorecards checked against their training data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from polyrule.data.dataset import Dataset
from polyrule.data.preparation import as_fitted
from polyrule.ensemble.refit import matrix_of, of_weight, slope_of, training
from polyrule.errors import ModelError
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.utils.arrays import Floats, Matrix
from polyrule.verification.claims import LAST_DIGITS, almost_equal, ensemble_claims
from polyrule.verification.inputs import check_data, check_features, check_relations, check_thresholds, hand_made_names
from polyrule.verification.refit import refit_and_compare
from polyrule.verification.result import TOLERANCE, Finding, Verification


def verify_ensemble(model: RuleEnsemble, data: Dataset, *, learn: bool = True) -> Verification:
    """Check the coverage of every rule, that stated optima are optima, and that learning again finds the same model.

    If the ensemble cannot be learned again (it was refitted, edited or ended by a time limit), its weights are still
    checked if they were fitted to the labels themselves, and `unchecked` lists the rest.

    Parameters
    ----------
    model : RuleEnsemble
    data : Dataset
        The training data, or the data that it was refitted to.
    learn : bool
        False to skip learning it again with the options it states, which takes as long as training.
    """
    findings = [*check_data(model, data)]
    if findings:
        return Verification(0, tuple(findings))
    data = of_weight(data)
    refitted = "weights" in model.info and "calibration" not in model.info
    unchecked: list[str] = []
    table = as_fitted(data.X, model.features)
    if refitted and model.features != table.features:  # the other data has at least the features of the rules
        unchecked.append("the features that no rule tests")
    findings = [*check_features(model, table, only_used=bool(unchecked))]
    if findings:
        return Verification(0, tuple(findings))
    covers, truth, weights = training(model, data)
    findings = [*_check_coverage(model, covers, weights), *check_thresholds(model, table)]
    if refitted and model.unit != 1:
        findings.append(Finding(None, "the unit", str(model.unit), "1, as weights are fitted in log-odds"))
    slope, fixed_weights = _check_weights(model, covers, truth, weights)
    unchecked += fixed_weights
    if slope is not None and slope > TOLERANCE:
        what = "the largest derivative of the loss by a weight, per example,"
        findings.append(Finding(None, what, f"at most {TOLERANCE:g}", f"{slope:.1e}"))
    if not findings:
        what, claims = "these rules, weights and cuts", partial(ensemble_claims, data=data)
        findings, not_learned = refit_and_compare(model, data, claims, what=what, learn=learn, equal=almost_equal)
        unchecked = [*not_learned, *unchecked] if not_learned else []  # an equal model has equal weights
    broken, unstated = check_relations(model, data)
    findings, unchecked = [*findings, *broken], [*unchecked, *unstated, *hand_made_names(model)]
    checked = Verification(len(model), tuple(findings), tuple(unchecked))
    return replace(checked, slope=slope, relations=len(model.relations))


def _check_coverage(model: RuleEnsemble, covers: Matrix, weights: Floats) -> Iterator[Finding]:
    exact = not (weights % 1).any()  # learning brings other weights to a common unit, and rounds them to it
    for number, rule in enumerate(model.rules):
        coverage = float(weights[covers[:, number + 1] > 0].sum())
        if rule.coverage is None and model.info.get("edited"):
            continue  # made by hand, and not counted
        if rule.coverage is None or not np.isclose(coverage, rule.coverage, rtol=1e-9 if exact else LAST_DIGITS):
            stated = "missing" if rule.coverage is None else f"{rule.coverage:g}"
            yield Finding(number, "the coverage", stated, f"{coverage:g} of the training weight")


def _check_weights(
    model: RuleEnsemble, covers: Matrix, truth: Matrix, weights: Floats
) -> tuple[float | None, list[str]]:
    """Return the distance of the weights from the optimum they claim to be, None if they claim none, and the rest."""
    weight_info = model.info.get("weights")
    if model.unit != 1 or not isinstance(weight_info, dict) or weight_info.get("targets") != "labels":
        return None, []
    try:
        ridge, fixed_rules = float(weight_info["ridge"]), [int(rule) for rule in weight_info.get("kept", [])]
        slope, shift = map(float, weight_info.get("calibration", [1.0, 0.0]))
        base = np.array(weight_info.get("base", [0.0] * truth.shape[1]), dtype=np.float64)
        valid = slope != 0 and len(base) == truth.shape[1] and all(0 <= rule < len(model) for rule in fixed_rules)
    except (TypeError, ValueError, KeyError, OverflowError):
        valid = False
    if not valid:
        raise ModelError("the model does not say what its weights are the optimum of, so they cannot be checked")
    coefficients, support = matrix_of(model)
    coefficients[0] -= base + shift
    coefficients /= slope
    coefficients[0] += base
    largest = 0.0
    for label in range(truth.shape[1]):
        free = support[:, label].copy()
        free[[1 + rule for rule in fixed_rules]] = False
        offset = covers @ np.where(free, 0.0, coefficients[:, label])
        derivatives = slope_of(covers[:, free], truth[:, label], weights, offset, ridge, coefficients[free, label])
        largest = max(largest, float(np.abs(derivatives).max(initial=0)))
    names = ", ".join(str(rule + 1) for rule in fixed_rules)
    unchecked = f"the weights of rule {names}, which were kept as they were; the others are best beside them"
    return largest / float(weights.sum()), [unchecked] if fixed_rules else []
