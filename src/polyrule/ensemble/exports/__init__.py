"""Ensembles as code that needs no polyrule; `polyrule.model.exports.export` finds the language here.

All four languages add the weights in the order of the rules, in double precision, as `RuleEnsemble.scores` does, so
their sums are equal to the last bit and so are their labels.
"""

from __future__ import annotations

from polyrule.ensemble.model import RuleEnsemble
from polyrule.errors import ModelError
from polyrule.model.exports.quoting import comment


def used_features(model: RuleEnsemble) -> list[int]:
    """Columns that some rule tests, ascending."""
    return sorted({c.feature for rule in model.rules for c in rule.body})  # type: ignore[union-attr]


def rule_comment(model: RuleEnsemble, index: int) -> str:
    """A rule as text that can stand in a comment of any language."""
    return comment(f"{index + 1}: {model.format_rule(index, counts=False).replace('−', '-')}")


def check_decision(model: RuleEnsemble, language: str, *, sets: bool) -> None:
    """Refuse a decision that the language cannot express exactly."""
    if model.decision.kind == "expected-f1" or (model.decision.uses_sets and not sets):
        raise ModelError(
            f"the decision {model.decision.kind!r} cannot be exported to {language}; choose another first, for"
            " instance with tune_decision(decision='threshold')"
        )
