"""Refit of an ensemble: optimal weights for its rules, and another decision. Each returns a new ensemble."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from polyrule.conditions import Condition, thresholds
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.data.examples import examples_of, fingerprint, integer_weights
from polyrule.data.labels import UNKNOWN, dense_labels
from polyrule.data.preparation import as_fitted
from polyrule.ensemble.decision import OutOfFoldScores, check_decision, choose
from polyrule.ensemble.solver import penalties_of
from polyrule.errors import ModelError
from polyrule.model.columns import match_columns
from polyrule.model.rule import Entry
from polyrule.soft_targets.stacking import minimize_logistic_loss
from polyrule.utils.arrays import Bools, Floats, Matrix

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset
    from polyrule.model.rule_ensemble import RuleEnsemble

_DIGITS = 9


def refit(
    ensemble: RuleEnsemble, data: Dataset, *, ridge: float | None = None, keep: Collection[int] = ()
) -> RuleEnsemble:
    """Return the ensemble with the best weights for its rules and heads on `data`.

    The loss is the logistic loss of the known labels, plus half of `ridge` times the sum of squared weights and 0.005
    times the sum of squared intercepts. `verify` checks the result. The decision does not change.

    Parameters
    ----------
    ensemble : RuleEnsemble
    data : Dataset
        With labels.
    ridge : float, optional
        Positive; by default that of the fit.
    keep : collection of int
        Rules, counted from 0, whose weights must not change.

    With `monotone`, weights of the wrong sign leave their heads, and rules without any the model.
    """
    if ensemble.unit != 1:
        raise ModelError("the points of a scorecard cannot be refitted; refit the ensemble it was made from")
    ridge = float(ensemble.info.get("ridge", 1.0) if ridge is None else ridge)
    if not ridge > 0:
        raise ModelError(f"ridge must be a positive number, not {ridge}")
    fixed_rules = {ensemble.position(index) for index in keep}
    data = of_weight(data)
    covers, truth, weights = training(ensemble, data)
    coefficients, support = matrix_of(ensemble)
    signs = np.array([0, *signs_of_rules(ensemble)])
    for label in range(truth.shape[1]):
        free = support[:, label].copy()
        free[[1 + rule for rule in fixed_rules]] = False
        is_known = ~np.isnan(truth[:, label])
        wrong_side = 1 - 2 * truth[is_known, label]
        offset = wrong_side * (covers[is_known] @ np.where(free, 0.0, coefficients[:, label]))
        while True:
            columns, zeros = wrong_side[:, None] * covers[np.ix_(is_known, free)], np.zeros(np.count_nonzero(free))
            penalties = penalties_of(len(zeros), ridge)
            coefficients[free, label] = minimize_logistic_loss(
                columns, weights[is_known], zeros, zeros, penalties, offset
            )
            wrong = free & (coefficients[:, label] * signs < 0)
            if not wrong.any():
                break
            coefficients[wrong, label] = 0
            free &= ~wrong
    coefficients = np.round(coefficients, _DIGITS)
    rules = []
    for number, rule in enumerate(ensemble.rules):
        if signs[number + 1] and not coefficients[number + 1].any():
            fixed_rules = {other - (other > number) for other in fixed_rules}
            continue
        weighed = (Entry(entry.label, float(coefficients[number + 1, entry.label])) for entry in rule.head)
        head = tuple(entry for entry in weighed if entry.weight != 0)
        rules.append(
            replace(rule, head=head or rule.head[:1], coverage=float(weights[covers[:, number + 1] > 0].sum()))
        )
    digest = fingerprint(*examples_of(data)[:3])
    weight_info = {"targets": "labels", "ridge": ridge, "kept": sorted(fixed_rules)}
    digest = fingerprint(*examples_of(data)[:3])
    if ensemble.info.get("data_fingerprint") == digest and "calibration" in ensemble.info:
        weight_info["of_training"] = True  # `verify` can learn and refit again
    if ensemble.info.get("data_fingerprint") == digest and "calibration" in ensemble.info:
        weight_info["of_training"] = True  # `verify` can learn and refit again
    info = {key: value for key, value in ensemble.info.items() if key not in ("calibration", "teacher")}
    info |= {"examples": len(truth), "data_fingerprint": digest}
    fitted = replace(
        ensemble,
        rules=tuple(rules),
        intercepts=tuple(float(number) for number in coefficients[0]),
        info=info | {"ridge": ridge, "weights": weight_info},
    )
    return with_threshold_intervals(fitted, as_fitted(data.X, ensemble.features))


def tune_decision(
    ensemble: RuleEnsemble, data: Dataset, *, decision: str = "auto", optimize: str = "micro-f1"
) -> RuleEnsemble:
    """Return the ensemble with the best decision on `data`; rules and weights do not change.

    Parameters
    ----------
    ensemble : RuleEnsemble
    data : Dataset
        With labels; preferably not the training data, on which the scores are too good.
    decision : {"auto", "threshold", "per-label", "subset", "expected-f1"}
        "auto" takes the kind that suits `optimize`; for a scorecard or a monotone ensemble always one label by label.
    optimize : {"micro-f1", "macro-f1", "example-f1", "subset", "hamming"}
        Measure to maximize.
    """
    check_decision(decision, optimize, ensemble.info.get("monotone"))
    data = of_weight(data)
    _, truth, weights = training(ensemble, data)
    model, table = match_columns(ensemble, data.X)
    fold = np.arange(len(table)) % 3
    labels = np.where(np.isnan(truth), UNKNOWN, truth).astype(np.uint8)
    scores = OutOfFoldScores(ensemble.worth * model.scores(table), labels, weights, fold)
    by_label = ensemble.unit != 1 or "monotone" in ensemble.info
    tuned, cv_scores = choose(scores, decision, optimize, by_label=by_label)
    tuned = tuned if ensemble.unit == 1 else tuned.in_points(ensemble.unit)
    if ensemble.plan is not None:
        tuned = tuned.only_allowed(ensemble.plan)
    return replace(ensemble, decision=tuned, info=ensemble.info | {"cross_validation": cv_scores, "edited": True})


def of_weight(data: Dataset) -> Dataset:
    """Return the examples of positive weight; the others count nowhere."""
    if data.weights is None:
        return data
    has_weight = integer_weights(data.weights, len(data))[0] > 0
    return data if has_weight.all() else data[has_weight]


def training(ensemble: RuleEnsemble, data: Dataset) -> tuple[Matrix, Matrix, Floats]:
    """Return covers of the rules (after a column of ones), labels (NaN if unknown), and weights of the examples."""
    if tuple(data.label_names) != ensemble.label_names:
        raise ModelError(f"{data.name}: its labels are not those of the model, in the same order")
    model, table = match_columns(ensemble, data.X)
    covers = np.hstack([np.ones((len(table), 1)), model.fired(table).astype(np.float64)])
    labels = dense_labels(data.Y)
    truth = np.where(labels == UNKNOWN, np.nan, labels)
    weights = np.ones(len(table)) if data.weights is None else np.asarray(data.weights, dtype=np.float64)
    return covers, truth, weights


def matrix_of(ensemble: RuleEnsemble) -> tuple[Matrix, Bools]:
    """Return intercepts and weights, shape (1 + rules, labels), and their support."""
    coefficients = np.zeros((1 + len(ensemble.rules), len(ensemble.label_names)))
    coefficients[0] = ensemble.intercepts
    support = np.zeros(coefficients.shape, dtype=bool)
    support[0] = True
    for number, rule in enumerate(ensemble.rules, start=1):
        for entry in rule.head:
            coefficients[number, entry.label] = entry.weight
            support[number, entry.label] = True
    return coefficients, support


def required_signs(body: Sequence[Condition], direction: Sequence[int]) -> list[int]:
    """Return the sign that each condition on a feature with a direction requires of the weights of its rule.

    If examples enter or leave a body as a feature rises, it may only raise or lower scores that rise with the feature.

    Examples
    --------
    >>> from polyrule.conditions import NumericCondition
    >>> body = NumericCondition(0, ">", 1.0), NumericCondition(1, ">", 1.0), NumericCondition(0, "<=", 2.0)
    >>> required_signs(body, [1, 0])
    [1, -1]
    """
    limits = (limit for limit in thresholds(body) if direction[limit.feature])
    return [int(direction[limit.feature]) * (1 if limit.op == ">" else -1) for limit in limits]


def signs_of_rules(ensemble: RuleEnsemble) -> list[int]:
    """Return the required sign of the weights of each rule, 0 for any, so that scores stay monotone."""
    monotone = ensemble.info.get("monotone")
    monotone = monotone if isinstance(monotone, dict) else {}
    names = [feature.name for feature in ensemble.features]
    direction = [0 if name not in monotone else 1 if monotone[name] == "up" else -1 for name in names]
    return [next(iter(required_signs(rule.body, direction)), 0) for rule in ensemble.rules]


def slope_of(covers: Matrix, truth: Floats, weights: Floats, offset: Floats, ridge: float, at: Floats) -> Floats:
    """Return the derivatives of the penalized loss of one label; the first column of `covers` is the intercept's."""
    gradient = expit(offset + covers @ at) - truth
    is_known = np.where(np.isnan(gradient), 0.0, gradient)
    return np.asarray(covers.T @ (weights * is_known) + penalties_of(len(at), ridge) * at)
