"""One model of a fit, the final one or one of the cross-validation: with its rules and their weights.

Its rules are fitted to soft targets. Few rules fitted to 0/1 labels fit their noise. The target of each example is a
mean of its label and of the teacher's estimate without that example; synthetic examples between neighboring ones have
the teacher's estimate as their target. This is model compression (Buciluă, Caruana and Niculescu-Mizil 2006); only the
training data is used, and the teacher is not part of the model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyrule.binning.binning import Binning
from polyrule.conditions import flatten
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table, row_blocks
from polyrule.ensemble.boosting import Booster, PooledRule, TrainingExamples, covers_of, plain_examples
from polyrule.ensemble.logistic import Calibration, base_log_odds
from polyrule.ensemble.options import Examples, FitOptions
from polyrule.ensemble.pool import Pool, Sampler
from polyrule.ensemble.pruning import RulePruner
from polyrule.ensemble.schedule import FitSchedule
from polyrule.ensemble.scorecard import to_points
from polyrule.ensemble.simplification import BodySimplifier
from polyrule.model.decisions import SET_KINDS
from polyrule.model.rule import WeightedRule
from polyrule.soft_targets.feature_matrix import FeatureMatrix
from polyrule.soft_targets.model import SoftLabelModel
from polyrule.soft_targets.synthetic import nearest_neighbors, synthesize
from polyrule.utils.arrays import Bytes, Floats32, Matrix

# Tables with more cells have no teacher; large data is less noisy, too.
_MAX_CELLS = 60_000_000
_FOLD_TREES = 60  # of the teacher's forest
# Synthetic examples per example: of the final model `_DRAWS` times as many, up to the limits below.
_ROUNDS, _DRAWS = 3, 3
_MAX_EXAMPLES = 5000  # with synthetic ones; of more, none are made
# A synthetic example takes each of its values, with this probability, from one of its nearest neighbors.
_NEIGHBORS, _EXCHANGE = 5, 0.3
_MIN_EXAMPLES = 10
_MAX_SYNTHETIC_CELLS = 20_000_000  # of the codes of all examples
_MAX_TARGETS = 4_000_000  # of all examples; beyond it the final model has no more than the others
_BLOCK = 1000  # examples
_TEACHER_SHARE = 0.4  # of a model's time, at most


class SoftTargets:
    """Soft targets of a teacher.

    Parameters
    ----------
    binning : Binning
    source : Examples
    options : FitOptions
    final : bool
        True for the final model, which has more synthetic examples.
    stop : callable
        See `SoftLabelModel`.
    """

    def __init__(
        self,
        binning: Binning,
        source: Examples,
        options: FitOptions,
        *,
        final: bool,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._binning, self._source, self._seed = binning, source, options.seed
        self._design = FeatureMatrix.of(binning, source.table)
        matrix = self._design.from_table(source.table)
        self._synthetic = self._n_synthetic(0 if options.text else _ROUNDS, final)
        trees, threads = None if final else _FOLD_TREES, options.compute.threads
        complete = (source.truth != UNKNOWN).all(axis=1)
        keep = self._synthetic > 0 or not complete.all()
        labeled = slice(None) if complete.all() else complete
        arrays = matrix[labeled], source.truth[labeled], source.weights[labeled]
        self._teacher = SoftLabelModel(*arrays, options.seed, threads, trees, stop, keep)
        self.model_weights = self._teacher.model_weights
        estimates: Floats32 = self._teacher.out_of_fold
        if not complete.all():
            estimates = np.empty(source.truth.shape, dtype=np.float32)
            estimates[complete] = self._teacher.out_of_fold
            estimates[~complete] = self._teacher.predict(matrix[~complete])
        self.targets = estimates
        for rows in row_blocks(len(source), 1, _BLOCK):
            labels = hard_targets(source.truth[rows])
            self.targets[rows] = self.targets[rows] * np.float32(options.trust) + labels * np.float32(1 - options.trust)
        if self._synthetic:
            self._codes = binning.codes(source.table)
            self._near = nearest_neighbors(matrix, _NEIGHBORS, np.random.default_rng([options.seed, 2]))

    def _n_synthetic(self, rounds: int, final: bool) -> int:
        """Return the number of synthetic examples; half of one text and half of another would be no text."""
        examples, labels = self._source.truth.shape
        number = min(rounds * examples, _MAX_EXAMPLES - examples)
        if final:
            number = max(number, min(_DRAWS * number, _MAX_TARGETS // max(1, labels) - examples))
        number = min(number, _MAX_SYNTHETIC_CELLS // max(1, len(self._binning.features)) - examples)
        return number if number > 0 and examples > _NEIGHBORS else 0

    def examples(self) -> TrainingExamples:
        """Return the training examples and synthetic ones, which have together the same weight."""
        source, binning = self._source, self._binning
        if not self._synthetic:
            return plain_examples(binning, source.table, self.targets, source.weights)
        random = np.random.default_rng([self._seed, 0, 0])
        synthetic, sources = synthesize(self._codes, self._near, self._synthetic, _EXCHANGE, random)
        estimates = self._teacher.predict(
            self._design.from_codes(synthetic[list(self._design.features)], self._synthetic)
        )
        weights = source.weights[sources]
        weights *= source.weights.sum() / weights.sum()
        codes = np.hstack([self._codes, synthetic])
        return TrainingExamples(
            lambda feature: codes[feature],
            np.vstack([self.targets, estimates]),
            np.concatenate([source.weights, weights]),
            np.concatenate([np.arange(len(source)), sources]),
            len(source),
        )


def hard_targets(truth: Bytes) -> Floats32:
    """Return labels as targets; NaN if unknown."""
    return np.where(truth == UNKNOWN, np.float32(np.nan), truth.astype(np.float32))


class FoldModel:
    """Rules for one training set, with their weights.

    Parameters
    ----------
    source : Examples
    options : FitOptions
    number : int
        0 for the final model.
    schedule : FitSchedule

    Attributes
    ----------
    binning : Binning
    bodies : list
        Tests of the rules.
    finished : bool
        False if an interrupt ended it.
    base : ndarray
        Base log-odds of each label.
    teacher : dict
        Weight of each model of the teacher; empty without one.
    """

    def __init__(self, source: Examples, options: FitOptions, number: int, schedule: FitSchedule) -> None:
        schedule.begin(number)
        self._number, self._schedule = number, schedule
        start = (condition for rule in options.start for condition in flatten(rule.body))
        self.binning = Binning.of(source.table, options.max_bins, start)
        self.base = base_log_odds(source.truth, source.weights)
        self.teacher: dict[str, float] = {}
        examples = self._training_examples(source, options)
        pruner = self._pooled(examples, options)
        self._prune(pruner, examples, options)
        self.bodies, self.finished = pruner.bodies, not schedule.interrupted
        self._coefficients, self._signs = pruner.solver.coefficients, pruner.solver.signs
        # Only points need the examples again.
        self._for_points = (pruner, examples, options) if options.points else None
        self._one_unit = options.decision in SET_KINDS
        schedule.report(number, "rules", 1.0, len(self.bodies), pruner.solver.objective)

    def _prune(self, pruner: RulePruner, examples: TrainingExamples, options: FitOptions) -> None:
        """Remove entries, then conditions, that the loss does not miss, until there are none."""
        limits = options.build.growth.max_conditions, options.build.min_rows, options.direction
        simplifier = BodySimplifier(pruner, examples, self.binning.count, *limits, options.compute)
        is_changed = True
        while is_changed:
            pruner.prune(options.build.label_cost, options.labels_per_head)
            pruner.solver.solve(steps=30)
            # The loss of the other models, which calibrate and decide, would hardly change.
            is_changed = self._number == 0 and simplifier.simplify()

    def drop_pointless(self, calibration: Calibration, points: int) -> None:
        """Drop entries that would have no points, and what is redundant without them, until each entry has points."""
        while self._for_points is not None:
            pruner, examples, options = self._for_points
            rounded, _ = self.weights_for(calibration, points)
            pointless = pruner.solver.support & (rounded == 0)
            pointless[: 1 + pruner.n_start] = False
            if not pointless.any():
                break
            for place, label in np.argwhere(pointless).tolist():
                pruner.solver.drop(place - 1, label)
            pruner.solver.solve(steps=30)
            self._prune(pruner, examples, options)
            self.bodies, self._coefficients = pruner.bodies, pruner.solver.coefficients
            self._signs = pruner.solver.signs

    def _training_examples(self, source: Examples, options: FitOptions) -> TrainingExamples:
        """Return the examples with soft targets if there is a teacher, which needs half of them with all labels."""
        schedule, number = self._schedule, self._number
        complete = np.count_nonzero((source.truth != UNKNOWN).all(axis=1))
        cells = len(source) * source.table.shape[1]
        if not options.teacher or cells > _MAX_CELLS or complete < max(_MIN_EXAMPLES, len(source) / 2):
            return plain_examples(self.binning, source.table, hard_targets(source.truth), source.weights)
        schedule.report(number, "teacher", 0.0)

        def late() -> bool:
            return schedule.out_of_time(number, _TEACHER_SHARE)

        soft_targets = SoftTargets(self.binning, source, options, final=number == 0, stop=late)
        self.teacher = soft_targets.model_weights
        return soft_targets.examples()

    def _pooled(self, examples: TrainingExamples, options: FitOptions) -> RulePruner:
        """Return the rules of one build, or of several from subsamples, with weights fitted to all examples."""
        schedule, number, build = self._schedule, self._number, options.build
        labels = examples.targets.shape[1]
        start = [self._start_rule(rule, labels) for rule in options.start]
        size, pool, done = options.rules_per_build(labels), Pool(start), 0
        total, before = max(1, options.n_builds * size), 0.4 if self.teacher else 0.0  # the share of the teacher

        def watch(rules: int, objective: Callable[[], float]) -> bool:
            share = before + (0.8 - before) * (done + rules - len(start)) / total
            stop = schedule.report(number, "rules", share, done + rules, objective)
            return stop or schedule.out_of_time(number)

        schedule.report(number, "rules", before)
        sampler, going = Sampler(examples, len(self.binning.features), options), not schedule.interrupted
        for draw in range(options.n_builds):
            if draw and not going:
                break
            arguments = (size, options.compute, start, options.allowed, options.direction)
            booster = Booster(self.binning, sampler.draw(draw), build, *arguments)
            going = going and booster.build(size, watch)
            pool.add(booster)
            done += len(booster.rules) - len(start)
            del booster  # its memory is free for the next one
        rules = pool.rules
        covers = covers_of([rule.tests for rule in rules], self.binning, len(examples), examples.column)
        pruner = RulePruner(rules, covers, examples, build.ridge, pool.n_start, options.compute, options.allowed)
        pruner.thin_out(build.max_rules)
        return pruner

    def _start_rule(self, rule: WeightedRule, labels: int) -> PooledRule:
        head = np.zeros(labels, dtype=bool)
        head[[entry.label for entry in rule.head]] = True
        return PooledRule(tuple(self.binning.test(condition) for condition in rule.body), head)

    def covers(self, table: Table) -> Bytes:
        """Return 1 if a rule covers an example, after a column of ones."""
        return covers_of(self.bodies, self.binning, len(table), lambda feature: self.binning.column(feature, table))

    def weights_for(self, calibration: Calibration, points: int) -> tuple[Matrix, float | tuple[float, ...]]:
        """Return calibrated weights, as points if `points` is positive, and the log-odds of one unit."""
        coefficients = self._coefficients * calibration.slope
        coefficients[0] = calibration.apply(self._coefficients[0], self.base)
        if not points:
            return coefficients, 1.0
        assert self._for_points is not None
        solver = self._for_points[0].solver
        return to_points(coefficients, solver.covers, solver.weights, points, self._signs, one_unit=self._one_unit)
