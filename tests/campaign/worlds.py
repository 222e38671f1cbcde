"""Worlds to compare engines on: data, objective, options and what is done with them, as plain Python values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.kernels.limits import draw_limits

from polyrule.data.table import Feature, Table
from polyrule.errors import OptionError
from polyrule.kernels.engine import GrowOptions
from polyrule.measures import AVERAGINGS, SCOPES, Objective, available

Commit = tuple[float | None, bool]
MEASURES = [*available(), "tp - fp", "(1+tp)/(tp+fp+2*fn+1)", "tp/(tp+fp+0.5*fn)"]
# precision more often: ties make its search the most intricate
COMMON = [*["precision"] * 5, "f0.5", "f1", "hamming", "jaccard", "laplace", "subset", "recall"]
LIFTS = ["kln:0.1", "kln:0.5", "root:3", "peak:1,1.3"]
# heads of several labels that need a search of their own
SEARCHED: list[dict[str, Any]] = [
    *({"measure": name} for name in ("wracc", "rate_difference", "matthews", "m2", "laplace", "subset")),
    *({"measure": name, "lift": lift} for name in ("f0.5", "precision", "hamming") for lift in LIFTS),
    *({"measure": "f0.5", "scope": scope} for scope in ("all", "full")),
    *({"measure": name, "averaging": "example"} for name in ("hamming", "hamming", "jaccard", "f0.5", "f1")),
    *({"measure": name, "averaging": "label"} for name in ("wracc", "rate_difference", "matthews", "m2")),
]
COMMITS: list[Commit] = [(0.01, True), (None, False), (0.3, False), (0.3, True), (0.0, True), (1.0, True)]


@dataclass(frozen=True)
class World:
    """One comparison; every field is plain, so that `repr` writes it into a program.

    `kinds` has an empty text for a numeric column and the categories, one letter each, for a nominal one. A step is
    (what, literal, commit): what is "grow", "literal" or "single". A world with `fit` is a whole fit of that estimator
    with these parameters instead.
    """

    X: list[list[float]]
    Y: list[list[int]]
    kinds: list[str]
    weights: list[int]
    objective: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    steps: list[tuple[str, tuple[int, int] | None, Commit]] = field(default_factory=list)
    sparse: bool = False
    sparse_labels: bool = False
    threads: int = 1
    fit: tuple[str, dict[str, Any]] | None = None

    def table(self) -> Table:
        """The features."""
        features = [
            Feature(f"f{j}", "nominal", tuple(kind)) if kind else Feature(f"f{j}") for j, kind in enumerate(self.kinds)
        ]
        values: Any = np.array(self.X, dtype=float).reshape(len(self.X), len(self.kinds))
        return Table.from_array(sp.csc_array(values) if self.sparse else values, features)

    def truth(self) -> Any:
        """The labels."""
        dense = np.array(self.Y, dtype=np.uint8)
        return sp.csr_array(dense) if self.sparse_labels else dense

    def arguments(self) -> tuple[Any, ...]:
        """What an engine is made from."""
        weights = np.array(self.weights, dtype=np.int64)
        return self.table(), self.truth(), weights, Objective(**self.objective), GrowOptions(**self.options)

    def tags(self) -> tuple[str, ...]:
        """What is unusual about it, for sorting mismatches."""
        values = np.array(self.X, dtype=float).reshape(len(self.X), -1)
        found = {
            "weight 0": 0 in self.weights,
            "weights": len({w for w in self.weights if w}) > 1,
            "missing values": bool(np.isnan(values).any()),
            "nominal": any(self.kinds),
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


def _feature(name: str, categories: str) -> Feature:
    return Feature(name, "nominal", tuple(categories)) if categories else Feature(name)


def draw(rng: np.random.Generator, fits: float = 0.15, small: bool = False) -> World:
    """Draw a world; `fits` is the share of whole fits."""
    searched = not small and rng.random() < 0.2
    data = _data(rng, small, most_labels=8 if searched else None)
    if not searched and rng.random() < fits:
        return World(**data, fit=_fit(rng))
    objective = _searched(rng) if searched else _objective(rng)
    options = _options(rng)
    labels = len(data["Y"][0])
    steps = _steps(rng, labels)
    world = World(**data, objective=objective, options=options, steps=steps, threads=2 if rng.random() < 0.1 else 1)
    return world if rng.random() < 0.4 else World(**(vars(world) | {"limits": draw_limits(rng)}))


def _data(rng: np.random.Generator, small: bool, most_labels: int | None = None) -> dict[str, Any]:
    size = 0.0 if small else rng.random()
    if small:
        rows, features, labels = (int(rng.integers(*r)) for r in ((2, 11), (1, 4), (1, 4)))
    elif most_labels is not None:
        rows, features, labels = (int(rng.integers(*r)) for r in ((3, 60), (1, 4), (4, most_labels + 1)))
    elif size < 0.9:
        rows, features, labels = (int(rng.integers(*r)) for r in ((3, 40), (1, 6), (1, 5)))
    elif size < 0.99:
        rows, features, labels = (int(rng.integers(*r)) for r in ((40, 150), (1, 5), (1, 6)))
    else:
        rows, features, labels = (int(rng.integers(*r)) for r in ((200, 700), (2, 4), (2, 4)))
    sparse = bool(rng.random() < 0.3)
    columns, kinds = [], []
    only = "zeros" if rng.random() < 0.35 else None
    for _ in range(features):
        column, kind = _column(rng, rows, sparse, columns, only)
        columns.append(column)
        kinds.append(kind)
    values = np.stack(columns, axis=1)
    if rng.random() < 0.3:  # rows that repeat
        values = values[rng.integers(0, max(1, rows // 2), rows)]
    return {
        "X": values.tolist(),
        "Y": _labels(rng, values, labels).tolist(),
        "kinds": kinds,
        "weights": _weights(rng, rows).tolist(),
        "sparse": sparse,
        "sparse_labels": bool(rng.random() < 0.15),
    }


def _column(
    rng: np.random.Generator, rows: int, sparse: bool, others: list[np.ndarray], only: str | None
) -> tuple[np.ndarray, str]:
    kind = only or rng.choice(["few", "many", "zeros", "block", "nominal", "constant", "extreme", "shifted"])
    categories = ""
    if kind == "few":
        column = rng.integers(0, int(rng.integers(2, 9)), rows).astype(float)
    elif kind == "many":
        column = rng.normal(size=rows)
    elif kind == "zeros":
        column = np.where(rng.random(rows) < rng.choice([0.3, 0.5, 0.8]), 0.0, rng.integers(1, 9, rows))
    elif kind == "block":
        column = np.where(rng.random(rows) < 0.6, 3.0, rng.integers(-2, 8, rows))
    elif kind == "nominal":
        categories = "abcd"[: int(rng.integers(1, 5))]
        column = rng.integers(0, len(categories), rows).astype(float)
    elif kind == "constant":
        column = np.full(rows, float(rng.integers(-1, 2)))
    elif kind == "extreme":
        column = rng.choice([1e308, 1.7e308, -1.7e308, 5e-324, 1e-323, -0.0, 0.0], rows)
    else:
        base = others[int(rng.integers(len(others)))] if others else rng.integers(0, 5, rows).astype(float)
        with np.errstate(over="ignore"):
            column = np.where(np.abs(base) < 1e300, base + rng.integers(0, 2, rows), base)
    if sparse and kind not in ("extreme", "nominal"):
        column = np.where(rng.random(rows) < 0.5, 0.0, column)
    if only or rng.random() < 0.4:
        column = np.where(rng.random(rows) < rng.choice([0.05, 0.12, 0.3]), np.nan, column)
    return column, categories


def _labels(rng: np.random.Generator, values: np.ndarray, labels: int) -> np.ndarray:
    rows = len(values)
    truth = (rng.random((rows, labels)) < rng.choice([0.1, 0.2, 0.4, 0.5, 0.8])).astype(int)
    if rng.random() < 0.6:
        for label in range(labels):
            column = np.nan_to_num(values[:, rng.integers(values.shape[1])])
            base = column > np.quantile(column, rng.uniform(0.1, 0.9))
            truth[:, label] = base ^ (rng.random(rows) < rng.uniform(0.0, 0.4))
    if labels > 1 and rng.random() < 0.3:  # labels that nearly agree
        truth[:, -1] = truth[:, 0] ^ (rng.random(rows) < 0.05)
    return truth


def _weights(rng: np.random.Generator, rows: int) -> np.ndarray:
    kind = rng.random()
    if kind < 0.6:
        return np.ones(rows, dtype=int)
    weights = rng.integers(1, 5, rows)
    if kind > 0.85:
        weights = np.where(rng.random(rows) < 0.2, 0, weights)
        weights[0] = 1
    return weights


def _searched(rng: np.random.Generator) -> dict[str, Any]:
    chosen = dict(SEARCHED[int(rng.integers(len(SEARCHED)))])
    if rng.random() < 0.15:
        chosen["max_head_size"] = int(rng.integers(2, 5))
    if rng.random() < 0.3:
        chosen["negative"] = False
    return chosen


def _objective(rng: np.random.Generator) -> dict[str, Any]:
    while True:
        chosen: dict[str, Any] = {"measure": str(rng.choice(COMMON if rng.random() < 0.7 else MEASURES))}
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
        options["min_coverage"] = float(rng.choice([1, 2, 3.5]))
    if rng.random() < 0.3:
        options["max_conditions"] = int(rng.integers(0, 4))
    return options


def _steps(rng: np.random.Generator, labels: int) -> list[Any]:
    shares = {"mixed": (0.7, 0.2, 0.1), "grow": (1, 0, 0), "single": (0, 0, 1), "literal": (0, 1, 0)}
    share = shares[str(rng.choice(["mixed", "mixed", "grow", "single", "literal"]))]
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
    return "RuleListClassifier", {"prune": None, **chosen}  # lists as they are grown
