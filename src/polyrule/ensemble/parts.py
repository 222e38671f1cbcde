"""One model of a fit, the final one or one of the cross-validation: its rules, and their weights for every setting.

Its rules are fitted to soft targets. Thirty rules fitted to bare 0/1 labels chase noise. The teacher knows how sure one
can be: each example's target becomes the mean of its label and the teacher's estimate without that example, and new
examples, mixed from neighbouring ones, get the teacher's estimate as their target. This is model compression (Buciluă,
Caruana and Niculescu-Mizil 2006); nothing but the training data is used, and the teacher is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import meaning
from polyrule.conditions import flatten
from polyrule.data.table import Table, row_blocks
from polyrule.ensemble.building import Builder, Examples, TrainingExamples, covers_of, plain_examples
from polyrule.ensemble.control import Control, LearnOptions
from polyrule.ensemble.logistic import Calibration
from polyrule.ensemble.scorecard import to_points
from polyrule.model.decisions import SET_KINDS
from polyrule.model.rule import WeightedRule
from polyrule.soft_targets.feature_matrix import FeatureMatrix
from polyrule.soft_targets.model import SoftLabelModel
from polyrule.soft_targets.synthetic import nearest_neighbors, synthesize
from polyrule.utils.arrays import Bools, Bytes, Matrix

# A table with more cells than this is not taught; large data is less noisy, too.
_LARGEST_TAUGHT = 60_000_000
_TREES_IN_FOLDS = 60  # of the teacher's forest
_TRUST = 0.5  # weight of the teacher's estimate in the target of a training example
# Mixed examples per training example: of the final model so many times as many, while they stay few enough.
_ROUNDS, _DRAWS = 3, 3
_MOST_EXAMPLES = 5000  # real and mixed; of more, no mixed ones are made
# A mixed example takes some of its values, with this probability each, from one of so many nearest neighbours.
_NEIGHBOURS, _EXCHANGE = 5, 0.3
_FEWEST_TAUGHT = 10
_LARGEST_MIXED = 20_000_000  # cells of the bins of real and mixed examples
_MOST_TARGETS = 4_000_000  # of real and mixed examples; beyond it the final model gets no more than the others
_BLOCK = 1000  # examples
_TEACHER_SHARE = 0.4  # of a part's time, at most


class SoftTargets:
    """Soft targets from one teacher.

    Parameters
    ----------
    binning : Binning
    given : Examples
    options : LearnOptions
        Seed, threads, which decide nothing, and whether the table looks like text, of which no mixed examples are made.
    final : bool
        Whether these are the targets of the final model, which has more to learn from.
    stop : callable
        See `SoftLabelModel`.
    """

    def __init__(
        self,
        binning: Binning,
        given: Examples,
        options: LearnOptions,
        *,
        final: bool,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.binning, self.given, self.seed = binning, given, options.seed
        self.design = FeatureMatrix.of(binning, given.table)
        matrix = self.design.from_table(given.table)
        self.wanted = self._mixed(0 if options.text else _ROUNDS, final)
        trees, threads = None if final else _TREES_IN_FOLDS, options.compute.threads
        keep = self.wanted > 0
        self.teacher = SoftLabelModel(matrix, given.truth, given.weights, options.seed, threads, trees, stop, keep)
        self.targets = self.teacher.out_of_fold
        self.targets *= np.float32(_TRUST)
        for rows in row_blocks(len(given), 1, _BLOCK):
            self.targets[rows] += given.truth[rows] * np.float32(1 - _TRUST)
        if self.wanted:
            self._codes = binning.codes(given.table)
            self._near = nearest_neighbors(matrix, _NEIGHBOURS, np.random.default_rng([options.seed, 2]))

    def _mixed(self, rounds: int, final: bool) -> int:
        """How many mixed examples are made; half of one text and half of another would be no text."""
        examples, labels = self.given.truth.shape
        wanted = min(rounds * examples, _MOST_EXAMPLES - examples)
        if final:
            wanted = max(wanted, min(_DRAWS * wanted, _MOST_TARGETS // max(1, labels) - examples))
        wanted = min(wanted, _LARGEST_MIXED // max(1, len(self.binning.features)) - examples)
        return wanted if wanted > 0 and examples > _NEIGHBOURS else 0

    def examples(self, number: int = 0) -> TrainingExamples:
        """Return the training examples and mixed ones, other ones for every `number`.

        The mixed examples together weigh as much as the real ones.
        """
        given = self.given
        if not self.wanted:
            return TrainingExamples(self.binning.columns(given.table), self.targets, given.weights)
        random = np.random.default_rng([self.seed, 0, number])
        mixed, sources = synthesize(self._codes, self._near, self.wanted, _EXCHANGE, random)
        shown = list(self.design.features)
        opinions = self.teacher.predict(self.design.from_codes(mixed[shown], self.wanted))
        weights = given.weights[sources]
        weights *= given.weights.sum() / weights.sum()
        return TrainingExamples(
            np.hstack([self._codes, mixed]),
            np.vstack([self.targets, opinions]),
            np.concatenate([given.weights, weights]),
        )


class Setting(NamedTuple):
    """What cross-validation chooses before it turns to the decision."""

    price: float
    ridge: float


class Part:
    """Rules for one training set, and their weights for any penalty.

    Attributes
    ----------
    chosen : Chosen
    settings : list of Setting
        Those that there are weights for.
    finished : bool
        Whether it was learned without being told to stop.
    teacher : dict
        How much each member of the teacher was listened to; empty without one.
    """

    def __init__(self, given: Examples, options: LearnOptions, number: int, control: Control) -> None:
        control.begin(number)
        self._number, self._control = number, control
        if number > 0:  # it only serves to choose penalties and the decision
            growth = options.build.growth if options.text else replace(options.build.growth, max_members=1)
            options = replace(options, build=replace(options.build, spare=0.0, growth=growth))
        kept = (condition for rule in options.start for condition in flatten(rule.body))
        self.binning = Binning.of(given.table, options.max_bins, kept)
        self.teacher: dict[str, float] = {}
        cells = len(given) * given.table.shape[1]
        if options.taught and cells <= _LARGEST_TAUGHT and len(given) >= _FEWEST_TAUGHT:
            builder = self._taught(given, options)
        else:
            columns = self.binning.columns(given.table)
            builder = self._builder(plain_examples(columns, given.truth, given.weights), options)
            self._build(builder, options, 0, 1)
        self._keep(builder, options)

    def _keep(self, builder: Builder, options: LearnOptions) -> None:
        """Take over what was built, and its weights for every setting."""
        control, number = self._control, self._number
        self.chosen = builder.chosen()
        self._solver = builder.solver
        self._pruned: dict[float, tuple[Matrix, Bools]] = {}
        self._coefficients: dict[Setting, Matrix] = {}
        self.settings: list[Setting] = []
        self.labels_per_head: dict[float, float] = {}
        for price in builder.prices(options.prices, options.labels_per_head):
            self.labels_per_head[price] = builder.labels_per_head()
            self._pruned[price] = (self._solver.coefficients.copy(), self._solver.support.copy())
            self._price: float | None = price  # that the solver is at
            settings = [Setting(price, ridge) for ridge in options.ridges]
            self.settings += settings
            for setting in settings if number else ():  # of the final model only the one that is chosen will be needed
                self.coefficients(setting)
            if control.out_of_time(number, 1.0):
                break
        self._price = None
        self.finished = not control.interrupted
        # What points are fitted to is kept only where there will be points.
        self._one_unit = options.decision in SET_KINDS
        self._examples = (self._solver.covers, self._solver.weights) if options.points else None
        self._signs = self._solver.signs
        control.tell(number, "rules", 1.0, len(self.chosen.bodies), builder.solver.objective)

    def _taught(self, given: Examples, options: LearnOptions) -> Builder:
        """Learn from each set of targets and keep the rules that fit theirs best: greedy choices are partly luck."""
        control, number = self._control, self._number
        control.tell(number, "teacher", 0.0)

        def late() -> bool:
            return control.out_of_time(number, _TEACHER_SHARE)

        soft_targets = SoftTargets(self.binning, given, options, final=number == 0, stop=late)
        self.teacher = soft_targets.teacher.model_weights
        attempts = options.restarts if number == 0 and soft_targets.wanted else 1
        best: Builder | None = None
        for attempt in range(attempts):
            builder = self._builder(soft_targets.examples(attempt), options)
            if attempt == attempts - 1:
                del soft_targets  # it takes memory, and has nothing more to say
            self._build(builder, options, attempt, attempts)
            if best is None or builder.solver.objective() < best.solver.objective():
                best = builder
            if builder.stopped:
                break
        assert best is not None
        return best

    def _builder(self, examples: TrainingExamples, options: LearnOptions) -> Builder:
        labels = examples.targets.shape[1]
        kept = [(tuple(self.binning.test(c) for c in rule.body), _mask(rule, labels)) for rule in options.start]
        return Builder(self.binning, examples, options.build, options.compute, kept, options.allowed, options.direction)

    def _build(self, builder: Builder, options: LearnOptions, attempt: int, attempts: int) -> None:
        """Choose the rules, telling of each."""
        control, number, most = self._control, self._number, max(1, options.build.grown)

        before = 0.4 if self.teacher else 0.0  # what the teacher took

        def watch(rules: int, value: Callable[[], float]) -> bool:
            share = before + (0.9 - before) * (attempt + rules / most) / attempts
            wish = control.tell(number, "rules", share, rules, value, attempt)
            return wish or control.out_of_time(number)

        control.tell(number, "rules", before + (0.9 - before) * attempt / attempts, attempt=attempt)
        if not control.interrupted:
            builder.build(watch)

    def covers(self, table: Table) -> Bytes:
        """1 where a rule covers an example, after a first column of ones."""
        return covers_of(self.chosen.bodies, self.binning, table)

    def coefficients(self, setting: Setting) -> Matrix:
        """Return intercepts and weights, shape (1 + rules, labels)."""
        if setting not in self._coefficients:
            solver = self._solver
            if setting.price != self._price:
                coefficients, support = self._pruned[setting.price]
                solver.restore(solver.covers, coefficients.copy(), support.copy(), solver.signs)
                self._price = setting.price
            solver.ridge = setting.ridge
            solver.solve(steps=30)
            self._coefficients[setting] = solver.coefficients.copy()
        return self._coefficients[setting]

    def weights_for(
        self, setting: Setting, calibration: Calibration, points: int
    ) -> tuple[Matrix, float | tuple[float, ...]]:
        """Return calibrated weights, as points if so wished, and what one of them is worth."""
        coefficients = self._together(self.coefficients(setting) * calibration.slope)
        coefficients[0] += calibration.shift
        if not points:
            return coefficients, 1.0
        assert self._examples is not None
        return to_points(coefficients, *self._examples, points, self._signs, one_unit=self._one_unit)

    def _together(self, coefficients: Matrix) -> Matrix:
        """Give the weights of rules that test the same to the first of them.

        The same body is chosen again where little data offers nothing better.
        """
        places: dict[object, int] = {}
        for number, tests in enumerate(self.chosen.bodies, start=1):
            place = places.setdefault(meaning(tests), number)
            if place != number:
                coefficients[place] += coefficients[number]
                coefficients[number] = 0
        return coefficients

    def nearest(self, setting: Setting) -> Setting:
        """Return the setting itself, or the most similar one where time did not allow for all of them."""
        if setting in self.settings:
            return setting
        return min(
            self.settings,
            key=lambda s: (abs(np.log(s.price + 1e-9) - np.log(setting.price + 1e-9)), abs(s.ridge - setting.ridge)),
        )


def _mask(rule: WeightedRule, labels: int) -> Bools:
    head = np.zeros(labels, dtype=bool)
    head[[entry.label for entry in rule.head]] = True
    return head
