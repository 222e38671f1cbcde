"""Names of features, labels and categories, as files refer to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from polyrule.data.columns import shorten
from polyrule.data.documents import JsonNode
from polyrule.data.table import Feature


class References:
    """Names as a file refers to them: by name, or by position if a name occurs twice."""

    def __init__(self, names: Sequence[str], what: str) -> None:
        self.names = names
        self.what = what
        self.position = {name: number for number, name in enumerate(names)}
        self.unique = len(self.position) == len(names)
        counts = Counter(names) if not self.unique else Counter[str]()
        self._twice = {name for name, count in counts.items() if count > 1}

    def write(self, index: int) -> str | int:
        """Return the name at `index`, or the index if the name would be ambiguous."""
        return self.names[index] if self.unique else int(index)

    def read(self, node: JsonNode) -> int:
        """Return the position that `node` refers to."""
        if isinstance(node.value, int):
            return node.whole(0, len(self.names) - 1)
        name = node.text()
        if name not in self.position:
            node.fail(f"names no {self.what} of this model: {shorten(name)}")
        if name in self._twice:
            node.fail(f"is ambiguous, {self.what} {shorten(name)} occurs twice; give its position")
        return self.position[name]


class Vocabulary:
    """Names of features, labels and the categories of each feature."""

    def __init__(self, features: tuple[Feature, ...], label_names: tuple[str, ...]) -> None:
        self.columns = features
        self.features = References([feature.name for feature in features], "feature")
        self.labels = References(label_names, "label")
        self._categories: dict[int, References] = {}

    def categories(self, feature: int) -> References:
        """Return the names of a nominal feature's values."""
        if feature not in self._categories:
            owner = self.columns[feature]
            self._categories[feature] = References(owner.categories, f"category of {owner.name!r}")
        return self._categories[feature]
