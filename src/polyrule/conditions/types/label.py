"""A label as earlier rules of a list have set it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polyrule.conditions.base import Condition
from polyrule.conditions.predicate import Column, OneOf
from polyrule.conditions.text import Words, format_name
from polyrule.data.table import Feature

if TYPE_CHECKING:
    from polyrule.conditions.vocabulary import Vocabulary
    from polyrule.data.documents import JsonNode


@dataclass(frozen=True, slots=True)
class LabelCondition(Condition):
    """``label = value``, read from what earlier rules of the list have set for this example, never from the truth.

    Parameters
    ----------
    label : int
        Number of the label.
    value : {0, 1}
        Absent or present.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule
    >>> Rule((Literal(0, 1),), (LabelCondition(2, 0),))
    <Rule y0 <- ¬y2   (TP 0, FP 0)>
    """

    label: int
    value: int

    def predicate(self) -> OneOf:
        """Return the test for the value of a label; a label that is not set has none."""
        return OneOf(Column(self.label, "label"), (self.value,))

    def is_valid(self, features: Sequence[Feature], n_labels: int = 0) -> bool:
        """Return True for a label of the list."""
        return 0 <= self.label < n_labels and self.value in (0, 1)

    def with_labels(self, labels: Sequence[int]) -> LabelCondition:
        """Return the condition on the label that has the number ``labels[label]``."""
        return LabelCondition(labels[self.label], self.value)

    def sketch(self) -> str:
        """Return text without names."""
        return f"{'' if self.value else '¬'}y{self.label}"

    def phrase(self, words: Words) -> str:
        """Return the label's name, with ``¬`` for absent."""
        return ("" if self.value else "¬") + format_name(words.names.label_names[self.label])

    def to_json(self, names: Vocabulary) -> dict[str, Any]:
        """Return the record."""
        return {"label": names.labels.write(self.label), "op": "=", "value": int(self.value)}

    @classmethod
    def from_json(cls, node: JsonNode, names: Vocabulary) -> LabelCondition:
        """Return the condition that a record describes."""
        members = node.fields(("label", "op", "value"))
        members["op"].choice("=")
        return cls(names.labels.read(members["label"]), members["value"].whole(0, 1))
