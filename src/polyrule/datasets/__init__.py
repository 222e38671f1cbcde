"""Benchmark data by name, embedded data, synthetic data with planted rules."""
