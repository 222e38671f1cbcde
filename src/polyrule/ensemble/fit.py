"""Fit of an ensemble: the final model, models of the cross-validation, calibration and decision."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
import sklearn

from polyrule.data.examples import by_content
from polyrule.data.table import Table, row_blocks
from polyrule.ensemble.decision import OutOfFoldScores, choose
from polyrule.ensemble.fold_model import FoldModel
from polyrule.ensemble.logistic import Calibration
from polyrule.ensemble.options import Examples, FitOptions
from polyrule.ensemble.schedule import Callback, FitSchedule
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.soft_targets.regression import blas
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints, Matrix

# Of more examples, one fold is held out instead of each in turn.
_MAX_FOLDED = 20_000
# Labels, or features, of all examples; above either, models are learned one after the other, which takes less memory.
_MAX_CELLS_AT_ONCE = (1_000_000, 4_000_000)
_MAX_SCORES = 1_000_000  # labels of all examples that calibration and decision use
# Of more examples a model of the cross-validation is learned from a part: it determines a handful of numbers.
_MAX_FOLD_EXAMPLES = 100_000
_BLOCK_CELLS = 1_000_000
_DIGITS = 9  # of a weight in the model: the last ones depend on the processor


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model, and the scores its decision was tuned on, from which another one can be tuned later."""

    model: RuleEnsemble
    scores: OutOfFoldScores
    cv_scores: dict[str, float]
    reason: str = "complete"


def fit(
    table: Table,
    truth: Bytes,
    weights: Floats,
    label_names: tuple[str, ...],
    options: FitOptions,
    callback: Callback | None = None,
    fold: Ints | None = None,
) -> Fitted:
    """Fit an ensemble.

    Cross-validation on the training data determines the calibration and the decision. Each of its models is learned
    from its own part of the data only, including its teacher, so that nothing leaks. Examples are sorted by content
    first, so that their order does not matter.

    Parameters
    ----------
    table, truth, weights, label_names, options
    callback : callable, optional
    fold : ndarray of int, optional
        Fold that each example is held out in, -1 for never; by default stratified folds.

    Raises
    ------
    KeyboardInterrupt
        If interrupted before the first rule.
    """
    order = by_content(table, truth, weights)
    examples = Examples(table, truth, weights)[order]
    options = options.for_examples(examples)
    fold = stratified_folds(examples.truth, options.folds, options.seed) if fold is None else fold[order]
    held_out: list[Bools] = [fold == number for number in range(int(fold.max(initial=-1)) + 1)]
    held_out = [rows for rows in held_out if rows.any() and not rows.all()]
    n_models = 1 + len(held_out)
    cells = truth.size, len(table) * table.shape[1]
    large = any(number > limit for number, limit in zip(cells, _MAX_CELLS_AT_ONCE, strict=True))
    at_once = 1 if large or options.compute.device is not None else min(options.compute.threads, n_models)
    compute = replace(options.compute, threads=max(1, options.compute.threads // at_once))
    options = replace(options, compute=compute)
    schedule = FitSchedule(options.time_limit, callback, n_models, at_once)

    def make(number: int) -> FoldModel | None:
        if schedule.skips_fold(number):
            return None
        part = examples
        if number:
            rows = np.flatnonzero(~held_out[number - 1])
            part = examples[rows[:: 1 + (len(rows) - 1) // _MAX_FOLD_EXAMPLES]]
        model = FoldModel(part, options, number, schedule)
        schedule.finish(number)
        return model

    # One BLAS thread: splitting a product over several would change its last digits with their number.
    with blas().limit(limits=1), schedule.defer_interrupt():
        if at_once == 1:  # in this thread, which is the one that an interrupt reaches
            models = [make(number) for number in range(n_models)]
        else:
            with ThreadPoolExecutor(at_once) as pool:
                models = list(pool.map(make, range(n_models)))
        final = models[0]
        if final is None or (schedule.interrupted and not final.bodies):
            raise KeyboardInterrupt("interrupted before there was a rule to keep")
        schedule.report_decision()
        calibration, scores = _out_of_fold(examples, held_out, [final, *models[1:]], options)
        return _assemble(examples, label_names, options, schedule, final, calibration, scores)


def stratified_folds(truth: Bytes, folds: int, seed: int) -> Ints:
    """Assign examples to cross-validation folds, stratified by label set.

    Label sets are shuffled and assigned to the folds in turn. With fewer than two examples per fold there are fewer
    folds; with fewer than four examples there is one, number 0, which nothing is held out of. Of many examples only one
    fold is held out; the others have -1.
    """
    count = len(truth)
    folds = min(folds, count // 2)
    if folds < 2:
        return np.zeros(count, dtype=np.int64)
    # This generator is frozen: its numbers are equal in all versions of NumPy.
    shuffled = np.random.RandomState(seed % 2**32).permutation(count)
    _, sets = np.unique(truth, axis=0, return_inverse=True)
    order = shuffled[np.argsort(sets.ravel()[shuffled], kind="stable")]
    fold = np.empty(count, dtype=np.int64)
    fold[order] = np.arange(count) % folds
    return fold if count <= _MAX_FOLDED else np.where(fold == 0, 0, -1)


def _out_of_fold(
    examples: Examples, held_out: Sequence[Bools], models: Sequence[FoldModel | None], options: FitOptions
) -> tuple[Calibration, OutOfFoldScores]:
    """Return the calibration, and calibrated scores of examples by the models that did not learn from them.

    Of many examples, only every second, third, … is scored. If no model of the cross-validation was finished, the
    scores are those of the final model, without calibration.
    """
    labels = examples.truth.shape[1]
    step = 1 + sum(int(rows.sum()) for rows in held_out) * labels // _MAX_SCORES
    parts = [
        (np.flatnonzero(rows)[::step], model)
        for rows, model in zip(held_out, models[1:], strict=True)
        if model is not None and model.finished
    ]
    calibrated = bool(parts)
    if not calibrated:
        assert models[0] is not None
        parts = [(np.arange(0, len(examples), 1 + len(examples) * labels // _MAX_SCORES), models[0])]
    rows = np.concatenate([places for places, _ in parts])
    fold = np.repeat(np.arange(len(parts)), [len(places) for places, _ in parts])
    order = np.argsort(rows, kind="stable")
    truth, weights = examples.truth[rows[order]], examples.weights[rows[order]]

    def scores(calibration: Calibration, points: int) -> Matrix:
        parts_of_scores = [_scores(model, examples.table[places], calibration, points) for places, model in parts]
        return np.concatenate(parts_of_scores)[order]

    plain = scores(Calibration(), 0)
    base = np.concatenate([np.broadcast_to(model.base, (len(places), labels)) for places, model in parts])[order]
    calibration = Calibration.fit(plain, truth, weights, base) if calibrated else Calibration()
    if options.start and not calibration.slope:
        calibration = Calibration()  # the rules that the user brings stay
    final_scores = scores(calibration, options.points) if options.points else calibration.apply(plain, base)
    return calibration, OutOfFoldScores(final_scores, truth, weights, fold[order])


def _scores(model: FoldModel, table: Table, calibration: Calibration, points: int) -> Matrix:
    """Return the log-odds of every label."""
    coefficients, unit = model.weights_for(calibration, points)
    covers, scores = model.covers(table), np.empty((len(table), coefficients.shape[1]))
    for rows in row_blocks(len(table), coefficients.shape[1], _BLOCK_CELLS, least=256):
        scores[rows] = np.asarray(unit) * (covers[rows].astype(np.float64) @ coefficients)
    return scores


def _assemble(
    examples: Examples,
    label_names: tuple[str, ...],
    options: FitOptions,
    schedule: FitSchedule,
    final: FoldModel,
    calibration: Calibration,
    scores: OutOfFoldScores,
) -> Fitted:
    # Among label sets a label may be lost as the score of another rises.
    by_label = options.points > 0 or options.direction is not None
    decision, cv_scores = choose(scores, options.decision, options.optimize, by_label=by_label)
    final.drop_pointless(calibration, options.points)
    coefficients, unit = final.weights_for(calibration, options.points)
    if not options.points:
        coefficients = np.round(coefficients, _DIGITS)
    covers = final.covers(examples.table)
    rules = []
    for number, row in enumerate(coefficients[1:], start=1):
        head = tuple(Entry(int(label), float(row[label])) for label in np.flatnonzero(row))
        if head:
            body = tuple(final.binning.condition(test) for test in final.bodies[number - 1])
            rules.append(WeightedRule(head, body, float(examples.weights[covers[:, number] > 0].sum())))
    line = [calibration.slope, calibration.shift]
    info: dict[str, Any] = {"ridge": options.build.ridge, "calibration": line, "cross_validation": cv_scores}
    if not final.teacher and not options.points and rules:  # an optimum that `RuleEnsemble.verify` can check
        info["weights"] = {"targets": "labels", "ridge": options.build.ridge, "calibration": line, "kept": []}
        info["weights"]["base"] = final.base.tolist()
    if final.teacher:
        info["teacher"] = {"listened_to": final.teacher}
    if options.start:
        info["start"] = len(options.start)
    info["made_with"] = versions()
    model = RuleEnsemble(
        tuple(rules),
        examples.table.features,
        label_names,
        tuple(float(intercept) for intercept in coefficients[0]),
        decision.in_points(unit) if options.points else decision,
        unit,
        info,
    )
    return Fitted(model, scores, cv_scores, schedule.reason)


def versions() -> dict[str, str]:
    """Return the versions that the teacher's estimates, and the last digits of weights, depend on."""
    kernels = {str(pool.get("architecture", "")) for pool in blas().info()}
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": " ".join([platform.machine(), *sorted(kernels)]),
    }
