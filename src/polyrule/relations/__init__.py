"""Relations between labels, which hold for every prediction of a model that states them."""

from polyrule.relations.data import broken, check_data, find
from polyrule.relations.plan import Because, Plan
from polyrule.relations.reading import read
from polyrule.relations.relation import Relation

__all__ = ["Because", "Plan", "Relation", "broken", "check_data", "find", "read"]
