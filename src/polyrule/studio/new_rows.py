"""Predictions for a table that the model has not seen: labels with reasons, scores if the table has labels."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyrule.data import Dataset
from polyrule.data.labels import UNKNOWN, dense_labels
from polyrule.data.reading import file_columns
from polyrule.data.table import unpacked_bits
from polyrule.errors import DataError
from polyrule.model.columns import used_features
from polyrule.model.printing import Formatter
from polyrule.model.rule_list import RuleList
from polyrule.report.counts import PredictionCounts, count_predictions
from polyrule.report.inputs import DataPart
from polyrule.report.scoring import interval_entries
from polyrule.studio.setup import Origin, Setup, aligned, load, numbered, shown_as
from polyrule.studio.workbench import resampled
from polyrule.utils.arrays import Ints
from polyrule.utils.names import safe_cell, visible

#: rows that the page gets at once
MAX_ROWS = 25
#: labels of a row whose reasons the page gets
MAX_LABELS = 12
_SCORES = ("micro_f1", "macro_f1", "hamming_accuracy", "subset_accuracy")


@dataclass(frozen=True, eq=False)
class NewRows:
    """A table to predict, with the features and labels of the current model."""

    file: str
    part: DataPart
    labelled: bool  # if the table has the labels, so that predictions can be scored
    notes: tuple[str, ...]


def read_new_rows(origin: Origin, setup: Setup, train: Dataset) -> NewRows:
    """Read a table of new examples; its labels are read if it has all of them, and need not be there."""
    with shown_as(origin):
        names = {
            column.name for column in file_columns(origin.path, **({"sheet": origin.sheet} if origin.sheet else {}))
        }
    reading = {name: _there(value, names) for name, value in setup.reading.items()}
    tags, labels = setup.reading.get("tags"), setup.reading.get("labels") or list(train.label_names)
    labelled = tags in names if tags else set(labels) <= names
    if labelled:
        reading["labels"] = list(train.label_names) if tags else labels
    else:
        reading |= {"labels": None, "tags": None}
        del reading["tags"]
    reading = {name: value for name, value in reading.items() if value or name == "labels"}
    reading.pop("weights", None)
    if reading.get("identifier") not in names:
        reading.pop("identifier", None)
    if "tags" not in reading:
        reading.pop("tag_separator", None)
    data = numbered(load(origin, Setup(reading), train.X.features))
    if not len(data):
        raise DataError(f"{origin.name}: has no rows")
    if labelled:
        data = aligned(data, train.label_names)
    else:
        unknown = np.full((len(data), len(train.label_names)), UNKNOWN, dtype=np.uint8)
        data = replace(data, Y=unknown, label_names=train.label_names)
    return NewRows(visible(origin.name), DataPart("new", "New data", data, unseen=True), labelled, _notes(data, train))


def _there(value: Any, names: set[str]) -> Any:
    """Return the part of an option that concerns columns of this file; new files lack labels and dropped columns."""
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if name in names}
    if isinstance(value, list):
        return [name for name in value if name in names]
    return value


def _notes(data: Dataset, train: Dataset) -> tuple[str, ...]:
    """Return sentences on columns with values outside of the training data."""
    notes = []
    for column, feature in enumerate(train.X.features):
        if feature.kind != "numeric" or feature.derived is not None:
            continue
        old, new = (part.X.column(column) for part in (train, data))
        old = old[~np.isnan(old)]
        outside = int(((new < old.min()) | (new > old.max())).sum()) if len(old) else 0
        if outside:
            rows = f"{outside:,} row{'s' if outside > 1 else ''}"
            notes.append(
                f"{visible(feature.name)}: {rows} outside of {old.min():g} to {old.max():g}, as it was learned from"
            )
    return tuple(notes)


def describe_new_rows(new: NewRows, model: Any, trained: PredictionCounts, start: int) -> dict[str, Any]:
    """Return predictions as the page shows them: how often each label, scores if there are labels, a few rows."""
    run = count_predictions(model, new.part.covers)
    rows, n_trained = len(new.part), max(1, trained.covers_of.rows)
    before = trained.labels.sum(axis=0)
    start = min(max(0, start), max(0, rows - 1))
    used = used_features(model.rules)
    missing = (
        int(np.isnan(np.column_stack([new.part.table.column(at) for at in used])).any(axis=1).sum()) if used else 0
    )
    reasons = Reasons(model, run)
    scores = {
        "scores": {name: run.scores[name] for name in _SCORES},
        "interval": interval_entries(resampled(new.part, [run.labels]), _SCORES),
    }
    return {
        "file": new.file,
        "examples": rows,
        "labelled": new.labelled,
        "notes": [*new.notes, *([f"{missing:,} rows lack a value that a rule asks for"] if missing else [])],
        "labels": [
            [int(count), round(int(count) / rows, 4), round(int(old) / n_trained, 4)]
            for count, old in zip(run.labels.sum(axis=0), before, strict=True)
        ],
        **(scores if new.labelled else {}),
        "start": start,
        "rows": [_row(new, run, reasons, row) for row in range(start, min(rows, start + MAX_ROWS))],
    }


def _row(new: NewRows, run: PredictionCounts, reasons: Reasons, row: int) -> dict[str, Any]:
    labels = np.flatnonzero(run.labels[row]).tolist()
    ids, truth = new.part.data.row_ids, new.part.truth[row]
    return {
        "name": str(row + 1) if ids is None else visible(ids[row]),
        "labels": [[label, visible(reasons.of(row, label))] for label in labels[:MAX_LABELS]],
        "more": max(0, len(labels) - MAX_LABELS),
        "wrong": [
            [label, int(truth[label])]
            for label in np.flatnonzero((truth != UNKNOWN) & (truth != run.labels[row])).tolist()
        ],
    }


class Reasons:
    """Reasons for labels: the rule of a list that set it, or the rules of an ensemble with their weights."""

    def __init__(self, model: Any, run: PredictionCounts) -> None:
        self.model, self.rows = model, run.covers_of.rows
        self._deciding: dict[int, Ints] = {}
        self._fired = [unpacked_bits(words, self.rows) for words in run.fired]
        words = Formatter(model)
        self._texts = [", ".join(map(words.condition, rule.body)) or "always" for rule in model.rules]

    def of(self, row: int, label: int) -> str:
        """Return the reason why a label is present for a row."""
        if isinstance(self.model, RuleList):
            rule = int(self._rules(label)[row])
            return "no rule; it is present by default" if rule < 0 else f"rule {rule + 1}: {self._texts[rule]}"
        parts = [
            f"rule {number + 1} ({entry.weight:+g}): {self._texts[number]}"
            for number, rule in enumerate(self.model.rules)
            for entry in rule.head
            if entry.label == label and self._fired[number][row]
        ]
        start = self.model.intercepts[label]
        return "; ".join([*([f"start ({start:+g})"] if start else []), *parts])

    def _rules(self, label: int) -> Ints:
        """Per row, the rule of a list that sets a label; -1 if none does."""
        if label not in self._deciding:
            deciding = np.full(self.rows, -1, dtype=np.int64)
            for number in range(len(self._fired) - 1, -1, -1):
                if label in self.model.heads[number]:
                    deciding[self._fired[number].astype(bool)] = number
            self._deciding[label] = deciding
        return self._deciding[label]


def predictions_table(new: NewRows, model: Any) -> str:
    """Return predictions as CSV: the labels of each row, why each is present, and the true labels if there are any."""
    run = count_predictions(model, new.part.covers)
    reasons, predicted = Reasons(model, run), run.labels
    truth, ids = dense_labels(new.part.data.Y), new.part.data.row_ids
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [safe_cell(name) for name in model.label_names]
    titles = [f"true {name}" for name in names] if new.labelled else []
    writer.writerow(["example", *names, *(f"why {name}" for name in names), *titles])
    for row in range(len(predicted)):
        row_id = str(row + 1) if ids is None else safe_cell(ids[row])
        why = [safe_cell(reasons.of(row, label)) if predicted[row, label] else "" for label in range(len(names))]
        true_values = ["" if value == UNKNOWN else int(value) for value in truth[row]] if new.labelled else []
        writer.writerow([row_id, *predicted[row].tolist(), *why, *true_values])
    return stream.getvalue()
