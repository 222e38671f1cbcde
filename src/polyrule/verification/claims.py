"""Everything that a model file states, as claims that two models can be compared by.

Claims are taken from the document of the model file, so a member that is added to the format is compared without
being named here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from polyrule.data.dataset import Dataset
from polyrule.model.printing import Formatter
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList
from polyrule.verification.result import Finding

#: Largest relative difference of two numbers of an ensemble: last digits depend on the processor.
LAST_DIGITS = 1e-6

_MAX_CHARACTERS = 200
#: Members of a document that are compared with the data, or that identify the file.
_NOT_LEARNED = {"format", "version", "kind", "info", "labels", "features", "rules", "checksum"}
#: Members of `info` that polyrule reads, besides those that state options and versions.
_READ = (
    *("examples", "stopped", "pruning", "grown", "measure_proof", "weighted"),
    *("price", "ridge", "calibration", "cross_validation", "teacher", "tuned", "monotone", "weights", "start"),
)


class Claim(NamedTuple):
    """One statement of a model: position of the rule (None for the model), subject, value and text to show."""

    rule: int | None
    what: str
    value: Any
    text: str = ""

    def __str__(self) -> str:
        text = self.text or str(self.value)
        return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 1] + "…"


def list_claims(model: RuleList) -> Iterator[Claim]:
    """Yield every claim of a list."""
    document = model.to_dict()
    for number, record in enumerate(document["rules"]):
        head = [(literal.pop("label"), literal.pop("value")) for literal in record["head"]]
        text = Formatter(model).rule(model.rules[number], counts=False)
        yield Claim(number, "the rule", (head, record.pop("body"), record.pop("stop")), text)
        yield Claim(number, "the chances", [literal.pop("chance", None) for literal in record["head"]])
        yield Claim(number, "the counts", record.pop("head"))
        record.pop("certificate", None)  # added after learning, and checked separately
        for name, value in record.items():
            yield Claim(number, f"the {name}", value)
    yield from _claims_of_the_whole(document, "what no rule sets")


def ensemble_claims(model: RuleEnsemble, data: Dataset) -> Iterator[Claim]:
    """Yield every claim of an ensemble, and the labels that it predicts for the training examples."""
    document = model.to_dict()
    for number, record in enumerate(document["rules"]):
        text = Formatter(model).conditions(model.rules[number])
        yield Claim(number, "the body", record.pop("body"), text)
        yield Claim(number, "the labels", [entry["label"] for entry in record["head"]])
        yield Claim(number, "the weights", [entry["weight"] for entry in record.pop("head")])
        for name, value in record.items():
            yield Claim(number, f"the {name}", value)
    decision = document.pop("decision")
    for name, value in decision.items():
        yield Claim(None, f"the decision ({name})", value)
    labels = model.predict(data.X)
    yield Claim(None, "the prediction for the training data", labels.tobytes(), f"{labels.sum()} labels")
    yield from _claims_of_the_whole(document, "the model")


def _claims_of_the_whole(document: dict[str, Any], subject: str) -> Iterator[Claim]:
    yield Claim(None, "the number of rules", len(document["rules"]))
    for name in document.keys() - _NOT_LEARNED:
        yield Claim(None, f"{subject} ({name})", document[name])
    for name in _READ:
        yield Claim(None, f"the account of learning ({name})", document["info"].get(name))


def differences(
    claimed: Iterable[Claim], actual: Iterable[Claim], equal: Callable[[Any, Any], bool] = operator.eq
) -> list[Finding]:
    """Return the claims of one model that another contradicts: those of the first such rule, and of the whole.

    Later rules are left out because they depend on earlier ones.

    Examples
    --------
    >>> print(*differences([Claim(None, "the unit", 2)], [Claim(None, "the unit", 1)]))
    the model: the unit is stated as 2 but found to be 1
    """
    stated_claims, found_claims = ({(claim.rule, claim.what): claim for claim in part} for part in (claimed, actual))
    findings: list[Finding] = []
    first_rule: int | None = None
    for key in stated_claims | found_claims:
        claim, other = stated_claims.get(key), found_claims.get(key)
        if claim is not None and other is not None and equal(claim.value, other.value):
            continue
        rule, what = key
        if rule is not None and first_rule is not None and rule != first_rule:
            continue
        first_rule = rule if first_rule is None else first_rule
        text_of, shown_other = str(claim or "missing"), str(other or "missing")
        if text_of == shown_other and claim is not None and other is not None:  # differs in what the text leaves out
            text_of, shown_other = str(Claim(*claim[:3])), str(Claim(*other[:3]))
        findings.append(Finding(rule, what, text_of, shown_other))
    return findings


def almost_equal(claimed: Any, actual: Any) -> bool:
    """Return True if two values are equal but for the last digits of numbers that are not whole."""
    if isinstance(claimed, dict) and isinstance(actual, dict):
        return claimed.keys() == actual.keys() and all(almost_equal(claimed[key], actual[key]) for key in claimed)
    if isinstance(claimed, (list, tuple)) and isinstance(actual, (list, tuple)):
        return len(claimed) == len(actual) and all(map(almost_equal, claimed, actual))
    if isinstance(claimed, float) and isinstance(actual, float) and not actual.is_integer():
        return abs(claimed - actual) <= LAST_DIGITS * abs(actual)
    return type(claimed) is type(actual) and bool(claimed == actual)
