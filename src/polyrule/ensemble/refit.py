"""The rules of an ensemble fitted anew: their weights, and how sums become labels. Each gives a new ensemble."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.data.examples import examples_of, fingerprint, integer_weights
from polyrule.data.labels import dense_labels, require_known
from polyrule.data.preparation import as_fitted
from polyrule.ensemble.control import signs_of
from polyrule.ensemble.tuning import Evidence, check_decision, choose
from polyrule.ensemble.weights import penalties_of
from polyrule.errors import ModelError
from polyrule.model.narrowing import fit_to
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

    The loss is the logistic loss of the labels, plus half of `ridge` times the sum of squared weights and 0.005 times
    the sum of squared intercepts. `verify` checks the result. The decision stays as it is.

    Parameters
    ----------
    ensemble : RuleEnsemble
    data : Dataset
        With labels.
    ridge : float, optional
        Positive; the one that learning chose where None.
    keep : collection of int
        Rules, counted from 0, whose weights must stay as they are.

    Of an ensemble learned with `monotone`, weights of the wrong sign leave their heads, rules without any the model.
    """
    if ensemble.unit != 1:
        raise ModelError("the points of a scorecard cannot be refitted; refit the ensemble it was made from")
    ridge = float(ensemble.info.get("ridge", 1.0) if ridge is None else ridge)
    if not ridge > 0:
        raise ModelError(f"ridge must be a positive number, not {ridge}")
    kept = {ensemble.position(index) for index in keep}
    data = of_weight(data)
    covers, truth, weights = training(ensemble, data)
    coefficients, support = matrix_of(ensemble)
    signs = np.array([0, *required_signs(ensemble)])
    for label in range(truth.shape[1]):
        free = support[:, label].copy()
        free[[1 + rule for rule in kept]] = False
        wrong_side = 1 - 2 * truth[:, label]
        offset = wrong_side * (covers @ np.where(free, 0.0, coefficients[:, label]))
        while True:
            seen, nothing = wrong_side[:, None] * covers[:, free], np.zeros(np.count_nonzero(free))
            penalties = penalties_of(len(nothing), ridge)
            coefficients[free, label] = minimize_logistic_loss(seen, weights, nothing, nothing, penalties, offset)
            wrong = free & (coefficients[:, label] * signs < 0)
            if not wrong.any():
                break
            coefficients[wrong, label] = 0
            free &= ~wrong
    coefficients = np.round(coefficients, _DIGITS)
    rules = []
    for number, rule in enumerate(ensemble.rules):
        if signs[number + 1] and not coefficients[number + 1].any():
            kept = {other - (other > number) for other in kept}
            continue
        weighed = (Entry(entry.label, float(coefficients[number + 1, entry.label])) for entry in rule.head)
        head = tuple(entry for entry in weighed if entry.weight != 0)
        rules.append(
            replace(rule, head=head or rule.head[:1], coverage=float(weights[covers[:, number + 1] > 0].sum()))
        )
    digest = fingerprint(*examples_of(data)[:3])
    stated = {"targets": "labels", "ridge": ridge, "kept": sorted(kept)}
    if ensemble.info.get("data_fingerprint") == digest and "calibration" in ensemble.info:
        stated["of_training"] = True  # `verify` can learn and refit again
    info = {key: value for key, value in ensemble.info.items() if key not in ("calibration", "teacher")}
    info |= {"examples": len(truth), "data_fingerprint": digest}
    fitted = replace(
        ensemble,
        rules=tuple(rules),
        intercepts=tuple(float(number) for number in coefficients[0]),
        info=info | {"ridge": ridge, "weights": stated},
    )
    return with_threshold_intervals(fitted, as_fitted(data.X, ensemble.features))


def tune_decision(
    ensemble: RuleEnsemble, data: Dataset, *, decision: str = "auto", optimize: str = "micro-f1"
) -> RuleEnsemble:
    """Return the ensemble with the way of deciding that is best on `data`; rules and weights stay.

    Parameters
    ----------
    ensemble : RuleEnsemble
    data : Dataset
        With labels; best examples that the model was not learned from, on which its sums are not too good.
    decision : {"auto", "threshold", "per-label", "subset", "expected-f1"}
        "auto" compares them by cross-validation and takes the simplest that is not clearly beaten; for a scorecard or
        a monotone ensemble only those that are made label by label.
    optimize : {"micro-f1", "macro-f1", "example-f1", "subset", "hamming"}
        What for.
    """
    check_decision(decision, optimize, ensemble.info.get("monotone"))
    data = of_weight(data)
    _, truth, weights = training(ensemble, data)
    model, table = fit_to(ensemble, data.X)
    fold = np.arange(len(table)) % 3
    evidence = Evidence(ensemble.worth * model.scores(table), truth.astype(np.uint8), weights, fold)
    by_hand = ensemble.unit != 1 or "monotone" in ensemble.info
    chosen, merits = choose(evidence, decision, optimize, by_hand=by_hand)
    tuned = chosen if ensemble.unit == 1 else chosen.in_points(ensemble.unit)
    return replace(ensemble, decision=tuned, info=ensemble.info | {"cross_validation": merits, "edited": True})


def of_weight(data: Dataset) -> Dataset:
    """Return the examples of positive weight; the others count nowhere, as in learning."""
    if data.weights is None:
        return data
    kept = integer_weights(data.weights, len(data))[0] > 0
    return data if kept.all() else data[kept]


def training(ensemble: RuleEnsemble, data: Dataset) -> tuple[Matrix, Matrix, Floats]:
    """Which rule covers which example (after a column of ones), the labels, and the weights of the examples."""
    if tuple(data.label_names) != ensemble.label_names:
        raise ModelError(f"{data.name}: its labels are not those of the model, in the same order")
    model, table = fit_to(ensemble, data.X)
    covers = np.hstack([np.ones((len(table), 1)), model.fired(table).astype(np.float64)])
    require_known(data.Y, "fitting or checking an ensemble")
    truth = dense_labels(data.Y).astype(np.float64)
    weights = np.ones(len(table)) if data.weights is None else np.asarray(data.weights, dtype=np.float64)
    return covers, truth, weights


def matrix_of(ensemble: RuleEnsemble) -> tuple[Matrix, Bools]:
    """Intercepts and weights, shape (1 + rules, labels), and which of them there are."""
    coefficients = np.zeros((1 + len(ensemble.rules), len(ensemble.label_names)))
    coefficients[0] = ensemble.intercepts
    support = np.zeros(coefficients.shape, dtype=bool)
    support[0] = True
    for number, rule in enumerate(ensemble.rules, start=1):
        for entry in rule.head:
            coefficients[number, entry.label] = entry.weight
            support[number, entry.label] = True
    return coefficients, support


def required_signs(ensemble: RuleEnsemble) -> list[int]:
    """Which sign the weights of each rule must have, 0 for any, so that scores stay monotone as learning was told."""
    told = ensemble.info.get("monotone")
    told = told if isinstance(told, dict) else {}
    names = [feature.name for feature in ensemble.features]
    direction = [0 if name not in told else 1 if told[name] == "up" else -1 for name in names]
    return [next(iter(signs_of(rule.body, direction)), 0) for rule in ensemble.rules]


def slope_of(covers: Matrix, truth: Floats, weights: Floats, offset: Floats, ridge: float, at: Floats) -> Floats:
    """Derivatives of the penalised loss of one label; the first column of `covers` is the intercept's."""
    surplus = expit(offset + covers @ at) - truth
    return np.asarray(covers.T @ (weights * surplus) + penalties_of(len(at), ridge) * at)
