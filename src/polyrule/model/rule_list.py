"""A learned rule list: the rules in order, and everything needed to predict, print and audit them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
import numpy.typing as npt

from polyrule.data.results import frame_of_rows
from polyrule.data.table import Feature
from polyrule.errors import ModelError
from polyrule.model import editing, files, printing
from polyrule.model import predict as prediction
from polyrule.model.conditions import fits
from polyrule.model.explain import Explanation, explain
from polyrule.model.flips import Flip, smallest_flip
from polyrule.model.list_statistics import records, statistics
from polyrule.model.narrowing import Derived, fit_to, one_example
from polyrule.model.predict import ChanceTables, predict_proba
from polyrule.model.rule import FeatureCondition, LabelCondition, Rule
from polyrule.model.tools import ModelTools, labelled

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class RuleList(ModelTools, Derived):
    """Rules in order; the first rule to set a label wins.

    Parameters
    ----------
    rules : tuple of Rule
        In the order in which they are tried.
    features : tuple of Feature
        Name and kind of every column the rules may test.
    label_names : tuple of str
        One per label, in label order.
    defaults : tuple of int
        What a label is when nobody set it; all absent unless the learner found otherwise (binary relevance).
    default_counts : tuple of (present, absent)
        Per label, the training weight left unset at the end; the evidence behind a probability for an unset label.
    default_chances : tuple of float
        Per label, the probability that it is present when nobody set it, where the learner has a fairer estimate than
        these counts; empty otherwise.
    full : bool
        Full predictions: a rule that fires sets every label not yet set, those outside its head to absent.
    info : dict
        How the list was made: options, data fingerprint, version. Plain JSON values only.

    Examples
    --------
    >>> from polyrule import Feature, Rule
    >>> from polyrule.model import Literal, NumericCondition
    >>> slow = Rule((Literal(0, 1, 40, 2),), (NumericCondition(0, "<=", 90),))
    >>> model = RuleList((slow,), (Feature("tempo"),), ("calm",))
    >>> print(model)
    1. calm <- tempo <= 90   (TP 40, FP 2)
    (labels that no rule sets are absent)
    >>> model.predict([[64], [120]]).tolist()
    [[1], [0]]
    """

    KIND: ClassVar[str] = "rule-list"

    rules: tuple[Rule, ...]
    features: tuple[Feature, ...]
    label_names: tuple[str, ...]
    defaults: tuple[int, ...] = ()
    default_counts: tuple[tuple[float, float], ...] = ()
    full: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    default_chances: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        width = len(self.label_names)
        if not self.defaults:
            object.__setattr__(self, "defaults", (0,) * width)
        if not self.default_counts:
            object.__setattr__(self, "default_counts", ((0, 0),) * width)
        for name in ("defaults", "default_counts", "default_chances"):
            given = len(getattr(self, name))
            if given != width and (given or name != "default_chances"):
                raise ModelError(f"{name}: {given} entries for {width} labels")
        for number, rule in enumerate(self.rules, start=1):
            _check_indices(rule, number, self.features, width)

    @cached_property
    def flat(self) -> prediction.FlatRules:
        """The rules as the arrays that prediction runs on."""
        return prediction.FlatRules.of(self)

    @cached_property
    def chances(self) -> ChanceTables:
        """The probabilities behind its rules as arrays."""
        return ChanceTables.of(self)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> RuleList: ...

    def __getitem__(self, index: int | slice) -> Rule | RuleList:
        """Return one rule, or for a slice the list of these rules alone."""
        return replace(self, rules=self.rules[index]) if isinstance(index, slice) else self.rules[index]

    def __str__(self) -> str:
        return printing.format_list(self)

    def __repr__(self) -> str:
        return f"RuleList({len(self.rules)} rules, {len(self.features)} features, {len(self.label_names)} labels)"

    def _repr_html_(self) -> str:
        return printing.html_list(self)

    def format(self, *, numbers: bool = True, counts: bool = True, digits: int | None = None) -> str:
        """Return the list as text, one rule per line; see `polyrule.model.printing.format_list`."""
        return printing.format_list(self, numbers=numbers, counts=counts, digits=digits)

    def format_rule(self, index: int, *, counts: bool = True) -> str:
        """Return one rule as text."""
        return printing.format_rule(self.rules[index], self.features, self.label_names, counts=counts)

    def to_frame(self) -> Any:
        """Return a data frame with one row per rule."""
        return frame_of_rows(records(self))

    def statistics(self) -> dict[str, float]:
        """Count rules, conditions, heads and stops; see `polyrule.model.list_statistics.statistics`."""
        return statistics(self)

    def predict(self, X: Any) -> npt.NDArray[np.uint8]:
        """Labels of every example, shape (examples, labels); X is a table, frame, array or data set.

        A frame, table or data set may have its columns in any order; only those that some rule tests must be there, and
        others are skipped. An array needs all columns, in the order of `features`.
        """
        model, table = fit_to(self, X)
        return prediction.predict(model, table).labels

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of presence of every label; see `polyrule.model.predict.predict_proba`."""
        return predict_proba(*fit_to(self, X))

    def explain(self, example: Any, row: int | None = None, *, near: int = 1, digits: int | None = None) -> Explanation:
        """Say for one example which rule set which label and why; see `polyrule.model.explain.explain`.

        `example` is one example (a mapping from feature name to value, a frame with one row, an array of values), or
        with `row` (counted from 0) a frame, table, array or data set that holds it.
        """
        return explain(*one_example(self, example, row), near=near, digits=digits)

    def smallest_flip(self, example: Any, label: int | str, row: int | None = None, **options: Any) -> Flip:
        """Find the smallest change of one example that flips a label; see `polyrule.model.flips.smallest_flip`.

        `example` is one example (a mapping from feature name to value, a frame with one row, an array of values), or
        with `row` (counted from 0) a frame, table, array or data set that holds it.
        """
        return smallest_flip(self, example, label, row, **options)

    def verify(self, data: Any, y: Any = None, *, learn: bool = True) -> Any:
        """Replay the list on its training data and check every number in it; see `polyrule.learning.verify.verify`."""
        return import_module("polyrule.learning.verify").verify(self, labelled(self, data, y), learn=learn)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the list to a JSON model file, whole or not at all; see `polyrule.model.files`."""
        files.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, check: bool = True) -> RuleList:
        """Read a list that `save` wrote; `check=False` accepts a file edited by hand on purpose."""
        model = files.load(path, check=check)
        if not isinstance(model, cls):
            kind = files.kind_of(model)
            raise ModelError(f"{path}: holds a model of kind {kind!r}, not a rule list; polyrule.load reads any kind")
        return model

    def remove(self, index: int) -> RuleList:
        """Return the list without the rule at `index`."""
        return editing.remove(self, index)

    def move(self, index: int, to: int) -> RuleList:
        """Return the list with the rule at `index` standing at `to`."""
        return editing.move(self, index, to)

    def insert(self, index: int, rule: Rule | str) -> RuleList:
        """Return the list with another rule, or the text of one, before the one at `index`."""
        return editing.insert(self, index, rule)

    def replace(self, index: int, rule: Rule | str) -> RuleList:
        """Return the list with another rule, or the text of one, instead of the one at `index`."""
        return editing.replace(self, index, rule)

    def name_group(self, index: int, name: str) -> RuleList:
        """Return the list with a name for the group of alternatives in the rule at `index`."""
        return editing.name_group(self, index, name)

    def join(self, *indices: int) -> RuleList:
        """Return the list with rules of one head that differ in one condition joined to one with "any of"."""
        return editing.join(self, *indices)

    def split_group(self, index: int) -> RuleList:
        """Return the list with the rule at `index` told by rules without a group."""
        return editing.split_group(self, index)

    def add_member(
        self, index: int, member: FeatureCondition | str, beside: FeatureCondition | str | None = None
    ) -> RuleList:
        """Return the list with one more alternative in the rule at `index`, given as a condition or its text.

        A rule without a group gets one of two, of which the other is the condition `beside`, or its only one.
        """
        return editing.add_member(self, index, member, beside)

    def remove_member(self, index: int, member: FeatureCondition | str) -> RuleList:
        """Return the list with one alternative less in the rule at `index`."""
        return editing.remove_member(self, index, member)

    def recount(self, data: Dataset) -> RuleList:
        """Return the list with the counts it has on `data`; see `polyrule.model.editing.recount`."""
        return editing.recount(self, data)


def _check_indices(rule: Rule, number: int, features: tuple[Feature, ...], labels: int) -> None:
    for literal in rule.head:
        if not 0 <= literal.label < labels or literal.value not in (0, 1):
            raise ModelError(f"rule {number}: head literal {literal} names no label of this model")
    for condition in rule.body:
        if isinstance(condition, LabelCondition):
            known = 0 <= condition.label < labels and condition.value in (0, 1)
        else:
            known = fits(condition, features)
        if not known:
            raise ModelError(f"rule {number}: condition {condition} names no column or value of this model")
