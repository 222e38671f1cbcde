"""Ensembles as code that needs no polyrule; `polyrule.model.exports.export` finds the language here.

All languages add the weights in the order of the rules, in double precision, as `RuleEnsemble.scores` does, so their
sums are equal to the last bit and so are their labels. The largest expected F1 is found as `LabelSets.best_f1` does it.
"""

from __future__ import annotations

from polyrule.ensemble.model import RuleEnsemble
from polyrule.model.exports.quoting import comment


def rule_comment(model: RuleEnsemble, index: int) -> str:
    """A rule as text that can stand in a comment of any language."""
    return comment(f"{index + 1}: {model.format_rule(index, counts=False).replace('−', '-')}")
