"""Checking an ensemble against the data it was learned from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.data.examples import examples_of, fingerprint, is_of_examples
from polyrule.ensemble.refit import matrix_of, of_weight, slope_of, training
from polyrule.errors import ModelError
from polyrule.learning.relearn import Statement, not_checked, relearn
from polyrule.model.printing import Formatter

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset
    from polyrule.model.rule_ensemble import RuleEnsemble
    from polyrule.utils.arrays import Floats, Matrix

#: Largest derivative of the loss by any weight, per unit of training weight, that counts as 0.
TOLERANCE = 1e-5
#: How far a number may lie from the one that learning finds, relative to it: last digits depend on the processor.
_LAST_DIGITS = 1e-6


@dataclass(frozen=True)
class EnsembleVerification:
    """What was checked and what was found.

    Parameters
    ----------
    problems : tuple of str
        What is not as the model says.
    slope : float or None
        Largest derivative of the stated loss by any weight or intercept, per unit of training weight; 0 at the optimum.
        None where the weights were not fitted to the labels themselves.
    unchecked : tuple of str
        What could not be checked, and why. What decides a prediction is either checked or named here.
    other_data : bool
        Whether nothing was checked, because the data is not what the model was learned from.
    """

    problems: tuple[str, ...]
    slope: float | None = None
    unchecked: tuple[str, ...] = ()
    other_data: bool = False

    @property
    def ok(self) -> bool:
        """Whether everything that was checked is as the model says; `unchecked` tells what was not."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "ok": self.ok,
            "problems": list(self.problems),
            "slope": self.slope,
            "unchecked": list(self.unchecked),
        }

    def __str__(self) -> str:
        if self.other_data:
            return self.problems[0]
        if not self.ok:
            return "\n".join([f"{len(self.problems)} thing(s) are not as the model says", *self.problems])
        lines = [not_checked(self.unchecked)] if self.unchecked else ["learned anew: everything is as the model says"]
        lines.append("every rule covers what the model says")
        if self.slope is not None:
            lines.append(
                f"the weights are the best ones for these rules on this data: no derivative of the stated loss exceeds "
                f"{self.slope:.1e} per example (tolerance {TOLERANCE:g})"
            )
        return "\n".join(lines)


def verify(ensemble: RuleEnsemble, data: Dataset, *, learn: bool = True) -> EnsembleVerification:
    """Check what every rule covers, that stated optima are optima, and that learning anew finds the same ensemble.

    Where that cannot be learned anew (it was refitted, changed by hand or ended by a time limit), the weights are still
    checked if they were fitted to the labels themselves, and `unchecked` says what is left.

    Parameters
    ----------
    ensemble : RuleEnsemble
    data : Dataset
        What it was learned from, or refitted to.
    learn : bool
        Whether it is learned anew with the options it states, which takes as long as learning did.
    """
    covers, truth, weights = training(ensemble, of_weight(data))
    stated = ensemble.info.get("data_fingerprint")
    found = fingerprint(*examples_of(data)[:3])
    if is_of_examples(stated) and stated != found:
        told = "this is not the data that the model was learned from, so nothing in it can be checked"
        return EnsembleVerification((f"{told}: its fingerprint is {found}, not {stated}",), other_data=True)
    problems = list(_coverage(ensemble, covers, weights))
    slope, unchecked = _slope(ensemble, covers, truth, weights)
    if slope is not None and slope > TOLERANCE:
        problems.append(
            f"the weights are not the best ones: a derivative of the loss is {slope:.1e} per example, "
            f"more than {TOLERANCE:g}"
        )
    if not problems:
        what, statements = "these rules, weights and cuts", partial(_statements, data=data)
        findings, left = relearn(ensemble, data, statements, what=what, learn=learn, same=_same)
        problems = [str(finding) for finding in findings]
        unchecked = [*left, *unchecked] if left else []  # the same model says the same
    return EnsembleVerification(tuple(problems), slope, tuple(unchecked))


def _coverage(ensemble: RuleEnsemble, covers: Matrix, weights: Floats) -> Iterator[str]:
    whole = not (weights % 1).any()  # learning brings others to a common unit first, and rounds them to it
    for number, rule in enumerate(ensemble.rules, start=1):
        found = float(weights[covers[:, number] > 0].sum())
        if rule.coverage is not None and not np.isclose(found, rule.coverage, rtol=1e-9 if whole else _LAST_DIGITS):
            yield f"rule {number} covers {found:g} of the training weight, not {rule.coverage:g}"


def _slope(ensemble: RuleEnsemble, covers: Matrix, truth: Matrix, weights: Floats) -> tuple[float | None, list[str]]:
    """Return how far the weights are from the optimum they claim to be, None if they claim none, and what is left."""
    stated = ensemble.info.get("weights")
    if ensemble.unit != 1 or not isinstance(stated, dict) or stated.get("targets") != "labels":
        return None, []
    try:
        ridge, kept = float(stated["ridge"]), [int(rule) for rule in stated.get("kept", [])]
        slope, shift = map(float, stated.get("calibration", [1.0, 0.0]))
        whole = slope != 0 and all(0 <= rule < len(ensemble) for rule in kept)
    except (TypeError, ValueError, KeyError):
        whole = False
    if not whole:
        raise ModelError("the model does not say what its weights are the optimum of, so they cannot be checked")
    coefficients, support = matrix_of(ensemble)
    coefficients[0] -= shift
    coefficients /= slope
    largest = 0.0
    for label in range(truth.shape[1]):
        free = support[:, label].copy()
        free[[1 + rule for rule in kept]] = False
        offset = covers @ np.where(free, 0.0, coefficients[:, label])
        steep = slope_of(covers[:, free], truth[:, label], weights, offset, ridge, coefficients[free, label])
        largest = max(largest, float(np.abs(steep).max(initial=0)))
    names = ", ".join(str(rule + 1) for rule in kept)
    left = (
        [f"the weights of rule {names}, which were kept as they were; the others are best beside them"] if kept else []
    )
    return largest / float(weights.sum()), left


def _statements(model: RuleEnsemble, data: Dataset) -> Iterator[Statement]:
    """Everything that an ensemble says, and the labels it gives to the training examples."""
    for number, rule in enumerate(model.rules):
        yield Statement(number, "the body", rule.body, Formatter(model).conditions(rule))
        yield Statement(number, "the labels", [model.label_names[entry.label] for entry in rule.head])
        yield Statement(number, "the weights", [entry.weight for entry in rule.head])
        yield Statement(number, "the coverage", rule.coverage)
    yield Statement(None, "the number of rules", len(model.rules))
    for what in ("intercepts", "unit"):
        yield Statement(None, f"the {what}", getattr(model, what))
    for what in ("kind", "cuts", "label_sets", "bonuses"):
        yield Statement(None, f"the decision ({what})", getattr(model.decision, what))
    labels = model.predict(data.X)
    yield Statement(None, "what it predicts for the training data", labels.tobytes(), f"{labels.sum()} labels")
    for what in ("stopped", "price", "ridge", "calibration", "cross_validation"):
        yield Statement(None, f"the account of learning ({what})", model.info.get(what))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same but for the last digits of numbers that are not whole."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float) and not other.is_integer():
        return abs(one - other) <= _LAST_DIGITS * abs(other)
    return bool(one == other)
