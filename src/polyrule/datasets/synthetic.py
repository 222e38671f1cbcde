"""Synthetic data with planted rules: what a learner should find is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from polyrule.data.dataset import Dataset
from polyrule.data.table import Feature, Table
from polyrule.errors import OptionError
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints8

_ATTEMPTS = 2000


@dataclass(frozen=True, slots=True)
class PlantedCondition:
    """A test of a feature or, with kind "label", of a label that an earlier planted rule has set.

    Parameters
    ----------
    kind : {"numeric", "nominal", "label"}
        What is tested.
    index : int
        Column of the feature, or number of the label.
    op : {"<=", ">", "="}
        How it is compared.
    value : float
        The threshold, the category's index, or 0/1.

    Examples
    --------
    >>> tall = PlantedCondition("numeric", 0, ">", 1.5)
    >>> tall.holds(np.array([[1.0], [2.0]]), np.full((2, 1), -1, dtype=np.int8)).tolist()
    [False, True]
    """

    kind: Literal["numeric", "nominal", "label"]
    index: int
    op: Literal["<=", ">", "="]
    value: float

    def holds(self, X: Floats, state: Ints8) -> Bools:
        """Mark the examples that satisfy the condition; `state` holds -1 where a label is not set."""
        column = state[:, self.index] if self.kind == "label" else X[:, self.index]
        with np.errstate(invalid="ignore"):
            if self.op == "<=":
                return np.asarray(column <= self.value)
            return np.asarray(column > self.value if self.op == ">" else column == self.value)


@dataclass(frozen=True, slots=True)
class PlantedRule:
    """A rule ``head <- body`` that made the data.

    Parameters
    ----------
    head : tuple of (label, value)
        In label order.
    body : tuple of PlantedCondition
        All must hold.

    Examples
    --------
    >>> rule = PlantedRule(((0, 1),), (PlantedCondition("numeric", 0, ">", 1.5),))
    >>> rule.covers(np.array([[1.0], [2.0]]), np.full((2, 1), -1, dtype=np.int8)).tolist()
    [False, True]
    """

    head: tuple[tuple[int, int], ...]
    body: tuple[PlantedCondition, ...]

    def covers(self, X: Floats, state: Ints8) -> Bools:
        """Mark the examples that satisfy every condition."""
        covered = np.ones(len(X), dtype=np.bool_)
        for condition in self.body:
            covered &= condition.holds(X, state)
        return covered


@dataclass(frozen=True)
class Plan:
    """Options of the planted data.

    Parameters
    ----------
    examples, labels, rules : int
        How many of each.
    numeric, nominal : int
        Numbers of features; nominal ones have three values.
    conditions, head_size : (int, int)
        Smallest and largest number of conditions and of labels in a head.
    shared_labels : bool
        Whether several heads may have a label in common. If not, every label obeys one rule, so that a perfect learner
        finds exactly the planted rules.
    negative : float
        Share of planted rules with label conditions on, or heads of, absent labels (`label = 0`).
    label_conditions : float
        Share of the rules, after the first, that test a label set by an earlier one.
    noise : float
        Probability that a label of an example is flipped afterwards.
    missing : float
        Probability that a feature's value is missing.
    min_coverage : float
        Least share of the examples a planted rule covers and newly labels.
    """

    examples: int = 1000
    labels: int = 8
    rules: int = 5
    numeric: int = 10
    nominal: int = 5
    conditions: tuple[int, int] = (1, 3)
    head_size: tuple[int, int] = (1, 3)
    shared_labels: bool = False
    negative: float = 0.0
    label_conditions: float = 0.0
    noise: float = 0.0
    missing: float = 0.0
    min_coverage: float = 0.05
    seed: int = 0
    name: str = field(default="planted", compare=False)

    def __post_init__(self) -> None:
        if min(self.examples, self.labels, self.rules) < 1 or self.numeric + self.nominal < 1:
            raise OptionError("examples, labels, rules and the number of features must be at least 1")
        for option in ("negative", "label_conditions", "noise", "missing", "min_coverage"):
            if not 0 <= getattr(self, option) <= 1:
                raise OptionError(f"{option} must lie between 0 and 1, got {getattr(self, option)}")
        if not self.shared_labels and self.labels < self.rules * self.head_size[0]:
            raise OptionError(f"{self.rules} heads without common labels need more than {self.labels} labels")
        for option in ("conditions", "head_size"):
            low, high = getattr(self, option)
            if not 1 <= low <= high:
                raise OptionError(f"{option} must be a pair 1 <= smallest <= largest, got {(low, high)}")


def planted_rules(**options: Any) -> tuple[Dataset, tuple[PlantedRule, ...]]:
    """Make data whose labels a known rule list sets.

    The planted list works as any rule list does: the first rule that sets a label wins, and labels that no rule set are
    absent. Then noise inverts labels.

    Parameters
    ----------
    **options
        The fields of `Plan`.

    Returns
    -------
    data : Dataset
        `data.info["clean"]` holds the labels before noise.
    rules : tuple of PlantedRule
        In the order of the list.

    Examples
    --------
    >>> data, rules = planted_rules(examples=200, rules=2, seed=1)
    >>> data.X.shape, len(rules)
    ((200, 15), 2)
    >>> bool((apply_rules(rules, data) == data.Y).all())
    True
    """
    plan = Plan(**options)
    random = np.random.default_rng(plan.seed)
    X = _features(plan, random)
    state = np.full((plan.examples, plan.labels), -1, dtype=np.int8)
    rules: list[PlantedRule] = []
    for number in range(plan.rules):
        rules.append(_plant(plan, random, X, state, _allowed(plan, rules, number)))
        _fire(rules[-1], X, state)
    clean = (state == 1).astype(np.uint8)
    noisy = np.where(random.random(clean.shape) < plan.noise, 1 - clean, clean).astype(np.uint8)
    X[random.random(X.shape) < plan.missing] = np.nan
    features = [Feature(f"n{j}") for j in range(plan.numeric)]
    features += [Feature(f"c{j}", "nominal", ("low", "mid", "high")) for j in range(plan.nominal)]
    names = tuple(f"label{k}" for k in range(plan.labels))
    info = {"source": "synthetic", "seed": plan.seed, "clean": clean}
    return Dataset(Table.from_array(X, features), noisy, names, plan.name, info=info), tuple(rules)


def apply_rules(rules: tuple[PlantedRule, ...], data: Dataset) -> Bytes:
    """Predict with planted rules, in order; the first rule to set a label wins."""
    X = np.asarray(data.X)
    state = np.full((len(X), len(data.label_names)), -1, dtype=np.int8)
    for rule in rules:
        _fire(rule, X, state)
    return np.asarray(state == 1, dtype=np.uint8)


def _features(plan: Plan, random: np.random.Generator) -> Floats:
    numbers = random.integers(0, 100, size=(plan.examples, plan.numeric)) / 100
    categories = random.integers(0, 3, size=(plan.examples, plan.nominal)).astype(np.float64)
    return np.hstack([numbers, categories])


def _fire(rule: PlantedRule, X: Floats, state: Ints8) -> Bools:
    """Set unset labels on the examples that the rule covers, and return these."""
    covered = rule.covers(X, state)
    for label, value in rule.head:
        state[covered & (state[:, label] < 0), label] = value
    return covered


def _allowed(plan: Plan, rules: list[PlantedRule], number: int) -> tuple[list[int], int]:
    """Labels the next head may use, and the most it may take so that enough are left for the heads after it."""
    if plan.shared_labels:
        return list(range(plan.labels)), plan.head_size[1]
    used = {label for rule in rules for label, _ in rule.head}
    free = [label for label in range(plan.labels) if label not in used]
    return free, min(plan.head_size[1], len(free) - plan.head_size[0] * (plan.rules - number - 1))


def _plant(
    plan: Plan, random: np.random.Generator, X: Floats, state: Ints8, allowed: tuple[list[int], int]
) -> PlantedRule:
    """Draw rules until one covers enough and sets enough that is not set yet."""
    for _ in range(_ATTEMPTS):
        rule = _draw(plan, random, state, *allowed)
        covered = rule.covers(X, state)
        min_rows = plan.min_coverage * plan.examples
        fresh = min(int((covered & (state[:, label] < 0)).sum()) for label, _ in rule.head)
        if covered.sum() >= min_rows and fresh >= min_rows and covered.sum() < plan.examples:
            return rule
    raise OptionError(
        f"no rule was found that newly labels {plan.min_coverage:g} of the examples; "
        "plant fewer rules, use more labels, or lower min_coverage"
    )


def _draw(plan: Plan, random: np.random.Generator, state: Ints8, labels: list[int], max_size: int) -> PlantedRule:
    width = plan.numeric + plan.nominal
    size = int(random.integers(plan.conditions[0], plan.conditions[1] + 1))
    body = [_draw_condition(plan, random, int(j)) for j in random.choice(width, size=min(size, width), replace=False)]
    set_labels = np.flatnonzero((state >= 0).any(axis=0))
    tested: list[int] = []
    if len(set_labels) and random.random() < plan.label_conditions:
        label = int(random.choice(set_labels))
        value = 0 if (state[:, label] == 0).any() and random.random() < plan.negative else 1
        body[-1] = PlantedCondition("label", label, "=", value)
        tested = [label]
    free = [label for label in labels if label not in tested]
    if not free:
        free, body = labels, body[:-1]
    count = min(int(random.integers(plan.head_size[0], max_size + 1)), len(free))
    head = np.sort(random.choice(free, size=count, replace=False))
    value = 0 if random.random() < plan.negative else 1
    return PlantedRule(tuple((int(label), value) for label in head), tuple(body))


def _draw_condition(plan: Plan, random: np.random.Generator, j: int) -> PlantedCondition:
    if j >= plan.numeric:
        return PlantedCondition("nominal", j, "=", float(random.integers(0, 3)))
    threshold = float(random.integers(25, 75) / 100 + 0.005)
    return PlantedCondition("numeric", j, "<=" if random.random() < 0.5 else ">", threshold)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Match of learned with planted rules.

    Attributes
    ----------
    matches : tuple of int or None
        For every planted rule the number of the learned rule that is most like it, or None.
    precision : float
        Share of the learned rules that match a planted one.
    recall : float
        Share of the planted rules that a learned one matches.

    Examples
    --------
    The first of two planted rules was found, as the third of four learned ones:

    >>> Recovery(matches=(2, None), precision=0.25, recall=0.5).recall
    0.5
    """

    matches: tuple[int | None, ...]
    precision: float
    recall: float


def recovery(
    learned: Iterable[Any],
    planted: Sequence[PlantedRule],
    data: Dataset,
    agreement: float = 0.8,
    whole_head: bool = True,
) -> Recovery:
    """Compare a learned rule list with the planted rules on the examples of `data`.

    A learned rule matches a planted one if both predict the same literals (with ``whole_head=False``: share a literal)
    and the examples that satisfy their bodies agree: intersection over union at least `agreement`. Conditions are
    judged by what they cover, because two thresholds that cut the examples alike are the same condition.

    Parameters
    ----------
    learned : rule list, or any rules with `head` (literals with `label`, `value`) and `body`
        The model to be judged, such as `RuleListClassifier.rules_`.
    planted : sequence of PlantedRule
        The truth, from `planted_rules`.
    data : Dataset
        The examples on which bodies are compared.
    agreement : float
        Least intersection over union of what two bodies cover.
    whole_head : bool
        Whether heads must be equal, or only share a literal.

    Examples
    --------
    >>> from polyrule.datasets.synthetic import planted_rules
    >>> data, rules = planted_rules(examples=300, rules=3, seed=2)
    >>> recovery([], rules, data).recall
    0.0
    """
    X = np.asarray(data.X)
    targets = _coverages(planted, X, len(data.label_names))
    learned_rules = _coverages([_as_planted(rule) for rule in learned], X, len(data.label_names))
    matches: list[int | None] = []
    matched: set[int] = set()
    for head, covered in targets:
        scores = [
            _overlap(covered, other) if (head == other_head if whole_head else head & other_head) else 0.0
            for other_head, other in learned_rules
        ]
        best = int(np.argmax(scores)) if scores else -1
        matches.append(best if best >= 0 and scores[best] >= agreement else None)
        matched |= {number for number, score in enumerate(scores) if score >= agreement}
    hits = sum(match is not None for match in matches)
    return Recovery(
        tuple(matches),
        len(matched) / len(learned_rules) if learned_rules else 0.0,
        hits / len(targets) if targets else 0.0,
    )


def _overlap(one: Bools, other: Bools) -> float:
    union = int((one | other).sum())
    return float((one & other).sum() / union) if union else 0.0


def _coverages(rules: Sequence[PlantedRule], X: Floats, labels: int) -> list[tuple[frozenset[tuple[int, int]], Bools]]:
    """Heads and covered examples, with label conditions reading what earlier rules of the same list have set."""
    state = np.full((len(X), labels), -1, dtype=np.int8)
    return [(frozenset(rule.head), _fire(rule, X, state)) for rule in rules]


def _as_planted(rule: Any) -> PlantedRule:
    head = tuple((int(literal.label), int(literal.value)) for literal in rule.head)
    return PlantedRule(head, tuple(_condition(condition) for condition in rule.body))


def _condition(condition: Any) -> Any:
    """Stored rules are of a room above, so their conditions are distinguished by their attributes."""
    if hasattr(condition, "threshold"):
        return PlantedCondition("numeric", condition.feature, condition.op, condition.threshold)
    if hasattr(condition, "label"):
        return PlantedCondition("label", condition.label, "=", condition.value)
    if hasattr(condition, "value"):
        return PlantedCondition("nominal", condition.feature, "=", condition.value)
    return _Learned(condition)


@dataclass(frozen=True, slots=True)
class _Learned:
    """A condition that is never planted: a set of categories, whether a value is missing, or a group of conditions."""

    condition: Any

    def holds(self, X: Floats, state: Ints8) -> Bools:
        if hasattr(self.condition, "members"):
            satisfied = [_condition(member).holds(X, state) for member in self.condition.members]
            return np.asarray(np.sum(satisfied, axis=0) >= self.condition.least)
        column = X[:, self.condition.feature]
        if hasattr(self.condition, "values"):
            return np.isin(column, self.condition.values)
        return np.asarray(np.isnan(column) == self.condition.missing)
