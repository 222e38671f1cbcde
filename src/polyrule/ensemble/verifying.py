"""Checking an ensemble against the data it was learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.ensemble.editing import matrix_of, slope_of, training

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset
    from polyrule.ensemble.model import RuleEnsemble

#: Largest derivative of the loss by any weight, per unit of training weight, that counts as 0.
TOLERANCE = 1e-5

_ROUNDED = "the weights are points, rounded to whole numbers: no optimum, and not checked"


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
    note : str
        What could not be checked here, and why.
    """

    problems: tuple[str, ...]
    slope: float | None
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything that was checked is as the model says."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"ok": self.ok, "problems": list(self.problems), "slope": self.slope, "note": self.note}

    def __str__(self) -> str:
        lines = [*self.problems]
        if self.slope is not None and self.slope <= TOLERANCE:
            lines.append(
                f"the weights are the best ones for these rules on this data: no derivative of the stated loss exceeds "
                f"{self.slope:.1e} per example (tolerance {TOLERANCE:g})"
            )
        if self.ok:
            lines.insert(0, "every rule covers what the model says")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)


def verify(ensemble: RuleEnsemble, data: Dataset) -> EnsembleVerification:
    """Check how many examples every rule covers, and that the weights are the optimum of the loss they state.

    Weights that learning fitted to a teacher's targets are the optimum for those targets, which are not kept; there the
    coverage alone is checked. ``ensemble.refit(data)`` gives weights that can be checked.

    Parameters
    ----------
    ensemble : RuleEnsemble
    data : Dataset
        What it was learned from, or refitted to.
    """
    covers, truth, weights = training(ensemble, data)
    problems = []
    for number, rule in enumerate(ensemble.rules, start=1):
        found = float(weights[covers[:, number] > 0].sum())
        if rule.coverage is not None and not np.isclose(found, rule.coverage, rtol=1e-9):
            problems.append(f"rule {number} covers {found:g} of the training weight, not {rule.coverage:g}")
    stated = ensemble.info.get("weights")
    if ensemble.unit != 1:
        return EnsembleVerification(tuple(problems), None, _ROUNDED)
    if not stated or stated.get("targets") != "labels":
        why = "were changed by hand" if ensemble.info.get("edited") else "were fitted to a teacher's targets"
        return EnsembleVerification(
            tuple(problems), None, f"the weights {why}, which the labels alone cannot check; refit them to check them"
        )
    coefficients, support = matrix_of(ensemble)
    slope, shift = stated.get("calibration", [1.0, 0.0])
    coefficients[0] -= shift
    coefficients /= slope
    largest = 0.0
    for label in range(truth.shape[1]):
        free = support[:, label].copy()
        free[[1 + rule for rule in stated.get("kept", [])]] = False
        offset = covers @ np.where(free, 0.0, coefficients[:, label])
        steep = slope_of(covers[:, free], truth[:, label], weights, offset, stated["ridge"], coefficients[free, label])
        largest = max(largest, float(np.abs(steep).max(initial=0)))
    largest /= float(weights.sum())
    if largest > TOLERANCE:
        problems.append(
            f"the weights are not the best ones: a derivative of the loss is {largest:.1e} per example, "
            f"more than {TOLERANCE:g}"
        )
    kept = ", ".join(str(rule + 1) for rule in stated.get("kept", []))
    note = f"not checked: the weights of rule {kept}, which were kept as they were; the others are best beside them"
    return EnsembleVerification(tuple(problems), largest, note if kept else "")
