"""Additive rules: a few readable ones whose weights, refitted together, add up to a strong model."""

from types import ModuleType

from polyrule.ensemble.decisions import Decision
from polyrule.ensemble.model import Entry, RuleEnsemble, WeightedRule
from polyrule.model import exports as model_exports
from polyrule.model import files

__all__ = ["Decision", "Entry", "RuleEnsemble", "WeightedRule"]


def _codec() -> files.Codec:
    from polyrule.ensemble.model_file import CODEC

    return CODEC


def _exports() -> ModuleType:
    from polyrule.ensemble import exports

    return exports


files.register(RuleEnsemble.KIND, _codec)
model_exports.register(RuleEnsemble.KIND, _exports)
