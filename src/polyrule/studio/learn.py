"""Recipes of models: from the sliders of the page to an estimator, and to Python code."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polyrule.conditions import is_valid, without_labels
from polyrule.data import Dataset
from polyrule.data.documents import JsonNode
from polyrule.data.table import Feature
from polyrule.errors import OptionError, PolyruleError
from polyrule.estimators.ensemble import RuleEnsembleClassifier
from polyrule.estimators.rule_list import RuleListClassifier
from polyrule.model.printing import Formatter
from polyrule.studio.jobs import Job
from polyrule.studio.setup import Setup
from polyrule.studio.workbench import Workbench

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
    "forbid": "without",
    "monotone": "directions",
}


@dataclass(frozen=True)
class Recipe:
    """Estimator with its options, and the rules that stay."""

    kind: str = "list"  # one of "list", "scorecard"
    options: dict[str, Any] = field(default_factory=dict)  # parameters of the estimator
    keep: tuple[int, ...] = ()  # rules of the current model that stay in front

    @classmethod
    def from_json(cls, value: Any, features: Sequence[Feature], setup: Setup, threads: int | None) -> Recipe:
        """Read what the page asks for, except for which rules stay.

        Parameters
        ----------
        value : dict
            Directions that it does not name are those of `setup`.
        features : sequence of Feature
            Those of the table.
        setup : Setup
        threads : int or None
        """
        node = JsonNode(value, "learn")
        numbers = ("max_rules", "max_conditions", "simplicity", "balance", "points", "min_precision")
        members = node.fields(("kind",), (*numbers, "forbid", "monotone"))
        kind = members["kind"].choice("list", "scorecard")
        options: dict[str, Any] = {}
        for name, limit in (("max_rules", 1000), ("max_conditions", 20)):
            if (number := members[name].maybe(lambda n, limit=limit: n.whole(1, limit))) is not None:  # type: ignore[misc]
                options[name] = number
        if kind == "list":
            if (price := members["simplicity"].maybe(lambda n: float(n.number(0)))) is not None and price != 1:
                options["simplicity"] = price
            if (balance := members["balance"].maybe(lambda n: n.choice(*BALANCES))) not in (None, "f1"):
                options["optimize"] = balance
            if min_precision := members["min_precision"].maybe(lambda n: float(n.number(0))):
                options["min_precision"] = min_precision
        else:
            options |= {"points": members["points"].maybe(lambda n: n.whole(1, 100)) or 5, "random_state": 0}
        limits = _limits(members, features, setup)
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
        """Return the recipe that a step holds, also one of an earlier release."""
        options = dict(step["options"])
        if "prune" in options:
            options["optimize"] = options.pop("prune")
        if "monotone" in options:
            options["constraints"] = {"monotone": options.pop("monotone")}
        return cls(step["kind"], options, tuple(step["keep"]))

    def parameters(self, features: Sequence[Feature]) -> dict[str, Any]:
        """Return the parameters of the estimator: features of columns that are left out, instead of these columns."""
        limits = dict(self.options.get("constraints", {}))
        if "forbid" not in limits:
            return self.options
        columns = set(limits["forbid"])
        limits["forbid"] = [f.name for f in features if {f.name, f.column, *f.sources} & columns]
        return self.options | {"constraints": limits}

    def code(self) -> list[str]:
        """Return the Python that learns the same model."""
        arguments = ", ".join(f"{name}={self._code_of(name, value)}" for name, value in self.options.items())
        name = _LEARNERS[self.kind].__name__
        if not self.keep:
            return [f"model = {name}({arguments}).fit(train).model_"]
        places = ", ".join(map(str, self.keep)) + ","
        unit = "" if self.kind == "list" else ", unit=1.0"  # points are given anew
        return [
            f"kept = replace(model, rules=tuple(model.rules[at] for at in ({places})){unit})",
            f"model = {name}({arguments}).fit(train, start=kept).model_",
        ]

    @staticmethod
    def _code_of(name: str, value: Any) -> str:
        """Return a parameter as Python; the features of columns that are left out are found in the script's data."""
        if name != "constraints" or "forbid" not in value:
            return repr(value)
        others = "".join(f", {key!r}: {one!r}" for key, one in value.items() if key != "forbid")
        columns = repr(set(value["forbid"]))
        return f'{{"forbid": [f.name for f in features if {{f.name, f.column, *f.sources}} & {columns}]{others}}}'

    def start(self, before: Any) -> Any:
        """Return the rules that stay, as a model to go on from; those of a scorecard get other points."""
        if not self.keep:
            return None
        unit = {} if self.kind == "list" else {"unit": 1.0}
        return replace(before, rules=tuple(before.rules[at] for at in self.keep), **unit)

    def words(self, model: Any) -> str:
        """Return a description of the model for the history."""
        staying = f", {len(self.keep)} rules kept" if len(self.keep) > 1 else ", one rule kept" if self.keep else ""
        what = "rule list" if self.kind == "list" else "scorecard"
        options = {**self.options, **self.options.get("constraints", {})}
        options.pop("constraints", None)
        named = {name: value for name, value in options.items() if name not in _UNSAID}
        listed = ", ".join(f"{_WORDS.get(name, name)} {value}" for name, value in named.items())
        return f"learned a {what} of {len(model)} rules{f' ({listed})' if listed else ''}{staying}"


def _limits(members: Mapping[str, JsonNode], features: Sequence[Feature], setup: Setup) -> dict[str, Any]:
    """Return the constraints of the estimator: columns that are left out, directions, identifiers that are kept."""
    columns = {name for feature in features for name in (feature.name, *feature.sources)}
    ways = members["monotone"].maybe(JsonNode.mapping)
    directions = setup.monotone if ways is None else {str(name): str(way) for name, way in ways.items()}
    directions = {name: way for name, way in directions.items() if name in columns and way in ("up", "down")}
    forbid = [one.text() for one in members["forbid"].maybe(JsonNode.items) or ()]
    if unknown := [name for name in forbid if name not in columns]:
        raise OptionError(f"there is no column {unknown[0]!r}")
    limits: dict[str, Any] = {}
    if forbid:
        limits["forbid"] = forbid
    if directions:
        limits["monotone"] = directions
    if setup.keep:
        limits["keep_columns"] = list(setup.keep)
    return limits


def learn(recipe: Recipe, bench: Workbench, before: Any, job: Job) -> tuple[Any, list[str]]:
    """Learn a model and return it with the library's warnings; the job gets events."""
    train = bench.train
    estimator = _LEARNERS[recipe.kind](**recipe.parameters(bench.features))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(bench.raw[0], start=recipe.start(before), callback=_Watch(job, train)).model_
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
        """True if a body tests features of the data, not those that the learner adds."""
        return is_valid(without_labels(body), self.train.features)
