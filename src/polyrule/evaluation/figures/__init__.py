"""Figures as objects: `frame()` gives the numbers, `plot()` draws them (with the extra ``plot``)."""

from polyrule.evaluation.figures.critical_difference import CriticalDifferenceDiagram
from polyrule.evaluation.figures.training_times import TrainingTimes

__all__ = ["CriticalDifferenceDiagram", "TrainingTimes"]
