"""What a report is made of, brought to one form: named models that fit together, and the data they are shown on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from polyrule.data import Dataset, Feature, Table, to_table
from polyrule.data.columns import hold_unseen
from polyrule.data.examples import fingerprint
from polyrule.data.labels import LabelMatrix, arrange_labels, dense_labels
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.model.columns import names_in_rules
from polyrule.model.files import load
from polyrule.model.rule_model import labelled
from polyrule.report.counts import PartCovers
from polyrule.utils.arrays import Bytes


@dataclass(frozen=True, eq=False)
class DataPart:
    """Examples the models are shown on."""

    key: str  # one of "train", "test"
    title: str  # what the page calls them
    data: Dataset  # with the features and labels of the models
    unseen: bool = False  # whether no model was learned from these examples
    raw: Table | None = None  # the features as they were read, if the models left some of them out

    def __len__(self) -> int:
        return len(self.data)

    def entry(self) -> dict[str, Any]:
        """Return the description of these examples that every page carries."""
        entry = {"key": self.key, "title": self.title, "name": self.data.name}
        return entry | {"examples": len(self), "unseen": self.unseen}

    @property
    def table(self) -> Table:
        """The features."""
        return self.data.X

    @cached_property
    def truth(self) -> Bytes:
        """The labels, shape (examples, labels); 0, 1, or 2 where one is unknown."""
        return dense_labels(self.data.Y)

    @cached_property
    def covers(self) -> PartCovers:
        """The examples as bits, and which satisfy what."""
        return PartCovers(self.table, self.truth)

    @property
    def weighted(self) -> bool:
        """True if the data has weights; pages count examples, and then state this."""
        return self.data.weights is not None

    @cached_property
    def fingerprints(self) -> set[str]:
        """Fingerprints of these examples as learners record them: without weights, and with weights of one."""
        ones = np.ones(len(self), dtype=np.int64)
        table = self.table if self.raw is None else self.raw
        return {fingerprint(table, self.truth), fingerprint(table, self.truth, ones)}

    @property
    def answers(self) -> LabelMatrix:
        """The labels as a matrix in which scores skip unknown ones."""
        return LabelMatrix.of(self.truth, None)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Models with distinct names over the same features and labels, and the parts of the data."""

    names: tuple[str, ...]
    models: tuple[Any, ...]
    parts: tuple[DataPart, ...]

    @property
    def features(self) -> tuple[Feature, ...]:
        """Features of every model."""
        features: tuple[Feature, ...] = self.models[0].features
        return features

    @property
    def label_names(self) -> tuple[str, ...]:
        """Labels of every model."""
        names: tuple[str, ...] = self.models[0].label_names
        return names


def read_inputs(models: Any, data: Any = None, test: Any = None) -> Inputs:
    """Check and name the models and data of a report; see `polyrule.report.build`."""
    named = _named(models)
    first_name, first = named[0]
    for name, model in named[1:]:
        for what, names, first_names in (
            ("labels", model.label_names, first.label_names),
            ("features", model.features, first.features),
        ):
            if tuple(names) != tuple(first_names):
                raise ModelError(
                    f"models {first_name!r} and {name!r} have different {what}; a report is about one data set"
                )
    with hold_unseen() as warn_of:
        parts = _parts(named, data, test)
    warn_of(names_in_rules(*(model for _, model in named)))
    return Inputs(tuple(name for name, _ in named), tuple(model for _, model in named), tuple(parts))


def _parts(named: Sequence[tuple[str, Any]], data: Any, test: Any) -> list[DataPart]:
    first, parts = named[0][1], []
    if data is not None:
        parts.append(_part("train", "Training data" if test is not None else "Data", data, first))
        if test is None and all(learned_from_others(model, parts[0]) for _, model in named):
            parts[0] = replace(parts[0], unseen=True)
    if test is not None:
        parts.append(replace(_part("test", "Test data", test, first), unseen=True))
    return parts


def learned_from_others(model: Any, part: DataPart) -> bool:
    """Return True if a model records its training data and these are other examples."""
    recorded = model.info.get("data_fingerprint")
    if not recorded:
        return False
    if model.info.get("examples") not in (None, len(part)):
        return True
    return not part.weighted and recorded not in part.fingerprints


def _named(models: Any) -> list[tuple[str, Any]]:
    if isinstance(models, Mapping):
        pairs = [(str(name), _model(source)) for name, source in models.items()]
    else:
        several = isinstance(models, Sequence) and not isinstance(models, (str, bytes)) and not _is_model(models)
        pairs = [(_default_name(source), _model(source)) for source in (models if several else [models])]
    if not pairs:
        raise OptionError("a report needs at least one model")
    return list(zip(distinct(name for name, _ in pairs), (model for _, model in pairs), strict=True))


def _is_model(source: Any) -> bool:
    return hasattr(source, "rules") and hasattr(source, "label_names")


def _model(source: Any) -> Any:
    if isinstance(source, (str, os.PathLike)):
        return load(source)
    if _is_model(source):
        return source
    stored = getattr(source, "model_", None)
    if stored is None:
        raise OptionError(
            f"cannot report on {type(source).__name__}: "
            "give a fitted polyrule estimator, a model or a model file's path"
        )
    return stored


def _default_name(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name.removesuffix(".json")
    info = getattr(_model(source), "info", {})
    options = info.get("options", {})
    words = [str(options[key]) for key in ("heads", "measure") if options.get(key)]
    learner = str(info.get("learner", "")).removesuffix("Classifier")
    kind = {"BinaryRelevanceRule": "binary relevance", "RuleEnsemble": "ensemble", "RuleList": "list"}.get(learner)
    return " ".join([kind, *words] if kind else words) or "model"


def distinct(names: Iterable[str]) -> list[str]:
    """Number names that occur twice, so that every model can be told from the others.

    >>> distinct(["a", "b", "a", "a (2)"])
    ['a', 'b', 'a (2)', 'a (2) (2)']
    """
    used: list[str] = []
    for name in names:
        numbered = chain([name], (f"{name} ({number})" for number in count(2)))
        used.append(next(one for one in numbered if one not in used))
    return used


def _part(key: str, title: str, data: Any, model: Any) -> DataPart:
    what = "data" if key == "train" else "test"
    if not model.label_names:
        raise ModelError("the model knows no label, so there is nothing to show on data")
    if not isinstance(data, Dataset):
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise OptionError(f"{what} must be a Dataset or a pair (X, Y), not {type(data).__name__}")
        data = labelled(model, data[0], data[1], what)
    if len(data) == 0:
        raise DataError(f"{what}: {data.name} holds no examples, so there is nothing to show")
    truth = data.Y
    if data.label_names != model.label_names:
        truth = arrange_labels(truth, data.label_names, model.label_names).check(data.name, "which is left out").Y
    X = to_table(data.X, model.features)
    part = replace(data, X=X, Y=dense_labels(truth), label_names=model.label_names)
    return DataPart(key, title, part, raw=None if X is data.X else data.X)
