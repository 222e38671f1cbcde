"""The report's pictures for Python: objects with `frame()` for the numbers and `plot()` to draw (extra ``plot``)."""

from polyrule.evaluation.figures import CriticalDifferenceDiagram
from polyrule.report.plots.coverage import Coverage, RuleScatter
from polyrule.report.plots.dependencies import LabelGraph
from polyrule.report.plots.head_tree import HeadTree
from polyrule.report.plots.learning_curve import LearningCurve
from polyrule.report.plots.scorecard import Scorecard, plot_scorecard

__all__ = [
    "Coverage",
    "CriticalDifferenceDiagram",
    "HeadTree",
    "LabelGraph",
    "LearningCurve",
    "RuleScatter",
    "Scorecard",
    "plot_scorecard",
]
