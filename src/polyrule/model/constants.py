"""What a list predicts for everyone: rules without conditions, which a reader is told in one line of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


def constants(rule_list: RuleList) -> tuple[int, ...]:
    """Return the positions of the rules that make labels present for every example.

    A rule without conditions does not if an earlier one may stop the list or set one of its labels to absent.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule, RuleList
    >>> constants(RuleList((Rule((Literal(0, 1),)), Rule((Literal(1, 0),)), Rule((Literal(1, 1),))), (), ("a", "b")))
    (0,)
    """
    found: list[int] = []
    absent: set[int] = set()
    for number, rule in enumerate(() if rule_list.full else rule_list.rules):
        labels = {literal.label for literal in rule.head if literal.value}
        if not rule.body and not rule.stop and len(labels) == len(rule.head) and not labels & absent:
            found.append(number)
        absent.update(literal.label for literal in rule.head if not literal.value)
        if rule.stop:
            break
    return tuple(found)


def shortfall(rule_list: RuleList) -> str:
    """Say that a list is not clearly better than the same labels for everyone; empty where it is, or is not known.

    Examples
    --------
    >>> from polyrule.model import RuleList
    >>> shortfall(RuleList((), (), ("a",), info={"pruning": {"expected": 0.4, "constant": 0.5, "margin": 0.01}}))
    'no better than predicting the same labels for everyone: f1 to expect 0.400, with constants alone 0.500'
    """
    info = rule_list.info
    made, options = info.get("pruning"), info.get("options")
    if not isinstance(made, dict) or "recounted" in info or any(rule.origin != "learned" for rule in rule_list):
        return ""
    value, plain, margin = (made.get(name) for name in ("expected", "constant", "margin"))
    if not (isinstance(value, float) and isinstance(plain, float) and isinstance(margin, float)):
        return ""
    if value > plain + margin:
        return ""
    better = "no" if value <= plain else "hardly"
    measure = options.get("prune", "f1") if isinstance(options, dict) else "f1"
    return (
        f"{better} better than predicting the same labels for everyone: {measure} to expect {value:.3f}, with "
        f"constants alone {plain:.3f}"
    )
