"""How the text of a rule that somebody types could go on."""

from __future__ import annotations

import re
from typing import Any

from polyrule.model.printing import format_category, format_name

# A group of alternatives that is not closed yet: its bracket, and what is in it by now.
_GROUP = re.compile(r'\b(?:any|at least \d+) of\s*(?:"[^"]*"\s*)?([({])([^)}]*|[^)]*)$')
_NAME = re.compile(r'(?:^|<-|,|\{|=|¬|!|~)\s*("?[^,<>={}¬"]*)$')


def complete(model: Any, text: str, most: int = 12) -> list[dict[str, str]]:
    """Return how the text of a rule could go on: names of labels before the arrow, of features and values behind it.

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
        inner = complete(model, f"<-{group[2]}", most)
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
    return [{"insert": shown, "kind": kind, "from": start} for _, shown, kind in fitting[:most]]


def _category_names(model: Any, before: str) -> list[tuple[str, str, str]]:
    """Categories of the feature whose comparison or set is being typed."""
    asked = re.split(r"<-|,(?![^{]*$)|,(?=[^{}]*(?:=|in\s*\{))", before.split("<-", 1)[1])[-1]
    name = re.sub(r"\s*(=|in\s*\{.*)$", "", asked.strip(), flags=re.DOTALL).strip().strip('"')
    for feature in model.features:
        if feature.name == name:
            return [(category, format_category(category), "category") for category in feature.categories]
    return []
