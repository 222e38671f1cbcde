"""Questions about the model at hand; none of them changes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.ensemble.model import RuleEnsemble
from polyrule.errors import ModelError, OptionError
from polyrule.model.info import Node
from polyrule.studio import ask, rule_changes
from polyrule.studio.alone import alone
from polyrule.studio.bits import Words, pack
from polyrule.studio.comparing import compare
from polyrule.studio.complete import complete
from polyrule.studio.shapes import read_body, read_weights
from polyrule.studio.steps import apply, read_step, said, text_of
from polyrule.studio.workbench import Workbench

if TYPE_CHECKING:
    from polyrule.studio.project import Project
    from polyrule.studio.session import Session


class Questions:
    """What a person may ask a session.

    Parameters
    ----------
    session : Session
    """

    def __init__(self, session: Session) -> None:
        self.session, self.lock = session, session.lock

    @property
    def _project(self) -> Project:
        return self.session.project

    def _bench(self) -> Workbench:
        return self.session.examples()

    def intervals(self) -> dict[str, Any]:
        """Return how far the scores on the held-out part could be off; others need not wait for it."""
        with self.lock:
            bench, model, at = self._bench(), self._project.model, self._project.at
            bench.tallies(model)
        return {"interval": bench.intervals(model), "at": at}

    @alone
    def labels(self) -> dict[str, Any]:
        """Return the model with all that is told about labels: the graph and which stand in for which."""
        version = self._project.current
        return {"view": self._bench().view(version.model, version.notes, graph=True)}

    @alone
    def trial(self, value: Any) -> dict[str, Any]:
        """Return what a step would do, without doing it; a draft that makes no sense yet is no failure."""
        try:
            return self._tried(read_step(Node(value, "trial").fields(("step",))["step"].value))
        except (ModelError, OptionError) as error:
            return {"problem": str(error)}

    @alone
    def shape(self, value: Any) -> dict[str, Any]:
        """Return a rule put together on the page as a step with its text, and what the step would do."""
        members = Node(value, "shape").fields(("body", "rule"), ("weights",))
        model = self._project.model
        index = members["rule"].whole(0, len(model.rules) - 1)
        try:
            rule = replace(model.rules[index], body=read_body(members["body"]))
            if isinstance(model, RuleEnsemble) and members["weights"].value is not None:
                rule = replace(rule, head=read_weights(members["weights"]))
            replace(model, rules=(rule,))  # a model checks what its rules name
            text = text_of(rule, model)
            return self._tried({"do": "replace", "rule": index, "text": text}) | {"text": text}
        except (ModelError, OptionError) as error:
            return {"problem": str(error)}

    def _tried(self, step: dict[str, Any]) -> dict[str, Any]:
        before = self._project.model
        after = apply(before, step)
        found = {"step": step, "effect": self._bench().effect(before, after)}
        return found | {"text": said(after, step["rules"][0])} if step["do"] == "join" else found

    @alone
    def conditions(self, value: Any) -> dict[str, Any]:
        """Return which conditions of a rule could be dropped, and which added."""
        rule = Node(value, "conditions").fields(("rule",))["rule"].whole(0, 10**6)
        return rule_changes.conditions(self._bench(), self._project.model, rule)

    @alone
    def complete(self, value: Any) -> dict[str, Any]:
        """Return how the text of a rule could go on."""
        text = Node(value, "complete").fields(("text",))["text"].text()
        return {"offers": complete(self._project.model, text[:5000])}

    @alone
    def rows(self, value: Any) -> dict[str, Any]:
        """Return a few examples that a filter means."""
        members, at, words = self._selection(value, ("start",))
        start = members["start"].maybe(lambda n: n.whole(0, 10**9)) or 0
        return self._bench().rows(self._project.model, at, words, start)

    @alone
    def shared(self, value: Any) -> dict[str, Any]:
        """Return the rules that examples share."""
        _, at, words = self._selection(value)
        return {"rules": self._bench().shared_rules(self._project.model, at, words)}

    @alone
    def suggest(self, value: Any) -> dict[str, Any]:
        """Return rules that would set the chosen training examples right."""
        members, at, words = self._selection(value)
        if at != 0:
            raise OptionError("rules are suggested for training examples only; held-out ones are never learned from")
        label = members["label"].maybe(lambda n: n.whole(0, 10**6))
        value_wanted = {"missed": 1, "extra": 0}.get(str(members["filter"].value))
        return {"suggestions": ask.suggest(self._bench(), self._project.model, words, label, value_wanted)}

    def _selection(self, value: Any, more: tuple[str, ...] = ()) -> tuple[dict[str, Node], int, Words]:
        """Read which examples are meant: a filter, or the rows themselves."""
        members = Node(value, "rows").fields(("part",), ("filter", "label", "rule", "rows", *more))
        bench = self._bench()
        at = members["part"].whole(0, len(bench.parts) - 1)
        if members["rows"].value is not None:
            mask = np.zeros(len(bench.parts[at]), dtype=bool)
            mask[[item.whole(0, len(mask) - 1) for item in members["rows"]]] = True
            return members, at, pack(mask)
        label, rule = (members[name].maybe(lambda n: n.whole(0, 10**6)) for name in ("label", "rule"))
        kind = members["filter"].maybe(Node.text) or "all"
        return members, at, bench.select(self._project.model, at, kind, label, rule)

    @alone
    def compare(self, value: Any) -> dict[str, Any]:
        """Return two versions side by side."""
        members = Node(value, "compare").fields(("first", "second"))
        versions = self._project.versions
        first, second = (versions[members[name].whole(0, len(versions) - 1)].model for name in ("first", "second"))
        return compare(self._bench(), first, second)
