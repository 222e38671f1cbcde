"""Counts, measures, averagings and scopes; what is proved about them; checking a user's own."""

from polyrule.measures.association import Association, MEstimate
from polyrule.measures.base import AVERAGINGS, SCOPES, Measure, SubsetAccuracy
from polyrule.measures.catalogue import (
    available,
    f,
    get,
    hamming,
    jaccard,
    klosgen,
    laplace,
    m_estimate,
    matthews,
    precision,
    rate_difference,
    recall,
    subset,
    wracc,
)
from polyrule.measures.check import MeasureReport, check
from polyrule.measures.function import FunctionMeasure
from polyrule.measures.objective import SEARCHES, FastForm, Lift, Objective
from polyrule.measures.properties import Properties
from polyrule.measures.ratio import RatioMeasure
from polyrule.measures.small_problems import Witness

__all__ = [
    "AVERAGINGS",
    "SCOPES",
    "SEARCHES",
    "Association",
    "FastForm",
    "FunctionMeasure",
    "Lift",
    "MEstimate",
    "Measure",
    "MeasureReport",
    "Objective",
    "Properties",
    "RatioMeasure",
    "SubsetAccuracy",
    "Witness",
    "available",
    "check",
    "f",
    "get",
    "hamming",
    "jaccard",
    "klosgen",
    "laplace",
    "m_estimate",
    "matthews",
    "precision",
    "rate_difference",
    "recall",
    "subset",
    "wracc",
]
