"""Models checked against their training data: counted again, learned again, and compared claim by claim."""

from typing import Any

from polyrule.data.dataset import Dataset
from polyrule.model.rule_list import RuleList
from polyrule.verification.result import Finding, Verification
from polyrule.verification.rule_ensemble import verify_ensemble
from polyrule.verification.rule_list import certify, verify_list

__all__ = ["Finding", "Verification", "certify", "verify", "verify_ensemble", "verify_list"]


def verify(model: Any, data: Dataset, *, learn: bool = True) -> Verification:
    """Check a model of any kind; see `verify_list` and `verify_ensemble`.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    data : Dataset
        The training data.
    learn : bool
        False to skip learning it again, which takes as long as training.
    """
    check = verify_list if isinstance(model, RuleList) else verify_ensemble
    return check(model, data, learn=learn)
