"""Given a body, the best head: the exact searches and the choice among them."""

from polyrule.heads.certificate import certify
from polyrule.heads.certificate_check import verify_certificate
from polyrule.heads.problem import HeadProblem, HeadResult, TreeNode, evaluate
from polyrule.heads.search import best_head, check_search, search
from polyrule.measures.definition import LabelCounts

__all__ = [
    "HeadProblem",
    "HeadResult",
    "LabelCounts",
    "TreeNode",
    "best_head",
    "certify",
    "check_search",
    "evaluate",
    "search",
    "verify_certificate",
]
