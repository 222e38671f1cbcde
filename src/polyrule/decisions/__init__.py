"""Decisions made after a model is learned: cutoffs by hand, cutoffs for a goal, cutoffs with a guarantee."""

from polyrule.decisions.costs import CostScores, costs_of, score_costs, set_costs
from polyrule.decisions.cutoffs import cutoffs, set_cutoffs
from polyrule.decisions.goals import choose_cutoffs
from polyrule.decisions.guarantees import calibrate, check_guarantees
from polyrule.model.guarantee import Guarantee, guarantees

__all__ = [
    "CostScores",
    "Guarantee",
    "calibrate",
    "check_guarantees",
    "choose_cutoffs",
    "costs_of",
    "cutoffs",
    "guarantees",
    "score_costs",
    "set_costs",
    "set_cutoffs",
]
