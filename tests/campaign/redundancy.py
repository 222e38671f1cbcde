"""``python -m tests.campaign.redundancy``: nothing can be left out of a fitted ensemble or scorecard without loss.

Each model is fitted to a random table. Then every condition, every member of a group and every label of a head is left
out in turn, all weights of the labels concerned are refitted by plain Newton steps in double precision, and the
penalized logistic loss on the soft targets of the fit must be larger than before. Rules that cover the same rows, or
just the rows that another leaves out, are redundant, too.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from polyrule import RuleEnsembleClassifier
from polyrule.binning.binning import Binning
from polyrule.conditions import Condition, GroupCondition, NominalCondition, NumericCondition
from polyrule.data import Dataset, Feature, Table
from polyrule.data.labels import UNKNOWN
from polyrule.ensemble.boosting import TrainingExamples
from polyrule.ensemble.fold_model import FoldModel
from polyrule.ensemble.refit import required_signs
from polyrule.soft_targets.forest import Forest

INTERCEPT_RIDGE = 0.01
MIN_RISE = 1e-10  # in nats of each row
TREES = 12

Body = tuple[Condition, ...]


@contextmanager
def recorded() -> Iterator[list[tuple[Binning, TrainingExamples, Any]]]:
    """Record the bins, examples with their targets, and options of final models; forests are small."""
    records: list[tuple[Binning, TrainingExamples, Any]] = []
    original, grow = FoldModel._training_examples, Forest.__init__

    def record(self: Any, examples: Any, options: Any) -> TrainingExamples:
        made = original(self, examples, options)
        if self._number == 0:
            records.append((self.binning, made, options))
        return made

    def grow_few(self: Any, matrix: Any, labels: Any, weights: Any, trees: int, *rest: Any, **named: Any) -> None:
        grow(self, matrix, labels, weights, min(trees, TREES), *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FoldModel, "_training_examples", record)
        patch.setattr(Forest, "__init__", grow_few)
        yield records


def world(seed: int) -> tuple[Dataset, dict[str, Any]]:
    """Return random training data, with labels that follow some features, and options of a fit."""
    rng = np.random.default_rng([seed, 7])
    rows, labels, is_text = int(rng.integers(40, 260)), int(rng.integers(1, 7)), rng.random() < 0.15
    if is_text:
        values = (rng.random((rows, 60)) < 0.12).astype(float)
    else:
        values = np.column_stack([rng.normal(size=(rows, 4)).round(1), rng.integers(0, 4, (rows, 3)).astype(float)])
        values[rng.random(values.shape) < rng.choice([0, 0.1])] = np.nan
    plain = values.shape[1] - (0 if is_text else 2)
    nominal = [Feature(f"kind{j}", "nominal", ("a", "b", "c", "d")) for j in range(values.shape[1] - plain)]
    features = tuple([Feature(f"x{j}") for j in range(plain)] + nominal)
    known = np.nan_to_num(values)
    truth = np.zeros((rows, labels), dtype=np.uint8)
    for label in range(labels):
        a, b, c = (known[:, j] > np.median(known[:, j]) for j in rng.integers(0, known.shape[1], 3))
        truth[:, label] = ((a & b) | c) ^ (rng.random(rows) < rng.choice([0.05, 0.2, 0.5]))
    if rng.random() < 0.2:
        truth[rng.random(truth.shape) < 0.1] = UNKNOWN
    weights = rng.choice([1.0, 2.0, 0.5], rows) if rng.random() < 0.3 else None
    names = tuple(f"y{label}" for label in range(labels))
    data = Dataset(Table.from_array(values, features), truth, names, weights=weights)
    options: dict[str, Any] = {
        "max_rules": int(rng.integers(1, 13)),
        "max_conditions": int(rng.integers(1, 5)),
        "max_alternatives": int(rng.choice([0, 3, 8])),
        "label_cost": float(rng.choice([0.0, 0.3, 1.0])),
        "labels_per_head": (None, 1.5, 4)[rng.integers(3)],
        "points": int(rng.choice([0, 0, 3, 10])),
        "teacher": (None, "forest")[rng.integers(2)],
        "max_bins": int(rng.choice([4, 16, 64])),
        "random_state": seed,
    }
    if rng.random() < 0.2 and not is_text:
        options["constraints"] = {"monotone": {"x0": str(rng.choice(["up", "down"]))}}
    if rng.random() < 0.2:
        options["constraints"] = options.get("constraints", {}) | {"features": {"y0": ["x0", "x1", "x2"]}}
    return data, options


def redundant(model: Any, binning: Binning, examples: TrainingExamples, options: Any) -> list[str]:
    """Return what can be left out of a model, in words."""
    codes = [np.asarray(examples.column(feature)) for feature in range(len(binning.features))]
    covers = [covered(rule.body, binning, codes) for rule in model.rules]
    problems = []
    is_free = options.allowed is None and options.direction is None  # else a rule may not take the labels of another
    for (i, one), (j, other) in combinations(enumerate(covers, start=1), 2):
        if is_free and ((one == other).all() or (one != other).all()):
            problems.append(f"rules {i} and {j} distinguish the same rows")
    heads = [{entry.label for entry in rule.head} for rule in model.rules]
    targets, weights, ridge = examples.targets.astype(np.float64), examples.weights, options.build.ridge
    least = MIN_RISE * float(weights.sum())

    signs = [sign_of(rule.body, options) for rule in model.rules]

    def loss(label: int, others: list[int], rows: np.ndarray | None = None, sign: int = 0) -> float:
        columns = [np.ones(len(weights)), *(covers[r] for r in others), *([] if rows is None else [rows])]
        required = np.array([0, *(signs[r] for r in others), *([] if rows is None else [sign])])
        return lowest_loss(np.column_stack(columns), targets[:, label], weights, ridge, required)

    losses: dict[int, float] = {}
    for place, rule in enumerate(model.rules):
        if place < len(options.start):
            continue
        others = {label: [r for r, head in enumerate(heads) if r != place and label in head] for label in heads[place]}
        for label in heads[place]:
            if label not in losses:
                losses[label] = loss(label, others[label], covers[place], signs[place])
            if loss(label, others[label]) <= losses[label] + least:
                problems.append(f"rule {place + 1}: label {label}")
        now = sum(losses[label] for label in heads[place])
        for what, body in shorter(rule.body):
            rows, sign = covered(body, binning, codes), sign_of(body, options)
            too_few = rows[: examples.examples].sum() < options.build.min_rows
            if len(body) > options.build.growth.max_conditions or too_few:
                continue
            if sum(loss(label, others[label], rows, sign) for label in heads[place]) <= now + least:
                problems.append(f"rule {place + 1}: {what}")
    return problems


def sign_of(body: Body, options: Any) -> int:
    """Return the required sign of the weights of a body, 0 for any."""
    return 0 if options.direction is None else next(iter(required_signs(body, options.direction.tolist())), 0)


def shorter(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield bodies without one condition or one member; "all of" a group are plain conditions."""
    for place, condition in enumerate(body):
        rest = body[:place] + body[place + 1 :]
        if rest:
            yield f"condition {place + 1}", rest
        if not isinstance(condition, GroupCondition):
            continue
        for number in range(len(condition.members)):
            members = condition.members[:number] + condition.members[number + 1 :]
            for least in {condition.least, max(1, condition.least - 1)}:
                if least <= len(members):
                    group = members if least == len(members) else (GroupCondition(members, least),)
                    yield f"member {number + 1} of condition {place + 1}", tuple(dict.fromkeys((*rest, *group)))


def covered(body: Body, binning: Binning, codes: list[np.ndarray]) -> np.ndarray:
    """Return 1.0 for rows that a body covers, from the codes of their bins."""
    held = [holds(condition, binning, codes) for condition in body]
    return np.logical_and.reduce(held).astype(np.float64)


def holds(condition: Condition, binning: Binning, codes: list[np.ndarray]) -> np.ndarray:
    """Evaluate one condition."""
    if isinstance(condition, GroupCondition):
        return sum(holds(member, binning, codes).astype(int) for member in condition.members) >= condition.least
    if isinstance(condition, NominalCondition):
        return codes[condition.feature] == condition.value
    assert isinstance(condition, NumericCondition)
    (place,) = np.flatnonzero(binning.thresholds[condition.feature] == condition.threshold)
    known = codes[condition.feature] <= len(binning.thresholds[condition.feature])
    return (codes[condition.feature] <= place if condition.op == "<=" else codes[condition.feature] > place) & known


def lowest_loss(
    columns: np.ndarray, targets: np.ndarray, weights: np.ndarray, ridge: float, signs: np.ndarray
) -> float:
    """Return the minimum of the penalized logistic loss of one label, by damped Newton steps.

    Columns whose weight has the wrong sign are left out.
    """
    known = ~np.isnan(targets)
    columns, targets, weights = columns[known], targets[known], weights[known]
    while True:
        at, best = minimize(columns, targets, weights, ridge)
        wrong = at * signs < 0
        if not wrong.any():
            return best
        columns, signs = columns[:, ~wrong], signs[~wrong]


def minimize(columns: np.ndarray, targets: np.ndarray, weights: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """Return the weights of columns, and the penalized loss."""
    penalties = np.full(columns.shape[1], ridge)
    penalties[0] = INTERCEPT_RIDGE

    def value(at: np.ndarray) -> float:
        scores = columns @ at
        return float(weights @ (np.logaddexp(0, scores) - targets * scores) + penalties @ at**2 / 2)

    at = np.zeros(columns.shape[1])
    best = value(at)
    for _ in range(100):
        chances = 1 / (1 + np.exp(-(columns @ at)))
        gradient = columns.T @ (weights * (chances - targets)) + penalties * at
        hessian = (columns.T * (weights * chances * (1 - chances))) @ columns + np.diag(penalties)
        step, length = np.linalg.solve(hessian, gradient), 1.0
        while value(at - length * step) > best and length > 1e-9:
            length /= 2
        at, before, best = at - length * step, best, min(best, value(at - length * step))
        if before - best <= 1e-13 * max(1.0, abs(best)):
            break
    return at, best


def outcome(seed: int) -> tuple[str, list[str]]:
    """Fit the model of a seed; return its kind, and what can be left out of it."""
    data, options = world(seed)
    with recorded() as records, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RuleEnsembleClassifier(**options).fit(data).model_
    return "scorecard" if options["points"] else "ensemble", redundant(model, *records[-1])


def campaign(models: int, seed: int, report: Callable[[str], object]) -> Counter[str]:
    """Fit models, and count those that something can be left out of."""
    tally: Counter[str] = Counter()
    for number in range(seed, seed + models):
        kind, problems = outcome(number)
        tally[kind] += 1
        tally["REDUNDANT"] += bool(problems)
        if problems:
            report(f"seed {number}, {kind}: " + "; ".join(problems))
    report(", ".join(f"{amount} {what}" for what, amount in sorted(tally.items())))
    return tally


def main() -> int:
    """Run the campaign; 1 if something can be left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    def report(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    return int(campaign(args.models, args.seed, report)["REDUNDANT"] > 0)


if __name__ == "__main__":
    sys.exit(main())
