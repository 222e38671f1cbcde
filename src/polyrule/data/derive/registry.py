"""All derivations, by which stored features are read."""

from __future__ import annotations

from polyrule.data.derive.base import Derivation
from polyrule.data.derive.dates import DatePart
from polyrule.data.derive.hours import HourOfDay
from polyrule.data.derive.members import Member
from polyrule.data.derive.quantities import Quantity
from polyrule.data.derive.spans import DaysBetween, YearsBetween
from polyrule.data.derive.words import Cell, Word
from polyrule.data.table import Feature

DERIVATIONS: tuple[type[Derivation], ...] = (
    DatePart,
    HourOfDay,
    DaysBetween,
    YearsBetween,
    Cell,
    Word,
    Member,
    Quantity,
)
"""Each has a different `KEY`."""


def derivation_of(feature: Feature) -> Derivation | None:
    """Return the derivation of a feature from its source; of a date, the derivation of no part.

    >>> derivation_of(Feature("on", "date"))
    DatePart(column='on', part='', form='')
    """
    return DatePart(feature.name, form=feature.form) if feature.kind == "date" else feature.derived
