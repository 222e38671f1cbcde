"""Rules that stay when a person learns again, and what of their work does not, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from polyrule.conditions import NumericCondition, feature_conditions
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList
from polyrule.studio.learn import Recipe
from polyrule.studio.project import Version
from polyrule.studio.sentences import sentence
from polyrule.studio.steps import rule_text_at

_OPERATORS = {"up": ">", "down": "<="}


@dataclass(frozen=True)
class Carried:
    """Rules that are kept, and sentences about those that are not."""

    keep: tuple[int, ...] = ()
    lost: tuple[str, ...] = field(default=())


def carry(version: Version, recipe: Recipe, pinned: bool, edited: bool) -> Carried:
    """Return the rules of a version that stay when a model is learned by a recipe.

    Parameters
    ----------
    version : Version
    recipe : Recipe
    pinned, edited : bool
        Keep pinned rules, and rules that were written or changed by hand.
    """
    keep, lost = [], []
    for index, rule in enumerate(version.model.rules):
        note = version.notes.get(rule_text_at(version.model, index), {})
        by_hand = isinstance(rule, Rule) and rule.origin in ("hand", "edited")
        states = {"pinned": note.get("pinned"), "changed by hand": by_hand}
        what = " and ".join(word for word, holds in states.items() if holds)
        named = f"Rule {index + 1} ({sentence(version.model, rule)})"
        if (pinned and note.get("pinned")) or (edited and by_hand):
            reasons = list(_reasons(version.model, rule, recipe))
            if reasons:
                lost.append(f"{named} is {what} and does not stay: {reasons[0]}.")
            else:
                keep.append(index)
        elif what:
            lost.append(f"{named} is {what} and stays only if it is learned again.")
        elif note.get("name") or note.get("comment"):
            lost.append(f"{named} keeps its name and comment only if it is learned again; pin it to be sure.")
    return Carried(tuple(keep), tuple(lost))


def _reasons(model: Any, rule: Any, recipe: Recipe) -> Iterator[str]:
    """Reasons why a rule cannot stay."""
    if isinstance(model, RuleList) != (recipe.kind == "list"):
        yield "a rule of a list has no points" if isinstance(model, RuleList) else "a rule with points fits no list"
    limits = recipe.options.get("constraints", {})
    forbidden, directions = set(limits.get("forbid", ())), limits.get("monotone", {})
    for condition in feature_conditions(rule.body):
        feature = model.features[condition.feature]
        columns = {feature.name, feature.column, *feature.sources} & forbidden
        if columns:
            yield f"it tests {min(columns)}, which is left out"
        way = directions.get(feature.name)
        if way and isinstance(condition, NumericCondition) and condition.op != _OPERATORS[way]:
            yield f"it goes against the direction of {feature.name}"
