"""Additive rules: a few readable ones whose weights, refitted together, add up to a strong model."""

from polyrule.ensemble.decisions import Decision
from polyrule.ensemble.model import Entry, RuleEnsemble, WeightedRule

__all__ = ["Decision", "Entry", "RuleEnsemble", "WeightedRule"]
