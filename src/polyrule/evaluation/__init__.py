"""Scores, baselines, cross-validation, experiments and their statistics."""
