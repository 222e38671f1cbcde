"""What every kind of model can be asked for, written once: its rules, edits of them, files, code, a report, a picture.

Reports and pictures are made by later stages, which are imported on request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np

from polyrule.conditions import Body, FeatureCondition, n_conditions
from polyrule.conditions.groups import joined_bodies, with_member, with_name, without_member
from polyrule.data.dataset import Dataset
from polyrule.data.encode import read_target, tag_cells, to_table
from polyrule.data.frames import column_names, is_frame, open_frame
from polyrule.data.labels import arrange_labels
from polyrule.data.preparation import is_prepared
from polyrule.data.results import frame_of_rows
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError, OptionError
from polyrule.model import files, printing
from polyrule.model.columns import drop_unused_features, match_columns, used_features
from polyrule.model.counterfactual import Counterfactual, CounterfactualSearch, counterfactual
from polyrule.model.model_printing import format_model, html_model
from polyrule.model.parsing import as_member
from polyrule.relations import Plan, Relation
from polyrule.relations import read as read_relations
from polyrule.utils import late
from polyrule.utils.arrays import Bytes, Floats

AnyRule = TypeVar("AnyRule")


@dataclass(frozen=True, eq=False)
class RuleModel(Generic[AnyRule]):
    """A frozen model made of rules: every edit gives a new one and leaves the old as it was.

    Rules are counted from 0, negative numbers from the end; conditions and rules are given as such or as text.
    Copies and pickles leave out what follows from the model and is only kept.
    """

    KIND: ClassVar[str]
    RULE: ClassVar[type]
    ALIKE: ClassVar[str]
    SEARCH: ClassVar[type[CounterfactualSearch]]

    rules: tuple[AnyRule, ...]
    features: tuple[Feature, ...]
    label_names: tuple[str, ...]

    @property
    def stated_relations(self) -> tuple[Relation, ...]:
        """Relations between labels that hold for every prediction."""
        return getattr(self, "relations", ())

    @cached_property
    def plan(self) -> Plan | None:
        """Plan by which related labels are decided together; None without relations."""
        return Plan.of(self.stated_relations, self.label_names) if self.stated_relations else None

    @cached_property
    def narrowed(self) -> Any:
        """The model with the features that no rule tests left out."""
        return drop_unused_features(self)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[AnyRule]:
        return iter(self.rules)

    def __repr__(self) -> str:
        size = f"{len(self.rules)} rules, {len(self.features)} features, {len(self.label_names)} labels"
        return f"{type(self).__name__}({size})"

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        return html_model(self)

    def format(self, *, numbers: bool = True, counts: bool = True, digits: int | None = None) -> str:
        """Return the model as text, one rule per line; see `polyrule.model.model_printing.format_model`.

        With `digits`, weights have at most this number of significant digits, and thresholds have more only if
        fewer would cover other training examples.
        """
        return format_model(self, numbers=numbers, counts=counts, digits=digits)

    def format_rule(self, index: int, *, counts: bool = True, digits: int | None = None) -> str:
        """Return one rule as text."""
        rule: Any = self.rules[index]
        return printing.Formatter(self, digits).rule(rule, counts=counts)

    def constants(self) -> tuple[int, ...]:
        """Return the positions of the rules that are printed in one line, because they hold for all examples."""
        return ()

    def shortfall(self) -> str:
        """Return a note if the model is hardly better than constant labels; empty otherwise or if unknown."""
        return ""

    def _notes(self, digits: int | None = None) -> list[str]:
        """Return printed lines about decisions besides the rules."""
        raise NotImplementedError

    def with_relations(self, relations: Any) -> Self:
        """Return the model with these relations between labels, which then hold for every input.

        They replace those that it has. Guarantees end, because they are about labels that are decided one by one.

        Parameters
        ----------
        relations : str, list, mapping, array, path or None
            See `polyrule.relations.read`; None for no relations.

        Examples
        --------
        >>> from polyrule.model import RuleList
        >>> model = RuleList((), (Feature("size"),), ("benign", "malignant"))
        >>> model = model.insert(0, "benign <- size <= 3").insert(1, "malignant <- size > 2")
        >>> model.with_relations("benign, malignant: at most one").predict([[1.0], [2.5], [4.0]]).tolist()
        [[1, 0], [1, 0], [0, 1]]
        """
        info = {key: value for key, value in getattr(self, "info", {}).items() if key != "guarantees"}
        changes: dict[str, Any] = {"relations": read_relations(relations, self.label_names), "info": info}
        return replace(self, **changes)

    def _check_relations(self) -> None:
        """Refuse relations that contradict each other."""
        try:
            _ = self.plan
        except OptionError as error:
            raise ModelError(str(error)) from error

    def remove(self, index: int) -> Self:
        """Return the model without the rule at `index`; `refit` gives the other rules of an ensemble new weights."""
        return self.replaced(index)

    def move(self, index: int, to: int) -> Self:
        """Return the model with the rule at `index` standing at `to`; in an ensemble the sums stay the same."""
        rules = list(self.rules)
        rules.insert(self.position(to), rules.pop(self.position(index)))
        return self._edited(rules)

    def insert(self, index: int, rule: AnyRule | str) -> Self:
        """Return the model with a rule put before the one at `index`; an index equal to the length appends.

        Examples
        --------
        >>> from polyrule.model import RuleList
        >>> model = RuleList((), (Feature("tempo"),), ("calm",))
        >>> print(model.insert(0, "calm <- tempo <= 90").format_rule(0, counts=False))
        calm <- tempo <= 90
        """
        if not -len(self) <= index <= len(self):
            raise ModelError(f"there is no place {index} in {self._noun} of {len(self)} rules")
        index = index if index >= 0 else len(self) + index
        return self._edited((*self.rules[:index], self._as_rule(rule, "hand"), *self.rules[index:]))

    def replace(self, index: int, rule: AnyRule | str) -> Self:
        """Return the model with another rule at `index`; one of a list, given as text, is then marked "edited"."""
        return self.replaced(self.position(index), self._as_rule(rule, "edited"))

    def join(self, *indices: int) -> Self:
        """Return the model with rules that differ in one condition joined to one with "any of", in the first's place.

        Rules of a list must have one head. Those of an ensemble must weigh the same labels with the same signs; the
        weights are those of the first, and are then added once where several of the rules fired.
        """
        places = sorted({self.position(index) for index in indices})
        if len(places) < 2:
            raise ModelError("joining takes at least two rules")
        rules: list[Any] = [self.rules[place] for place in places]
        if any(self._says(rule) != self._says(rules[0]) for rule in rules):
            raise ModelError(f"only rules {self.ALIKE} can be joined")
        edited = [rule for place, rule in enumerate(self.rules) if place not in places[1:]]
        edited[places[0]] = self._with_body(rules[0], joined_bodies([rule.body for rule in rules]))
        return self._edited(edited)

    def name_group(self, index: int, name: str) -> Self:
        """Return the model with a name for the group of alternatives in the rule at `index`; nothing else changes.

        Examples
        --------
        >>> from polyrule.model import RuleList
        >>> words = tuple(Feature(word, "nominal", ("0", "1")) for word in ("jam", "queue"))
        >>> model = RuleList((), words, ("traffic",)).insert(0, "traffic <- any of {jam, queue}")
        >>> print(model.name_group(0, "road words").format_rule(0, counts=False))
        traffic <- any of "road words" {jam, queue}
        """
        index = self.position(index)
        rules: list[Any] = list(self.rules)
        rules[index] = replace(rules[index], body=with_name(rules[index].body, name))
        return replace(self, rules=tuple(rules))

    def add_member(
        self, index: int, member: FeatureCondition | str, beside: FeatureCondition | str | None = None
    ) -> Self:
        """Return the model with one more alternative in the rule at `index`; its weights stay until a refit.

        A rule without a group gets one of two, of which the other is the condition `beside`, or its only one.
        """
        other = None if beside is None else as_member(self, beside)
        rule: Any = self.rules[self.position(index)]
        return self.replaced(index, self._with_body(rule, with_member(rule.body, as_member(self, member), other)))

    def remove_member(self, index: int, member: FeatureCondition | str) -> Self:
        """Return the model with one alternative less in the rule at `index`; its weights stay until a refit."""
        rule: Any = self.rules[self.position(index)]
        return self.replaced(index, self._with_body(rule, without_member(rule.body, as_member(self, member))))

    @property
    def _noun(self) -> str:
        """Noun for a model of this kind in messages."""
        return f"{'an' if self.KIND.endswith('ensemble') else 'a'} {self.KIND.removeprefix('rule-')}"

    def position(self, index: int) -> int:
        """Return the place, from 0, of a rule that may be counted from the end; refuse one that does not exist."""
        whole = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
        if not whole or not -len(self) <= index < len(self):
            raise ModelError(f"there is no rule {index!r} in {self._noun} of {len(self)} rules")
        return int(index) % len(self)

    def replaced(self, index: int, *rules: AnyRule) -> Self:
        """Return the model with some rules, or none, in the place of the one at `index`."""
        index = self.position(index)
        return self._edited((*self.rules[:index], *rules, *self.rules[index + 1 :]))

    def _edited(self, rules: Sequence[AnyRule]) -> Self:
        return replace(self, rules=tuple(rules))

    def _as_rule(self, rule: AnyRule | str, origin: Literal["edited", "hand"]) -> AnyRule:
        if isinstance(rule, str):
            return self._read(rule, origin)
        if not isinstance(rule, self.RULE):
            raise ModelError(f"a rule of {self._noun} is a {self.RULE.__name__}, or text, not a {type(rule).__name__}")
        return rule

    def _read(self, text: str, origin: Literal["edited", "hand"]) -> AnyRule:
        """Return the rule that a text says; `origin` is how it came into the model."""
        raise NotImplementedError

    def _with_body(self, rule: AnyRule, body: Body) -> AnyRule:
        """Return a rule with another body, without what was counted for the old one."""
        raise NotImplementedError

    def _says(self, rule: AnyRule) -> Any:
        """Return the part that joined rules must share, as `ALIKE` states."""
        raise NotImplementedError

    def labels_of(self, table: Table) -> Bytes:
        """Predict labels for a table of the model's own features."""
        raise NotImplementedError

    def chances_of(self, table: Table) -> Floats:
        """Predict probabilities for a table of the model's own features."""
        raise NotImplementedError

    def predict(self, X: Any) -> Bytes:
        """Labels of every example, shape (examples, labels); X is a table, frame, array or data set.

        A frame, table or data set may have its columns in any order; only those that some rule tests must be there, and
        others are skipped. An array needs all columns, in the order of `features`.
        """
        model, table = match_columns(self, X)
        return model.labels_of(table)  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of presence of every label, from the same X as `predict`."""
        model, table = match_columns(self, X)
        return model.chances_of(table)  # type: ignore[no-any-return]

    def by_group(self, data: Any, groups: Any, Y: Any = None) -> Any:
        """Evaluate the model in groups of examples; see `polyrule.evaluation.by_group`."""
        return late.call("by_group", self, data, groups, Y)

    def records(self, digits: int | None = None) -> list[dict[str, Any]]:
        """Return one plain dict per rule: what a frame, CSV or JSON shows; texts with `digits` as in `format`."""
        rules: Sequence[Any] = self.rules
        words = printing.Formatter(self, digits)
        return [
            {
                "rule": number,
                "head": words.head(rule),
                "body": words.conditions(rule),
                "labels": len(rule.head),
                "conditions": n_conditions(rule.body),
                **self._record(rule),
            }
            for number, rule in enumerate(rules, start=1)
        ]

    def _record(self, rule: AnyRule) -> dict[str, Any]:
        """Return the entries of a rule's record besides its head and body."""
        raise NotImplementedError

    @property
    def _fact_names(self) -> tuple[str, ...]:
        """Headings of what `_facts` returns."""
        raise NotImplementedError

    def _facts(self, rule: AnyRule) -> tuple[str, ...]:
        """Return the cells behind a rule in a notebook, as `_fact_names` names them."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return a data frame with one row per rule."""
        return frame_of_rows(self.records())

    def counterfactual(self, example: Any, label: int | str, row: int | None = None, **options: Any) -> Counterfactual:
        """Return the smallest change of one example that changes a prediction; see `polyrule.model.counterfactual`.

        `example` is one example (a mapping from feature name to value, a frame with one row, an array of values), or
        with `row` (counted from 0) a frame, table, array or data set that holds it.
        """
        return counterfactual(self, example, label, row, **options)

    smallest_flip = counterfactual

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file, whole or not at all; see `polyrule.model.files`."""
        files.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, check: bool = True) -> Self:
        """Read a model of this kind that `save` wrote; `check=False` accepts a file edited by hand on purpose."""
        return cls._of_kind(files.load(path, check=check), str(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values, as a model file holds it."""
        document: dict[str, Any] = json.loads(files.dumps(self))
        return document

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Return the model that `to_dict` described, equal to the bit."""
        return cls._of_kind(files.loads(json.dumps(document), source="document"), "document")

    @classmethod
    def _of_kind(cls, model: Any, source: str) -> Self:
        if not isinstance(model, cls):
            kind, noun = files.kind_of(model), cls.KIND.replace("-", " ")
            raise ModelError(f"{source}: holds a model of kind {kind!r}, not a {noun}; polyrule.load reads any kind")
        return model

    def export(self, language: str, **options: Any) -> str | bytes:
        """Return code that predicts as the model does, or for "onnx" the bytes of a file.

        Parameters
        ----------
        language : {"python", "sql", "javascript", "c", "onnx"}
        **options
            See `polyrule.export.export`.
        """
        code: str | bytes = late.call("export", self, language, **options)
        return code

    def report(self, data: Any = None, test: Any = None, title: str | None = None) -> Any:
        """Make an HTML report; it shows itself in a notebook, ``.save(path)`` writes a file.

        Parameters
        ----------
        data, test : Dataset or pair (X, Y), optional
            Training data, and examples the model has not seen. ``report(X, Y)`` does, too.
        title : str, optional
        """
        if not is_pair(data):
            data, test = (data, test), None
        return late.call("report", self, data=data, test=test, title=title)

    def watch(self, reference: Any, y: Any = None, **options: Any) -> Any:
        """Return a monitor that compares new rows with `reference`; see `polyrule.watch.Monitor`.

        Parameters
        ----------
        reference : Dataset, or features with labels in `y`
        y : array-like, optional
        **options
            ``false_alarm_rate=0.05, tolerance=0.02``.
        """
        return late.call("watch", self, reference, y, **options)

    def plot(self, ax: Any = None) -> Any:
        """Draw the predictions of rules by label and return the axes; see `polyrule.report.plots.plot_scorecard`."""
        return late.call("plot", self, ax)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in what the rules say, one number per feature; they add up to 1.

        A rule counts as much as it moved in training: in a list the labels it set, in an ensemble the examples it
        covers times its weights in log-odds. Features of one body share that alike. Rules without counts count nothing,
        unless none has any. What a model *loses* without a feature is another question: `importances` of
        `polyrule.evaluation` answers it.
        """
        moved = np.array([self._moved(rule) for rule in self.rules], dtype=np.float64)
        moved = moved if moved.any() else np.ones(len(moved))
        shares = np.zeros(len(self.features))
        for rule, amount in zip(self.rules, moved, strict=True):
            tested = used_features([rule])
            shares[tested] += amount / max(1, len(tested))
        return shares / total if (total := shares.sum()) else shares

    def _moved(self, rule: AnyRule) -> float:
        """Return the effect of a rule on training predictions."""
        raise NotImplementedError


def is_pair(data: Any) -> bool:
    """Return True if `data` contains its labels or is None."""
    return data is None or isinstance(data, Dataset) or (isinstance(data, (tuple, list)) and len(data) == 2)


def labelled(model: Any, data: Any, y: Any = None, name: str = "data", *, raw: bool = False) -> Dataset:
    """Return examples with their labels as the model has them: a data set as it is, or X and y brought together.

    Words, and columns of a frame that has all labels of the model, are found by their names; other columns are in the
    model's order. With `raw`, a frame is read as for learning, so that it has the columns that the model left out.
    """
    if isinstance(data, Dataset):
        return data
    if y is None:
        raise OptionError("this needs labels: give a Dataset, or X and y")
    label_names: tuple[str, ...] = model.label_names
    framed = is_frame(y) and set(label_names) <= set(column_names(open_frame(y)))
    target = read_target(y, None if framed or tag_cells(y) is not None else label_names)
    truth = target.truth
    if target.names != label_names:
        truth = arrange_labels(truth, target.names, label_names).check(name, "which is left out").Y
    prepared = raw and is_frame(data) and is_prepared(model.features)
    return Dataset(to_table(data) if prepared else to_table(data, model.features), truth, label_names, name=name)
