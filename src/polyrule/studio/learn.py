"""What the sliders of the page mean: an estimator, the Python that makes the same one, and how learning is watched."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polyrule.conditions import is_valid, without_labels
from polyrule.data import Dataset
from polyrule.data.documents import Node
from polyrule.errors import PolyruleError
from polyrule.estimators.ensemble import RuleEnsembleClassifier
from polyrule.estimators.rule_list import RuleListClassifier
from polyrule.model.printing import Formatter
from polyrule.studio.jobs import Job

#: what the slider between precision and recall offers, from one to the other
BALANCES = ("f0.25", "f0.5", "f1", "f2", "f4")
_LEARNERS: dict[str, Any] = {"list": RuleListClassifier, "scorecard": RuleEnsembleClassifier}

#: options that the history leaves out
_UNSAID = ("n_jobs", "random_state", "keep_columns")
#: options in the words of the page
_WORDS = {
    "max_rules": "most rules",
    "max_conditions": "most conditions",
    "points": "most points",
    "optimize": "selected for",
    "min_precision": "least precision",
}


@dataclass(frozen=True)
class Recipe:
    """How a model is learned."""

    kind: str = "list"  # one of "list", "scorecard"
    options: dict[str, Any] = field(default_factory=dict)  # parameters of the estimator
    keep: tuple[int, ...] = ()  # rules of the model at hand that stay in front

    @classmethod
    def from_json(
        cls, value: Any, monotone: dict[str, str], threads: int | None, keep_columns: Sequence[str] = ()
    ) -> Recipe:
        """Read what the page asks for; which rules are kept is told by their notes."""
        node = Node(value, "learn")
        members = node.fields(
            ("kind",), ("max_rules", "max_conditions", "simplicity", "balance", "points", "min_precision")
        )
        kind = members["kind"].choice("list", "scorecard")
        options: dict[str, Any] = {}
        for name, most in (("max_rules", 1000), ("max_conditions", 20)):
            if (number := members[name].maybe(lambda n, most=most: n.whole(1, most))) is not None:  # type: ignore[misc]
                options[name] = number
        if kind == "list":
            if (price := members["simplicity"].maybe(lambda n: float(n.number(0)))) is not None and price != 1:
                options["simplicity"] = price
            if (balance := members["balance"].maybe(lambda n: n.choice(*BALANCES))) not in (None, "f1"):
                options["optimize"] = balance
            if least := members["min_precision"].maybe(lambda n: float(n.number(0))):
                options["min_precision"] = least
        else:
            options |= {"points": members["points"].maybe(lambda n: n.whole(1, 100)) or 5, "random_state": 0}
        limits: dict[str, Any] = {"monotone": dict(monotone)} if monotone else {}
        if keep_columns:
            limits["keep_columns"] = list(keep_columns)
        if limits:
            options["constraints"] = limits
        if threads is not None:
            options["n_jobs"] = threads
        return cls(kind, options)

    def step(self) -> dict[str, Any]:
        """Return the step that a project keeps."""
        return {"do": "learn", "kind": self.kind, "options": self.options, "keep": list(self.keep)}

    @classmethod
    def of_step(cls, step: dict[str, Any]) -> Recipe:
        """Return the recipe that a step holds."""
        return cls(step["kind"], step["options"], tuple(step["keep"]))

    def code(self) -> list[str]:
        """Return the Python that learns the same model."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        name = _LEARNERS[self.kind].__name__
        if not self.keep:
            return [f"model = {name}({given}).fit(train).model_"]
        chosen = ", ".join(map(str, self.keep)) + ","
        unit = "" if self.kind == "list" else ", unit=1.0"  # points are given anew
        return [
            f"kept = replace(model, rules=tuple(model.rules[at] for at in ({chosen})){unit})",
            f"model = {name}({given}).fit(train, start=kept).model_",
        ]

    def start(self, before: Any) -> Any:
        """Return the rules that stay, as a model to go on from; those of a scorecard get other points."""
        if not self.keep:
            return None
        unit = {} if self.kind == "list" else {"unit": 1.0}
        return replace(before, rules=tuple(before.rules[at] for at in self.keep), **unit)

    def words(self, model: Any) -> str:
        """Say what was learned, for the history."""
        kept = f", {len(self.keep)} rules kept" if len(self.keep) > 1 else ", one rule kept" if self.keep else ""
        what = "rule list" if self.kind == "list" else "scorecard"
        options = {**self.options, **self.options.get("constraints", {})}
        options.pop("constraints", None)
        shown = {name: value for name, value in options.items() if name not in _UNSAID}
        given = ", ".join(f"{_WORDS.get(name, name)} {value}" for name, value in shown.items())
        return f"learned a {what} of {len(model)} rules{f' ({given})' if given else ''}{kept}"


def learn(recipe: Recipe, train: Dataset, before: Any, job: Job) -> tuple[Any, list[str]]:
    """Learn a model and return it with what the library warned of; the job is told how far it is."""
    estimator = _LEARNERS[recipe.kind](**recipe.options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(train, start=recipe.start(before), callback=_Watch(job, train)).model_
    ours = (str(one.message) for one in caught if one.category.__module__ == PolyruleError.__module__)
    return model, list(dict.fromkeys(ours))


class _Watch:
    """A callback of either estimator that passes on what a person would like to see."""

    within_rules = True

    def __init__(self, job: Job, train: Dataset) -> None:
        self.job, self.train = job, train

    def __call__(self, progress: Any) -> bool:
        rule = getattr(progress, "rule", None)
        event: dict[str, Any] = {"rules": progress.rules, "done": round(float(progress.done), 4)}
        if (phase := getattr(progress, "phase", None)) is not None:
            event["phase"] = phase
        if rule is not None and self._is_plain(rule.body):
            event["rule"] = Formatter(self.train).rule(rule)
        if getattr(progress, "bodies", 0):
            event["bodies"] = progress.bodies
        self.job.tell(**event)
        return self.job.stopping

    def _is_plain(self, body: Sequence[Any]) -> bool:
        """Whether a body tests columns of the data, not columns that the learner made for itself."""
        return is_valid(without_labels(body), self.train.features)
