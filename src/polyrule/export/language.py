"""Code of rules in languages that run them one after the other, the same for lists and ensembles.

A feature with categories is read as text, so that its conditions name the categories that satisfy them; a text that is
no category counts as missing, as it does here. The variable of feature 3 is ``x3``, in C ``x[3]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from polyrule.conditions import Condition
from polyrule.conditions.predicate import AtLeast, Column, Compare, Missing, OneOf, lower
from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.export.quoting import rule_comment
from polyrule.model.predict import margin_table
from polyrule.model.rule import EitherRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList

Features = Sequence[Feature]


def columns_of(features: Features, used: Sequence[int]) -> list[str]:
    """Return the columns that a row must have; several features may be derived from one."""
    return list(dict.fromkeys(name for j in used for name in features[j].sources))


def helpers(features: Features, used: Sequence[int], language: str) -> str:
    """Return the functions that the expressions of derived features call, each once."""
    derivations = (derivation_of(features[j]) for j in used)
    return "".join(dict.fromkeys(d.HELPERS.get(language, "") for d in derivations if d is not None))


def at_least(count: int, parts: list[str], any_sign: str) -> str:
    """Return the expression that at least `count` of some expressions hold."""
    if count == 1:
        return f"({any_sign.join(parts)})"
    return f"({' + '.join(f'({part})' for part in parts)} >= {count})"


@dataclass(frozen=True)
class Language:
    """Syntax of a language: each rule is a comment, a test and the effect of the rule."""

    both: str
    any_of: str
    equal: str
    unequal: str
    always: str
    comment: str
    condition: str
    end: tuple[str, ...]  # lines after the effect of a rule
    step: str  # further in
    # the labels of a head in ``y``, with their margins in ``m`` if there are any, and perhaps a stop
    sets: Callable[[dict[int, int], dict[int, float], bool], list[str]]
    mark: str = ""  # behind a statement
    unicode: bool = False  # whether comments are
    variable: str = "x{}"
    # A category as a text, and the test for one among several; in C categories are their positions
    quoted: Callable[[str], str] | None = None
    among: str = ""
    outside: str = ""

    def rules(self, model: RuleList | RuleEnsemble, indent: str) -> list[str]:
        """Return the lines of all rules: those of a list set labels, those of an ensemble add to the sums ``s``."""
        if isinstance(model, RuleList):
            margins = margin_table(model).tolist() if model.plan is not None else [()] * len(model)
            effects = [
                self.sets(head, {label: row[label] for label in head} if row else {}, rule.stop)
                for head, row, rule in zip(model.heads, margins, model.rules, strict=False)
            ]
        else:
            effects = [[f"s[{one.label}] += {float(one.weight)!r}{self.mark}" for one in rule.head] for rule in model]
        lines: list[str] = []
        rules: Iterable[EitherRule] = model
        for index, rule in enumerate(rules):
            tests = self.both.join(self.test(condition, model.features) for condition in rule.body)
            lines.append(self.comment.format(rule_comment(model, index, unicode=self.unicode)))
            lines.append(self.condition.format(tests or self.always))
            lines += [*(self.step + line for line in effects[index]), *self.end]
        return [indent + line for line in lines]

    def test(self, condition: Condition, features: Features) -> str:
        """Return a condition as an expression, where ``y[3]`` is the label 3 that earlier rules have set."""
        predicate = condition.predicate()
        if self.quoted is not None:
            predicate = lower(predicate, features)
        return predicate.accept(_Expression(self, features))


class _Expression:
    """Visitor that writes a predicate in a language; categories are texts if the language quotes them."""

    def __init__(self, language: Language, features: Features) -> None:
        self.language, self.features = language, features

    def compare(self, node: Compare) -> str:
        return f"{self._variable(node.column)} {node.op} {float(node.value)!r}"

    def one_of(self, node: OneOf) -> str:
        x, language = self._variable(node.column), self.language
        if node.column.source == "label" or language.quoted is None:
            equal = language.any_of.join(f"{x} {language.equal} {code}" for code in node.codes)
            return equal if len(node.codes) == 1 else f"({equal})"
        categories = self.features[node.column.index].categories
        names = [language.quoted(categories[code]) for code in node.codes]
        return f"{x} {language.equal} {names[0]}" if len(names) == 1 else self._listed(language.among, x, names)

    def missing(self, node: Missing) -> str:
        x, language = self._variable(node.column), self.language
        feature = self.features[node.column.index]
        if language.quoted is not None and feature.has_categories:  # lowered: no test for a known category remains
            return self._listed(language.outside, x, list(map(language.quoted, feature.categories)))
        return f"{x} {language.unequal if node.missing else language.equal} {x}"

    def at_least(self, node: AtLeast) -> str:
        parts = [part.accept(self) for part in node.parts]
        return at_least(node.count, parts, self.language.any_of)

    def _variable(self, column: Column) -> str:
        return f"y[{column.index}]" if column.source == "label" else self.language.variable.format(column.index)

    @staticmethod
    def _listed(template: str, x: str, names: list[str]) -> str:
        return template.format(x=x, names=", ".join(names))


def title(model: RuleList | RuleEnsemble) -> str:
    """Return the first line of code and files."""
    what = "A multi-label rule list" if isinstance(model, RuleList) else "Weighted multi-label rules"
    return f"{what}, exported by polyrule."


def relation_constants(model: RuleList | RuleEnsemble) -> dict[str, Any]:
    """Return the steps by which related labels are decided; empty if no such step is needed.

    Of an ensemble that chooses label sets, the sets themselves obey the relations.
    """
    if model.plan is None or (isinstance(model, RuleEnsemble) and model.decision.uses_sets):
        return {}
    plan = model.plan
    return {
        "ABOVE": [list(labels) for labels in plan.above],
        "BELOW": [list(labels) for labels in plan.below],
        "GROUPS": [[list(group.members), int(group.exactly)] for group in plan.groups],
    }


def constants(model: RuleList | RuleEnsemble) -> dict[str, Any]:
    """Return the numbers by which effects of rules become labels, by their names in scripts."""
    related = relation_constants(model)
    if isinstance(model, RuleList):
        margins = {"MARGINS": margin_table(model)[-1].tolist()} if related else {}
        return {"DEFAULTS": list(map(int, model.defaults))} | margins | related
    decision = model.decision
    cuts = {"CUTS": list(map(float, decision.every_cut(len(model.label_names))))}
    if not decision.uses_sets:
        return cuts | ({"WORTH": model.worth.tolist()} | related if related else {})
    sets = [sorted(labels) for labels in decision.label_sets]
    return cuts | {"SETS": sets, "UNIT": model.common_unit, "BONUSES": list(map(float, decision.every_bonus))}
