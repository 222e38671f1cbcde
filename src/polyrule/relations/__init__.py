"""Relations between labels, which hold for every prediction of a model that states them."""

from polyrule.relations.data import find
from polyrule.relations.plan import Plan
from polyrule.relations.reading import read
from polyrule.relations.relation import Relation

__all__ = ["Plan", "Relation", "find", "read"]
