"""Ensembles of weighted rules: few readable rules with jointly optimal weights."""

from polyrule.model.decisions import Decision
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble

__all__ = ["Decision", "Entry", "RuleEnsemble", "WeightedRule"]
