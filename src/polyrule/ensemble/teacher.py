"""A large model that teaches the small one: soft targets for the training examples, and examples in between.

Thirty rules fitted to bare 0/1 labels chase noise. A forest on the same training data knows how sure one can be: each
example's target becomes the mean of its label and the forest's calibrated estimate *without* that example (out of bag),
and new examples, mixed from neighbouring ones, get the forest's estimate as their target. This is model compression
(Buciluă, Caruana and Niculescu-Mizil 2006); nothing but the training data is used, and the forest is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from polyrule.arrays import Codes, Matrix
from polyrule.ensemble.bins import Binning
from polyrule.ensemble.blending import Blend
from polyrule.ensemble.forest import Forest
from polyrule.ensemble.kernel_ridge import KernelRidge

_LARGEST_KERNEL = 3000  # examples; the work grows with the cube


@dataclass(frozen=True, slots=True)
class Teaching:
    """How much the forest has to say.

    Parameters
    ----------
    trust : float
        Weight of the forest's estimate in the target of a training example, from 0 to 1.
    rounds : int
        Mixed examples per training example, at most.
    limit : int
        Most examples, real and mixed; above it no mixed ones are made.
    neighbours : int
        A mixed example takes some of its values from one of so many nearest neighbours.
    exchange : float
        Probability that a value is taken from the neighbour.
    """

    trust: float = 0.5
    rounds: int = 3
    limit: int = 5000
    neighbours: int = 5
    exchange: float = 0.3


@dataclass(frozen=True, eq=False)
class Lesson:
    """What the rules are fitted to: bins of one feature after the other, soft targets and weights of the examples."""

    columns: Iterable[Codes]
    targets: Matrix
    weights: Matrix


def plain_lesson(columns: Iterable[Codes], truth: Matrix, weights: Matrix) -> Lesson:
    """Return the training examples as they are."""
    return Lesson(columns, truth, weights)


class Teacher:
    """A forest and a kernel regression, blended, that make lessons of the training examples.

    Parameters
    ----------
    binning : Binning
    codes : ndarray of uint16, shape (features, examples)
    truth : ndarray, shape (examples, labels)
    weights : ndarray, shape (examples,)
    options : Teaching
    seed : int
        Decides everything that is random; the number of threads decides nothing.
    threads : int
    """

    def __init__(
        self,
        binning: Binning,
        codes: Codes,
        truth: Matrix,
        weights: Matrix,
        options: Teaching,
        seed: int,
        threads: int = 1,
    ) -> None:
        self.binning, self.codes, self.weights, self.options, self.seed = binning, codes, weights, options, seed
        self.design = design_matrix(binning, codes)
        self._models: list[Forest | KernelRidge] = [Forest(self.design, truth, weights, seed, threads)]
        if len(self.design) <= _LARGEST_KERNEL:
            self._models.append(KernelRidge(self.design, truth, weights))
        left_out = [model.left_out for model in self._models]
        self._blend = Blend.fit(left_out, truth, weights)
        self.targets = (1 - options.trust) * truth + options.trust * self._blend.apply(left_out)
        examples = codes.shape[1]
        wanted = min(options.rounds * examples, options.limit - examples)
        self.wanted = wanted if wanted > 0 and examples > options.neighbours else 0

    def lesson(self, number: int = 0) -> Lesson:
        """Return the training examples and mixed ones, other ones for every `number`.

        The mixed examples together weigh as much as the real ones.
        """
        if not self.wanted:
            return Lesson(self.codes, self.targets, self.weights)
        random = np.random.default_rng([self.seed, number])
        mixed, sources = mix(self.codes, self.design, self.wanted, self.options, random)
        unseen = design_matrix(self.binning, mixed)
        opinions = self._blend.apply([model.predict(unseen) for model in self._models])
        weights = self.weights[sources]
        weights *= self.weights.sum() / weights.sum()
        return Lesson(
            np.hstack([self.codes, mixed]),
            np.vstack([self.targets, opinions]),
            np.concatenate([self.weights, weights]),
        )


def mix(
    codes: Codes, design: npt.NDArray[np.float32], wanted: int, options: Teaching, random: np.random.Generator
) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Make examples that take some values from a near neighbour; also return which example each started from."""
    filled = np.where(np.isnan(design), np.float32(0), design)
    spread = filled.std(axis=0)
    scaled = (filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1)
    search = NearestNeighbors(n_neighbors=options.neighbours + 1, algorithm="brute").fit(scaled)
    near = search.kneighbors(scaled, return_distance=False)[:, 1:]
    sources = np.resize(np.arange(codes.shape[1]), wanted)
    partners = near[sources, random.integers(options.neighbours, size=wanted)]
    exchanged = random.random((codes.shape[0], wanted)) < options.exchange
    return np.where(exchanged, codes[:, partners], codes[:, sources]), sources


def design_matrix(binning: Binning, codes: Codes) -> npt.NDArray[np.float32]:
    """Bins as the forest sees them: ordered numbers, and one column per category; missing is NaN.

    Categories beyond the hundredth of a feature share no column: such a feature is an identifier, not a property.
    """
    columns = []
    for j, feature in enumerate(binning.features):
        column, count = codes[j], binning.count(j)
        if not feature.is_nominal or count <= 2:
            columns.append(np.where(column == count, np.float32(np.nan), column.astype(np.float32)))
        elif count <= 100:
            columns.extend((column == value).astype(np.float32) for value in range(count))
    if not columns:
        columns.append(np.zeros(codes.shape[1], dtype=np.float32))
    return np.stack(columns, axis=1)
