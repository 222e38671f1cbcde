"""Worlds to compare engines on: data, objective, options and what is done with them, as plain Python values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.campaign.data import draw_data
from tests.search.limits import draw_limits

from polyrule.data.examples import integer_weights
from polyrule.data.table import Feature, Table
from polyrule.errors import OptionError
from polyrule.measures import AVERAGINGS, SCOPES, Objective, available
from polyrule.measures.association import SPECS
from polyrule.search.protocol import GrowOptions

Commit = tuple[float | None, bool]
MEASURES = [*available(), "tp - fp", "(1+tp)/(tp+fp+2*fn+1)", "tp/(tp+fp+0.5*fn)"]
# precision more often: ties make its search the most intricate
COMMON = [*["precision"] * 5, "f0.5", "f1", "hamming", "jaccard", "laplace", "subset", "recall"]
LIFTS = ["kln:0.1", "kln:0.5", "root:3", "peak:1,1.3"]
# heads of several labels that need a search of their own
SEARCHED: list[dict[str, Any]] = [
    *({"measure": name} for name in ("m2", "laplace", "subset", *SPECS)),
    *({"measure": name, "lift": lift} for name in ("f0.5", "precision", "hamming") for lift in LIFTS),
    *({"measure": "f0.5", "scope": scope} for scope in ("all", "full")),
    *({"measure": name, "averaging": "example"} for name in ("hamming", "hamming", "jaccard", "f0.5", "f1")),
    *({"measure": name, "averaging": "label"} for name in ("m2", *SPECS)),
]
MORE = 7  # sets of limits beside the first: they cost little beside the reference
COMMITS: list[Commit] = [(0.01, True), (None, False), (0.3, False), (0.3, True), (0.0, True), (1.0, True)]


@dataclass(frozen=True)
class World:
    """One comparison; every field is plain, so that `repr` writes it into a program.

    `kinds` holds the kind of each column and how many categories it has. A step is (what, literal, commit): what is
    "grow", "literal" or "single". A world with `fit` is a whole fit of that estimator with these parameters instead; if
    it is `counted`, also from bins. With an `order`, the same must come out of the rows in that order; and with each
    set of limits in `more`, beside `limits`.
    """

    X: list[list[float]]
    Y: list[list[int]]
    kinds: list[tuple[str, int]]
    weights: list[float]
    objective: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    steps: list[tuple[str, tuple[int, int] | None, Commit]] = field(default_factory=list)
    sparse: bool = False
    sparse_labels: bool = False
    threads: int = 1
    fit: tuple[str, dict[str, Any]] | None = None
    counted: bool = False
    order: list[int] = field(default_factory=list)
    more: list[dict[str, float]] = field(default_factory=list)

    def table(self) -> Table:
        """The features."""
        features = [
            Feature(f"f{j}", kind, tuple(f"c{code:03}" for code in range(categories)))  # type: ignore[arg-type]
            for j, (kind, categories) in enumerate(self.kinds)
        ]
        values: Any = np.array(self.X, dtype=float).reshape(len(self.X), len(self.kinds))
        return Table.from_array(sp.csc_array(values) if self.sparse else values, features)

    def truth(self) -> Any:
        """The labels."""
        dense = np.array(self.Y, dtype=np.uint8)
        return sp.csr_array(dense) if self.sparse_labels else dense

    def arguments(self) -> tuple[Any, ...]:
        """What an engine is made from."""
        weights, unit = integer_weights(self.weights, len(self.weights))
        objective, options = Objective(**self.objective), GrowOptions(**self.options)
        return self.table(), self.truth(), weights, objective.in_units(unit), options.in_units(unit)

    def permuted(self) -> World:
        """The same rows in the other order."""
        parts = {name: [getattr(self, name)[i] for i in self.order] for name in ("X", "Y", "weights")}
        return replace(self, **parts, order=[])

    def tags(self) -> tuple[str, ...]:
        """What is unusual about it, for sorting mismatches."""
        values = np.array(self.X, dtype=float).reshape(len(self.X), -1)
        found = {
            "weight 0": 0 in self.weights,
            "weights": len({w for w in self.weights if w}) > 1,
            "huge weights": sum(self.weights) > 2**20,
            "fractions": any(w != int(w) for w in self.weights),
            "missing values": bool(np.isnan(values).any()),
            **{kind: True for kind, _ in self.kinds if kind != "numeric"},
            "many categories": any(categories > 100 for _, categories in self.kinds),
            "beam": self.options.get("beam_width", 1) > 1,
            "negative off": not self.objective.get("negative", True),
            "lift": "lift" in self.objective,
            "max_head_size": "max_head_size" in self.objective,
            "min_coverage": self.options.get("min_coverage", 0) > 0,
            "sparse": self.sparse,
            "threads": self.threads > 1,
            **dict.fromkeys(self.limits, True),
        }
        return tuple(name for name, holds in found.items() if holds)


def draw(rng: np.random.Generator, fits: float = 0.06, small: bool = False) -> World:
    """Draw a world; `fits` is the share of whole fits."""
    searched = not small and rng.random() < 0.05  # their heads take the reference ten times as long
    data = draw_data(rng, small, most_labels=8 if searched else None)
    if rng.random() < 0.15:
        data["order"] = rng.permutation(len(data["X"])).tolist()
    if not searched and rng.random() < fits:
        name, parameters = _fit(rng)
        refused = "teacher" in parameters or (parameters["measure"] == "subset" and "lift" in parameters)
        counted = bool(rng.random() < 0.3) and not refused and len(data["X"]) < 255
        return World(**data, fit=(name, parameters), counted=counted)
    objective = _searched(rng) if searched else _objective(rng)
    options = _options(rng)
    steps = _steps(rng, len(data["Y"][0]))[: _affordable(data, options)]
    threads = 2 if rng.random() < 0.1 else 1
    limits = {} if rng.random() < 0.4 else draw_limits(rng)
    # without the searchers of plain measures the compiled engine tries every boundary
    more = [draw_limits(rng) | ({"plain": 0} if number == 0 else {}) for number in range(MORE)]
    return World(**data, objective=objective, options=options, steps=steps, threads=threads, limits=limits, more=more)


def _affordable(data: dict[str, Any], options: dict[str, Any]) -> int:
    """Return how many steps a world may have: where one takes the reference long, others are worth more than a next."""
    work = len(data["X"]) * len(data["kinds"]) * options.get("beam_width", 1)
    work *= 8 if len(data["Y"][0]) > 5 else 1
    return max(1, 4000 // work)


def _searched(rng: np.random.Generator) -> dict[str, Any]:
    chosen = dict(SEARCHED[int(rng.integers(len(SEARCHED)))])
    if rng.random() < 0.15:
        chosen["max_head_size"] = int(rng.integers(2, 5))
    if rng.random() < 0.3:
        chosen["negative"] = False
    return chosen


def _objective(rng: np.random.Generator) -> dict[str, Any]:
    while True:
        chosen: dict[str, Any] = {"measure": str(rng.choice(COMMON if rng.random() < 0.6 else MEASURES))}
        if rng.random() < 0.25:
            chosen["averaging"] = str(rng.choice(AVERAGINGS))
        if rng.random() < 0.25:
            chosen["scope"] = str(rng.choice(SCOPES))
        if rng.random() < 0.15:
            chosen["lift"] = str(rng.choice(LIFTS))
        if rng.random() < 0.2:
            chosen["max_head_size"] = int(rng.integers(1, 4))
        if rng.random() < 0.3:
            chosen["negative"] = False
        try:
            Objective(**chosen)
        except OptionError:  # a measure that is not defined for this averaging or scope
            continue
        return chosen


def _options(rng: np.random.Generator) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.2:
        options["beam_width"] = int(rng.integers(2, 5))
    if rng.random() < 0.3:
        options["label_conditions"] = False
    if rng.random() < 0.2:
        options["min_coverage"] = float(rng.choice([0.3, 1, 2, 2.1, 3.5]))
    if rng.random() < 0.3:
        options["max_conditions"] = int(rng.integers(0, 4))
    return options


def _steps(rng: np.random.Generator, labels: int) -> list[Any]:
    shares = {"mixed": (0.75, 0.2, 0.05), "grow": (1, 0, 0), "single": (0, 0, 1), "literal": (0, 1, 0)}
    # single rules less often: for one, the reference grows as many as there are literals
    share = shares[str(rng.choice(["mixed"] * 4 + ["grow"] * 3 + ["literal"] * 2 + ["single"]))]
    usual = COMMITS[int(rng.integers(len(COMMITS)))] if rng.random() < 0.6 else None
    steps = []
    for _ in range(int(rng.integers(3, 16))):
        what = str(rng.choice(["grow", "literal", "single"], p=share))
        literal = (int(rng.integers(labels)), int(rng.integers(2))) if what == "literal" else None
        steps.append((what, literal, usual or COMMITS[int(rng.integers(len(COMMITS)))]))
    return steps


def _fit(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    measure = str(rng.choice(COMMON if rng.random() < 0.8 else MEASURES))
    limited: dict[str, Any] = {"max_conditions": 2} if rng.random() < 0.2 else {}
    if rng.random() < 0.25:
        return "BinaryRelevanceRuleClassifier", {"measure": measure, **limited}
    if rng.random() < 0.1:  # a short list, whose bodies are grown and then chosen
        teacher = "forest" if rng.random() < 0.1 else None
        return "RuleListClassifier", {"measure": measure, "teacher": teacher, "min_coverage": 2.1, **limited}
    chosen: dict[str, Any] = {"measure": measure, "max_rules": 12, **limited}
    if rng.random() < 0.25:
        chosen["heads"] = "single"
    elif rng.random() < 0.15:
        chosen["lift"] = "kln:0.2"
    if rng.random() < 0.3:
        chosen["remaining"] = float(rng.choice([0.0, 0.05, 0.3]))
    if rng.random() < 0.3:
        chosen["stop_threshold"] = [None, 0.0, 0.2][int(rng.integers(3))]
    if rng.random() < 0.3:
        chosen["keep_covered"] = False
    if rng.random() < 0.2:
        chosen["negative"] = False
    if rng.random() < 0.2:
        chosen["label_conditions"] = False
    if rng.random() < 0.1:
        chosen["beam_width"] = 2
    return "SeCoClassifier", chosen
