"""What the rules are fitted to: soft targets for the training examples, and examples in between.

Thirty rules fitted to bare 0/1 labels chase noise. The teacher knows how sure one can be: each example's target becomes
the mean of its label and the teacher's estimate without that example, and new examples, mixed from neighbouring ones,
get the teacher's estimate as their target. This is model compression (Buciluă, Caruana and Niculescu-Mizil 2006);
nothing but the training data is used, and the teacher is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from polyrule.arrays import Bytes, Codes, Floats, Floats32
from polyrule.bins.binning import Binning
from polyrule.data.table import Table
from polyrule.teacher.teacher import Design, Teacher, mix, neighbours

_LARGEST_MIXED = 20_000_000  # cells of the bins of real and mixed examples
_MOST_TARGETS = 4_000_000  # of real and mixed examples; beyond it the final model gets no more than the others
_BLOCK = 1000  # examples


@dataclass(frozen=True, slots=True)
class Teaching:
    """How much the teacher has to say.

    Parameters
    ----------
    trust : float
        Weight of the teacher's estimate in the target of a training example, from 0 to 1.
    rounds : int
        Mixed examples per training example, at most; none are made of text.
    limit : int
        Most examples, real and mixed; above it no mixed ones are made.
    draws : int
        So many times as many mixed examples are made for the final model.
    neighbours : int
        A mixed example takes some of its values from one of so many nearest neighbours.
    exchange : float
        Probability that a value is taken from the neighbour.
    trees : int or None
        Of the teacher's forest; None for its default.
    trees_in_folds : int
        The same in the cross-validation, at most.
    """

    trust: float = 0.5
    rounds: int = 3
    limit: int = 5000
    draws: int = 3
    neighbours: int = 5
    exchange: float = 0.3
    trees: int | None = None
    trees_in_folds: int = 60


@dataclass(frozen=True, eq=False)
class TrainingExamples:
    """What the rules are fitted to: bins of one feature after the other, soft targets and weights of the examples."""

    columns: Iterable[Codes]
    targets: Floats32
    weights: Floats


def plain_examples(columns: Iterable[Codes], truth: Bytes, weights: Floats) -> TrainingExamples:
    """Return the training examples as they are."""
    return TrainingExamples(columns, truth.astype(np.float32), weights)


class SoftTargets:
    """Soft targets from one teacher.

    Parameters
    ----------
    binning : Binning
    table : Table
    truth : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
    options : Teaching
    seed, threads : int
        The number of threads decides nothing.
    stop : callable
        See `Teacher`.
    final : bool
        Whether these are the targets of the final model, which has more to learn from.
    text : bool
        Whether the table looks like text, of which no mixed examples are made.
    """

    def __init__(
        self,
        binning: Binning,
        table: Table,
        truth: Bytes,
        weights: Floats,
        options: Teaching,
        seed: int,
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
        final: bool = False,
        text: bool = False,
    ) -> None:
        self.binning, self.table, self.weights, self.options, self.seed = binning, table, weights, options, seed
        self.design = Design.of(binning, table)
        matrix = self.design.of_table(table)
        examples = len(table)
        fits = _LARGEST_MIXED // max(1, len(binning.features))
        # Half of one text and half of another is no text: rules learned from such are no better, and take longer.
        rounds = 0 if text else options.rounds
        wanted = min(rounds * examples, options.limit - examples)
        if final:
            wanted = max(wanted, min(options.draws * wanted, _MOST_TARGETS // max(1, truth.shape[1]) - examples))
        wanted = min(wanted, fits - examples)
        self.wanted = wanted if wanted > 0 and examples > options.neighbours else 0
        trees = options.trees
        if not final:
            trees = options.trees_in_folds if trees is None else min(trees, options.trees_in_folds)
        self.teacher = Teacher(matrix, truth, weights, seed, threads, trees, stop, keep=self.wanted > 0)
        self.targets = self.teacher.left_out
        self.targets *= np.float32(options.trust)
        for first in range(0, examples, _BLOCK):
            self.targets[first : first + _BLOCK] += truth[first : first + _BLOCK] * np.float32(1 - options.trust)
        if self.wanted:
            self._codes = binning.codes(table)
            self._near = neighbours(matrix, options.neighbours, np.random.default_rng([seed, 2]))

    def examples(self, number: int = 0) -> TrainingExamples:
        """Return the training examples and mixed ones, other ones for every `number`.

        The mixed examples together weigh as much as the real ones.
        """
        if not self.wanted:
            return TrainingExamples(self.binning.columns(self.table), self.targets, self.weights)
        random = np.random.default_rng([self.seed, 0, number])
        mixed, sources = mix(self._codes, self._near, self.wanted, self.options.exchange, random)
        shown = list(self.design.features)
        opinions = self.teacher.predict(self.design.matrix(mixed[shown], self.wanted))
        weights = self.weights[sources]
        weights *= self.weights.sum() / weights.sum()
        return TrainingExamples(
            np.hstack([self._codes, mixed]),
            np.vstack([self.targets, opinions]),
            np.concatenate([self.weights, weights]),
        )
