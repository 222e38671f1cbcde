"""What languages that run rules one after the other have in common; shared by lists and ensembles.

A feature with categories is read as text, so that its conditions name the categories that satisfy them; a text that is
no category counts as missing, as it does here. The variable of feature 3 is ``x3``, in C ``x[3]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.model.conditions import accepted
from polyrule.model.exports.quoting import rule_comment
from polyrule.model.rule import (
    Condition,
    EitherRule,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NumericCondition,
)
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


def enough(group: GroupCondition, members: list[str], either: str) -> str:
    """Return that enough members of a group hold; where any of them does, in the words of the language."""
    if group.least == 1:
        return f"({either.join(members)})"
    return f"({' + '.join(f'({member})' for member in members)} >= {group.least})"


@dataclass(frozen=True)
class Language:
    """How a language that runs rules one after the other writes them: each a comment, a test and what the rule does."""

    both: str
    either: str
    equal: str
    unequal: str
    always: str
    comment: str
    condition: str
    end: tuple[str, ...]  # lines after what a rule does
    step: str  # further in
    sets: Callable[[dict[int, int], bool], list[str]]  # the labels of a head in ``y``, and perhaps a stop
    mark: str = ""  # behind a statement
    unicode: bool = False  # whether comments are
    variable: str = "x{}"
    # A category as a text, and how one is looked for among several; C knows categories by their positions
    quoted: Callable[[str], str] | None = None
    among: str = ""
    outside: str = ""

    def rules(self, model: RuleList | RuleEnsemble, indent: str) -> list[str]:
        """Return the lines of all rules: those of a list set labels, those of an ensemble add to the sums ``s``."""
        if isinstance(model, RuleList):
            done = [self.sets(head, rule.stop) for head, rule in zip(model.heads, model.rules, strict=True)]
        else:
            done = [[f"s[{one.label}] += {float(one.weight)!r}{self.mark}" for one in rule.head] for rule in model]
        lines: list[str] = []
        each: Iterable[EitherRule] = model
        for index, rule in enumerate(each):
            tests = self.both.join(self._test(condition, model.features) for condition in rule.body)
            lines.append(self.comment.format(rule_comment(model, index, unicode=self.unicode)))
            lines.append(self.condition.format(tests or self.always))
            lines += [*(self.step + line for line in done[index]), *self.end]
        return [indent + line for line in lines]

    def _test(self, condition: Condition, features: Features) -> str:
        """Return a condition as an expression, where ``y[3]`` is the label 3 that earlier rules have set."""
        if isinstance(condition, LabelCondition):
            return f"y[{condition.label}] {self.equal} {condition.value}"
        if isinstance(condition, GroupCondition):
            return enough(condition, [self._test(member, features) for member in condition.members], self.either)
        x, feature = self.variable.format(condition.feature), features[condition.feature]
        quoted = self.quoted if feature.has_categories else None
        match condition:
            case NumericCondition(_, op, threshold) if quoted is None:
                return f"{x} {op} {float(threshold)!r}"
            case MissingCondition(_, missing) if quoted is None:
                return f"{x} {self.unequal if missing else self.equal} {x}"
            case MissingCondition(_, True) if quoted is not None:
                return self.outside.format(x=x, names=", ".join(map(quoted, feature.categories)))
        codes = accepted(condition, feature)
        names = [str(code) if quoted is None else quoted(feature.categories[code]) for code in codes]
        if quoted is not None and len(names) != 1:
            return self.among.format(x=x, names=", ".join(names))
        equal = self.either.join(f"{x} {self.equal} {name}" for name in names)
        return equal if len(names) == 1 else f"({equal})"


def title(model: RuleList | RuleEnsemble) -> str:
    """Return what stands at the top of code and files."""
    what = "A multi-label rule list" if isinstance(model, RuleList) else "Weighted multi-label rules"
    return f"{what}, exported by polyrule."


def constants(model: RuleList | RuleEnsemble) -> dict[str, Any]:
    """Return the numbers by which what rules say becomes labels, by the names they have in scripts."""
    if isinstance(model, RuleList):
        return {"DEFAULTS": list(map(int, model.defaults))}
    decision = model.decision
    cuts = {"CUTS": list(map(float, decision.every_cut(len(model.label_names))))}
    if not decision.uses_sets:
        return cuts
    sets = [sorted(labels) for labels in decision.label_sets]
    return cuts | {"SETS": sets, "UNIT": model.common_unit, "BONUSES": list(map(float, decision.every_bonus))}
