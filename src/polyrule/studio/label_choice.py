"""Columns from which labels can be read, with counts, and the choice that is proposed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyrule.data import Dataset
from polyrule.data.derive.members import LISTED
from polyrule.data.labels import truth_of
from polyrule.data.table import Feature
from polyrule.data.tags import find_separator, likely_separator
from polyrule.errors import OptionError
from polyrule.studio.setup import Look
from polyrule.utils.arrays import Floats
from polyrule.utils.names import visible

#: labels of one model that the studio learns
MAX_LABELS = 1000
#: texts of one column that are searched for tags
MAX_TEXTS = 50_000
#: columns of which the page gets counts
MAX_COLUMNS = 5000
#: values of a column that the page shows
MAX_VALUES = 3
#: characters of a value that the page shows
MAX_SHOWN = 40
#: a column is proposed as tags if it has at most this many, of at most this many words on average
MAX_TAGS, MAX_WORDS = 100, 3.0
_MARKS = "|;,"


def label_choices(look: Look, looks: Mapping[str, str]) -> dict[str, Any]:
    """Return columns that can be labels, columns whose values can be labels, and the part proposed for each column.

    `looks` holds what each column looks like (see `looks_like`); "parts" maps names to "label", "tags", "identifier"
    or "drop".
    """
    data = look.data
    places = [j for j, feature in enumerate(data.features) if feature.derived is None][:MAX_COLUMNS]
    columns = [entry for j in places if (entry := binary_column(data.features[j], data.X.column(j))) is not None]
    values = [entry for j in places if (entry := value_column(data.features[j], data.X.column(j))) is not None]
    order = [data.features[j].name for j in places]
    return {
        "columns": columns,
        "values": values,
        "parts": _parts(order, looks, [one["name"] for one in columns], values, bool(look.named)),
    }


def binary_column(feature: Feature, values: Floats) -> dict[str, Any] | None:
    """Return counts of a column of 0 and 1, or of no and yes, as a label; None for any other column.

    >>> binary_column(Feature("ill", "nominal", ("no", "yes")), np.array([0.0, 1.0, 1.0, np.nan]))
    {'name': 'ill', 'shown': 'ill', 'present': 2, 'absent': 1, 'unknown': 1}
    """
    observed = values[~np.isnan(values)]
    if feature.has_categories:
        truth = [truth_of(category) for category in feature.categories]
        if None in truth or len(set(truth)) != len(truth):
            return None
        positive = np.isin(observed, [code for code, value in enumerate(truth) if value])
    elif feature.kind == "numeric" and len(observed) > 1 and bool(np.isin(observed, (0, 1)).all()):
        positive = observed == 1
    else:
        return None
    present = int(positive.sum())
    return {
        "name": feature.name,
        "shown": visible(feature.name),
        "present": present,
        "absent": len(observed) - present,
        "unknown": len(values) - len(observed),
    }


def value_column(feature: Feature, values: Floats) -> dict[str, Any] | None:
    """Return the labels that the values, or the tags, of a column would be; None for a column of numbers.

    >>> moods = Feature("moods", "nominal", ("a;b", "b", "a;b;c", "c"))
    >>> found = value_column(moods, np.array([0.0, 0, 1, 2, 3, np.nan]))
    >>> found["labels"], found["mark"], found["first"], found["unknown"]
    (3, ';', [['b', 4], ['a', 3], ['c', 2]], 1)
    """
    if not feature.has_categories or len(feature.categories) < 2:
        return None
    observed = values[~np.isnan(values)].astype(np.int64)
    counts = np.bincount(observed, minlength=len(feature.categories))
    texts = feature.categories[:MAX_TEXTS]
    mark = LISTED if feature.separator == LISTED else find_separator(texts)  # as the reader splits a column of tags
    mark = mark if any(mark in text for text in texts) else ""
    tags: Counter[str] = Counter()
    for text, count in zip(texts, counts.tolist(), strict=False):
        for tag in {part.strip() for part in text.split(mark)} - {""} if mark else {text}:
            tags[tag] += count
    words = sum(len(tag.split()) * count for tag, count in tags.items()) / max(1, tags.total())
    by_count = sorted(tags.items(), key=lambda one: (-one[1], one[0]))
    return {
        "name": feature.name,
        "shown": visible(feature.name),
        "labels": len(tags),
        "mark": "" if mark == LISTED else mark,
        "listed": mark == LISTED,
        "recurs": mark == LISTED or tag_separator(texts) == mark != "",
        "first": [[visible(tag)[:MAX_SHOWN], count] for tag, count in by_count[:MAX_VALUES]],
        "unknown": len(values) - len(observed),
        "per_row": round(tags.total() / max(1, len(observed)), 2),
        "words": round(words, 1),
    }


def tag_separator(texts: Sequence[str]) -> str:
    """Return the separator of tags in texts, empty if each text is one value: parts recur, and their number varies.

    >>> tag_separator(["a;b", "b", "a;b;c", "c"]), tag_separator(["Win; Firefox", "Mac; Firefox", "Mac; Opera"])
    (';', '')
    """
    mark = likely_separator(texts, _MARKS)
    return mark if mark is not None and len({text.count(mark) for text in texts}) > 1 else ""


def _parts(
    order: Sequence[str], looks: Mapping[str, str], columns: Sequence[str], values: Sequence[Any], named: bool
) -> dict[str, str]:
    """Return the part of each column that is not simply learned from.

    Labels are columns of 0 and 1 that are adjacent at one end of the table; else the tags of one column; else one
    answer of yes and no. Scattered columns of 0 and 1 are left to a person: a smoker is rarely what is predicted.
    """
    parts: dict[str, str] = {}
    for name, look in looks.items():
        if look == "identifier":
            parts[name] = "drop" if "identifier" in parts.values() else "identifier"
        elif look == "text":
            parts[name] = "drop"
    titles = [name for name, look in looks.items() if look == "title"]
    if titles and "identifier" not in parts.values():
        parts[titles[0]] = "identifier"
    if named:
        return parts
    free = [name for name in order if name not in parts]
    flags = [name for name in free if looks.get(name) == "label"]
    answers = [name for name in columns if looks.get(name) == "answer"]
    tags = [one for one in values if one["name"] not in parts and are_tags(one)]
    if flags and len(flags) < len(free) and flags in (free[: len(flags)], free[-len(flags) :]):
        return parts | dict.fromkeys(flags, "label")
    if tags:
        return parts | {max(tags, key=lambda one: one.get("per_row", np.inf))["name"]: "tags"}
    return parts | (dict.fromkeys(answers, "label") if len(answers) == 1 and not flags else {})


def are_tags(entry: Mapping[str, Any]) -> bool:
    """Return True if the values of a column are few short tags rather than sentences or names of people."""
    return bool(entry["recurs"]) and entry["labels"] <= MAX_TAGS and entry["words"] <= MAX_WORDS


def check_choice(look: Look | None, reading: Mapping[str, Any]) -> None:
    """Refuse labels that come from columns and from the values of another column at once."""
    tags, labels = reading.get("tags"), reading.get("labels") or []
    columns = set() if look is None else {feature.name for feature in look.data.features}
    if tags and (both := [name for name in labels if name in columns and name != tags]):
        raise OptionError(
            f"Labels come from columns ({', '.join(map(visible, both[:3]))}) or from the values of one column "
            f"({visible(tags)}), not from both. Choose one of the two."
        )
    for option in ("drop", "identifier", "weights", "tags"):
        named = reading.get(option) or ()
        if doubled := set(labels) & columns & ({named} if isinstance(named, str) else set(named)):
            raise OptionError(
                f"{visible(min(doubled))} is chosen as a label and as something else. Choose one of the two."
            )


def check_size(data: Dataset, reading: Mapping[str, Any]) -> None:
    """Refuse more labels than can be learned, as names of people and free texts would be."""
    if len(data.label_names) > MAX_LABELS:
        where = f" in {visible(reading['tags'])}" if reading.get("tags") else ""
        raise OptionError(
            f"There are {len(data.label_names):,} labels{where}, more than the {MAX_LABELS:,} that the studio learns. "
            "Choose a column with fewer values."
        )
