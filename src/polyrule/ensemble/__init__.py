"""Additive rules: a few readable ones whose weights, refitted together, add up to a strong model."""

from polyrule.model.decisions import Decision
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble

__all__ = ["Decision", "Entry", "RuleEnsemble", "WeightedRule"]
