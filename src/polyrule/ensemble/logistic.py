"""Logistic loss of additive rules: its derivatives, Newton steps, and calibration.

Contributions of rows are rounded to whole numbers of small units before they are added up, so that sums are exact in
any order, and exponentials are computed from single operations. Therefore the compiled and the NumPy form, all
processors and all versions of libraries have equal weights, to the last digit. A target that is NaN is unknown, and
contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.table import row_blocks
from polyrule.utils.arrays import Bools, Bytes, Floats, Floats32, Ints, Ints32, Matrix
from polyrule.utils.compute import ONE_THREAD, Compute

_MAGIC = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to a whole number
_MIN_HESSIAN = 1e-9  # the matrix of a rule without effect stays regular
_FARTHEST = 690.0
_FINEST = 2.0**44  # units that a number is rounded to before it is weighted
_BLOCK = 4096
_EIGHT = 8
# 1 / k! from k = 13 down, and 1 / (2 k + 1) from k = 16 down.
_EXPONENTIAL = (
    1.6059043836821613e-10, 2.08767569878681e-09, 2.505210838544172e-08, 2.755731922398589e-07, 2.7557319223985893e-06,
    2.48015873015873e-05, 0.0001984126984126984, 0.001388888888888889, 0.008333333333333333, 0.041666666666666664,
    0.16666666666666666, 0.5, 1.0, 1.0,
)  # fmt: skip
_LOGARITHM = tuple(1.0 / k for k in range(33, 0, -2))


def exp_neg(sizes: Matrix) -> Matrix:
    """Return exp(-x) of numbers of at least 0, equal on all machines.

    Examples
    --------
    >>> bool(abs(exp_neg(np.array([1.0]))[0] - np.exp(-1)) < 1e-16)
    True
    """
    sizes = np.minimum(sizes, _FARTHEST)
    turned = sizes * -1.4426950408889634 + _MAGIC
    twos = turned - _MAGIC
    rest = (-sizes - twos * 0.6931471803691238) - twos * 1.9082149292705877e-10
    total = np.full_like(rest, _EXPONENTIAL[0])
    for factor in _EXPONENTIAL[1:]:
        total = total * rest + factor
    return np.asarray(np.ldexp(total, twos.astype(np.int64)))


def log1p(numbers: Matrix) -> Matrix:
    """Return log(1 + x) of numbers from 0 to 1, equal on all machines.

    Examples
    --------
    >>> bool(abs(log1p(np.array([1.0]))[0] - np.log(2)) < 2e-16)
    True
    """
    shares = numbers / (2.0 + numbers)
    squares = shares * shares
    total = np.full_like(shares, _LOGARITHM[0])
    for factor in _LOGARITHM[1:]:
        total = total * squares + factor
    return np.asarray(2.0 * shares * total)


def sigmoid(scores: Matrix) -> Matrix:
    """Return the probabilities of log-odds."""
    decay = exp_neg(np.abs(scores))
    return np.asarray(np.where(scores >= 0, 1.0, decay) / (1.0 + decay))


def fixed_point_scale(weights: Floats) -> float:
    """Return units per nat, so that sums over all rows fit into 63 bits, and the number of a row into 51."""
    return float(2.0 ** min(61 - _bits(float(weights.sum())), 50 - weight_bits(weights)))


def weight_bits(weights: Floats) -> int:
    """Return the bits of the largest weight, equal for all from 1 to 64, so that units do not depend on it.

    Examples
    --------
    >>> [weight_bits(np.array([largest])) for largest in (0.25, 1.0, 3.0, 64.0, 100.0)]
    [-2, 6, 6, 6, 7]
    """
    bits = _bits(float(weights.max(initial=0)))
    return max(bits, 6) if bits >= 0 else bits


def _bits(number: float) -> int:
    return int(np.ceil(np.log2(max(number, 1e-300))))


def to_fixed_point(weights: Floats, numbers: Matrix, unit: float) -> Ints:
    """Return the contributions of rows, in whole units; their sums do not depend on the order.

    Numbers are rounded before they are weighted, so that a weight of two is two rows.

    Examples
    --------
    >>> to_fixed_point(np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3004]), 1000.0)
    array([100, 200, 600])
    """
    fine = min(unit, _FINEST)
    return np.rint(weights * (unit / fine) * np.rint(fine * numbers)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Logistic:
    """Loss of rules on rows.

    Parameters
    ----------
    covers : ndarray of uint8, shape (1 + capacity, rows)
        Rows of each rule; first the intercept, which covers all.
    targets : ndarray of float32, shape (labels, rows)
        NaN if unknown.
    weights : ndarray, shape (rows,)
    unit : float
        Units per nat, see `fixed_point_scale`.
    compute : Compute
    """

    covers: Bytes
    targets: Floats32
    weights: Floats
    unit: float
    compute: Compute = ONE_THREAD

    def gradients(self, labels: Ints, coefficients: Matrix, support: Bools) -> Matrix:
        """Return the derivatives of each label's loss by the weights in the support; 0 elsewhere."""
        if self.compute.backend is not None:
            arrays = self._arrays(labels, coefficients, support)
            flat = self.compute.backend.logistic_gradients(*arrays, self.unit, self.compute.threads)
            return np.asarray(flat).reshape(coefficients.shape)
        sums = np.zeros(coefficients.shape, dtype=np.int64)
        for place, label in enumerate(labels.tolist()):
            rules = np.flatnonzero(support[:, place])
            for rows, gradient, _ in self._derivatives(label, rules, coefficients[rules, place], self.unit):
                sums[rules, place] += self.covers[rules, rows].astype(np.int64) @ gradient
        return sums.astype(np.float64) / self.unit

    def hessians(self, labels: Ints, coefficients: Matrix, support: Bools) -> list[Matrix]:
        """Return the second derivatives of each label's loss by the weights in its support."""
        if self.compute.backend is not None:
            arrays = self._arrays(labels, coefficients, support)
            flat = np.asarray(self.compute.backend.logistic_hessians(*arrays, self.unit, self.compute.threads))
            sizes = support.sum(axis=0).tolist()
            ends = np.cumsum(np.square(sizes, dtype=np.int64)).tolist()
            return [flat[end - n * n : end].reshape(n, n) for n, end in zip(sizes, ends, strict=True)]
        matrices = []
        for place, label in enumerate(labels.tolist()):
            rules = np.flatnonzero(support[:, place])
            matrix = np.zeros((len(rules), len(rules)), dtype=np.int64)
            for rows, _, hessian in self._derivatives(label, rules, coefficients[rules, place], self.unit):
                covers = self.covers[rules, rows].astype(np.int64)
                matrix += covers @ (covers * hessian).T
            matrices.append(matrix.astype(np.float64) / self.unit)
        return matrices

    def write_gradients(
        self, labels: Ints, coefficients: Matrix, support: Bools, scale: float, gradient: Ints32, hessian: Ints32
    ) -> None:
        """Write the derivatives by every score, in units of 1 / `scale`, into column k + 1 for label k."""
        if self.compute.backend is not None:
            arrays = self._arrays(labels, coefficients, support)
            self.compute.backend.write_gradients(*arrays, scale, gradient, hessian, self.compute.threads)
            return
        for place, label in enumerate(labels.tolist()):
            rules = np.flatnonzero(support[:, place])
            for rows, first, second in self._derivatives(label, rules, coefficients[rules, place], scale):
                gradient[rows, label + 1] = first
                hessian[rows, label + 1] = np.maximum(second, ~np.isnan(self.targets[label, rows]))

    def _derivatives(self, label: int, rules: Ints, weights: Floats, unit: float) -> Iterator[tuple[slice, Ints, Ints]]:
        """Yield blocks of rows with the derivatives by their scores, in units."""
        for rows in row_blocks(len(self.weights), 1, _BLOCK):
            probabilities, targets = (
                sigmoid(self._scores(rules, weights, rows)),
                self.targets[label, rows].astype(np.float64),
            )
            gradient = np.where(np.isnan(targets), 0.0, probabilities - targets)
            hessian = np.where(np.isnan(targets), 0.0, probabilities * (1.0 - probabilities))
            row_weights = self.weights[rows]
            yield rows, to_fixed_point(row_weights, gradient, unit), to_fixed_point(row_weights, hessian, unit)

    def _arrays(self, labels: Ints, coefficients: Matrix, support: Bools) -> tuple[npt.NDArray[Any], ...]:
        weights = (np.ascontiguousarray(array) for array in (labels, coefficients, support))
        return (self.covers, self.targets, self.weights, *weights)

    def _scores(self, rules: Ints, weights: Floats, rows: slice) -> Floats:
        scores = np.zeros(len(self.weights[rows]))
        for first in range(0, len(rules), _EIGHT):  # in the order of the compiled form
            together = np.zeros(len(scores))
            for weight, rule in zip(weights[first : first + _EIGHT], rules[first : first + _EIGHT], strict=True):
                together += weight * self.covers[rule, rows]
            scores += together
        return scores


def newton_steps(
    matrices: Sequence[Matrix], support: Bools, penalties: Floats, gradient: Matrix, compute: Compute = ONE_THREAD
) -> tuple[Matrix, Bools]:
    """Solve (matrix + penalties) step = gradient for every label; also return which matrices are positive definite.

    An example: one label, one rule with ridge 2, all scores 0. Each probability is .5, so a gradient is .5 - target and
    a hessian is .5 * .5::

        row          0    1    2    3    4    5    6    7    8    9   sum   sum over the rule
        target       1    1    1    0    1    0    0    0    0    0
        covered      x    x    x    x    .    .    .    .    .    .
        gradient   -.5  -.5  -.5  +.5  -.5  +.5  +.5  +.5  +.5  +.5    +1    -1
        hessian    .25  .25  .25  .25  .25  .25  .25  .25  .25  .25   2.5     1

    The intercept shares the hessian of all rows that the rule covers, so the matrix is [[2.5, 1], [1, 1]], with the
    penalties [[2.51, 1], [1, 3]]. The step is subtracted: the intercept falls to -.613, the weight rises to .538.

    >>> matrix, gradient = np.array([[2.5, 1.0], [1.0, 1.0]]), np.array([[1.0], [-1.0]])
    >>> newton_steps([matrix], np.ones((2, 1), dtype=bool), np.array([0.01, 2.0]), gradient)[0].ravel().round(3)
    array([ 0.613, -0.538])

    Parameters
    ----------
    matrices : sequence of ndarray
        Per label, of the weights in its support.
    support : ndarray of bool, shape (1 + rules, labels)
    penalties : ndarray, shape (1 + rules,)
    gradient : ndarray, shape of `support`
    compute : Compute
    """
    if compute.compiled is not None:
        arrays = (_flat(matrices), np.ascontiguousarray(support), penalties, np.ascontiguousarray(gradient))
        steps, good = compute.compiled.newton_steps(*arrays)
        return np.asarray(steps).reshape(support.shape), np.asarray(good).astype(bool)
    return _for_each(matrices, support, penalties, lambda parts, cells: _solved(parts, gradient[cells]))


def inverse_diagonals(
    matrices: Sequence[Matrix], support: Bools, penalties: Floats, compute: Compute = ONE_THREAD
) -> tuple[Matrix, Bools]:
    """Return the diagonals of the inverses of (matrix + penalties), shaped like `support`; see `newton_steps`."""
    if compute.compiled is not None:
        results, good = compute.compiled.inverse_diagonals(_flat(matrices), np.ascontiguousarray(support), penalties)
        return np.asarray(results).reshape(support.shape), np.asarray(good).astype(bool)
    return _for_each(matrices, support, penalties, lambda parts, _: _inverse_diagonal(parts))


def _for_each(
    matrices: Sequence[Matrix], support: Bools, penalties: Floats, find: Callable[[Any, Any], Floats]
) -> tuple[Matrix, Bools]:
    """Write the results of every positive definite matrix into the cells of its label."""
    results, good = np.zeros(support.shape), np.ones(len(matrices), dtype=bool)
    for place, matrix in enumerate(matrices):
        inside = support[:, place]
        parts = _split(matrix, penalties[inside])
        good[place] = parts is not None
        if parts is not None:
            results[inside, place] = find(parts, (inside, place))
    return results, good


def _flat(matrices: Sequence[Matrix]) -> Floats:
    return np.concatenate([matrix.ravel() for matrix in matrices]) if matrices else np.empty(0)


def _split(matrix: Matrix, penalties: Floats) -> Matrix | None:
    """Lower triangle with ones on its diagonal, and in their place the diagonal matrix between it and its transpose."""
    parts = matrix.copy()
    places = np.arange(len(parts))
    parts[places, places] += penalties + _MIN_HESSIAN
    for k in places.tolist():
        if not parts[k, k] > 0:
            return None
        column = parts[k + 1 :, k].copy()
        shares = column / parts[k, k]
        parts[k + 1 :, k + 1 :] -= shares[:, None] * column
        parts[k + 1 :, k] = shares
    return parts


def _solved(parts: Matrix, values: Floats) -> Floats:
    values = values.copy()
    for j in range(len(parts)):
        values[j + 1 :] -= parts[j + 1 :, j] * values[j]
    values /= np.diagonal(parts)
    for j in reversed(range(len(parts))):
        values[:j] -= parts[j, :j] * values[j]
    return values


def _inverse_diagonal(parts: Matrix) -> Floats:
    results = np.zeros(len(parts))
    for k in range(len(parts)):
        unit = np.zeros(len(parts))
        unit[k] = 1.0
        for j in range(k, len(parts)):
            unit[j + 1 :] -= parts[j + 1 :, j] * unit[j]
        for i in range(k, len(parts)):
            results[k] += unit[i] * unit[i] / parts[i, i]
    return results


_MAX_CELLS = 200_000
_SCORES_AT_A_TIME = 65_536
_MAX_STEPS = 60
_FARTHEST_SCORE = 50.0  # largest log-odds that are distinguished
# A slope that is not so many standard errors above 0 is none: on new examples, the rules tell nothing.
_MIN_STANDARD_ERRORS = 2.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Straight line through what rules add to the base log-odds of each label: base + shift + slope * (score - base).

    A model stays additive, so its weights contain the line.
    """

    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def fit(cls, scores: Matrix, truth: Matrix | Bytes, weights: Floats, base: Matrix | float = 0.0) -> Calibration:
        """Fit by logistic regression on scores of examples that were not used to make them.

        A weak penalty pulls towards the identity, which also keeps the slope finite if the scores separate the labels
        perfectly. If the slope is not clearly above 0, it is 0 and so is the shift. Labels that are unknown count
        nowhere.

        Parameters
        ----------
        scores : ndarray, shape (examples, labels)
        truth : ndarray of the same shape
        weights : ndarray, shape (examples,)
        base : ndarray of the same shape, or float
            Base log-odds of each label.

        Examples
        --------
        >>> scores = np.array([[4.0]] * 10 + [[-4.0]] * 10)
        >>> truth = np.array([[1.0]] * 9 + [[0.0]] + [[0.0]] * 9 + [[1.0]])
        >>> line = Calibration.fit(scores, truth, np.full(20, 100.0))
        >>> line.apply(scores)[0].round(1)  # the log-odds of 9 : 1
        array([2.2])
        """
        rows = slice(None, None, max(1, scores.size // _MAX_CELLS))
        is_known = truth[rows].ravel() <= 1
        offset = np.broadcast_to(base, scores.shape)[rows].ravel()[is_known].astype(np.float64)
        flat = np.clip(scores[rows].ravel()[is_known], -_FARTHEST_SCORE, _FARTHEST_SCORE).astype(np.float64) - offset
        targets = truth[rows].ravel()[is_known].astype(np.float64)
        cells = flat, offset, targets, np.repeat(weights[rows], scores.shape[1])[is_known]
        value = np.inf
        line, step = np.array([0.0, 1.0]), np.zeros(2)
        for _ in range(_MAX_STEPS):
            value_here, gradient, hessian = _around(line - step, *cells)
            if value_here > value:
                step = step / 2.0
                continue
            improved, line, value, spread = value - value_here, line - step, value_here, hessian
            if improved <= 1e-12 * abs(value):
                break
            step = _line_step(hessian, gradient)
        shift, slope = np.round(line, 9).tolist()
        variance = spread[0, 0] / (spread[0, 0] * spread[1, 1] - spread[0, 1] * spread[0, 1])
        return cls(slope, shift) if slope > _MIN_STANDARD_ERRORS * np.sqrt(variance) else cls(0.0, 0.0)

    def apply(self, scores: Matrix, base: Matrix | float = 0.0) -> Matrix:
        """Return calibrated scores."""
        return np.asarray(base + self.shift + self.slope * (scores - base))


def base_log_odds(truth: Matrix | Bytes, weights: Floats) -> Floats:
    """Return the log-odds of each label among the examples for which it is known.

    Examples
    --------
    >>> base_log_odds(np.array([[1, 2], [0, 2], [0, 0], [0, 1]]), np.ones(4)).round(2)
    array([-0.85,  0.  ])
    """
    present, absent = (weights @ (truth == value).astype(np.float64) + 0.5 for value in (1, 0))
    return np.asarray(np.round(np.log(present / absent), 9))


def _around(
    line: Floats, flat: Floats, offset: Floats, targets: Floats, weights: Floats
) -> tuple[float, Floats, Matrix]:
    """Return the penalized loss of a line, its gradient and its hessian; sums are exact, equal on all machines."""
    distance = line - np.array([0.0, 1.0])
    unit = fixed_point_scale(weights) / 4096  # one number may be as large as a few thousand
    sums: Ints = np.zeros(6, dtype=np.int64)
    for block in row_blocks(len(flat), 1, _SCORES_AT_A_TIME):
        scores, target = flat[block], targets[block]
        moved = offset[block] + line[0] + line[1] * scores
        probability = sigmoid(moved)
        losses = np.maximum(moved, 0) + log1p(exp_neg(np.abs(moved))) - target * moved
        gradient, hessian = probability - target, probability * (1 - probability)
        terms = (losses, gradient, gradient * scores, hessian, hessian * scores, hessian * scores * scores)
        sums += [to_fixed_point(weights[block], term, unit).sum() for term in terms]
    value, by_shift, by_slope, shift_shift, shift_slope, slope_slope = (sums.astype(np.float64) / unit).tolist()
    value += (distance[0] * distance[0] + distance[1] * distance[1]) / 2
    matrix = np.array([[shift_shift + 1, shift_slope], [shift_slope, slope_slope + 1]])
    return value, np.array([by_shift, by_slope]) + distance, matrix


def _line_step(hessian: Matrix, gradient: Floats) -> Floats:
    """Return the Newton step, by Cramer's rule."""
    (a, b), (_, d) = hessian.tolist()
    first, second = gradient.tolist()
    determinant = a * d - b * b
    return np.array([(d * first - b * second) / determinant, (a * second - b * first) / determinant])
