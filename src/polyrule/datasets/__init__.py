"""Benchmark data by name, embedded data, synthetic data with planted rules."""

from polyrule.datasets.loading import load

__all__ = ["load"]
