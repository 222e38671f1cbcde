"""Hour of day of a column of dates with times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyrule.data.dates import WRITTEN_FORMS
from polyrule.data.derive.base import Derivation
from polyrule.data.derive.dates import DatePart, check_sql_form, date_call
from polyrule.data.table import Feature
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import JsonNode


@dataclass(frozen=True, slots=True)
class HourOfDay(Derivation):
    """Hour of a date with a time of day, from 0 to 23; 0 if there is no time.

    Parameters
    ----------
    column : str
        Name of the column of dates.
    form : str
        How dates are written, if not as 2021-12-31; not part of what makes two derivations equal.

    Examples
    --------
    >>> HourOfDay("admitted").feature().name, HourOfDay("admitted").values(np.array([10.0, 10.75, np.nan])).tolist()
    ('admitted hour', [0.0, 18.0, nan])
    """

    form: str = field(default="", compare=False)

    KEY: ClassVar[str] = "hour"
    SOURCE: ClassVar[str] = "date"
    WHEN_READ: ClassVar[bool] = True
    HELPERS: ClassVar[Mapping[str, str]] = DatePart.HELPERS

    def feature(self) -> Feature:
        """Return the numeric feature ``column hour``."""
        return Feature(f"{self.column} hour", derived=self)

    def values(self, *sources: Any) -> Floats:
        """Return the hours of days with fractions."""
        seconds: Floats = np.round((sources[0] - np.floor(sources[0])) * 86_400)
        return np.floor(seconds / 3600)

    def to_json(self) -> str:
        """Return the form."""
        return self.form

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the hour of the date after which the feature is named."""
        form = node.choice("", *WRITTEN_FORMS)
        if not name.endswith(" hour"):
            node.fail(f"is for a feature whose name ends with ' hour', not {name!r}")
        return cls(name.removesuffix(" hour"), form)

    def code(self, language: str, *cells: str) -> str:
        """Return a call of the helper, or SQL that reads text such as 2021-03-05 14:30."""
        if language == "sql":
            check_sql_form(self.column, self.form)
            text = f"CAST({cells[0]} AS TEXT)"
            hour = f"CAST(CAST(SUBSTR({text}, 12, 2) AS INTEGER) AS DOUBLE PRECISION)"
            return f"CASE WHEN LENGTH({text}) > 12 THEN {hour} WHEN {text} IS NULL THEN NULL ELSE 0.0e0 END"
        return date_call(language, cells[0], "hour", self.form)
