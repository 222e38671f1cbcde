"""Questions about the current model; none of them changes it.

Also completions of typed rules, and rules as the page puts them together: points by label,
and conditions as [kind, column, value].
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.conditions import (
    Condition,
)
from polyrule.conditions.page import read_condition
from polyrule.conditions.simplify import simplify_body
from polyrule.conditions.text import format_category, format_name
from polyrule.data.documents import JsonNode
from polyrule.data.table import packed_bits, unpacked_bits
from polyrule.errors import ModelError, OptionError
from polyrule.model.columns import used_features
from polyrule.model.rule import Entry
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.report.examples import chosen_examples
from polyrule.studio import ask, rule_changes
from polyrule.studio.comparing import compare
from polyrule.studio.new_rows import describe_new_rows
from polyrule.studio.sentences import condition_words, sentence
from polyrule.studio.steps import apply, read_step, text_of
from polyrule.studio.typed_rules import rule_counts, understand
from polyrule.studio.workbench import Workbench
from polyrule.utils.arrays import Words
from polyrule.utils.names import visible

if TYPE_CHECKING:
    from polyrule.studio.project import Project
    from polyrule.studio.session import Session


#: examples that a search returns
MAX_FOUND = 8


class Questions:
    """Questions that a page may ask."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def _project(self) -> Project:
        return self.session.project

    def _bench(self) -> Workbench:
        return self.session.examples()

    def intervals(self) -> dict[str, Any]:
        """Return confidence intervals of the held-out scores; other questions need not wait."""
        with self.session.lock:
            bench, model, at = self._bench(), self._project.model, self._project.at
            bench.tallies(model)
        return {"interval": bench.intervals(model), "at": at}

    def labels(self) -> dict[str, Any]:
        """Return the model with the graph and the confusions of its labels."""
        version = self._project.current
        return {"view": self._bench().view(version.model, version.notes, graph=True)}

    def trial(self, value: Any) -> dict[str, Any]:
        """Return the effect of a step, without taking it; an incomplete draft is no failure."""
        try:
            step = read_step(JsonNode(value, "trial").fields(("step",))["step"].value)
            return self._typed(step) if step["do"] in ("insert", "replace") else self._tried(step)
        except (ModelError, OptionError) as error:
            return {"problem": str(error)}

    def shape(self, value: Any) -> dict[str, Any]:
        """Return a rule put together on the page as a step with its text, and what the step would do."""
        members = JsonNode(value, "shape").fields(("body", "rule"), ("weights",))
        model = self._project.model
        index = members["rule"].whole(0, len(model.rules) - 1)
        try:
            rule = replace(model.rules[index], body=read_body(members["body"]))
            if isinstance(model, RuleEnsemble) and members["weights"].value is not None:
                rule = replace(rule, head=read_weights(members["weights"]))
            replace(model, rules=(rule,))  # a model checks what its rules name
            text = text_of(rule, model)
            said_so = {"text": text, "words": sentence(model, rule)}
            return self._tried({"do": "replace", "rule": index, "text": text}) | said_so
        except (ModelError, OptionError) as error:
            return {"problem": str(error)}

    def _typed(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return a typed rule as it was understood, with its counts."""
        model, bench = self._project.model, self._bench()
        reading = understand(step["text"], model, bench.train.X, step)
        step = {**step, "text": reading.text}
        after, index = apply(model, step), step["at"] if step["do"] == "insert" else step["rule"]
        counts = rule_counts(index, bench.tallies(after))
        texts = {"text": reading.text, "words": sentence(after, after.rules[index])}
        return self._tried(step) | texts | {"notes": reading.notes, "counts": counts}

    def _tried(self, step: dict[str, Any]) -> dict[str, Any]:
        before = self._project.model
        after = apply(before, step)
        answer = {"step": step, "effect": self._bench().effect(before, after)}
        if step["do"] != "join":
            return answer
        rule = after.rules[step["rules"][0]]
        return answer | {"text": text_of(rule, after), "words": sentence(after, rule)}

    def conditions(self, value: Any) -> dict[str, Any]:
        """Return conditions of a rule that could be dropped, and others that could be added."""
        rule = JsonNode(value, "conditions").fields(("rule",))["rule"].whole(0, 10**6)
        return rule_changes.conditions(self._bench(), self._project.model, rule)

    def feature(self, value: Any) -> dict[str, Any]:
        """Return a column by its name, for the form of a condition."""
        return {"feature": self._bench().feature(JsonNode(value, "feature").fields(("name",))["name"].text())}

    def label_text(self, value: Any) -> dict[str, Any]:
        """Return the name of a label as rules write it."""
        return {"text": format_name(JsonNode(value, "label").fields(("name",))["name"].text())}

    def complete(self, value: Any) -> dict[str, Any]:
        """Return completions of the text of a rule."""
        text = JsonNode(value, "complete").fields(("text",))["text"].text()
        return {"offers": complete(self._project.model, text[:5000])}

    def rows(self, value: Any) -> dict[str, Any]:
        """Return a few examples that a filter means."""
        members, at, words = self._selection(value, ("start",))
        start = members["start"].maybe(lambda n: n.whole(0, 10**9)) or 0
        return self._bench().rows(self._project.model, at, words, start)

    def find(self, value: Any) -> dict[str, Any]:
        """Return a few examples by name or number, or those for which conditions hold."""
        text = JsonNode(value, "find").fields(("text",))["text"].text().strip()[:500]
        bench, model = self._bench(), self._project.model
        by_part = bench.named_like(text)
        words = ""
        if not any(map(len, by_part)):
            try:
                body, words = self._conditions_of(text)
            except OptionError as problem:
                return {"problem": str(problem)}
            by_part = [np.flatnonzero(unpacked_bits(part.covers.body(body), len(part))) for part in bench.parts]
        total = sum(map(len, by_part))
        held_out = by_part[1][:MAX_FOUND]
        first_rows = [by_part[0][: MAX_FOUND - len(held_out)], held_out]
        examples = chosen_examples(bench.parts, first_rows, used_features(model.rules))
        return {"examples": examples, "words": f"{words}{total:,} example{'' if total == 1 else 's'}"}

    def _conditions_of(self, text: str) -> tuple[tuple[Condition, ...], str]:
        """Return the conditions that a person typed, and how they were understood."""
        bench, model = self._bench(), self._project.model
        head = format_name(model.label_names[0]) + (" +1" if isinstance(model, RuleEnsemble) else "")
        typed, step = f"{head} if {text}", {"do": "insert", "at": 0}
        try:
            after = apply(model, {**step, "text": understand(typed, model, bench.train.X, step).text})
        except (ModelError, OptionError) as problem:
            raise OptionError(f"No example has a name like “{visible(text)}”. As a condition: {problem}") from problem
        body = after.rules[0].body
        return body, " and ".join(condition_words(model, one) for one in body) + ": "

    def shared(self, value: Any) -> dict[str, Any]:
        """Return the rules that examples share."""
        _, at, words = self._selection(value)
        return {"rules": self._bench().shared_rules(self._project.model, at, words)}

    def suggest(self, value: Any) -> dict[str, Any]:
        """Return rules that would set the chosen training examples right."""
        members, at, words = self._selection(value)
        if at != 0:
            raise OptionError("rules are suggested for training examples only; held-out ones are never learned from")
        label = members["label"].maybe(lambda n: n.whole(0, 10**6))
        value_wanted = {"missed": 1, "extra": 0}.get(str(members["filter"].value))
        directions = self.session.limits()["monotone"]
        suggestions = ask.suggest(self._bench(), self._project.model, words, label, value_wanted, directions)
        return {"suggestions": suggestions}

    def _selection(self, value: Any, more: tuple[str, ...] = ()) -> tuple[dict[str, JsonNode], int, Words]:
        """Read which examples are meant: a filter, or the rows themselves."""
        members = JsonNode(value, "rows").fields(("part",), ("filter", "label", "rule", "rows", *more))
        bench = self._bench()
        at = members["part"].whole(0, len(bench.parts) - 1)
        if members["rows"].value is not None:
            mask = np.zeros(len(bench.parts[at]), dtype=bool)
            mask[[item.whole(0, len(mask) - 1) for item in members["rows"]]] = True
            return members, at, packed_bits(mask)
        label, rule = (members[name].maybe(lambda n: n.whole(0, 10**6)) for name in ("label", "rule"))
        kind = members["filter"].maybe(JsonNode.text) or "all"
        return members, at, bench.select(self._project.model, at, kind, label, rule)

    def new_rows(self, value: Any) -> dict[str, Any]:
        """Return predictions for the table of new examples, some rows at a time."""
        start = JsonNode(value, "new").fields((), ("start",))["start"].maybe(lambda n: n.whole(0, 10**9)) or 0
        new, model = self.session.new_rows, self._project.model
        if new is None:
            raise OptionError("there is no table to predict yet; drop one")
        return describe_new_rows(new, model, self._bench().tallies(model)[0], start)

    def compare(self, value: Any) -> dict[str, Any]:
        """Return two versions side by side."""
        members = JsonNode(value, "compare").fields(("first", "second"))
        versions = self._project.versions
        first, second = (versions[members[name].whole(0, len(versions) - 1)].model for name in ("first", "second"))
        return compare(self._bench(), first, second)


#: maximum number of completions that a page gets
MOST_OFFERED = 12
# A group of alternatives that is not closed yet: its bracket, and what is in it by now.
_GROUP = re.compile(r'\b(?:any|at least \d+) of\s*(?:"[^"]*"\s*)?([({])([^)}]*|[^)]*)$')
_NAME = re.compile(r'(?:^|<-|,|\{|=|¬|!|~)\s*("?[^,<>={}¬"]*)$')


def complete(model: Any, text: str) -> list[dict[str, str]]:
    """Return completions of the text of a rule: names of labels before the arrow, of features and values behind it.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> hue = Feature("hue", "nominal", ("red", "blue"))
    >>> from polyrule.model import RuleList
    >>> model = RuleList((), (hue, Feature("height")), ("sad", "happy"))
    >>> [one["insert"] for one in complete(model, "sad <- h")]
    ['hue', 'height']
    >>> [one["insert"] for one in complete(model, "sad <- hue = b")]
    ['blue']
    >>> [one["insert"] for one in complete(model, "sad <- any of (height > 3, hue = r")]
    ['red']
    """
    group = _GROUP.search(text) if "<-" in text else None
    if group is not None and group[1] == "(":
        inner = complete(model, f"<-{group[2]}")
        return [{**one, "from": str(int(one["from"]) + group.start(2) - 2)} for one in inner]
    match = _NAME.search(text)
    if match is None:
        return []
    begun, before = match[1].lstrip('"').lower(), text[: match.start(1)].rstrip()
    if "<-" not in before:
        names = [(name, format_name(name), "label") for name in model.label_names]
    elif group is None and (before.endswith(("=", "{")) or (re.search(r"\{[^}]*$", before) and before.endswith(","))):
        names = _category_names(model, before)
    else:
        names = [(feature.name, format_name(feature.name), feature.kind) for feature in model.features]
    fitting = [one for one in names if begun in one[0].lower()]
    fitting.sort(key=lambda one: not one[0].lower().startswith(begun))
    start = str(match.start(1))
    return [{"insert": shown, "kind": kind, "from": start} for _, shown, kind in fitting[:MOST_OFFERED]]


def _category_names(model: Any, before: str) -> list[tuple[str, str, str]]:
    """Categories of the feature whose comparison or set is being typed."""
    last_condition = re.split(r"<-|,(?![^{]*$)|,(?=[^{}]*(?:=|in\s*\{))", before.split("<-", 1)[1])[-1]
    name = re.sub(r"\s*(=|in\s*\{.*)$", "", last_condition.strip(), flags=re.DOTALL).strip().strip('"')
    for feature in model.features:
        if feature.name == name:
            return [(category, format_category(category), "category") for category in feature.categories]
    return []


_MOST = 10**9


def read_body(node: JsonNode) -> tuple[Condition, ...]:
    """Return the conditions that the page describes; names are checked by the model that they are put into."""
    return simplify_body(tuple(map(read_condition, node)))


def read_weights(node: JsonNode) -> tuple[Entry, ...]:
    """Return the labels of a weighted rule with the points that the page gives them; those with 0 are left out."""
    pairs = [_items(one, 2) for one in node]
    entries = (Entry(label.whole(0, _MOST), float(weight.number())) for label, weight in pairs)
    nonzero = tuple(sorted((entry for entry in entries if entry.weight), key=lambda entry: entry.label))
    if not nonzero:
        raise OptionError("at least one label needs points other than 0; or remove the rule")
    return nonzero


def _items(node: JsonNode, size: int) -> list[JsonNode]:
    items: list[Any] = node.items()
    if len(items) != size:
        node.fail(f"must hold {size} values")
    return items
