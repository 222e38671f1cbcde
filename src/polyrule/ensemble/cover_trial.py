"""Trial of other covered rows for one rule: does the loss rise if all weights are refitted to them?

Most answers need no refit. Before a trial all derivatives of the loss are 0, so the derivatives after it, and the new
row of the hessian, follow from the rows whose cover changes. A Newton step from there estimates what a refit gains.
"""

from __future__ import annotations

import math

import numpy as np

from polyrule.ensemble.logistic import newton_steps, sigmoid
from polyrule.ensemble.solver import Solver, loss, penalties_of
from polyrule.utils.arrays import Bools, Floats, Floats32, Ints, Matrix
from polyrule.utils.compute import ONE_THREAD, Compute

# The loss rises for sure if it does although a refit gains this many times its estimate.
_MARGIN = 1.3


class CoverTrial:
    """Trials for one rule of a solver whose weights are at their optimum.

    Parameters
    ----------
    solver : Solver
    rule : int
        Counted from 0.
    max_rise : float
        Rise of the penalized loss that counts as none.
    compute : Compute
    """

    def __init__(self, solver: Solver, rule: int, max_rise: float, compute: Compute = ONE_THREAD) -> None:
        self._solver, self._rule, self._max_rise, self._compute = solver, rule, max_rise, compute
        self._labels: Ints = np.flatnonzero(solver.support[rule + 1])
        self._covers, self._targets = solver.covers, solver.targets[:, self._labels]
        self.covered: Bools = self._covers[:, rule + 1] > 0
        self._used: Ints = np.flatnonzero(solver.support[:, self._labels].any(axis=1))
        self._scores = self._score()
        self._hessians = solver.hessians_of(self._labels)

    def accept(self, covered: Bools) -> bool:
        """Change the rows that the rule covers and refit the weights, unless the loss rises; return True if changed."""
        solver, labels, rule = self._solver, self._labels, self._rule
        if np.array_equal(covered, self.covered):
            return True
        rise, decrease = self.estimate(covered)
        if rise - _MARGIN * decrease > self._max_rise:
            return False
        before = self._objective(self._scores)
        state = solver.coefficients[:, labels].copy(), solver.support[:, labels].copy()
        solver.set_cover(rule, covered)
        solver.solve(labels, steps=30)
        if self._objective(self._score()) - before <= self._max_rise:
            return True
        solver.restore(labels, *state)
        solver.set_cover(rule, self.covered)
        return False

    def estimate(self, covered: Bools) -> tuple[float, float]:
        """Return the rise of the loss with other covered rows, and its decrease by a Newton step from there."""
        solver, place = self._solver, self._rule + 1
        rows = np.flatnonzero(self.covered != covered)
        enter, weights, targets = covered[rows], solver.weights[rows], self._targets[rows]
        before = self._scores[rows]
        after = before + np.where(enter, 1.0, -1.0)[:, None] * solver.coefficients[place, self._labels]
        rises = loss(after, targets, weights) - loss(before, targets, weights)
        gradient, matrices = np.zeros((len(solver.support), len(self._labels))), []
        covers = self._covers[rows]
        first, second = (self._derivatives(scores, targets, weights) for scores in (before, after))
        for column, label in enumerate(self._labels.tolist()):
            inside, hessian = solver.support[:, label], self._hessians[column].copy()
            parts = covers[:, inside].T.astype(np.float64)
            own_place = int(np.count_nonzero(inside[:place]))
            added = np.zeros(len(parts))
            for side, (errors, spreads), is_in in ((-1.0, first, ~enter), (1.0, second, enter)):
                parts[own_place] = is_in
                gradient[inside, column] += side * (parts @ errors[:, column])
                added += side * (parts @ (spreads[:, column] * is_in))
            hessian[own_place] += added
            hessian[:, own_place] = hessian[own_place]
            matrices.append(hessian)
        penalties = penalties_of(len(gradient), solver.ridge)
        step, _ = newton_steps(matrices, solver.support[:, self._labels], penalties, gradient, self._compute)
        return math.fsum(rises), math.fsum((gradient * step).flat) / 2

    def _score(self) -> Matrix:
        """Return the scores of the labels for all rows."""
        covers = self._solver.covers[:, self._used].astype(np.float64)
        return np.asarray(covers @ self._solver.coefficients[np.ix_(self._used, self._labels)])

    def _objective(self, scores: Matrix) -> float:
        solver, coefficients = self._solver, self._solver.coefficients[:, self._labels]
        penalty = penalties_of(len(coefficients), solver.ridge)[:, None] * coefficients**2 / 2
        return math.fsum([*loss(scores, self._targets, solver.weights), *penalty.flat])

    @staticmethod
    def _derivatives(scores: Matrix, targets: Floats32, weights: Floats) -> tuple[Matrix, Matrix]:
        """Return the weighted derivatives of the loss by each score, the first and the second."""
        probabilities, is_known = sigmoid(scores), ~np.isnan(targets)
        errors = np.where(is_known, probabilities - targets, 0.0)
        spreads = np.where(is_known, probabilities * (1 - probabilities), 0.0)
        return weights[:, None] * errors, weights[:, None] * spreads
