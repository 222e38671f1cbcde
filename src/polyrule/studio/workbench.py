"""The table on which a model is worked: training and held-out examples, and what every version does there."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from polyrule.conditions.text import format_category, format_name
from polyrule.data import Dataset, to_table
from polyrule.data.identifiers import is_left_out
from polyrule.data.labels import has_unknown
from polyrule.data.preparation import prepare
from polyrule.data.table import Feature
from polyrule.errors import ModelError, OptionError
from polyrule.evaluation.resampling import ResampledScores
from polyrule.model.columns import over_features, used_features, without_unused_items
from polyrule.model.packed import check_table
from polyrule.model.rule_list import RuleList
from polyrule.report import model_summary, scoring
from polyrule.report.counts import PredictionCounts, count, count_predictions, first
from polyrule.report.examples import chosen_examples, feature_entry
from polyrule.report.inputs import DataPart
from polyrule.report.scoring import interval_entries
from polyrule.report.summary import MOST_UNTESTED
from polyrule.studio.steps import rule_at, rule_text_at
from polyrule.utils.arrays import Bytes, Floats, Ints, Words

#: versions whose counts are kept
MOST_TALLIES = 12
#: label decisions that resampling may count while a person waits
MOST_COUNTED = 40_000_000
#: examples that a page gets at once
MOST_ROWS = 25

FILTERS = ("all", "wrong", "missed", "extra", "present", "predicted", "rule", "rule-wrong", "undecided")


class Workbench:
    """Training and held-out examples of one project, with the features and labels of its models.

    Parameters
    ----------
    train, test : Dataset
        With the same features and labels.
    raw : pair of Dataset, optional
        Both parts as they were read, with texts and lists instead of their words and members.
    """

    def __init__(self, train: Dataset, test: Dataset, raw: tuple[Dataset, Dataset] | None = None) -> None:
        self.train, self.test = train, test
        self.raw = (train, test) if raw is None else raw
        self.parts = DataPart("train", "Training data", train), DataPart("test", "Held-out data", test, unseen=True)
        self._tallies: dict[int, tuple[Any, list[PredictionCounts]]] = {}
        self._histograms: dict[int, dict[str, Any]] = {}

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self.train.label_names

    @property
    def features(self) -> tuple[Feature, ...]:
        """Features of the models."""
        return self.train.features

    @classmethod
    def of_raw(cls, train: Dataset, test: Dataset, keep: Collection[str] = ()) -> Workbench:
        """Return a workbench with the features that learners make from the columns: words, members, days between dates.

        Identifiers are without values, except for those that `keep` names.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page shows dropped columns
            table = prepare(train.X, keep)
            held_out = to_table(test.X, table.features)
        return cls(replace(train, X=table), replace(test, X=held_out), (train, test))

    @classmethod
    def of_model(cls, train: Dataset, test: Dataset, model: Any) -> Workbench:
        """Return a workbench with the features of a model that was learned elsewhere."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = [replace(part, X=to_table(part.X, model.features)) for part in (train, test)]
        return cls(parts[0], parts[1], (train, test))

    def adopted(self, model: Any) -> Any:
        """Return a model over the features here, of which learners store only those that are used."""
        return over_features(model, self.train.features)

    @property
    def computes_items(self) -> bool:
        """True if words, members or days between dates are among the features."""
        narrowed = without_unused_items(RuleList((), self.train.features, self.label_names))
        return len(narrowed.features) < len(self.train.features)

    @cached_property
    def all_known(self) -> bool:
        """True if all training labels are known, so that a list can be recounted."""
        return not has_unknown(self.parts[0].truth)

    def check(self, model: Any) -> None:
        """Refuse a model that is about other features or labels."""
        check_table(model, self.train.X)
        if tuple(model.label_names) != self.train.label_names:
            raise ModelError("the labels of the model are not those of the data, in the same order")

    def tallies(self, model: Any) -> list[PredictionCounts]:
        """Return the counts of a model on each part; the last few are cached."""
        cached = self._tallies.pop(id(model), None)
        counts = cached[1] if cached is not None else [count_predictions(model, part.covers) for part in self.parts]
        self._tallies[id(model)] = (model, counts)
        if len(self._tallies) > MOST_TALLIES:
            del self._tallies[next(iter(self._tallies))]
        return counts

    def view(self, model: Any, notes: Any, graph: bool = False) -> dict[str, Any]:
        """Return a model with its counts as the page's modules read it; see `polyrule.report.summary`."""
        runs = self.tallies(model)
        used = used_features(model.rules)
        slots = {column: slot for slot, column in enumerate(used)}
        entry = model_summary.summarise(model, runs, slots, graph=graph)
        for index, rule in enumerate(entry["rules"]):
            text = rule_text_at(model, index)
            rule |= {"text": text, "note": dict(notes.get(text, {}))}
        entry |= {
            "name": "model",
            "info": {"options": model.info.get("options", {}) if isinstance(model.info.get("options"), dict) else {}},
            "parts": [
                {"scores": _rounded(run.scores)} | scoring.about_labels(part, run, confused=graph)
                for run, part in zip(runs, self.parts, strict=True)
            ],
            "warnings": [],
        }
        return {
            "labels": list(self.label_names),
            "features": [self._feature(column) for column in used],
            "feature_total": len(model.features),
            "untested": [f.name for j, f in enumerate(model.features) if j not in slots][:MOST_UNTESTED],
            "parts": [
                part.entry() | {"present": run.per_label["present"].tolist()}
                for run, part in zip(runs, self.parts, strict=True)
            ],
            "models": [entry],
            "examples": chosen_examples(self.parts, [np.zeros(0, np.int64)] * 2, used),
        }

    def _feature(self, column: int) -> dict[str, Any]:
        if column not in self._histograms:
            entry = feature_entry(self.train.features[column], column, self.train.X)
            digits = decimals(self.train.X.column(column)) if entry["kind"] == "numeric" else None
            self._histograms[column] = entry | ({} if digits is None else {"digits": digits})
        return self._histograms[column]

    def feature(self, name: str) -> dict[str, Any]:
        """Return a column for the form of a condition: its histogram, names as rules write them, a first threshold."""
        column = next((at for at, feature in enumerate(self.train.features) if feature.name == name), None)
        if column is None:
            raise OptionError(f"there is no column {name!r}")
        feature, values = self.train.features[column], self.train.X.column(column)
        observed = values[np.isfinite(values)]
        middle = float(np.median(observed)) if len(observed) else 0.0
        texts = {"texts": [format_category(one) for one in feature.categories]} if feature.has_categories else {}
        stepped = feature.is_stepped and feature.kind != "numeric"
        middle = min(np.floor(middle), max(0, len(feature.categories) - 2)) + 0.5 if feature.has_categories else middle
        middle = np.floor(middle) + 0.5 if stepped else middle
        return {**self._feature(column), "text": format_name(name), **texts, "middle": middle}

    def sources(self) -> list[dict[str, Any]]:
        """Return the columns of the table that rules can test, and if a direction can be given."""
        columns = dict.fromkeys(feature.column for feature in self.features if not is_left_out(feature))
        directed = {f.name for f in self.features if f.derived is None and f.kind in ("numeric", "ordinal")}
        return [{"name": name, "directed": name in directed} for name in columns]

    def effect(self, before: Any, after: Any) -> list[dict[str, Any]]:
        """Return per part what a change does: label decisions made right and spoilt, examples touched, scores."""
        effects = []
        for old, new in zip(self.tallies(before), self.tallies(after), strict=True):
            fixed, broken = old.wrong_cells & ~new.wrong_cells, ~old.wrong_cells & new.wrong_cells
            changed = np.bitwise_or.reduce(old.predicted ^ new.predicted, axis=0, initial=0)
            present, absent = new.covers_of.present, new.covers_of.absent
            more, less = new.predicted & ~old.predicted, old.predicted & ~new.predicted
            effects.append(
                {
                    "fixed": count(fixed.ravel()),
                    "broken": count(broken.ravel()),
                    "rows": count(changed),
                    "found": count((more & present).ravel()) - count((less & present).ravel()),
                    "alarms": count((more & absent).ravel()) - count((less & absent).ravel()),
                    "scores": _rounded(new.scores),
                    "before": _rounded(old.scores),
                }
            )
        return effects

    def select(self, model: Any, at: int, kind: str, label: int | None = None, rule: int | None = None) -> Words:
        """Return the examples of a part that a filter means."""
        run, part = self.tallies(model)[at], self.parts[at].covers
        if kind not in FILTERS:
            raise OptionError(f"rows: there is no filter {kind!r}; there are {', '.join(FILTERS)}")
        if label is not None and not 0 <= label < part.labels:
            raise OptionError(f"there is no label {label} among {part.labels}")
        if rule is not None:
            rule_at(model, rule)
        labels = range(part.labels) if label is None else [label]
        rows = {
            "wrong": run.wrong_cells,
            "missed": part.present & ~run.predicted,
            "extra": part.absent & run.predicted,
            "present": part.present,
            "predicted": run.predicted,
            "undecided": run.unset,
        }
        if kind in rows:
            return np.asarray(np.bitwise_or.reduce(rows[kind][list(labels)], axis=0, initial=0), dtype=np.uint64)
        if kind in ("rule", "rule-wrong"):
            if rule is None:
                raise OptionError("rows: say which rule")
            wrong = part.all_rows
            if kind == "rule-wrong":
                head = [literal.label for literal in model.rules[rule].head]
                wrong = np.bitwise_or.reduce(run.wrong_cells[head], axis=0)
            return np.asarray(run.fired[rule] & wrong)
        return part.all_rows

    def rows(self, model: Any, at: int, words: Words, start: int) -> dict[str, Any]:
        """Return a few of the chosen examples as the page's modules read them, and how many there are."""
        positions, total = first(words, len(self.parts[at]), start, MOST_ROWS)
        places = [np.array(positions if number == at else [], dtype=np.int64) for number in range(len(self.parts))]
        used = used_features(model.rules)
        return {"examples": chosen_examples(self.parts, places, used), "total": total, "start": start}

    def named_like(self, text: str) -> list[Ints]:
        """Return per part the examples whose name contains a text, in any case; one that is equal alone."""
        text_in_lower_case, by_part = text.lower(), []
        for part in self.parts:
            ids = part.data.row_ids or map(str, range(1, len(part) + 1))
            by_part.append({row: name for row, name in enumerate(map(str.lower, ids)) if text_in_lower_case in name})
        equal = [[row for row, name in rows.items() if name == text_in_lower_case] for rows in by_part]
        return [np.array(list(rows), dtype=np.int64) for rows in (equal if any(equal) else by_part)]

    def shared_rules(self, model: Any, at: int, words: Words) -> list[dict[str, Any]]:
        """Return the rules that fire on the chosen examples, those shared by most first."""
        total, shared = count(words), []
        for number, fired in enumerate(self.tallies(model)[at].fired):
            if hits := count(fired & words):
                shared.append({"rule": number, "rows": hits, "of": total, "elsewhere": count(fired & ~words)})
        return sorted(shared, key=lambda one: (-one["rows"], one["rule"]))

    def intervals(self, model: Any) -> dict[str, list[float]]:
        """Return 95 % intervals of the scores on the held-out part."""
        run = self.tallies(model)[1]
        return interval_entries(resampled(self.parts[1], [run.labels]), run.scores)


def decimals(values: Floats, max_decimals: int = 6) -> int | None:
    """Return with how many decimals all known values are written; None if with more than `most`.

    >>> decimals(np.array([68.0, 71.0, np.nan])), decimals(np.array([0.25, 1.5])), decimals(np.array([1 / 3]))
    (0, 2, None)
    """
    observed = values[np.isfinite(values)]
    fitting = (digits for digits in range(max_decimals + 1) if bool((np.round(observed, digits) == observed).all()))
    return next(fitting, None)


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in scores.items()}


def resampled(part: DataPart, predictions: Sequence[Bytes]) -> ResampledScores:
    """Score models on resamples of a part; of large parts few are enough, and a person waits."""
    return scoring.resample(part, predictions, MOST_COUNTED, min_times=40)
