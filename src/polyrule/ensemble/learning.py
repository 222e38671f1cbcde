"""From data to ensemble: teach, choose rules, cross-validate what remains to be chosen, and put the model together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import joblib
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from polyrule.arrays import Matrix
from polyrule.data.table import Table
from polyrule.ensemble.bins import Binning, BinTest
from polyrule.ensemble.building import Builder, BuildOptions, Chosen, covers_of
from polyrule.ensemble.calibration import Calibration
from polyrule.ensemble.model import Entry, RuleEnsemble, WeightedRule
from polyrule.ensemble.scorecard import to_points
from polyrule.ensemble.teacher import Lesson, Teacher, Teaching, plain_lesson
from polyrule.ensemble.tuning import Evidence, choose
from polyrule.ensemble.weights import loss

# A table with more cells than this is neither taught nor held as a dense matrix of bins.
_LARGEST_TAUGHT = 50_000_000
_FEWEST_TAUGHT = 10

# Share of the cross-validated log loss that shorter heads may cost.
_NEXT_TO_NOTHING = 0.02


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """Everything that decides what is learned.

    Parameters
    ----------
    build : BuildOptions
    teaching : Teaching or None
        None fits the bare labels.
    prices : tuple of float
        Ascending; what a head entry must lower the loss by to stay, to choose from by cross-validation.
    ridges : tuple of float
        Penalties on squared weights to choose from by cross-validation.
    restarts : int
        How many sets of rules are learned, each from other mixed examples, for the final model to be the best of.
    folds : int
    max_bins : int
    points : int
        Most points of a scorecard; 0 keeps real weights.
    decision, optimize : str
        See `polyrule.ensemble.tuning.choose`.
    seed, threads : int
    """

    build: BuildOptions = field(default_factory=BuildOptions)
    teaching: Teaching | None = field(default_factory=Teaching)
    prices: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    ridges: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)
    restarts: int = 4
    folds: int = 4
    max_bins: int = 64
    points: int = 0
    decision: str = "auto"
    optimize: str = "micro-f1"
    seed: int = 0
    threads: int = 1


class Setting(NamedTuple):
    """What cross-validation chooses before it turns to the decision."""

    price: float
    ridge: float


@dataclass(frozen=True, slots=True)
class EnsembleProgress:
    """What a callback is told after every rule.

    Attributes
    ----------
    part : int
        0 for the final model, 1, 2, … for the models of the cross-validation.
    attempt : int
        Which of several sets of rules for the same model, from 0.
    rules : int
        Rules of that model so far.
    loss : float
        Its penalised training loss.
    """

    part: int
    attempt: int
    rules: int
    loss: float


Callback = Callable[[EnsembleProgress], object]


@dataclass(frozen=True, eq=False)
class Learned:
    """The model, and the evidence its decision was tuned on (for tuning another one later)."""

    model: RuleEnsemble
    evidence: Evidence
    merits: dict[str, float]
    losses: dict[Setting, float] = field(default_factory=dict)


class _Part:
    """Rules for one training set, and their weights for any penalty."""

    def __init__(
        self,
        table: Table,
        truth: Matrix,
        weights: Matrix,
        options: LearnOptions,
        number: int,
        callback: Callback | None,
        threads: int,
    ) -> None:
        self.binning = Binning.of(table, options.max_bins)
        cells = table.shape[0] * table.shape[1]
        lessons: Iterable[Lesson]
        if options.teaching is not None and cells <= _LARGEST_TAUGHT and len(table) >= _FEWEST_TAUGHT:
            codes = self.binning.codes(table)
            teacher = Teacher(self.binning, codes, truth, weights, options.teaching, options.seed, threads)
            # The models of the cross-validation only serve to choose what follows; one attempt each is enough.
            attempts = options.restarts if number == 0 and teacher.wanted else 1
            lessons = (teacher.lesson(attempt) for attempt in range(attempts))
        else:
            lessons = [plain_lesson(self.binning.columns(table), truth, weights)]
        self.builder, self.chosen = self._best_of(lessons, options, number, callback)
        self.coefficients: dict[Setting, Matrix] = {}
        for price in options.prices:
            self.builder.prune_heads(price)
            for ridge in options.ridges:
                self.coefficients[Setting(price, ridge)] = self.builder.refitted(ridge)

    def _best_of(
        self, lessons: Iterable[Lesson], options: LearnOptions, number: int, callback: Callback | None
    ) -> tuple[Builder, Chosen]:
        """Learn from each lesson and keep the rules that fit theirs best: greedy choices are partly luck."""
        best: tuple[Builder, Chosen] | None = None
        for attempt, lesson in enumerate(lessons):
            builder = Builder(self.binning, lesson, options.build)
            watch = None if callback is None else partial(_report, callback, number, attempt)
            chosen = builder.build(watch)
            if best is None or builder.solver.objective() < best[0].solver.objective():
                best = builder, chosen
            if builder.stopped:
                break
        assert best is not None
        return best

    def covers(self, table: Table) -> Matrix:
        return covers_of(self.chosen.bodies, self.binning, table)

    def finished(self, setting: Setting, calibration: Calibration, points: int) -> tuple[Matrix, float]:
        """Return calibrated weights, as points if so wished, and what one of them is worth."""
        coefficients = self.coefficients[setting] * calibration.slope
        coefficients[0] += calibration.shift
        if not points:
            return coefficients, 1.0
        solver = self.builder.solver
        return to_points(coefficients, solver.covers, solver.targets, solver.weights, points)


def learn(
    table: Table,
    truth: npt.NDArray[np.uint8],
    weights: Matrix,
    label_names: tuple[str, ...],
    options: LearnOptions,
    callback: Callback | None = None,
) -> Learned:
    """Learn an ensemble.

    Cross-validation on the training data decides the penalty (by log loss), the calibration and the decision. Each of
    its models is made from its own part of the data only, the teacher included, so that nothing leaks.
    """
    real = truth.astype(np.float64)
    fold = deal(truth, options.folds, options.seed)
    parts_wanted: list[npt.NDArray[np.bool_]] = [np.ones(len(table), dtype=bool)]
    parts_wanted += [fold != number for number in range(int(fold.max(initial=-1)) + 1) if (fold != number).any()]
    inner = options.threads if len(parts_wanted) == 1 else 1

    def make(number: int, rows: npt.NDArray[np.bool_]) -> _Part:
        return _Part(table[rows], real[rows], weights[rows], options, number, callback, inner)

    # One BLAS thread: splitting a product over several would change its last digits with their number.
    with threadpool_limits(1, user_api="blas"):
        run = joblib.Parallel(n_jobs=options.threads, prefer="threads")
        parts = run(joblib.delayed(make)(number, rows) for number, rows in enumerate(parts_wanted))
        return _assemble(table, truth, weights, label_names, options, fold, parts)


def _report(callback: Callback, part: int, attempt: int, rules: int, value: float) -> bool:
    return callback(EnsembleProgress(part, attempt, rules, value)) is True


def deal(truth: npt.NDArray[np.uint8], folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Assign examples to folds: shuffled, sorted by label set, then dealt out like cards, so that each gets its share.

    With fewer than two examples per fold there are fewer folds; with fewer than four examples there is one, number 0,
    that nothing is held out of.
    """
    count = len(truth)
    folds = min(folds, count // 2)
    if folds < 2:
        return np.zeros(count, dtype=np.int64)
    shuffled = np.random.default_rng(seed).permutation(count)
    _, sets = np.unique(truth, axis=0, return_inverse=True)
    order = shuffled[np.argsort(sets.ravel()[shuffled], kind="stable")]
    fold = np.empty(count, dtype=np.int64)
    fold[order] = np.arange(count) % folds
    return fold


def _assemble(
    table: Table,
    truth: npt.NDArray[np.uint8],
    weights: Matrix,
    label_names: tuple[str, ...],
    options: LearnOptions,
    fold: npt.NDArray[np.int64],
    parts: list[_Part],
) -> Learned:
    whole, held = parts[0], _HeldOut(table, fold, parts)
    scores = {setting: held.scores(setting, Calibration(), 0) for setting in whole.coefficients}
    real = truth.astype(np.float64)
    losses = {setting: float(loss(s, real, weights).sum() / weights.sum()) for setting, s in scores.items()}
    setting = shortest_good(losses)
    calibration = Calibration.fit(scores[setting], real, weights) if len(parts) > 1 else Calibration()
    evidence = Evidence(held.scores(setting, calibration, options.points), truth, weights, fold)
    decision, merits = choose(evidence, options.decision, options.optimize, by_hand=options.points > 0)
    coefficients, unit = whole.finished(setting, calibration, options.points)
    covers = whole.covers(table)
    rules = []
    for number, row in merged(whole.chosen.bodies, coefficients, together=not options.points):
        head = tuple(Entry(int(label), float(row[label])) for label in np.flatnonzero(row))
        if head:
            body = tuple(whole.binning.condition(test) for test in whole.chosen.bodies[number - 1])
            rules.append(WeightedRule(head, body, float(weights @ covers[:, number])))
    model = RuleEnsemble(
        tuple(rules),
        table.features,
        label_names,
        tuple(float(intercept) for intercept in coefficients[0]),
        decision.in_points(unit) if options.points else decision,
        unit,
        {**setting._asdict(), "calibration": [calibration.slope, calibration.shift], "cross_validation": merits},
    )
    return Learned(model, evidence, merits, losses)


def merged(
    bodies: Sequence[tuple[BinTest, ...]], coefficients: Matrix, together: bool
) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """Give the number and the weights of every rule; rules that test the same are one, in the place of the first.

    The same body is chosen again where little data offers nothing better. Points of a scorecard are left as they are,
    for their sums could exceed the largest number of points.
    """
    places: dict[object, int] = {}
    sums: dict[int, npt.NDArray[np.float64]] = {}
    for number, tests in enumerate(bodies, start=1):
        place = places.setdefault(frozenset(tests) if together else number, number)
        sums[place] = sums[place] + coefficients[number] if place in sums else coefficients[number]
    yield from sums.items()


def shortest_good(losses: dict[Setting, float]) -> Setting:
    """Return the setting with the smallest loss among those of the highest price that costs next to nothing.

    Examples
    --------
    >>> shortest_good({Setting(0.1, 1.0): 2.0, Setting(0.3, 1.0): 2.01, Setting(0.3, 3.0): 2.6, Setting(1.0, 1.0): 2.2})
    Setting(price=0.3, ridge=1.0)
    """
    best = min(losses.values())
    good = [setting for setting, value in losses.items() if value <= best * (1 + _NEXT_TO_NOTHING)]
    price = max(setting.price for setting in good)
    return min((setting for setting in losses if setting.price == price), key=lambda setting: losses[setting])


class _HeldOut:
    """Scores of every training example by the model of the cross-validation that did not see it."""

    def __init__(self, table: Table, fold: npt.NDArray[np.int64], parts: list[_Part]) -> None:
        self.shape = (len(table), parts[0].chosen.heads.shape[1])
        self.pieces = []
        for number, part in enumerate(parts[1:]):
            rows = np.flatnonzero(fold == number)
            self.pieces.append((rows, part, part.covers(table[rows])))
        if len(parts) == 1:
            self.pieces.append((np.arange(len(table)), parts[0], parts[0].covers(table)))

    def scores(self, setting: Setting, calibration: Calibration, points: int) -> Matrix:
        scores = np.empty(self.shape)
        for rows, part, covers in self.pieces:
            coefficients, unit = part.finished(setting, calibration, points)
            scores[rows] = unit * (covers @ coefficients)
        return scores
