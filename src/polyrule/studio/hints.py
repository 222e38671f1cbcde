"""Hints against a rule: a direction that it contradicts, or most of the training examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polyrule.conditions import NumericCondition
from polyrule.model.rule import Rule
from polyrule.report.counts import count
from polyrule.studio.sentences import condition_words
from polyrule.studio.workbench import Workbench
from polyrule.utils.arrays import Words

#: ratio of shares from which most evidence points the other way
MIN_RATIO = 1.25
#: examples on either side of a threshold
MIN_EXAMPLES = 10


def hints(bench: Workbench, rule: Any, directions: Mapping[str, str] | None = None) -> list[str]:
    """Return sentences on conditions with a threshold that contradict what is known.

    `directions` maps names of features to "up" or "down".
    """
    decides = isinstance(rule, Rule)
    return [
        hint
        for entry in rule.head
        for condition in rule.body
        if isinstance(condition, NumericCondition)
        for hint in _hints(
            bench, condition, entry.label, entry.value == 1 if decides else entry.weight > 0, directions or {}
        )
    ]


def _hints(
    bench: Workbench, condition: NumericCondition, label: int, positive: bool, directions: Mapping[str, str]
) -> Iterator[str]:
    feature, name = bench.features[condition.feature].name, bench.label_names[label]
    words = condition_words(bench, condition)
    if way := directions.get(feature):
        if ((condition.op == ">") == (way == "up")) != positive:
            side = "for" if positive else "against"
            more = "more" if way == "up" else "less"
            yield f"You said that {more} {feature} speaks for labels; here “{words}” speaks {side} {name}."
        return
    part = bench.parts[0].covers
    holds = part.condition(condition)
    inside, outside = _share(bench, label, holds), _share(bench, label, ~holds & part.all_rows)
    if inside is None or outside is None:
        return
    if (inside > outside) != positive and max(inside, outside) > MIN_RATIO * min(inside, outside):
        yield (
            f"{name} is present in {inside:.0%} of the training examples where {words}, and in {outside:.0%} of the "
            "others: most evidence points the other way, so this may be chance."
        )


def _share(bench: Workbench, label: int, rows: Words) -> float | None:
    """Return the share of training examples in which a label is present; None if it is known in too few."""
    part = bench.parts[0].covers
    n_known = count((part.present[label] | part.absent[label]) & rows)
    return count(part.present[label] & rows) / n_known if n_known >= MIN_EXAMPLES else None
