"""The interface of derivations: one class per way to compute features from columns that the user has.

A derivation describes one derived feature, such as the weekday of a date. It is the value of `Feature.derived`, is
stored in model files, and is the only object that reads the source column: conditions, bins, engines, stores and
measures see a feature of numbers or categories like any other. To add a way to derive features:

1. Write a subclass in a file of this folder, with the members that `Derivation` lists.
2. Add it to `DERIVATIONS` of `registry`, by which model files and headers of stores are read.
3. Create the features where data is read without a model: `columns.add_derived` does it for dates.

With a model, readers load the source columns that its features name (`columns.source_features`), each as a feature of
kind `SOURCE`, and `columns.derive` computes the features. `tests/data/derive/test_derivations.py` checks each class in
`DERIVATIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from polyrule.errors import ModelError
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import JsonNode
    from polyrule.data.table import Feature


@dataclass(frozen=True, slots=True)
class Derivation:
    """One feature that is computed from a column of the user.

    Subclasses define `KEY`, `SOURCE`, `feature`, `values`, `to_json`, `from_json` and `code`; the rest has defaults.

    Parameters
    ----------
    column : str
        Name of the source column: reports, importances and counterfactuals assign the feature to it.
    """

    column: str

    KEY: ClassVar[str]
    """Name of the derivation in model files; the member of a feature's record that holds `to_json`."""
    SOURCE: ClassVar[str]
    """Kind of feature as which the source is read, "date" or "numeric"; "text" if derived from cells as they are."""
    HELPERS: ClassVar[Mapping[str, str]] = {}
    """Functions that `code` calls, as source code by language; an export contains them once."""
    CHANGES_SOURCE: ClassVar[bool] = False
    """True if a counterfactual must change the source and all that is derived from it at once, as a date."""
    WHEN_READ: ClassVar[bool] = False
    """True if data has the feature as soon as it is read, as parts of dates; else it is computed in `fit`."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of all columns that are read, the owner first."""
        return (self.column,)

    def form_of(self, source: str) -> str:
        """Return the form of the dates of a source, if not as 2021-12-31."""
        return getattr(self, "form", "")

    def feature(self) -> Feature:
        """Return the derived feature: its name, kind and categories, with this derivation as `derived`."""
        raise NotImplementedError

    def values(self, *sources: Any) -> Floats:
        """Return the derived value of each row, NaN if it is missing, from the values of the source columns.

        A source is an array of numbers (a date is the number of days since 1970-01-01), or a list of texts and None.
        """
        raise NotImplementedError

    @classmethod
    def columns(cls, derivations: Sequence[Self], *sources: Any) -> list[Any]:
        """Return the columns of several derivations of the same sources; override it to read the sources once."""
        return [derivation.values(*sources) for derivation in derivations]

    def to_json(self) -> Any:
        """Return the entry that a model file stores under `KEY`, besides the name and kind of the feature."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the derivation of the feature `name` that `to_json` described; `node.fail` refuses other values."""
        raise NotImplementedError

    def code(self, language: str, *cells: str) -> str:
        """Return an expression of the derived value in "python", "javascript" or "sql", from those of the source cells.

        A category is a text, and a missing one None, null or NULL. C and ONNX take derived columns ready made.
        """
        raise ModelError(f"features derived from {self.column!r} cannot be exported to {language}")

    @property
    def item(self) -> str:
        """The word or member that a 0/1 feature stands for, so that rules print ``column has item``; else empty."""
        return ""

    def phrase_value(self, value: float) -> str | None:
        """Return the text of a value that is not missing, None if as that of any feature of its kind."""
        if self.item:
            return "has it" if value else "lacks it"
        return None

    def last_source(self, threshold: float) -> float | None:
        """Return the last value of the source whose derived value is at most `threshold`.

        None if the derived value does not ascend with the source. By it conditions on features of one source are
        compared, and counterfactuals find where a condition changes.
        """
        return None
