"""Scores, baselines, cross-validation, experiments and the statistics to compare learners honestly."""

from polyrule.evaluation.baseline import BaselineComparison, MajorityClassifier, compare_with_baseline
from polyrule.evaluation.scores import MEASURES, Scores, score

__all__ = ["MEASURES", "BaselineComparison", "MajorityClassifier", "Scores", "compare_with_baseline", "score"]
