"""Learning a model again from what it says about itself, and holding every statement of the two side by side.

Replaying a model shows that what it says is true. Learning it again shows that it is what learning finds: another body,
weight, default or cut is another model, however well it fits its own counts. What a check showed is a `Verification`.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from polyrule.data.dataset import Dataset
from polyrule.data.examples import is_of_examples
from polyrule.errors import ModelError, PolyruleError
from polyrule.model.printing import Formatter
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList
from polyrule.utils.version import __version__

_ENDED = {"time_limit": "by its time limit", "callback": "by its caller", "interrupted": "by an interrupt"}
_FOREVER = 1e9  # seconds: some options of a learner with a time limit differ from those of one without
_LONGEST = 200  # characters of a statement that is shown


class Statement(NamedTuple):
    """Something that a model says: about which rule (from 0, None for the whole), what, and how to show it."""

    rule: int | None
    what: str
    value: Any
    text: str = ""

    def __str__(self) -> str:
        text = self.text or str(self.value)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def kept_rules(model: Any) -> int:
    """Return how many rules at the front of a list were there before learning."""
    stored = model.info.get("pruning", model.info.get("grown", {}))
    kept = stored.get("kept", 0) if isinstance(stored, dict) else None
    if not isinstance(kept, int) or not 0 <= kept <= len(model.rules):
        raise ModelError("the model does not say how many of its rules were there before learning")
    return int(kept)


def relearn(
    model: Any,
    data: Dataset,
    statements: Callable[[Any], Iterable[Statement]],
    *,
    what: str,
    learn: bool = True,
    same: Callable[[Any, Any], bool] = operator.eq,
) -> tuple[list[Finding], list[str]]:
    """Learn a model again and compare what the two say; return what is not as it says, and what that did not show.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    data : Dataset
        What it was learned from.
    statements : callable
        Everything that a model says.
    what : str
        What learning would have to find, where it is not done.
    learn : bool
        Whether it is done.
    same : callable
        Whether two values of a statement are the same.
    """
    left = ["the rules that were there before learning"] if kept_rules(model) else []
    if not is_of_examples(model.info.get("data_fingerprint")):
        left.append("that this is the data that the model was learned from")
    if not learn:
        return [], [f"that learning finds {what}, because it was not asked for", *left]
    obstacle = _obstacle(model)
    if obstacle:
        return [], [f"that learning finds this model, because {obstacle}", *left]
    try:
        again = _learned(model, data)
    except PolyruleError as error:
        return [], [f"that learning finds this model, because its options cannot be given again: {error}", *left]
    ended = _ENDED.get(model.info.get("stopped"))
    if ended:
        again.info["stopped"] = model.info["stopped"]
        left.insert(0, f"that learning, which was ended {ended}, had come just so far")
    found = differences(statements(model), statements(again), same)
    elsewhere = _made_elsewhere(model, again) if found else ""
    if elsewhere:
        return [], [f"that learning finds this model: here it finds another one, {elsewhere}", *left]
    return found, left


def differences(
    stated: Iterable[Statement], found: Iterable[Statement], same: Callable[[Any, Any], bool] = operator.eq
) -> list[Finding]:
    """Return what one model says otherwise than another: of the first rule that differs, and of the whole.

    Examples
    --------
    >>> print(*differences([Statement(None, "the unit", 2)], [Statement(None, "the unit", 1)]))
    the model: the unit is stated as 2 but found to be 1
    """
    mine, others = ({(s.rule, s.what): s for s in some} for some in (stated, found))
    wrong: list[Finding] = []
    for rule, what in mine | others:
        one, other = mine.get((rule, what)), others.get((rule, what))
        if one is not None and other is not None and same(one.value, other.value):
            continue
        if rule is None or all(finding.rule is None for finding in wrong):  # later rules follow from earlier ones
            wrong.append(Finding(rule, what, str(one or "missing"), str(other or "missing")))
    return wrong


def compare_counts(number: int, rule: Rule, found: Rule, names: Sequence[str]) -> Iterator[Finding]:
    """Hold the counts that a rule states beside those that were found."""
    for mine, other in zip(rule.head, found.head, strict=True):
        for count in ("tp", "fp"):
            stated, right = getattr(mine, count), getattr(other, count)
            if not is_count(stated, right):
                yield Finding(number, f"{count.upper()} of label {names[mine.label]!r}", str(stated), str(right))
    if rule.coverage is not None and found.coverage is not None and not is_count(rule.coverage, found.coverage):
        yield Finding(number, "the coverage", str(rule.coverage), str(found.coverage))


def is_count(stated: float, found: float) -> bool:
    """Whether a stated count is the one that was found, or the double next to it."""
    return stated in (found, float(found))


def list_statements(model: RuleList) -> Iterator[Statement]:
    """Everything that a list says about its rules and about what nobody sets."""
    for number, rule in enumerate(model.rules):
        said = tuple((literal.label, literal.value) for literal in rule.head), rule.body, rule.stop
        yield Statement(number, "the rule", said, Formatter(model).rule(rule, counts=False))
        yield Statement(number, "the counts", [(literal.tp, literal.fp) for literal in rule.head])
        yield Statement(number, "the chances", [literal.chance for literal in rule.head])
        for what in ("value", "coverage", "origin"):
            yield Statement(number, f"the {what}", getattr(rule, what))
    yield Statement(None, "the number of rules", len(model.rules))
    for what in ("defaults", "default_counts", "default_chances", "full"):
        yield Statement(None, f"what no rule sets ({what})", getattr(model, what))
    for what in ("stopped", "pruning", "grown"):
        yield Statement(None, f"the account of learning ({what})", model.info.get(what))


def _obstacle(model: Any) -> str:
    """Return why a model cannot be learned again; empty if it can."""
    info = model.info
    changed = any(getattr(rule, "origin", "learned") != "learned" for rule in model.rules[kept_rules(model) :])
    stopped = info.get("stopped", "complete")
    if not is_of_examples(info.get("data_fingerprint")):
        return "it was learned from a store, or does not say from what"
    if changed or info.get("edited") or "recounted" in info:
        return "it was changed by hand"
    weighted = isinstance(info.get("options"), dict) and "decision" in info["options"]
    if weighted and "calibration" not in info:
        return "its weights were fitted anew after learning"
    if info.get("start"):
        return "it goes on from rules of another model"
    if stopped not in ("complete", "max_rules") and stopped not in _ENDED:
        return f"learning was ended by something unknown ({stopped})"
    if stopped in _ENDED and ("pruning" in info or weighted):
        return f"learning was ended {_ENDED[stopped]}"
    if stopped in _ENDED and not len(model.rules):
        return f"learning was ended {_ENDED[stopped]} before the first rule"
    if any(getattr(rule, "unfinished", False) for rule in model.rules):
        return "its last rule is unfinished: the time limit ended learning while it grew"
    return ""


def _learned(model: Any, data: Dataset) -> Any:
    """Learn a model again; where it was ended early, as many rules."""
    # Whoever checks a model looks for this here, below the estimators; pyproject.toml names it as an exception.
    from polyrule.estimators.from_model import learner_of

    info, kept = model.info, kept_rules(model)
    most = len(model.rules) - kept if info.get("stopped") in _ENDED else None
    limited = info.get("options", {}).get("time_limit") is not None
    learner = learner_of(
        model,
        callback=None if most is None else lambda progress: progress.rules >= most,
        time_limit=_FOREVER if limited else None,
        kernels=None,
        device="cpu",
        n_jobs=-1,
        verbose=False,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fit(data, **({"start": model[:kept]} if kept else {}))
            if "tuned" in info:
                learner.tune_decision(**info["tuned"])
    except (TypeError, ValueError, AttributeError, OverflowError) as error:  # a file may hold anything as an option
        raise ModelError(str(error)) from error
    return learner.model_


def _made_elsewhere(model: Any, again: Any) -> str:
    """Return what, other than a lie, may have made a difference; empty if nothing may."""
    stated = model.info.get("polyrule_version")
    if stated != __version__:
        return f"but it was made with polyrule {stated}, and this is {__version__}"
    stated, found = model.info.get("made_with"), again.info.get("made_with")
    if stated != found:
        return f"but it was made with {_listed(stated)}, and this is {_listed(found)}"
    mine, others = (one.info.get("pruning", {}) for one in (model, again))
    if mine.get("targets") != others.get("targets"):
        return "but its teacher says something else here than where the model was made"
    return ""


def _listed(versions: Any) -> str:
    if not isinstance(versions, dict):
        return "unknown versions of libraries"
    return ", ".join(f"{name} {version}" for name, version in versions.items())


DATA = "the data"


@dataclass(frozen=True)
class Finding:
    """Something that is not as the model says; `rule` counts from 0 and is None for the model as a whole."""

    rule: int | None
    what: str
    stated: str
    found: str

    def __str__(self) -> str:
        where = "the model" if self.rule is None else f"rule {self.rule + 1}"
        return f"{where}: {self.what} is stated as {self.stated} but found to be {self.found}"


@dataclass(frozen=True, repr=False)
class Verification:
    """What replaying a model showed.

    Parameters
    ----------
    rules : int
        Rules replayed.
    certified : int
        Rules whose stored proof of the head was checked.
    searched : int
        Rules without a proof whose head was searched anew.
    findings : tuple of Finding
        Empty if everything is as the model says.
    measure : str
        What came of the proof about the measure, if one is stored; empty if none is.
    unchecked : tuple of str
        What could not be checked, and why. What decides a prediction is either checked or named here.
    """

    rules: int
    certified: int
    searched: int
    findings: tuple[Finding, ...]
    measure: str = ""
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything that was checked is as the model says; `unchecked` tells what was not."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; rules are counted from 1."""
        return {
            "ok": self.ok,
            "rules": self.rules,
            "certified": self.certified,
            "searched": self.searched,
            **({"measure": self.measure} if self.measure else {}),
            "findings": [
                {
                    "rule": None if finding.rule is None else finding.rule + 1,
                    "what": finding.what,
                    "stated": finding.stated,
                    "found": finding.found,
                }
                for finding in self.findings
            ],
            "unchecked": list(self.unchecked),
        }

    @property
    def other_data(self) -> bool:
        """Whether nothing was replayed, because the data is not what the model was learned from."""
        return any(finding.what == DATA for finding in self.findings)

    def __repr__(self) -> str:
        return str(self)  # what a notebook or a console shows

    def __str__(self) -> str:
        if self.other_data:
            told = self.findings[0]
            return (
                "this is not the data that the model was learned from, so nothing in it can be checked: "
                f"the model was learned from {told.stated}, this is {told.found}"
            )
        checks = f"{self.rules} rules replayed, {self.certified} proofs checked, {self.searched} heads searched anew"
        checks += f", {self.measure}" if self.measure else ""
        if not self.ok:
            wrong = f"{checks}: {len(self.findings)} thing(s) are not as the model says"
            return "\n".join([wrong, *map(str, self.findings)])
        if self.unchecked:
            return f"{not_checked(self.unchecked)}\n{checks}: what was checked is as the model says"
        return f"{checks}, learned anew: everything is as the model says"


def not_checked(what: tuple[str, ...]) -> str:
    """Say in one line what a check left out."""
    return f"NOT CHECKED: {'; '.join(what)}"
