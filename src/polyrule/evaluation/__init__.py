"""Scores, baselines, cross-validation, experiments and the statistics to compare learners honestly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyrule.lazy import lazy_names

if TYPE_CHECKING:
    from polyrule.evaluation.baseline import (
        BaselineComparison,
        MajorityClassifier,
        compare_with_baseline,
        simple_predictions,
    )
    from polyrule.evaluation.cross_validation import CrossValidation, cross_validate
    from polyrule.evaluation.encoding import EqualFrequencyDiscretiser, MatrixEncoder
    from polyrule.evaluation.importance import Importances, Stability, importances, stability
    from polyrule.evaluation.label_powerset import LabelPowersetClassifier
    from polyrule.evaluation.resampling import resample_scores
    from polyrule.evaluation.scores import MEASURES, Scores, score
    from polyrule.evaluation.statistics import LearnerComparison, compare_learners

__all__ = [
    "MEASURES",
    "BaselineComparison",
    "CrossValidation",
    "EqualFrequencyDiscretiser",
    "Importances",
    "LabelPowersetClassifier",
    "LearnerComparison",
    "MajorityClassifier",
    "MatrixEncoder",
    "Scores",
    "Stability",
    "compare_learners",
    "compare_with_baseline",
    "cross_validate",
    "importances",
    "resample_scores",
    "score",
    "simple_predictions",
    "stability",
]

# Imported when first used: the statistics bring in scipy.stats, for which no one who only wants a score should wait.
__getattr__ = lazy_names(
    __name__,
    {
        "MEASURES": "scores",
        "BaselineComparison": "baseline",
        "CrossValidation": "cross_validation",
        "EqualFrequencyDiscretiser": "encoding",
        "Importances": "importance",
        "LabelPowersetClassifier": "label_powerset",
        "LearnerComparison": "statistics",
        "MajorityClassifier": "baseline",
        "MatrixEncoder": "encoding",
        "Scores": "scores",
        "Stability": "importance",
        "compare_learners": "statistics",
        "compare_with_baseline": "baseline",
        "cross_validate": "cross_validation",
        "importances": "importance",
        "resample_scores": "resampling",
        "score": "scores",
        "simple_predictions": "baseline",
        "stability": "importance",
    },
)


def __dir__() -> list[str]:
    return __all__
