"""Additive rules: a few readable ones whose weights, refitted together, add up to a strong model."""

from polyrule.ensemble.decisions import Decision
from polyrule.ensemble.model import RuleEnsemble
from polyrule.ensemble.weighted_rule import Entry, WeightedRule
from polyrule.model import exports, files

__all__ = ["Decision", "Entry", "RuleEnsemble", "WeightedRule"]

files.register(RuleEnsemble.KIND, "polyrule.ensemble.model_file")
exports.register(RuleEnsemble.KIND, "polyrule.ensemble.exports")
