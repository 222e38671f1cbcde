"""Bins of features: codes of values, thresholds between bins, and tables of codes."""
