"""The history of a model: versions that never change, and a pointer that undo and redo move.

No version is ever lost. A change after an undo begins a branch beside what was undone; every version knows the one it
was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from polyrule.conditions import canonical_key
from polyrule.conditions.simplify import simplify_body
from polyrule.errors import OptionError
from polyrule.studio.steps import Step, apply, read_step, rule_text_at, words

Note = dict[str, Any]
#: members of a rule's note
NOTE = ("name", "comment", "pinned")


@dataclass(frozen=True, eq=False)
class Version:
    """A model, and how it came to be."""

    model: Any
    step: Step  # what was done, as plain JSON
    # what, why, by, when: the same in words, the reason a person gave, who it was, and the time (UTC, ISO 8601)
    what: str
    why: str = ""
    by: str = ""
    when: str = ""
    parent: int | None = None  # number of the version it was made from
    notes: Mapping[str, Note] = field(default_factory=dict)  # names, comments and pins of rules, by what the rule says
    scores: tuple[float, float] | None = None  # micro F1 on training and held-out examples


@dataclass(frozen=True, eq=False)
class Project:
    """Versions in the order in which they were made, and the one that is looked at.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import RuleList
    >>> project = Project().opened(RuleList((), (Feature("colours"),), ("red",)), "an empty list")
    >>> project = project.changed({"do": "insert", "at": 0, "text": "red <- colours > 5.5"}, why="most flags")
    >>> len(project.model), len(project.undone().model), len(project.undone().redone().model)
    (1, 0, 1)
    """

    versions: tuple[Version, ...] = ()
    at: int = -1
    last_words: tuple[Mapping[str, Any], ...] = ()  # scores on files that were not used before, as plain JSON

    @property
    def current(self) -> Version:
        """The version that is looked at."""
        if self.at < 0:
            raise OptionError("there is no model yet; learn one first")
        return self.versions[self.at]

    @property
    def model(self) -> Any:
        """The model that is looked at."""
        return self.current.model

    def opened(self, model: Any, what: str, by: str = "", step: Step | None = None) -> Project:
        """Return the project with a model that was learned or brought along."""
        parent = self.at if self.at >= 0 else None
        carried = _kept_notes(self.current, model) if self.at >= 0 else {}
        brought = model.info.get("notes")
        notes = carried | (_readable_notes(brought) if isinstance(brought, dict) else {})
        return self._with(Version(model, step or {"do": "open"}, what, "", by, _now(), parent, notes))

    def changed(self, step: Any, why: str = "", by: str = "") -> Project:
        """Return the project with one more step done."""
        step = read_step(step)
        before = self.current
        model = apply(before.model, step)
        notes = _moved_notes(before, model, step)
        return self._with(Version(model, step, words(before.model, step), why, by, _now(), self.at, notes))

    def undone(self) -> Project:
        """Return the project one step back; where it began it stays."""
        parent = self.current.parent
        return self if parent is None else replace(self, at=parent)

    def redone(self) -> Project:
        """Return the project one step on, to the latest change of the current version."""
        following = self.following
        return self if following is None else replace(self, at=following)

    @property
    def following(self) -> int | None:
        """Number of the version that redo leads to."""
        later = [number for number, version in enumerate(self.versions) if version.parent == self.at]
        return later[-1] if later and self.at >= 0 else None

    def gone_to(self, number: int) -> Project:
        """Return the project at another version."""
        if not 0 <= number < len(self.versions):
            raise OptionError(f"there is no version {number + 1} among {len(self.versions)}")
        return replace(self, at=number)

    def path(self) -> list[int]:
        """Return the versions that lead to the one that is looked at, in order."""
        numbers: list[int] = []
        place: int | None = self.at
        while place is not None and place >= 0:
            numbers.append(place)
            place = self.versions[place].parent
        return numbers[::-1]

    def scored(self, scores: tuple[float, float]) -> Project:
        """Return the project with the scores of the current version."""
        versions = list(self.versions)
        versions[self.at] = replace(self.current, scores=scores)
        return replace(self, versions=tuple(versions))

    def judged(self, last_word: Mapping[str, Any]) -> Project:
        """Return the project with scores on a file that was not used before."""
        return replace(self, last_words=(*self.last_words, last_word))

    def over(self, adopted: Callable[[Any], Any]) -> Project:
        """Return the project with each model as `adopted` returns it."""
        return replace(self, versions=tuple(replace(one, model=adopted(one.model)) for one in self.versions))

    def _with(self, version: Version) -> Project:
        return replace(self, versions=(*self.versions, version), at=len(self.versions))


def _moved_notes(before: Version, model: Any, step: Step) -> dict[str, Note]:
    """Return the notes after a step: a changed rule keeps its name and comment."""
    notes = dict(before.notes)
    if step["do"] in ("replace", "split", "reweigh"):
        old = rule_text_at(before.model, step["rule"])
        if old in notes and step["rule"] < len(model.rules):
            notes.setdefault(rule_text_at(model, step["rule"]), notes[old])
    if step["do"] == "join":
        olds = [notes[text] for index in step["rules"] if (text := rule_text_at(before.model, index)) in notes]
        if olds:
            notes.setdefault(rule_text_at(model, step["rules"][0]), olds[0])
    if step["do"] == "note":
        text = rule_text_at(model, step["rule"])
        note = notes.get(text, {}) | {key: step[key] for key in NOTE if key in step}
        notes[text] = {key: value for key, value in note.items() if value}
    there = {rule_text_at(model, index) for index in range(len(model.rules))}
    return {text: note for text, note in notes.items() if note and text in there}


def _kept_notes(before: Version, model: Any) -> dict[str, Note]:
    """Return the notes on rules that another model has as well; in a scorecard they may have other points there."""
    notes = {
        meaning(rule): before.notes.get(rule_text_at(before.model, at)) for at, rule in enumerate(before.model.rules)
    }
    by_text = {rule_text_at(model, at): notes.get(meaning(rule)) for at, rule in enumerate(model.rules)}
    return {text: dict(note) for text, note in by_text.items() if note}


def meaning(rule: Any) -> Any:
    """Return a key of a rule without points and names of groups, to find it in another model."""
    head = [(entry.label, getattr(entry, "value", None)) for entry in rule.head]
    return tuple(head), canonical_key(simplify_body(rule.body)), getattr(rule, "stop", False)


def _readable_notes(stored: dict[str, Any]) -> dict[str, Note]:
    """Notes that a model file brings along, as far as they are what this version writes."""
    notes: dict[str, Note] = {}
    for text, note in stored.items():
        if isinstance(note, dict):
            types = {"name": str, "comment": str, "pinned": bool}
            notes[text] = {key: note[key] for key, kind in types.items() if isinstance(note.get(key), kind)}
    return notes


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
