"""From data to ensemble: teach, choose rules, cross-validate what remains to be chosen, and put the model together."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import scipy
import sklearn

from polyrule.binning.code_tests import meaning
from polyrule.data.examples import by_content
from polyrule.data.table import Table, row_blocks
from polyrule.ensemble.building import Examples
from polyrule.ensemble.control import Callback, Control, LearnOptions
from polyrule.ensemble.logistic import Calibration
from polyrule.ensemble.parts import Part, Setting
from polyrule.ensemble.tuning import Evidence, choose
from polyrule.ensemble.weights import loss
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.soft_targets.regression import blas
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints, Matrix

# Share of the cross-validated log loss that shorter heads may cost.
_NEXT_TO_NOTHING = 0.02
_NOTHING = 0.003
# Of more examples, one fold is held out instead of each in turn: that is evidence enough.
_PLENTY = 20_000
# Labels, or features, of all examples; above either, parts are learned one after the other: memory is not for wasting.
_LARGEST_SIDE_BY_SIDE = (1_000_000, 4_000_000)
_MOST_EVIDENCE = 1_000_000  # labels of all examples
# Of more examples a model of the cross-validation is learned from some: it serves to choose a handful of numbers.
_ENOUGH = 100_000
_BLOCK_CELLS = 1_000_000
_DIGITS = 9  # of a weight in the model: the last ones depend on the processor


@dataclass(frozen=True, eq=False)
class Learned:
    """The model, and the evidence its decision was tuned on (for tuning another one later)."""

    model: RuleEnsemble
    evidence: Evidence
    merits: dict[str, float]
    reason: str = "complete"


def learn(
    table: Table,
    truth: Bytes,
    weights: Floats,
    label_names: tuple[str, ...],
    options: LearnOptions,
    callback: Callback | None = None,
    fold: Ints | None = None,
) -> Learned:
    """Learn an ensemble.

    Cross-validation on the training data decides the penalty (by log loss), the calibration and the decision. Each of
    its models is made from its own part of the data only, the teacher included, so that nothing leaks. Examples are
    put into an order that does not depend on the one they are given in, for they are drawn, dealt and added up in it.

    Parameters
    ----------
    table, truth, weights, label_names, options
    callback : callable, optional
    fold : ndarray of int, optional
        In which part of the cross-validation each example is held out, -1 for never; made where None.

    Raises
    ------
    KeyboardInterrupt
        Interrupted before there was a single rule.
    """
    order = by_content(table, truth, weights)
    given = Examples(table, truth, weights)[order]
    options = options.for_table(given.table)
    fold = deal(given.truth, options.folds, options.seed) if fold is None else fold[order]
    held: list[Bools] = [fold == number for number in range(int(fold.max(initial=-1)) + 1)]
    held = [rows for rows in held if rows.any() and not rows.all()]
    models = 1 + len(held)
    cells = truth.size, len(table) * table.shape[1]
    crowded = any(number > most for number, most in zip(cells, _LARGEST_SIDE_BY_SIDE, strict=True))
    at_once = 1 if crowded or options.compute.device is not None else min(options.compute.threads, models)
    inner = replace(options.compute, threads=max(1, options.compute.threads // at_once))
    options = replace(options, compute=inner)
    control = Control(options.time_limit, callback, models, options.restarts, at_once)

    def make(number: int) -> Part | None:
        if control.leaves_out(number):
            return None
        if number:
            some = np.flatnonzero(~held[number - 1])
            part = Part(given[some[:: 1 + (len(some) - 1) // _ENOUGH]], options, number, control)
        else:
            part = Part(given, options, number, control)
        control.finish(number)
        return part

    # One BLAS thread: splitting a product over several would change its last digits with their number.
    with blas().limit(limits=1), control.heeding_interrupts():
        if at_once == 1:  # in this thread, which is the one that an interrupt reaches
            parts = [make(number) for number in range(models)]
        else:
            with ThreadPoolExecutor(at_once) as pool:
                parts = list(pool.map(make, range(models)))
        whole = parts[0]
        if whole is None or (control.interrupted and not whole.chosen.bodies):
            raise KeyboardInterrupt("interrupted before there was a rule to keep")
        control.tell_decision()
        judged = _judge(_HeldOut(given, held, parts), whole, options)
        return _assemble(given, label_names, options, control, whole, judged)


def deal(truth: Bytes, folds: int, seed: int) -> Ints:
    """Assign examples to folds: shuffled, sorted by label set, then dealt out like cards, so that each gets its share.

    With fewer than two examples per fold there are fewer folds; with fewer than four examples there is one, number 0,
    that nothing is held out of. Where there are plenty of examples only one fold is held out; the others are -1.
    """
    count = len(truth)
    folds = min(folds, count // 2)
    if folds < 2:
        return np.zeros(count, dtype=np.int64)
    # This generator is frozen: it deals alike in every version of NumPy.
    shuffled = np.random.RandomState(seed % 2**32).permutation(count)
    _, sets = np.unique(np.packbits(truth, axis=1), axis=0, return_inverse=True)
    order = shuffled[np.argsort(sets.ravel()[shuffled], kind="stable")]
    fold = np.empty(count, dtype=np.int64)
    fold[order] = np.arange(count) % folds
    return fold if count <= _PLENTY else np.where(fold == 0, 0, -1)


def _judge(held: _HeldOut, whole: Part, options: LearnOptions) -> tuple[Setting, Calibration, Evidence]:
    """Return the setting of the final model that the others speak for, its calibration, and what it is decided from."""
    losses = {setting: held.loss(setting) for setting in whole.settings}
    setting = shortest_good(losses, whole.labels_per_head, options.labels_per_head)
    truth, weights = held.given.truth[held.rows], held.given.weights[held.rows]
    scores, calibration = held.scores(setting, Calibration(), 0), Calibration()
    if held.honest:
        calibration = Calibration.fit(scores, truth, weights, options.compute)
    scores = held.scores(setting, calibration, options.points) if options.points else calibration.apply(scores)
    return setting, calibration, Evidence(scores, truth, weights, held.fold)


def _assemble(
    given: Examples,
    label_names: tuple[str, ...],
    options: LearnOptions,
    control: Control,
    whole: Part,
    judged: tuple[Setting, Calibration, Evidence],
) -> Learned:
    setting, calibration, evidence = judged
    # Among label sets a label may be lost as another one's score rises.
    by_hand = options.points > 0 or options.direction is not None
    decision, merits = choose(evidence, options.decision, options.optimize, by_hand=by_hand, stop=control.hurried)
    coefficients, unit = whole.weights_for(setting, calibration, options.points)
    if not options.points:
        coefficients = np.round(coefficients, _DIGITS)
    covers = whole.covers(given.table)
    rules = []
    for number, row in enumerate(coefficients[1:], start=1):
        head = tuple(Entry(int(label), float(row[label])) for label in np.flatnonzero(row))
        if head:
            body = tuple(whole.binning.condition(test) for test in whole.chosen.bodies[number - 1])
            rules.append(WeightedRule(head, body, float(given.weights[covers[:, number] > 0].sum())))
    info = {**setting._asdict(), "calibration": [calibration.slope, calibration.shift], "cross_validation": merits}
    different = {meaning(tests) for tests in whole.chosen.bodies}
    # Where two rules that test the same weigh the same label, each of them is penalised, and their sum is no optimum.
    summed = np.count_nonzero(whole.coefficients(setting)[1:]) > sum(len(rule.head) for rule in rules)
    plain = not whole.teacher and not options.points and len(rules) == len(different) and not summed
    if plain:  # what `RuleEnsemble.verify` can check
        info["weights"] = {"targets": "labels", "ridge": setting.ridge, "calibration": info["calibration"], "kept": []}
    if whole.teacher:
        info["teacher"] = {"listened_to": whole.teacher}
    if options.start:
        info["start"] = len(options.start)
    info["made_with"] = versions()
    model = RuleEnsemble(
        tuple(rules),
        given.table.features,
        label_names,
        tuple(float(intercept) for intercept in coefficients[0]),
        decision.in_points(unit) if options.points else decision,
        unit,
        info,
    )
    return Learned(model, evidence, merits, control.reason)


def versions() -> dict[str, str]:
    """What the teacher's estimates, and the last digits of weights, depend on."""
    kernels = {str(pool.get("architecture", "")) for pool in blas().info()}
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": " ".join([platform.machine(), *sorted(kernels)]),
    }


def shortest_good(
    losses: dict[Setting, float],
    lengths: dict[float, float] | None = None,
    labels_per_head: float | None = None,
) -> Setting:
    """Return the setting with the smallest loss among those of the highest price that costs next to nothing.

    Where heads must be short on average, prices that leave them longer (`lengths`) are out of the question.

    Examples
    --------
    >>> shortest_good({Setting(0.1, 1.0): 2.0, Setting(0.3, 1.0): 2.01, Setting(0.3, 3.0): 2.6, Setting(1.0, 1.0): 2.2})
    Setting(price=0.3, ridge=1.0)
    """
    if labels_per_head is not None and lengths is not None:
        short = [price for price, length in lengths.items() if length <= labels_per_head]
        allowed = short or [max(lengths)]
        losses = {setting: value for setting, value in losses.items() if setting.price in allowed}
    best = min(losses.values())
    # Heads that are short enough as they are need not pay for being shorter still.
    slack = _NEXT_TO_NOTHING if labels_per_head is None else _NOTHING
    good = [setting for setting, value in losses.items() if value <= best * (1 + slack)]
    price = max(setting.price for setting in good)
    return min((setting for setting in losses if setting.price == price), key=lambda setting: losses[setting])


class _HeldOut:
    """Scores of training examples by the model of the cross-validation that did not see them.

    Of very many examples, every second, third, … will do.

    Attributes
    ----------
    given : Examples
        All of them.
    rows, fold : ndarray of int
        The examples that were held out of some model, and which.
    honest : bool
        False where nothing was held out, and the final model is all there is.
    """

    def __init__(self, given: Examples, held: Sequence[Bools], parts: Sequence[Part | None]) -> None:
        assert parts[0] is not None
        self.given, self._labels = given, given.truth.shape[1]
        self._pieces: list[tuple[Ints, Part, Bytes]] = []
        every = 1 + sum(int(rows.sum()) for rows in held) * self._labels // _MOST_EVIDENCE
        for rows, part in zip(held, parts[1:], strict=True):
            if part is not None and part.finished:
                places = np.flatnonzero(rows)[::every]
                self._pieces.append((places, part, part.covers(given.table[places])))
        self.honest = bool(self._pieces)
        if not self._pieces:
            places = np.arange(0, len(given), 1 + len(given) * self._labels // _MOST_EVIDENCE)
            self._pieces.append((places, parts[0], parts[0].covers(given.table[places])))
        rows = np.concatenate([places for places, _, _ in self._pieces])
        numbers = np.repeat(np.arange(len(self._pieces)), [len(places) for places, _, _ in self._pieces])
        self._order = np.argsort(rows, kind="stable")
        self.rows, self.fold = rows[self._order], numbers[self._order]

    def scores(self, setting: Setting, calibration: Calibration, points: int) -> Matrix:
        """Scores of `rows`, as log-odds."""
        found = np.empty((len(self.rows), self._labels))
        start = 0
        for places, part, covers in self._pieces:
            coefficients, unit = part.weights_for(part.nearest(setting), calibration, points)
            for rows in self._blocks(places):
                mine = found[start : start + len(places)]
                mine[rows] = np.asarray(unit) * (covers[rows].astype(np.float64) @ coefficients)
            start += len(places)
        return np.asarray(found[self._order])

    def loss(self, setting: Setting) -> float:
        """Mean log loss of an example, all labels together."""
        total, weight, truth, weights = 0.0, 0.0, self.given.truth, self.given.weights
        for places, part, covers in self._pieces:
            coefficients = part.coefficients(part.nearest(setting))
            for rows in self._blocks(places):
                some, scores = places[rows], covers[rows].astype(np.float64) @ coefficients
                total += math.fsum(loss(scores, truth[some].astype(np.float64), weights[some]))
                weight += float(weights[some].sum())
        return total / weight

    def _blocks(self, places: Ints) -> list[slice]:
        return row_blocks(len(places), self._labels, _BLOCK_CELLS, least=256)
