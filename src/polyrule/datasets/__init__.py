"""Benchmark data by name, embedded data, synthetic data with planted rules.

Examples
--------
>>> from polyrule import datasets
>>> datasets.load("emotions", part="test").Y.shape
(202, 6)
>>> "yeast" in datasets.list()
True
"""

from polyrule.datasets.loading import describe, load
from polyrule.datasets.loading import names as list  # the module is used as datasets.list()
from polyrule.datasets.synthetic import PlantedCondition, PlantedRule, Recovery, planted_rules, recovery

__all__ = ["PlantedCondition", "PlantedRule", "Recovery", "describe", "list", "load", "planted_rules", "recovery"]
