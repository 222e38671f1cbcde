"""A learned rule list: the rules in order, and everything needed to predict, print and audit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, overload
from typing import Literal as Choice

from polyrule.conditions import (
    Body,
    Condition,
    LabelCondition,
    flatten,
    group_of,
    label_conditions,
)
from polyrule.conditions.groups import split_bodies, with_name
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model import predict as prediction
from polyrule.model import printing
from polyrule.model.columns import used_features
from polyrule.model.counting import recount
from polyrule.model.explain import Explanation, explain
from polyrule.model.model_printing import list_lines
from polyrule.model.parsing import parse_constants, parse_rule
from polyrule.model.reasons import ReasonSearch
from polyrule.model.rule import Literal, Rule, changed_rule, check_rules
from polyrule.model.rule_model import RuleModel, labelled
from polyrule.model.staleness import OUTDATED_DEFAULTS, has_outdated_defaults, mark_outdated
from polyrule.relations import Relation
from polyrule.utils import late
from polyrule.utils.arrays import Bytes, Floats


@dataclass(frozen=True, eq=False, repr=False)
class RuleList(RuleModel[Rule]):
    """Rules in order; the first rule to set a label wins.

    Parameters
    ----------
    rules : tuple of Rule
        In the order in which they are tried.
    features : tuple of Feature
        Name and kind of every column the rules may test.
    label_names : tuple of str
        One per label, in label order.
    defaults : tuple of int
        Value of each label if no rule sets it; all absent unless the learner chose otherwise (binary relevance).
    default_counts : tuple of (present, absent)
        Per label, the training weight left unset at the end: the counts behind the probability of an unset label.
    default_chances : tuple of float
        Per label, the probability that it is present if no rule sets it, where the learner has a fairer estimate than
        these counts; empty otherwise.
    full : bool
        Full predictions: a rule that fires sets every label not yet set, those outside its head to absent.
    info : dict
        How the list was made: options, data fingerprint, version. Plain JSON values only.
    relations : tuple of Relation
        Relations between labels, which hold for every prediction; see `with_relations`.

    Examples
    --------
    >>> from polyrule import Feature, Rule
    >>> from polyrule.model import Literal, NumericCondition
    >>> slow = Rule((Literal(0, 1, 40, 2),), (NumericCondition(0, "<=", 90),))
    >>> model = RuleList((slow,), (Feature("tempo"),), ("calm",))
    >>> print(model)
    1. calm <- tempo <= 90   (TP 40, FP 2)
    (labels that no rule sets are absent)
    >>> model.predict([[64], [120]]).tolist()
    [[1], [0]]
    """

    KIND: ClassVar[str] = "rule-list"
    RULE: ClassVar[type] = Rule
    ALIKE: ClassVar[str] = "with the same head, and all or none with a stop,"
    SEARCH: ClassVar[type[ReasonSearch]] = ReasonSearch

    defaults: tuple[int, ...] = ()
    default_counts: tuple[tuple[float, float], ...] = ()
    full: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    default_chances: tuple[float, ...] = ()
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        width = len(self.label_names)
        if not self.defaults:
            object.__setattr__(self, "defaults", (0,) * width)
        if not self.default_counts:
            object.__setattr__(self, "default_counts", ((0, 0),) * width)
        for name in ("defaults", "default_counts", "default_chances"):
            length = len(getattr(self, name))
            if length != width and (length or name != "default_chances"):
                raise ModelError(f"{name}: {length} entries for {width} labels")
        if any(default not in (0, 1) for default in self.defaults):
            raise ModelError(f"defaults must be 0 or 1, got {self.defaults}")
        check_rules(self, self._is_known, "no label of this model", labels=width)
        self._check_relations()

    @cached_property
    def flat(self) -> prediction.FlatRules:
        """The rules as the arrays that prediction runs on."""
        return prediction.FlatRules.of(self)

    @cached_property
    def chances(self) -> Floats:
        """Probability that each label is present, by setter: a row per rule, the last for unset labels."""
        return prediction.probability_table(self)

    @cached_property
    def heads(self) -> tuple[dict[int, int], ...]:
        """Value of every label that a rule sets, per rule; of a full list, that is every label."""
        heads = ({literal.label: literal.value for literal in rule.head} for rule in self.rules)
        absent = dict.fromkeys(range(len(self.label_names)), 0) if self.full else {}
        return tuple(absent | head for head in heads)

    @cached_property
    def label_tests(self) -> tuple[list[LabelCondition], ...]:
        """Conditions on labels, per rule."""
        return tuple(list(label_conditions(rule.body)) for rule in self.rules)

    @cached_property
    def writers(self) -> tuple[list[int], ...]:
        """Rules that set a label, per label."""
        rules_of_label: tuple[list[int], ...] = tuple([] for _ in self.label_names)
        for number, head in enumerate(self.heads):
            for label in head:
                rules_of_label[label].append(number)
        return rules_of_label

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> RuleList: ...

    def __getitem__(self, index: int | slice) -> Rule | RuleList:
        """Return one rule, or for a slice the list of these rules alone."""
        if not isinstance(index, slice):
            return self.rules[index]
        rules = self.rules[index]
        return self if len(rules) == len(self.rules) and rules == self.rules else self._edited(rules)

    def statistics(self) -> dict[str, float]:
        """Count what a list is made of.

        Returns
        -------
        dict
            rules; conditions; label_conditions; rules_with_label_conditions; rules_with_multi_label_heads and their
            percentage; labels_per_head and conditions_per_rule (averages, 0 for an empty list); negative_literals;
            literals; stops; features_used; labels_predicted; hand_made (rules edited or written by hand).

        Examples
        --------
        >>> from polyrule.model import Literal, Rule
        >>> stats = RuleList((Rule((Literal(0, 1), Literal(1, 0))),), (), ("a", "b")).statistics()
        >>> stats["rules"], stats["labels_per_head"], stats["rules_with_multi_label_heads"]
        (1, 2.0, 1)
        """
        rules = self.rules
        conditions = [condition for rule in rules for condition in flatten(rule.body)]
        literals = [literal for rule in rules for literal in rule.head]
        multi = sum(rule.is_multi_label for rule in rules)
        count = max(1, len(rules))
        return {
            "rules": len(rules),
            "conditions": len(conditions),
            "label_conditions": sum(map(len, self.label_tests)),
            "rules_with_label_conditions": sum(map(bool, self.label_tests)),
            "rules_with_multi_label_heads": multi,
            "multi_label_heads_percent": 100 * multi / count,
            "labels_per_head": len(literals) / count,
            "conditions_per_rule": len(conditions) / count,
            "literals": len(literals),
            "negative_literals": sum(literal.value == 0 for literal in literals),
            "stops": sum(rule.stop for rule in rules),
            "features_used": len(used_features(rules)),
            "labels_predicted": len({literal.label for literal in literals}),
            "hand_made": sum(rule.origin != "learned" for rule in rules),
        }

    def _record(self, rule: Rule) -> dict[str, Any]:
        return {
            "tp": rule.tp,
            "fp": rule.fp,
            "right_alone": None if rule.alone is None else rule.alone[0],
            "wrong_alone": None if rule.alone is None else rule.alone[1],
            "stale": rule.stale,
            "expected": rule.expected,
            "value": None if rule.value is None else float(rule.value),
            "coverage": rule.coverage,
            "stop": rule.stop,
            "origin": rule.origin,
        }

    @property
    def _fact_names(self) -> tuple[str, ...]:
        counts = ("right", "adds") if self._counted_alone else ("TP", "FP")
        return (*counts, "expect", "", "origin")

    @property
    def _counted_alone(self) -> bool:
        """True if rules are shown with what they do alone and what they add."""
        return any(rule.alone is not None for rule in self.rules)

    def _facts(self, rule: Rule) -> tuple[str, ...]:
        expected = "" if rule.expected is None else printing.format_share(rule.expected)
        origin = "" if rule.origin == "learned" else rule.origin
        if not printing.is_counted(rule):
            counts: tuple[str, ...] = ("not counted", "")
        elif self._counted_alone:
            alone = "" if rule.alone is None else printing.format_right(*rule.alone)
            counts = alone, printing.format_right(rule.tp, rule.fp)
        else:
            counts = printing.format_count(rule.tp), printing.format_count(rule.fp)
        marks = ", ".join(["stop"] * rule.stop + ["counts before the edit"] * rule.stale)
        return *counts, expected, marks, origin

    def _notes(self, digits: int | None = None) -> list[str]:
        return list_lines(self)

    def constants(self) -> tuple[int, ...]:
        """Return the positions of the rules that make labels present for every example.

        A rule without conditions does not if an earlier one may stop the list or set one of its labels to absent.

        Examples
        --------
        >>> from polyrule.model import Literal, Rule
        >>> rules = (Rule((Literal(0, 1),)), Rule((Literal(1, 0),)), Rule((Literal(1, 1),)))
        >>> RuleList(rules, (), ("a", "b")).constants()
        (0,)
        """
        positions: list[int] = []
        absent: set[int] = set()
        for number, rule in enumerate(() if self.full else self.rules):
            labels = {literal.label for literal in rule.head if literal.value}
            if not rule.body and not rule.stop and len(labels) == len(rule.head) and not labels & absent:
                positions.append(number)
            absent.update(literal.label for literal in rule.head if not literal.value)
            if rule.stop:
                break
        return tuple(positions)

    @property
    def labels_without_rules(self) -> tuple[str, ...]:
        """Labels that no rule sets, whose default is predicted for every example."""
        in_heads = {literal.label for rule in self.rules for literal in rule.head}
        return tuple(name for label, name in enumerate(self.label_names) if label not in in_heads)

    def shortfall(self) -> str:
        """Return a note if the list is hardly better than constant labels; empty otherwise or if unknown.

        Examples
        --------
        >>> learned = {"pruning": {"expected": 0.4, "constant": 0.5, "margin": 0.01}}
        >>> RuleList((), (), ("a",), info=learned).shortfall()
        'no better than predicting the same labels for everyone: f1 to expect 0.400, with constants alone 0.500'
        """
        pruning, options = self.info.get("pruning"), self.info.get("options")
        if (
            not isinstance(pruning, dict)
            or self.info.keys() & {"recounted", "edited"}
            or any(rule.origin != "learned" for rule in self.rules)
        ):
            return ""
        value, plain, margin = (pruning.get(name) for name in ("expected", "constant", "margin"))
        if not (isinstance(value, float) and isinstance(plain, float) and isinstance(margin, float)):
            return ""
        if value > plain + margin:
            return ""
        if self.rules and not any(rule.body for rule in self.rules):
            return "no more than the same labels for everyone"
        better = "no" if value <= plain else "hardly"
        options = options if isinstance(options, dict) else {}
        measure = options.get("optimize", options.get("prune", "f1"))  # the second is of earlier versions
        return (
            f"{better} better than predicting the same labels for everyone: {measure} to expect {value:.3f}, with "
            f"constants alone {plain:.3f}"
        )

    def labels_of(self, table: Table) -> Bytes:
        """Predict labels for a table of the list's own features."""
        result = prediction.predict(self, table)
        return result.labels if self.plan is None else self.plan.decide(prediction.margins(self, result.setter))

    def chances_of(self, table: Table) -> Floats:
        """Predict probabilities for a table of the list's own features; see `polyrule.model.predict.predict_proba`."""
        return prediction.predict_proba(self, table)

    def explain(self, example: Any, row: int | None = None, *, near: int = 1, digits: int | None = None) -> Explanation:
        """Explain for one example which rule set which label and why; see `polyrule.model.explain.explain`.

        `example` is one example (a mapping from feature name to value, a frame with one row, an array of values), or
        with `row` (counted from 0) a frame, table, array or data set that holds it.
        """
        return explain(self, example, row, near=near, digits=digits)

    def verify(self, data: Any, y: Any = None, *, learn: bool = True) -> Any:
        """Check the list against its training data; see `polyrule.verification.verify_list`."""
        return late.call("verify", self, labelled(self, data, y, raw=True), learn=learn)

    def split_group(self, index: int) -> RuleList:
        """Return the list with the rule at `index` told by rules without a group."""
        rule = self.rules[self.position(index)]
        return self.replaced(index, *(changed_rule(rule, body) for body in split_bodies(rule.body)))

    def recount(self, data: Any, y: Any = None) -> RuleList:
        """Return the list with the counts it has on `data`; see `polyrule.model.counting.recount`."""
        return recount(self, labelled(self, data, y))

    def _edited(self, rules: Sequence[Rule]) -> RuleList:
        """Return the list with other rules; counts that may no longer be right are marked as stale."""
        info = self.info | ({"edited": True} if "learner" in self.info else {})
        if has_outdated_defaults(self, rules):
            info |= {OUTDATED_DEFAULTS: True}
        return replace(self, rules=mark_outdated(self, rules), info=info)

    def _read(self, text: str, origin: Choice["edited", "hand"]) -> Rule:
        return replace(parse_rule(text, self.features, self.label_names), origin=origin)

    def _with_body(self, rule: Rule, body: Body) -> Rule:
        return changed_rule(rule, body)

    def _is_known(self, literal: Any) -> bool:
        return 0 <= literal.label < len(self.label_names) and literal.value in (0, 1)

    def _says(self, rule: Rule) -> Any:
        return [(literal.label, literal.value) for literal in rule.head], rule.stop

    def _moved(self, rule: Rule) -> float:
        return rule.tp + rule.fp


def from_text(rule_list: RuleList, text: str) -> RuleList:
    """Return the list with its rules read from edited text, one per line, as `RuleList.format` prints them.

    A line that reads as some rule of the old list keeps that rule with its counts, its exact value and its
    origin; any other line is a rule made by hand, and so is each further label behind ``always:``. Blank lines, and
    lines that start with ``#`` or ``(``, are skipped.
    """
    rules_by_meaning: dict[Any, list[Rule]] = {}
    for rule in rule_list.rules:
        rules_by_meaning.setdefault(_meaning(rule, rule_list.features), []).append(rule)

    def with_stored_counts(written: Rule) -> Rule:
        same = rules_by_meaning.get(_meaning(written, rule_list.features))
        return _with_group_name(same.pop(0), written) if same else written

    rules: list[Rule] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "(")):
            continue
        try:
            always = parse_constants(line, rule_list.label_names)
            if always is None:
                rules.append(with_stored_counts(parse_rule(line, rule_list.features, rule_list.label_names)))
            else:
                rules += map(with_stored_counts, _constants(rule_list, always))
        except ModelError as error:
            raise ModelError(f"line {number}: {error}") from error
    return rule_list._edited(rules)


def _constants(rule_list: RuleList, labels: list[int]) -> list[Rule]:
    """Rules that make labels present for all examples, with their heads in the list if possible."""
    heads = [[literal.label for literal in rule_list.rules[number].head] for number in rule_list.constants()]
    left, rules = list(labels), []
    for head in [*heads, *([label] for label in labels)]:
        if set(head) <= set(left):
            for label in head:
                left.remove(label)
            rules.append(Rule(tuple(Literal(label, 1) for label in head), origin="hand"))
    return rules


def _meaning(rule: Rule, features: Sequence[Feature]) -> Any:
    body = tuple(_as_read(condition, features) for condition in rule.body)
    return tuple((literal.label, literal.value) for literal in rule.head), body, rule.stop


def _as_read(condition: Condition, features: Sequence[Feature]) -> Any:
    """Key of a condition as it reads in a text; for a group, its members in their order."""
    return condition.as_read(features)


def _with_group_name(rule: Rule, written: Rule) -> Rule:
    """A known rule with the name that its group has in a text."""
    group = group_of(written.body)
    return rule if group is None else replace(rule, body=with_name(rule.body, group.name))
