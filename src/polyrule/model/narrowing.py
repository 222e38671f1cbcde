"""A model over only the features that its rules test, so that data to predict needs no others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.frames import is_frame
from polyrule.data.table import Feature, Table
from polyrule.model.rule import Condition, GroupCondition, LabelCondition, plain_conditions


class Derived:
    """Base of frozen models, which may keep what follows from them; copies and pickles leave that out."""

    @cached_property
    def narrowed(self) -> Any:
        """The model with the features that no rule tests left out."""
        return narrow(self)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]


def used_features(rules: Iterable[Any]) -> list[int]:
    """Positions of the features that some rule tests, ascending; the rules may be of any kind of model."""
    return sorted(
        {c.feature for rule in rules for c in plain_conditions(rule.body) if not isinstance(c, LabelCondition)}
    )


def narrow(model: Any) -> Any:
    """Return a model of any kind with the features that no rule tests left out; it predicts and explains the same.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NumericCondition(1, ">", 5.5),))
    >>> print(narrow(RuleList((rule,), (Feature("area"), Feature("colours")), ("red",))).features)
    (Feature(name='colours', kind='numeric', categories=()),)
    """
    used = used_features(model.rules)
    if len(used) == len(model.features):
        return model
    place = {old: new for new, old in enumerate(used)}
    rules = tuple(replace(rule, body=tuple(_moved(c, place) for c in rule.body)) for rule in model.rules)
    return replace(model, rules=rules, features=tuple(model.features[j] for j in used))


def narrow_with_dates(model: Any, known: Collection[str] | None = None) -> Any:
    """Return the narrowed model, and the dates of which it tests parts, if they are among the `known` columns.

    Examples
    --------
    >>> from polyrule.data.dates import date_features
    >>> from polyrule.model import Literal, NominalCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NominalCondition(3, 6),))
    >>> [f.name for f in narrow_with_dates(RuleList((rule,), date_features("signup"), ("calm",))).features]
    ['signup weekday', 'signup']
    """
    narrowed = model.narrowed
    names = {feature.name for feature in narrowed.features}
    columns = dict.fromkeys(feature.column for feature in narrowed.features if feature.part)
    dates = [column for column in columns if column not in names and (known is None or column in known)]
    return replace(narrowed, features=(*narrowed.features, *(Feature(column, "date") for column in dates)))


def fit_to(model: Any, X: Any, *, dates: bool = False) -> tuple[Any, Table]:
    """Return X as a table, and the model over the columns of that table.

    Where columns have names, those that no rule tests may be missing and others may be there; the columns of an array
    are known by position only, so all of them are needed. With `dates`, the dates whose parts are tested are there,
    too, if X has them.
    """
    table = X.X if isinstance(X, Dataset) else X
    if isinstance(table, Table) and table.features == model.features:
        return model, table
    if not isinstance(table, Table) and not is_frame(table):
        return model, to_table(table, model.features)
    known = table.feature_names if isinstance(table, Table) else None
    narrowed = narrow_with_dates(model, known) if dates else model.narrowed
    return narrowed, to_table(table, narrowed.features, others="skip")


def _moved(condition: Condition, place: dict[int, int]) -> Condition:
    match condition:
        case LabelCondition():
            return condition
        case GroupCondition(members):
            return replace(
                condition, members=tuple(replace(member, feature=place[member.feature]) for member in members)
            )
    return replace(condition, feature=place[condition.feature])
