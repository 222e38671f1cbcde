"""Scores, baselines, cross-validation, experiments and the statistics to compare learners honestly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyrule.utils.lazy import lazy_names

if TYPE_CHECKING:
    from polyrule.evaluation.baseline import (
        BaselineComparison,
        MajorityClassifier,
        compare_with_baseline,
        simple_predictions,
    )
    from polyrule.evaluation.cross_validation import CrossValidation, cross_validate
    from polyrule.evaluation.encoding import EqualFrequencyDiscretiser, MatrixEncoder
    from polyrule.evaluation.groups import GroupComparison, by_group
    from polyrule.evaluation.hierarchical import HierarchicalScores, score_hierarchical
    from polyrule.evaluation.importance import Importances, Stability, importances, stability
    from polyrule.evaluation.label_powerset import LabelPowersetClassifier
    from polyrule.evaluation.model_comparison import ModelComparison, compare_models
    from polyrule.evaluation.probabilities import ProbabilityScores, Reliability, reliability, score_probabilities
    from polyrule.evaluation.resampling import resample_scores
    from polyrule.evaluation.scores import MEASURES, Scores, score
    from polyrule.evaluation.statistics import LearnerComparison, compare_learners

__all__ = [
    "MEASURES",
    "BaselineComparison",
    "CrossValidation",
    "EqualFrequencyDiscretiser",
    "GroupComparison",
    "HierarchicalScores",
    "Importances",
    "LabelPowersetClassifier",
    "LearnerComparison",
    "MajorityClassifier",
    "MatrixEncoder",
    "ModelComparison",
    "ProbabilityScores",
    "Reliability",
    "Scores",
    "Stability",
    "by_group",
    "compare_learners",
    "compare_models",
    "compare_with_baseline",
    "cross_validate",
    "importances",
    "reliability",
    "resample_scores",
    "score",
    "score_hierarchical",
    "score_probabilities",
    "simple_predictions",
    "stability",
]

# Imported when first used: the statistics bring in scipy.stats, for which no one who only wants a score should wait.
__getattr__ = lazy_names(
    __name__,
    {
        "baseline": "BaselineComparison MajorityClassifier compare_with_baseline simple_predictions",
        "cross_validation": "CrossValidation cross_validate",
        "encoding": "EqualFrequencyDiscretiser MatrixEncoder",
        "hierarchical": "HierarchicalScores score_hierarchical",
        "importance": "Importances Stability importances stability",
        "groups": "GroupComparison by_group",
        "label_powerset": "LabelPowersetClassifier",
        "model_comparison": "ModelComparison compare_models",
        "probabilities": "ProbabilityScores Reliability reliability score_probabilities",
        "resampling": "resample_scores",
        "scores": "MEASURES Scores score",
        "statistics": "LearnerComparison compare_learners",
    },
)


def __dir__() -> list[str]:
    return __all__
