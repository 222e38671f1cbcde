"""A learned ensemble: rules that add weights to labels, and everything needed to predict, print and audit them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from polyrule.arrays import Matrix
from polyrule.data.results import frame_of_rows
from polyrule.data.table import Feature, Table
from polyrule.ensemble import editing, printing
from polyrule.ensemble.decisions import Decision
from polyrule.ensemble.explain import EnsembleExplanation, explain
from polyrule.ensemble.flips import smallest_flip
from polyrule.ensemble.verify import EnsembleVerification, verify
from polyrule.ensemble.weighted_rule import WeightedRule
from polyrule.errors import ModelError
from polyrule.model import files
from polyrule.model.bodies import FlatBodies, check_table, covers, flat_heads, native_values, run
from polyrule.model.conditions import fits
from polyrule.model.narrowing import Derived, fit_to, one_example
from polyrule.model.rule import FeatureCondition
from polyrule.model.tools import ModelTools, labelled
from polyrule.native import native

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset
    from polyrule.model.flips import Flip


@dataclass(frozen=True, eq=False)
class RuleEnsemble(ModelTools, Derived):
    """Rules whose weights add up: the score of a label is its intercept plus the weights of the rules that fire.

    Parameters
    ----------
    rules : tuple of WeightedRule
        In the order in which they are added up.
    features : tuple of Feature
        Name and kind of every column the rules may test.
    label_names : tuple of str
        One per label, in label order.
    intercepts : tuple of float
        Score of each label before any rule.
    decision : Decision
        How scores become labels.
    unit : float or tuple of float
        Log-odds per unit of score: 1, or for a scorecard the worth of one point, which may differ by label where each
        label is decided by itself.
    info : dict
        How the ensemble was made; plain JSON values only.

    Examples
    --------
    >>> from polyrule.ensemble import Entry
    >>> from polyrule.model import NumericCondition
    >>> slow = WeightedRule((Entry(0, 3),), (NumericCondition(0, "<=", 90),), coverage=42)
    >>> model = RuleEnsemble((slow,), (Feature("tempo"),), ("calm",), (-1,), Decision("threshold", (0,)))
    >>> model.scores(Table.from_array([[64.0], [120.0]], model.features)).tolist()
    [[2.0], [-1.0]]
    >>> model.predict([[64], [120]]).tolist()
    [[1], [0]]
    """

    KIND: ClassVar[str] = "rule-ensemble"

    rules: tuple[WeightedRule, ...]
    features: tuple[Feature, ...]
    label_names: tuple[str, ...]
    intercepts: tuple[float, ...]
    decision: Decision
    unit: float | tuple[float, ...] = 1.0
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        width = len(self.label_names)
        if len(self.intercepts) != width:
            raise ModelError(f"intercepts: {len(self.intercepts)} entries for {width} labels")
        if self.decision.kind != "expected-f1" and len(self.decision.cuts) != width:
            raise ModelError(f"decision: {len(self.decision.cuts)} cuts for {width} labels")
        if self.decision.uses_sets and not self.decision.label_sets:
            raise ModelError("decision: there is no label set to choose from")
        if self.decision.bonuses and len(self.decision.bonuses) != len(self.decision.label_sets):
            raise ModelError(
                f"decision: {len(self.decision.bonuses)} bonuses for {len(self.decision.label_sets)} label sets"
            )
        for number, labels in enumerate(self.decision.label_sets, start=1):
            if any(not 0 <= label < width for label in labels):
                raise ModelError(f"decision: label set {number} names a label that this model does not have")
        units = self.unit if isinstance(self.unit, tuple) else (self.unit,)
        if not all(isfinite(unit) and unit > 0 for unit in units):
            raise ModelError(f"unit must be a positive number, got {self.unit}")
        if isinstance(self.unit, tuple) and len(units) != width:
            raise ModelError(f"unit: {len(units)} entries for {width} labels")
        if isinstance(self.unit, tuple) and self.decision.uses_sets:
            raise ModelError(
                f"decision {self.decision.kind!r} compares labels, but their points are worth different amounts; learn"
                f" the scorecard with decision={self.decision.kind!r}"
            )
        for number, rule in enumerate(self.rules, start=1):
            _check_rule(rule, number, self.features, width)

    @cached_property
    def worth(self) -> npt.NDArray[np.float64]:
        """Log-odds per unit of score, by label."""
        return np.broadcast_to(np.array(self.unit, dtype=np.float64), len(self.label_names)).copy()

    @property
    def common_unit(self) -> float:
        """Log-odds per unit of score, where that is the same for all labels; else 1."""
        return 1.0 if isinstance(self.unit, tuple) else float(self.unit)

    @cached_property
    def flat(self) -> FlatWeights:
        """The rules as the arrays that prediction runs on."""
        return FlatWeights.of(self)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[WeightedRule]:
        return iter(self.rules)

    def __getitem__(self, index: int) -> WeightedRule:
        return self.rules[index]

    def __str__(self) -> str:
        return printing.format_ensemble(self)

    def __repr__(self) -> str:
        return f"RuleEnsemble({len(self.rules)} rules, {len(self.features)} features, {len(self.label_names)} labels)"

    def _repr_html_(self) -> str:
        return printing.html_ensemble(self)

    @property
    def is_scorecard(self) -> bool:
        """Whether all weights and intercepts are whole points."""
        numbers = [*self.intercepts, *(entry.weight for rule in self.rules for entry in rule.head)]
        return all(float(number).is_integer() for number in numbers)

    def format(self, *, numbers: bool = True, counts: bool = True, digits: int | None = None) -> str:
        """Return the ensemble as text, one rule per line, then what each label starts from and needs.

        With `digits`, weights have at most so many significant digits, and thresholds have more only where so few would
        cover other training examples.
        """
        return printing.format_ensemble(self, numbers=numbers, counts=counts, digits=digits)

    def format_rule(self, index: int, *, counts: bool = True) -> str:
        """Return one rule as text."""
        return printing.format_weighted_rule(self.rules[index], self.features, self.label_names, counts=counts)

    def to_frame(self) -> Any:
        """Return a data frame with one row per rule."""
        return frame_of_rows(printing.records(self))

    def statistics(self) -> dict[str, float]:
        """Count rules, conditions, head entries and signs."""
        return printing.statistics(self)

    def fired(self, table: Table) -> npt.NDArray[np.bool_]:
        """Which rule covers which example, shape (examples, rules)."""
        check_table(self, table)
        bodies = self.flat.bodies
        return np.asarray(run(bodies.rules, bodies.rules, table, lambda values: (covers(bodies, values),))[0])

    def scores(self, table: Table) -> npt.NDArray[np.float64]:
        """Score of every label, shape (examples, labels).

        Weights are added in the order of the rules, so that exported code, which does the same, gets the same numbers.
        """
        check_table(self, table)
        flat = self.flat
        kernel = scores_flat if native is None else scores_native
        width = len(flat.intercepts)
        return np.asarray(run(flat.bodies.rules, width, table, lambda values: (kernel(flat, values),))[0])

    def predict(self, X: Any) -> npt.NDArray[np.uint8]:
        """Labels of every example, shape (examples, labels); X is a table, frame, array or data set.

        Where columns have names, only those that some rule tests must be there, as in `RuleList.predict`.
        """
        model, table = fit_to(self, X)
        return self.decision.labels(model.scores(table), self.unit)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of presence of every label."""
        model, table = fit_to(self, X)
        return np.asarray(expit(self.worth * model.scores(table)))

    def explain(self, example: Any, row: int | None = None, *, digits: int | None = None) -> EnsembleExplanation:
        """Say for one example which rules added what to which label; see `polyrule.ensemble.explain.explain`.

        `example` is one example (a mapping from feature name to value, a frame with one row, an array of values), or
        with `row` (counted from 0) a frame, table, array or data set that holds it.
        """
        return explain(*one_example(self, example, row), digits=digits)

    def smallest_flip(self, example: Any, label: int | str, row: int | None = None, **options: Any) -> Flip:
        """Find the smallest change of one example that flips a label; see `polyrule.ensemble.flips.smallest_flip`."""
        return smallest_flip(self, example, label, row, **options)

    def remove(self, index: int) -> RuleEnsemble:
        """Return the ensemble without the rule at `index`; `refit` gives the others new weights."""
        return editing.remove(self, index)

    def move(self, index: int, to: int) -> RuleEnsemble:
        """Return the ensemble with the rule at `index` standing at `to`: another order to read, the same sums."""
        return editing.move(self, index, to)

    def insert(self, index: int, rule: WeightedRule | str) -> RuleEnsemble:
        """Return the ensemble with a rule put before the one at `index`; see `polyrule.ensemble.editing.insert`."""
        return editing.insert(self, index, rule)

    def replace(self, index: int, rule: WeightedRule | str) -> RuleEnsemble:
        """Return the ensemble with another rule, given as such or as text, at `index`."""
        return editing.replace_rule(self, index, rule)

    def join(self, *indices: int) -> RuleEnsemble:
        """Return the ensemble with rules that differ in one condition joined to one, with the weights of the first."""
        return editing.join(self, *indices)

    def recount(self, data: Any) -> RuleEnsemble:
        """Return the ensemble with what each rule covers counted anew on `data`; weights stay as they are."""
        return editing.recount(self, data)

    def reweigh(self, index: int, label: int | str, weight: float) -> RuleEnsemble:
        """Return the ensemble with another weight of a label in the rule at `index`; 0 takes it out of the head."""
        return editing.reweigh(self, index, label, weight)

    def name_group(self, index: int, name: str) -> RuleEnsemble:
        """Return the ensemble with a name for the group of alternatives in the rule at `index`."""
        return editing.name_group(self, index, name)

    def add_member(
        self, index: int, member: FeatureCondition | str, beside: FeatureCondition | str | None = None
    ) -> RuleEnsemble:
        """Return the ensemble with one more alternative in the rule at `index`; see `RuleList.add_member`."""
        return editing.add_member(self, index, member, beside)

    def remove_member(self, index: int, member: FeatureCondition | str) -> RuleEnsemble:
        """Return the ensemble with one alternative less in the rule at `index`."""
        return editing.remove_member(self, index, member)

    def refit(self, data: Dataset, *, ridge: float | None = None, keep: Collection[int] = ()) -> RuleEnsemble:
        """Return the ensemble with the best weights for its rules on `data`; see `polyrule.ensemble.editing.refit`."""
        return editing.refit(self, data, ridge=ridge, keep=keep)

    def tune_decision(self, data: Dataset, *, decision: str = "auto", optimize: str = "micro-f1") -> RuleEnsemble:
        """Return the ensemble deciding in another way; see `polyrule.ensemble.editing.tune_decision`."""
        return editing.tune_decision(self, data, decision=decision, optimize=optimize)

    def verify(self, data: Any, y: Any = None, *, learn: bool = True) -> EnsembleVerification:
        """Check the ensemble against its training data; see `polyrule.ensemble.verify.verify`."""
        return verify(self, labelled(self, data, y), learn=learn)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the ensemble to a JSON model file, whole or not at all."""
        files.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, check: bool = True) -> RuleEnsemble:
        """Read an ensemble that `save` wrote; `check=False` accepts a file edited by hand on purpose."""
        model = files.load(path, check=check)
        if not isinstance(model, cls):
            raise ModelError(f"{path}: holds a model of kind {files.kind_of(model)!r}, not a rule ensemble")
        return model

    def to_dict(self) -> dict[str, Any]:
        """Return the ensemble as plain JSON values, as a model file holds it."""
        import json

        document: dict[str, Any] = json.loads(files.dumps(self))
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> RuleEnsemble:
        """Return the ensemble that `to_dict` described, equal to the bit."""
        import json

        model = files.loads(json.dumps(document), source="document")
        if not isinstance(model, cls):
            raise ModelError("the document describes another kind of model, not a rule ensemble")
        return model


def _check_rule(rule: WeightedRule, number: int, features: tuple[Feature, ...], labels: int) -> None:
    for entry in rule.head:
        if not 0 <= entry.label < labels or not isfinite(entry.weight):
            raise ModelError(f"rule {number}: head entry {entry} names no label of this model, or no finite weight")
    for condition in rule.body:
        if not fits(condition, features):
            raise ModelError(f"rule {number}: condition {condition} names no column or value of this model")


@dataclass(frozen=True, eq=False)
class FlatWeights:
    """An ensemble as plain arrays; the entries of rule r's head are ``head_start[r]:head_start[r + 1]``.

    Parameters
    ----------
    bodies : FlatBodies
    head_start : ndarray of int32
        Offsets, one more than there are rules.
    head_label : ndarray of int32
    weight : ndarray of float64
        Per entry of a head.
    intercepts : ndarray of float64
        Per label.
    """

    bodies: FlatBodies
    head_start: npt.NDArray[np.int32]
    head_label: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64]
    intercepts: npt.NDArray[np.float64]

    @classmethod
    def of(cls, model: RuleEnsemble) -> FlatWeights:
        """Flatten an ensemble."""
        head_start, head_label = flat_heads(model.rules)
        weights = [entry.weight for rule in model.rules for entry in rule.head]
        return cls(
            bodies=FlatBodies.of((rule.body for rule in model.rules), model.features),
            head_start=head_start,
            head_label=head_label,
            weight=np.array(weights, dtype=np.float64),
            intercepts=np.array(model.intercepts, dtype=np.float64),
        )


def scores_flat(flat: FlatWeights, values: Any) -> Matrix:
    """NumPy definition of the scores, shape (examples, labels)."""
    scores = np.tile(flat.intercepts, (int(values.shape[0]), 1))
    for rows, block in flat.bodies.blocks(values, len(flat.intercepts)):
        every, part = np.arange(len(block)), scores[rows]
        for rule in range(flat.bodies.rules):
            fired = flat.bodies.fired(rule, block, every)
            for entry in range(flat.head_start[rule], flat.head_start[rule + 1]):
                part[fired, flat.head_label[entry]] += flat.weight[entry]
    return scores


def scores_native(flat: FlatWeights, values: Any) -> Matrix:
    """Run the compiled kernel; the same doubles as `scores_flat`."""
    assert native is not None
    scores = np.empty((int(values.shape[0]), len(flat.intercepts)))
    for rows, part in native_values(values):
        native.add_weights(
            values=part,
            bodies=flat.bodies.arrays,
            head_start=flat.head_start,
            head_label=flat.head_label,
            weight=flat.weight,
            intercepts=flat.intercepts,
            scores=scores[rows],
        )
    return scores
