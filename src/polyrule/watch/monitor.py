"""Monitor of one model: counts of reference data and of every update since, with what they prove."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.data.dataset import Dataset
from polyrule.data.labels import dense_labels
from polyrule.errors import DataError, ModelError, OptionError, UnseenCategoryWarning
from polyrule.model import RuleList
from polyrule.model.columns import match_columns
from polyrule.model.rule_model import labelled
from polyrule.utils.arrays import Bytes, Floats, Ints
from polyrule.utils.atomic import atomic_write
from polyrule.watch.page import html_page
from polyrule.watch.proportions import FeatureBins, Proportion, bins_of, count, proportions_of, tested_features
from polyrule.watch.sequential import exact_interval, log_evidence, log_ratio
from polyrule.watch.summary import Change, Quality, WatchSummary, advice_for

FORMAT = "polyrule-watch"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Update:
    """Counts of one batch of new rows.

    Attributes
    ----------
    name : str
        Name that messages and charts use, such as a date.
    n_rows, n_known : int
        Rows of the batch, and labels of them that are known.
    hits, rows : ndarray of int
        Of every proportion.
    quality : Quality
    unseen : tuple of str
        Notes about categories that the model does not know.
    """

    name: str
    n_rows: int
    n_known: int
    hits: Ints
    rows: Ints
    quality: Quality
    unseen: tuple[str, ...] = ()


class Monitor:
    """Compares new rows with reference data, rule by rule, with a bound on false alarms.

    Make one with ``model.watch(reference)``.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    reference : Dataset
        Rows as the model should meet them, such as the data kept aside when it was evaluated. Training data is
        allowed; precisions on it are optimistic, so a rule may then be as bad as the model itself expects.
    false_alarm_rate : float, default=0.05
        Probability that anything is ever reported although nothing has changed, over all rules, features and labels
        and all updates together.
    tolerance : float, default=0.02
        Changes of a share by less than this are not reported, however many rows prove them.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule import Dataset, Feature, Table
    >>> from polyrule.model import RuleList
    >>> model = RuleList((), (Feature("age"),), ("ill",)).insert(0, "ill <- age > 60")
    >>> ages = np.arange(100.0)[:, None]
    >>> reference = Dataset(Table.from_array(ages, model.features), (ages > 60).astype(np.uint8), ("ill",))
    >>> monitor = model.watch(reference)
    >>> monitor.update(ages + 0.5)
    >>> monitor.summary().ok
    True
    >>> monitor.update(ages * 0 + 80)
    >>> print(monitor.summary().changes[0].text)
    rule 1 covers more rows: 39 % in the reference data, 100 % of 100 recent rows
    """

    def __init__(
        self, model: Any, reference: Dataset, *, false_alarm_rate: float = 0.05, tolerance: float = 0.02
    ) -> None:
        self._set_up(model, false_alarm_rate, tolerance)
        self._check_labels(reference)
        fitted, table = match_columns(model, reference)
        self._check_fitted(fitted)
        if not len(table):
            raise DataError("the reference data has no rows")
        self.bins = tuple(bins_of(table, feature) for feature in tested_features(self.model))
        self.hits, self.rows = count(self.model, self.bins, table, _truth(reference))
        self.n_rows = len(table)

    def _set_up(self, model: Any, false_alarm_rate: float, tolerance: float) -> None:
        for name, value in (("false_alarm_rate", false_alarm_rate), ("tolerance", tolerance)):
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 1:
                raise OptionError(f"{name} must be a number from 0 to below 1, got {value!r}")
        if not false_alarm_rate:
            raise OptionError("false_alarm_rate must be above 0: without false alarms there are no alarms")
        self.original = model
        self.model = model.narrowed
        self.false_alarm_rate, self.tolerance = float(false_alarm_rate), float(tolerance)
        self.history: list[Update] = []

    def _check_labels(self, data: Any) -> None:
        if isinstance(data, Dataset) and data.label_names and data.label_names != self.original.label_names:
            raise ModelError(f"{data.name or 'data'}: its labels are not those of the model, in the same order")

    def _check_fitted(self, fitted: Any) -> None:
        if fitted.features != self.model.features:
            self.model = fitted

    @property
    def proportions(self) -> tuple[Proportion, ...]:
        """Everything that is watched, in the order of all counts."""
        return proportions_of(self.model, self.bins)

    def update(self, X: Any, y: Any = None, *, name: str = "") -> None:
        """Count new rows.

        Parameters
        ----------
        X : Dataset, frame, Table or array
            New rows. The labels of a Dataset are used.
        y : array-like, optional
            Their labels, once they are known; NaN where one is not. Give rows once, with or without labels.
        name : str, optional
            Name of the batch in messages and charts; "update 1", "update 2", … by default.
        """
        data = labelled(self.original, X, y) if y is not None else X
        self._check_labels(data)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnseenCategoryWarning)
            model, table = match_columns(self.model, data)
        unseen = tuple(str(one.message) for one in caught if issubclass(one.category, UnseenCategoryWarning))
        if not len(table):
            return
        truth = _truth(data) if isinstance(data, Dataset) and data.label_names else None
        hits, rows = count(model, self.bins, table, truth)
        quality = _quality(model, table, truth)
        known = 0 if truth is None else int((truth <= 1).sum())
        name = name or f"update {len(self.history) + 1}"
        self.history.append(Update(name, len(table), known, hits, rows, quality, unseen))

    def summary(self) -> WatchSummary:
        """Return what has changed, what to do about it, and how good the model is to be expected."""
        low, high = self._null()
        evidence = log_evidence(self._stacked("hits"), self._stacked("rows"), low, high)
        alarms = evidence >= self._bound if len(evidence) else np.zeros((0, len(low)), dtype=bool)
        found = np.flatnonzero(alarms.any(axis=0)).tolist()
        changes = [self._change(place, int(np.argmax(alarms[:, place])), low, high) for place in found]
        return WatchSummary(
            updates=tuple(update.name for update in self.history),
            n_rows=sum(update.n_rows for update in self.history),
            n_known=sum(update.n_known for update in self.history),
            changes=tuple(changes),
            advice=advice_for(self.model, changes),
            qualities=tuple(update.quality for update in self.history),
            unseen=tuple(dict.fromkeys(note for update in self.history for note in update.unseen)),
            false_alarm_rate=self.false_alarm_rate,
            rules=tuple(self.model.format_rule(number, counts=False) for number in range(len(self.model))),
        )

    def _null(self) -> tuple[Floats, Floats]:
        """Return the proportions that count as unchanged."""
        low, high = exact_interval(self.hits, self.rows, self.false_alarm_rate / (2 * max(1, len(self.hits))))
        for place, one in enumerate(self.proportions):
            if one.topic == "precision" and isinstance(self.model, RuleList):
                head = self.model.rules[one.rule or 0].head
                chance = next(item.chance for item in head if item.label == one.label)
                if chance is not None:  # what the model itself expects on new rows is no change
                    low[place], high[place] = min(low[place], chance), max(high[place], chance)
        return np.maximum(low - self.tolerance, 0), np.minimum(high + self.tolerance, 1)

    @property
    def _bound(self) -> float:
        """Evidence, as a logarithm, from which a change is reported."""
        return float(np.log(2 * max(1, len(self.hits)) / self.false_alarm_rate))

    def _stacked(self, name: str) -> Ints:
        rows = [getattr(update, name) for update in self.history]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(self.hits))

    def _change(self, place: int, update: int, low: Floats, high: Floats) -> Change:
        hits, rows = self._stacked("hits")[:, place], self._stacked("rows")[:, place]
        starts = [2**k - 1 for k in range(len(hits).bit_length())]
        after = [(int(hits[start:].sum()), int(rows[start:].sum())) for start in starts]
        ratios = [float(log_ratio(h, n, low[place], high[place])) for h, n in after]
        recent_hits, recent_rows = after[int(np.argmax(ratios))]
        return Change(
            self.proportions[place],
            reference=(int(self.hits[place]), int(self.rows[place])),
            recent=(recent_hits, recent_rows),
            since=self.history[update].name,
            subject=self._subject(self.proportions[place]),
        )

    def _subject(self, one: Proportion) -> str:
        names = self.model.label_names
        if one.topic == "coverage":
            return f"rule {_number(one.rule)}"
        if one.topic == "precision":
            return f"rule {_number(one.rule)}, {names[one.label or 0]}"
        if one.topic == "label":
            return f"label {names[one.label or 0]}"
        bins = next(item for item in self.bins if item.feature == one.feature)
        return f"{self.model.features[one.feature or 0].name} {bins.name(one.bin or 0, self.model.features)}"

    def page(self) -> str:
        """Return an HTML page with the summary and a chart over time for everything that changed."""
        return html_page(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state as JSON, whole or not at all; it holds counts and category names, no rows."""
        with atomic_write(path) as stream:
            stream.write(json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | PathLike[str], model: Any) -> Monitor:
        """Read the state that `save` wrote; `model` must be the one it was made for."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
        except ValueError as error:
            raise DataError(f"{path}: is not JSON, so it is no state of a monitor ({error})") from error
        return cls.from_dict(document, model, str(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": self.original.to_dict()["checksum"],
            "false_alarm_rate": self.false_alarm_rate,
            "tolerance": self.tolerance,
            "features": [self.model.features[one.feature].name for one in self.bins],
            "bins": [{"edges": one.edges.tolist(), "categories": list(one.categories)} for one in self.bins],
            "reference": {"rows": self.n_rows, "hits": self.hits.tolist(), "counts": self.rows.tolist()},
            "updates": [
                {
                    "name": one.name,
                    "rows": one.n_rows,
                    "known": one.n_known,
                    "hits": one.hits.tolist(),
                    "counts": one.rows.tolist(),
                    "quality": one.quality.to_dict(),
                    "unseen": list(one.unseen),
                }
                for one in self.history
            ],
        }

    @classmethod
    def from_dict(cls, document: Any, model: Any, source: str = "document") -> Monitor:
        """Return the monitor that `to_dict` described."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise DataError(f"{source}: is no state of a monitor; polyrule watch --state writes one")
        if document.get("version") != VERSION:
            raise DataError(f"{source}: version {document.get('version')!r} of the format is not known here")
        if document.get("model") != model.to_dict()["checksum"]:
            raise ModelError(f"{source}: belongs to another model; start a new state with --reference")
        self = cls.__new__(cls)
        try:
            self._set_up(model, document["false_alarm_rate"], document["tolerance"])
            places = {feature.name: place for place, feature in enumerate(self.model.features)}
            self.bins = tuple(
                FeatureBins(places[name], np.array(one["edges"], dtype=np.float64), tuple(map(int, one["categories"])))
                for name, one in zip(document["features"], document["bins"], strict=True)
            )
            self.n_rows = int(document["reference"]["rows"])
            self.hits, self.rows = self._counts(document["reference"])
            for one in document["updates"]:
                quality = Quality(**{key: float(value) for key, value in one["quality"].items()})
                counted = self._counts(one)
                notes = tuple(map(str, one["unseen"]))
                self.history.append(
                    Update(str(one["name"]), int(one["rows"]), int(one["known"]), *counted, quality, notes)
                )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"{source}: the state is damaged ({type(error).__name__}: {error})") from error
        return self

    def _counts(self, document: Any) -> tuple[Ints, Ints]:
        hits, rows = (np.array(document[name], dtype=np.int64) for name in ("hits", "counts"))
        if not hits.shape == rows.shape == (len(self.proportions),) or (hits < 0).any() or (hits > rows).any():
            raise ValueError("counts that do not fit the model")
        return hits, rows


def _number(rule: int | None) -> int:
    return 1 + (rule or 0)


def _truth(data: Dataset) -> Bytes:
    return np.asarray(dense_labels(data.Y), dtype=np.uint8)


def _quality(model: Any, table: Any, truth: Bytes | None) -> Quality:
    probabilities, predicted = model.chances_of(table), model.labels_of(table) == 1
    expected = {
        "expected_tp": float(probabilities[predicted].sum()),
        "predicted": float(predicted.sum()),
        "expected_present": float(probabilities.sum()),
    }
    if truth is None:
        return Quality(**expected)
    known, present = truth <= 1, truth == 1
    judged = predicted & known
    right = float((judged & present).sum())
    return Quality(
        **expected,
        tp=right,
        fp=float((judged & ~present).sum()),
        fn=float((~predicted & present).sum()),
    )


def watch(model: Any, reference: Any, y: Any = None, *, false_alarm_rate: float = 0.05, tolerance: float = 0.02) -> Any:
    """Return a monitor of a model; see `Monitor`.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    reference : Dataset, or features with labels in `y`
    y : array-like, optional
    false_alarm_rate, tolerance : float
    """
    data = labelled(model, reference, y)
    return Monitor(model, data, false_alarm_rate=false_alarm_rate, tolerance=tolerance)
