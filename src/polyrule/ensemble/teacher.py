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

from polyrule.ensemble.bins import Binning, Codes
from polyrule.ensemble.blending import Blend
from polyrule.ensemble.forest import Forest
from polyrule.ensemble.kernel_ridge import KernelRidge

Matrix = npt.NDArray[np.float64]

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


def teach(
    binning: Binning, codes: Codes, truth: Matrix, weights: Matrix, options: Teaching, seed: int, threads: int = 1
) -> Lesson:
    """Fit the forest and return what it makes of the training examples.

    The mixed examples together weigh as much as the real ones. The result depends on `seed`, not on `threads`.
    """
    random = np.random.default_rng(seed)
    design = design_matrix(binning, codes)
    teachers: list[Forest | KernelRidge] = [Forest(design, truth, weights, seed, threads)]
    if len(design) <= _LARGEST_KERNEL:
        teachers.append(KernelRidge(design, truth, weights))
    left_out = [teacher.left_out for teacher in teachers]
    blend = Blend.fit(left_out, truth, weights)
    estimate = blend.apply(left_out)
    targets = (1 - options.trust) * truth + options.trust * estimate
    examples = codes.shape[1]
    wanted = min(options.rounds * examples, options.limit - examples)
    if wanted <= 0 or examples <= options.neighbours:
        return Lesson(codes, targets, weights)
    mixed, sources = mix(codes, design, wanted, options, random)
    unseen = design_matrix(binning, mixed)
    opinions = blend.apply([teacher.predict(unseen) for teacher in teachers])
    mixed_weights = weights[sources]
    mixed_weights *= weights.sum() / mixed_weights.sum()
    return Lesson(np.hstack([codes, mixed]), np.vstack([targets, opinions]), np.concatenate([weights, mixed_weights]))


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
