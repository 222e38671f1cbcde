"""What a model states about its input: the data, its features, the values beside thresholds, group names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import inf
from typing import Any

import numpy as np

from polyrule.conditions import group_of, thresholds
from polyrule.data.dataset import Dataset
from polyrule.data.examples import examples_of, fingerprint, is_of_examples
from polyrule.data.labels import dense_labels
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model.columns import used_features
from polyrule.model.counting import is_weighted
from polyrule.relations.data import broken
from polyrule.utils.arrays import Floats
from polyrule.verification.result import DATA, Finding


def check_data(model: Any, data: Dataset) -> Iterator[Finding]:
    """Compare the fingerprint and the number of examples; raise ModelError if the labels are others."""
    if tuple(data.label_names) != model.label_names:
        raise ModelError(f"{data.name}: its labels are not those of the model, in the same order")
    stored_print, examples = model.info.get("data_fingerprint"), model.info.get("examples")
    table, truth, weights, scale = examples_of(data)
    digest = fingerprint(table, truth, weights)
    if is_of_examples(stored_print) and stored_print != digest:
        yield Finding(None, DATA, _data_words(examples, stored_print), _data_words(len(table), digest))
    elif is_of_examples(stored_print) and examples not in (None, len(table)):
        yield Finding(None, "the number of examples", str(examples), str(len(table)))
    elif model.info.get("recounted", data.name) == data.name:
        is_stored_weighted, weighted = model.info.get("weighted", False), is_weighted(weights, scale)
        if is_stored_weighted is not weighted:
            yield Finding(None, "whether counts are sums of weights", str(is_stored_weighted), str(weighted))


def _data_words(examples: Any, digest: Any) -> str:
    return f"{'data' if examples is None else f'{examples} examples'} with the fingerprint {digest}"


def check_relations(model: Any, data: Dataset) -> tuple[list[Finding], list[str]]:
    """Compare the relations with the training data; return the findings, and what was not checked.

    A model with relations that contradict each other cannot be made, so they hold for every prediction.
    """
    names, stated = model.label_names, [one.text(model.label_names) for one in model.relations]
    learned = model.info.get("relations", [])
    if stated != learned:
        return [], ["the relations between labels, which are not those of learning"]
    truth = np.asarray(dense_labels(data.Y))
    found = [(one.text(names), *broken(one, truth)) for one in model.relations]
    wrong = [(text, count, total) for text, count, total in found if count]
    return [
        Finding(None, f"that the data obeys {text!r}", "True", f"False in {n} of {total} examples")
        for text, n, total in wrong
    ], []


def check_features(model: Any, table: Table, *, only_used: bool = False) -> Iterator[Finding]:
    """Compare names, kinds and categories with the columns of the data; with `only_used`, those that rules test.

    >>> from polyrule.model import RuleList
    >>> table = Table.from_array([[1.0]])
    >>> print(*check_features(RuleList((), (Feature("size"),), ("y",)), table))
    the model: feature 1 is stated as 'size' (numeric) but found to be 'x0' (numeric)
    """
    if only_used:
        columns = {feature.name: feature for feature in table.features}
        pairs = [(j, model.features[j], columns.get(model.features[j].name)) for j in used_features(model.rules)]
    else:
        numbered = range(max(len(model.features), len(table.features)))
        pairs = list(zip_longest(numbered, model.features, table.features))
    for number, feature, column in pairs:
        if feature != column:
            yield Finding(None, f"feature {number + 1}", _feature_words(feature), _feature_words(column))


def _feature_words(feature: Feature | None) -> str:
    if feature is None:
        return "missing"
    categories = f" with the categories {', '.join(feature.categories)}" if feature.categories else ""
    source = f", derived from {feature.column!r}" if feature.derived is not None else ""
    return f"{feature.name!r} ({feature.kind}{source}){categories}"


def check_thresholds(model: Any, table: Table) -> Iterator[Finding]:
    """Compare the stored neighbors of every threshold, and flags of 0 and 1, with the values of the data.

    Conditions of rules that were made by hand, and of models learned from stores, may have no neighbors.
    """
    columns = {feature.name: number for number, feature in enumerate(table.features)}
    values: dict[int, Floats] = {}

    def column(feature: int) -> Floats:
        if feature not in values:
            place = feature if model.features == table.features else columns[model.features[feature].name]
            whole = table.column(place)
            values[feature] = np.unique(whole[~np.isnan(whole)])
        return values[feature]

    marked = model.KIND == "rule-list"  # which of its rules were learned
    exact = is_of_examples(model.info.get("data_fingerprint")) and (marked or not model.info.get("edited"))
    for number, rule in enumerate(model.rules):
        learned = exact and getattr(rule, "origin", "learned") == "learned"
        for condition in thresholds(rule.body):
            if condition.between is None and not learned:
                continue
            feature = model.features[condition.feature]
            neighbors = None if feature.is_stepped else _neighbors(column(condition.feature), condition.threshold)
            if condition.between != neighbors:
                what = f"what lies beside the threshold of {feature.name!r}"
                yield Finding(number, what, str(condition.between), str(neighbors))
            if (
                learned
                and not feature.flag
                and neighbors == (0.0, 1.0)
                and set(column(condition.feature)) == {0.0, 1.0}
            ):
                yield Finding(None, f"that {feature.name!r} has the values 0 and 1 alone", "False", "True")
    for number, feature in enumerate(model.features):
        is_same_column = model.features == table.features or feature.name in columns
        if feature.flag and not (is_same_column and feature.kind == "numeric" and set(column(number)) == {0.0, 1.0}):
            yield Finding(None, f"that {feature.name!r} has the values 0 and 1 alone", "True", "False")


def _neighbors(values: Floats, threshold: float) -> tuple[float, float]:
    """Return the largest value up to a threshold and the smallest above it, infinite if there is none."""
    below, above = values[values <= threshold], values[values > threshold]
    return float(below.max(initial=-inf)), float(above.min(initial=inf))


def hand_made_names(model: Any) -> list[str]:
    """Return a line about the rules whose groups have a name, which no data can confirm."""
    groups = [group_of(rule.body) for rule in model.rules]
    named = [str(number) for number, group in enumerate(groups, start=1) if group is not None and group.name]
    return [f"the names of the groups in rule {', '.join(named)}, which a reader gave"] if named else []
