"""Changing a rule list by hand. Lists are frozen: every edit gives a new one and leaves the old as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_changes
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.data.labels import require_known
from polyrule.data.table import Feature
from polyrule.errors import ModelError
from polyrule.model.bodies import check_table
from polyrule.model.conditions import with_gaps
from polyrule.model.grouping import changed_rule, split_bodies, with_member, with_name, without_member
from polyrule.model.grouping import joined as joined
from polyrule.model.parsing import as_member, parse_rule
from polyrule.model.predict import fired_rows, predict
from polyrule.model.printing import as_printed
from polyrule.model.rule import (
    Condition,
    FeatureCondition,
    GroupCondition,
    Literal,
    NumericCondition,
    Rule,
    group_of,
)

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset
    from polyrule.model.rule_list import RuleList


def remove(rule_list: RuleList, index: int) -> RuleList:
    """Return the list without the rule at `index` (from 0; negative counts from the end)."""
    index = _position(rule_list, index)
    return _with_rules(rule_list, rule_list.rules[:index] + rule_list.rules[index + 1 :])


def move(rule_list: RuleList, index: int, to: int) -> RuleList:
    """Return the list with the rule at `index` standing at `to`."""
    index, to = _position(rule_list, index), _position(rule_list, to)
    rules = list(rule_list.rules)
    rules.insert(to, rules.pop(index))
    return _with_rules(rule_list, tuple(rules))


def insert(rule_list: RuleList, index: int, rule: Rule | str) -> RuleList:
    """Return the list with a rule, given as such or as text, put before the one at `index`.

    An index equal to the length appends.
    """
    if not -len(rule_list) <= index <= len(rule_list):
        raise ModelError(f"there is no place {index} in a list of {len(rule_list)} rules")
    index = index if index >= 0 else len(rule_list) + index
    new = _as_rule(rule_list, rule)
    return _with_rules(rule_list, (*rule_list.rules[:index], new, *rule_list.rules[index:]))


def replace(rule_list: RuleList, index: int, rule: Rule | str) -> RuleList:
    """Return the list with another rule at `index`; a rule given as text is marked "edited" and has no counts yet."""
    index = _position(rule_list, index)
    new = _as_rule(rule_list, rule)
    if isinstance(rule, str):
        new = with_changes(new, origin="edited")
    return _with_rules(rule_list, (*rule_list.rules[:index], new, *rule_list.rules[index + 1 :]))


def name_group(rule_list: RuleList, index: int, name: str) -> RuleList:
    """Return the list with a name for the group of alternatives in the rule at `index`; nothing else changes.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import RuleList
    >>> words = tuple(Feature(word, "nominal", ("0", "1")) for word in ("jam", "queue"))
    >>> model = RuleList((), words, ("traffic",)).insert(0, "traffic <- any of {jam, queue}")
    >>> print(name_group(model, 0, "road words").format_rule(0, counts=False))
    traffic <- any of "road words" {jam, queue}
    """
    index = _position(rule_list, index)
    rule = rule_list.rules[index]
    named = with_changes(rule, body=with_name(rule.body, name))
    return _with_rules(rule_list, (*rule_list.rules[:index], named, *rule_list.rules[index + 1 :]))


def join(rule_list: RuleList, *indices: int) -> RuleList:
    """Return the list with rules of one head that differ in one condition joined to one, at the place of the first."""
    places = sorted({_position(rule_list, index) for index in indices})
    one = joined([rule_list.rules[place] for place in places])
    kept = [rule for place, rule in enumerate(rule_list.rules) if place not in places[1:]]
    kept[places[0]] = one
    return _with_rules(rule_list, kept)


def split_group(rule_list: RuleList, index: int) -> RuleList:
    """Return the list with the rule at `index` told by rules without a group, one after the other."""
    index = _position(rule_list, index)
    rule = rule_list.rules[index]
    parts = [changed_rule(rule, body) for body in split_bodies(rule.body)]
    return _with_rules(rule_list, (*rule_list.rules[:index], *parts, *rule_list.rules[index + 1 :]))


def add_member(
    rule_list: RuleList, index: int, member: FeatureCondition | str, beside: FeatureCondition | str | None = None
) -> RuleList:
    """Return the list with one more alternative in the rule at `index`; see `polyrule.model.grouping.with_member`."""
    index = _position(rule_list, index)
    rule, other = rule_list.rules[index], None if beside is None else as_member(rule_list, beside)
    return replace(rule_list, index, changed_rule(rule, with_member(rule.body, as_member(rule_list, member), other)))


def remove_member(rule_list: RuleList, index: int, member: FeatureCondition | str) -> RuleList:
    """Return the list with one alternative less in the rule at `index`."""
    index = _position(rule_list, index)
    rule = rule_list.rules[index]
    return replace(rule_list, index, changed_rule(rule, without_member(rule.body, as_member(rule_list, member))))


def from_text(rule_list: RuleList, text: str) -> RuleList:
    """Return the list with its rules read from edited text, one per line, as `RuleList.format` prints them.

    A line that says what some rule of the old list says keeps that rule with its counts, its exact value and its
    origin; any other line is a rule made by hand. Blank lines, and lines that start with ``#`` or ``(``, are skipped.
    """
    known: dict[Any, list[Rule]] = {}
    for rule in rule_list.rules:
        known.setdefault(_meaning(rule, rule_list.features), []).append(rule)
    rules = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "(")):
            continue
        try:
            rule = parse_rule(line, rule_list.features, rule_list.label_names)
        except ModelError as error:
            raise ModelError(f"line {number}: {error}") from error
        same = known.get(_meaning(rule, rule_list.features))
        rules.append(_called(same.pop(0), rule) if same else rule)
    return _with_rules(rule_list, tuple(rules))


def recount(rule_list: RuleList, data: Dataset) -> RuleList:
    """Return the list with the counts it has on `data`, by running it there.

    Per literal, tp and fp are the weights of the examples on which the rule itself set the label, rightly or wrongly;
    coverage is the weight of the examples on which it fired; default counts are those on which nobody set the label.
    The exact value from learning is dropped, because it belongs to other counts.
    """
    check_table(rule_list, data.X)
    if data.label_names != rule_list.label_names:
        raise ModelError(f"{data.name}: its labels are not those of the model, in the same order")
    result = predict(rule_list, data.X)
    require_known(data.Y, f"{data.name}: counting rules anew")
    truth = np.asarray(data.Y.todense() if sp.issparse(data.Y) else data.Y).astype(bool)
    weights = np.ones(len(data)) if data.weights is None else np.asarray(data.weights, dtype=np.float64)
    covers = fired_rows(rule_list, data.X)
    rules = tuple(
        with_changes(
            rule,
            head=tuple(_recounted(literal, result.setter == number, truth, weights) for literal in rule.head),
            coverage=_whole(float(weights[covers[number]].sum())),
            value=None,
            bound=None,
            unfinished=False,
            certificate=None,
        )
        for number, rule in enumerate(rule_list.rules)
    )
    unset = result.setter < 0
    present = (weights[:, None] * (unset & truth)).sum(axis=0)
    absent = (weights[:, None] * (unset & ~truth)).sum(axis=0)
    counts = tuple((_whole(float(p)), _whole(float(a))) for p, a in zip(present, absent, strict=True))
    info = {**rule_list.info, "recounted": data.name}
    counted = with_changes(rule_list, rules=rules, default_counts=counts, default_chances=(), info=info)
    return with_gaps(counted, data.X)


def _recounted(
    literal: Literal, set_here: npt.NDArray[np.bool_], truth: npt.NDArray[np.bool_], weights: npt.NDArray[np.float64]
) -> Literal:
    mine = set_here[:, literal.label]
    right = truth[:, literal.label] == bool(literal.value)
    tp, fp = float(weights[mine & right].sum()), float(weights[mine & ~right].sum())
    return with_changes(literal, tp=_whole(tp), fp=_whole(fp), chance=None)


def _whole(number: float) -> float:
    return int(number) if number.is_integer() else number


def _meaning(rule: Rule, features: Sequence[Feature]) -> Any:
    body = tuple(_as_read(condition, features) for condition in rule.body)
    return tuple((literal.label, literal.value) for literal in rule.head), body, rule.stop


def _as_read(condition: Condition, features: Sequence[Feature]) -> Any:
    """What tells a condition from others in a text; of a group, its members in their order."""
    if isinstance(condition, NumericCondition) and features[condition.feature].flag:
        return as_printed(condition)
    if not isinstance(condition, GroupCondition):
        return condition
    return condition.least, tuple(map(as_printed, condition.members))


def _called(known: Rule, written: Rule) -> Rule:
    """A known rule with the name that its group has in a text."""
    group = group_of(written.body)
    return known if group is None else with_changes(known, body=with_name(known.body, group.name))


def _as_rule(rule_list: RuleList, rule: Rule | str) -> Rule:
    return parse_rule(rule, rule_list.features, rule_list.label_names) if isinstance(rule, str) else rule


def _position(rule_list: RuleList, index: int) -> int:
    if not -len(rule_list) <= index < len(rule_list):
        raise ModelError(f"there is no rule {index} in a list of {len(rule_list)} rules")
    return index if index >= 0 else len(rule_list) + index


def _with_rules(rule_list: RuleList, rules: Sequence[Rule]) -> RuleList:
    return with_changes(rule_list, rules=tuple(rules))
