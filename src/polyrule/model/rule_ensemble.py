"""A learned ensemble: rules that add weights to labels, and everything needed to predict, print and audit them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit

from polyrule.conditions import Body, n_conditions
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.conditions.packed import covers, native_values
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.model.columns import match_columns, used_features
from polyrule.model.counterfactual import place_of
from polyrule.model.decisions import KINDS, Decision
from polyrule.model.ensemble_explain import EnsembleExplanation, explain
from polyrule.model.model_printing import ensemble_lines
from polyrule.model.packed import PackedModel, check_table, run
from polyrule.model.parsing import parse_weighted
from polyrule.model.printing import format_coverage
from polyrule.model.reasons import SumSearch
from polyrule.model.rule import Entry, WeightedRule, check_rules
from polyrule.model.rule_model import RuleModel, labelled
from polyrule.relations import Plan, Relation
from polyrule.relations import read as read_relations
from polyrule.utils import late
from polyrule.utils.arrays import Bools, Bytes, Floats, Matrix
from polyrule.utils.compute import native


@dataclass(frozen=True, eq=False, repr=False)
class RuleEnsemble(RuleModel[WeightedRule]):
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
        label is decided separately.
    info : dict
        How the ensemble was made; plain JSON values only.
    relations : tuple of Relation
        Relations between labels, which hold for every prediction; see `with_relations`.

    Examples
    --------
    >>> from polyrule import Feature
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
    RULE: ClassVar[type] = WeightedRule
    ALIKE: ClassVar[str] = "that weigh the same labels, with the same signs,"
    SEARCH: ClassVar[type[SumSearch]] = SumSearch

    intercepts: tuple[float, ...]
    decision: Decision
    unit: float | tuple[float, ...] = 1.0
    info: dict[str, Any] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        width = len(self.label_names)
        if len(self.intercepts) != width:
            raise ModelError(f"intercepts: {len(self.intercepts)} entries for {width} labels")
        if self.decision.kind not in KINDS:
            raise ModelError(f"decision: there is no kind {self.decision.kind!r}; known: {', '.join(KINDS)}")
        if not all(map(isfinite, (*self.intercepts, *self.decision.cuts, *self.decision.bonuses))):
            raise ModelError("intercepts, cuts and bonuses must be finite numbers")
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
        self.decision.check_unit(self.unit)
        check_rules(self, self._is_known, "no label of this model, or no finite weight")
        self._check_relations()
        if self.plan is not None and self.decision.only_allowed(self.plan) != self.decision:
            raise ModelError("decision: a label set breaks a relation of the model")

    @cached_property
    def worth(self) -> Floats:
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

    def __getitem__(self, index: int) -> WeightedRule:
        return self.rules[index]

    @property
    def is_scorecard(self) -> bool:
        """True if all weights and intercepts are whole points."""
        numbers = [*self.intercepts, *(entry.weight for rule in self.rules for entry in rule.head)]
        return all(float(number).is_integer() for number in numbers)

    @property
    def labels_without_rules(self) -> tuple[str, ...]:
        """Labels that no rule weights, whose sum is their intercept for every example."""
        weighted = {entry.label for rule in self.rules for entry in rule.head}
        return tuple(name for label, name in enumerate(self.label_names) if label not in weighted)

    def _record(self, rule: WeightedRule) -> dict[str, Any]:
        weights = {f"weight {self.label_names[entry.label]}": entry.weight for entry in rule.head}
        return {"coverage": rule.coverage, **weights}

    @property
    def _fact_names(self) -> tuple[str, ...]:
        return ("covers",)

    def _facts(self, rule: WeightedRule) -> tuple[str, ...]:
        return ("" if rule.coverage is None else format_coverage(rule.coverage),)

    def _notes(self, digits: int | None = None) -> list[str]:
        return ensemble_lines(self, digits)

    def statistics(self) -> dict[str, float]:
        """Count what an ensemble is made of; the names are those of a rule list's statistics where both have them."""
        rules = self.rules
        conditions = sum(n_conditions(rule.body) for rule in rules)
        entries = [entry for rule in rules for entry in rule.head]
        multi = sum(rule.is_multi_label for rule in rules)
        count = max(1, len(rules))
        return {
            "rules": len(rules),
            "conditions": conditions,
            "rules_with_multi_label_heads": multi,
            "multi_label_heads_percent": 100 * multi / count,
            "labels_per_head": len(entries) / count,
            "conditions_per_rule": conditions / count,
            "entries": len(entries),
            "negative_entries": sum(entry.weight < 0 for entry in entries),
            "features_used": len(used_features(rules)),
            "labels_predicted": len({entry.label for entry in entries}),
        }

    def fired(self, table: Table) -> Bools:
        """Coverage of each example by each rule, shape (examples, rules)."""
        check_table(self, table)
        bodies = self.flat.bodies
        return np.asarray(run(bodies.rules, bodies.rules, table, lambda values: (covers(bodies, values),))[0])

    def scores(self, table: Table) -> Floats:
        """Score of every label, shape (examples, labels).

        Weights are added in the order of the rules, so that exported code, which does the same, gets the same numbers.
        """
        check_table(self, table)
        flat = self.flat
        kernel = scores_flat if native is None else scores_native
        width = len(flat.intercepts)
        return np.asarray(run(flat.bodies.rules, width, table, lambda values: (kernel(flat, values),))[0])

    def labels_of(self, table: Table) -> Bytes:
        """Predict labels for a table of the ensemble's own features."""
        return self.decide(self.scores(table))

    def decide(self, scores: Matrix) -> Bytes:
        """Return the labels of every row of scores; relations hold."""
        if self.plan is None or self.decision.uses_sets:
            return self.decision.labels(scores, self.unit)
        return self.plan.decide(self.margins(scores))

    def margins(self, scores: Matrix) -> Floats:
        """Return by how much each score exceeds its cutoff, in log-odds."""
        return np.asarray((scores - np.array(self.decision.every_cut(len(self.label_names)))) * self.worth)

    def with_relations(self, relations: Any) -> Self:
        """Return the ensemble with these relations between labels; label sets that break one are left out.

        See `RuleModel.with_relations`.
        """
        checked = read_relations(relations, self.label_names)
        decision = self.decision.only_allowed(Plan.of(checked, self.label_names))
        return super(RuleEnsemble, replace(self, relations=(), decision=decision)).with_relations(checked)

    def chances_of(self, table: Table) -> Floats:
        """Predict probabilities for a table of the ensemble's own features."""
        return np.asarray(expit(self.worth * self.scores(table)))

    def explain(self, example: Any, row: int | None = None, *, digits: int | None = None) -> EnsembleExplanation:
        """Explain for one example what each rule added to each label; see `polyrule.model.ensemble_explain.explain`.

        `example` is one example (a mapping from feature name to value, a frame with one row, an array of values), or
        with `row` (counted from 0) a frame, table, array or data set that holds it.
        """
        return explain(self, example, row, digits=digits)

    def recount(self, data: Any, y: Any = None) -> RuleEnsemble:
        """Return the ensemble with what each rule covers counted anew on `data`; weights stay as they are.

        Labels decide nothing here; they may be given as for a list.
        """
        model, table = match_columns(self, data)
        data_weights = getattr(data, "weights", None)
        weights = np.ones(len(table)) if data_weights is None else np.asarray(data_weights, dtype=np.float64)
        covers = weights @ model.fired(table)
        rules = tuple(replace(rule, coverage=float(weight)) for rule, weight in zip(self.rules, covers, strict=True))
        return with_threshold_intervals(replace(self, rules=rules), table)

    def reweigh(self, index: int, label: int | str, weight: float) -> RuleEnsemble:
        """Return the ensemble with another weight of a label in the rule at `index`; 0 takes it out of the head."""
        index = self.position(index)
        place = place_of(self.label_names, label, "label")
        number = isinstance(weight, (int, float, np.integer, np.floating)) and not isinstance(weight, bool)
        if not number or not isfinite(weight):
            raise ModelError(f"a weight is a finite number, not {weight!r}")
        rule = self.rules[index]
        head = [entry for entry in rule.head if entry.label != place]
        if weight != 0:
            head.append(Entry(place, float(weight)))
        if not head:
            raise ModelError(f"rule {index + 1} would have no label left; remove it instead")
        changed = replace(rule, head=tuple(sorted(head, key=lambda entry: entry.label)))
        return self.replaced(index, changed)

    def refit(self, data: Any, y: Any = None, *, ridge: float | None = None, keep: Collection[int] = ()) -> Any:
        """Return the ensemble with the best weights for its rules on `data`; see `polyrule.ensemble.refit.refit`."""
        return late.call("refit", self, labelled(self, data, y), ridge=ridge, keep=keep)

    def tune_decision(self, data: Any, y: Any = None, *, decision: str = "auto", optimize: str = "micro-f1") -> Any:
        """Return the ensemble deciding in another way; see `polyrule.ensemble.refit.tune_decision`."""
        return late.call("tune_decision", self, labelled(self, data, y), decision=decision, optimize=optimize)

    def verify(self, data: Any, y: Any = None, *, learn: bool = True) -> Any:
        """Check the ensemble against its training data; see `polyrule.verification.verify_ensemble`."""
        return late.call("verify", self, labelled(self, data, y, raw=True), learn=learn)

    def _edited(self, rules: Sequence[WeightedRule]) -> Self:
        """Return the ensemble with other rules; its weights are then no longer the best ones of anything stated."""
        info = {key: value for key, value in self.info.items() if key != "weights"}
        return replace(self, rules=tuple(rules), info=info | {"edited": True})

    def _read(self, text: str, origin: Literal["edited", "hand"]) -> WeightedRule:
        weights, body = parse_weighted(text, self.features, self.label_names)
        if not all(weights.values()):
            raise ModelError(f"rule {text.strip()[:80]!r}: a weight of 0 says nothing; leave the label out")
        return WeightedRule(tuple(Entry(label, weights[label]) for label in sorted(weights)), body)

    def _with_body(self, rule: WeightedRule, body: Body) -> WeightedRule:
        return replace(rule, body=body, coverage=None)

    def _is_known(self, entry: Any) -> bool:
        return 0 <= entry.label < len(self.label_names) and isfinite(entry.weight)

    def _says(self, rule: WeightedRule) -> Any:
        return [(entry.label, entry.weight > 0) for entry in rule.head]

    def _moved(self, rule: WeightedRule) -> float:
        return float((rule.coverage or 0.0) * sum(abs(e.weight) * self.worth[e.label] for e in rule.head))


@dataclass(frozen=True, eq=False)
class FlatWeights(PackedModel):
    """An ensemble as plain arrays."""

    weight: Floats  # per entry of a head
    intercepts: Floats  # per label

    @classmethod
    def of(cls, model: RuleEnsemble) -> FlatWeights:
        """Flatten an ensemble."""
        weights = [entry.weight for rule in model.rules for entry in rule.head]
        return cls(*cls.shared(model), np.array(weights, dtype=np.float64), np.array(model.intercepts, np.float64))


def scores_flat(flat: FlatWeights, values: Any) -> Matrix:
    """NumPy definition of the scores, shape (examples, labels)."""
    scores = np.tile(flat.intercepts, (int(values.shape[0]), 1))
    for rows, block in flat.bodies.blocks(values, len(flat.intercepts)):
        all_rows, part = np.arange(len(block)), scores[rows]
        for rule in range(flat.bodies.rules):
            fired = flat.bodies.fired(rule, block, all_rows)
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
