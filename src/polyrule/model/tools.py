"""What every kind of model can be asked for, written once: code, a report, a picture, and what it lives by.

Reports and pictures are made by later stages, which are looked up when somebody asks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.targets import read_target
from polyrule.errors import OptionError
from polyrule.model.narrowing import used_features


class ModelTools:
    """Methods that all models share."""

    def export(self, language: str, **options: Any) -> str | bytes:
        """Return code that predicts as the model does, or for "onnx" the bytes of a file.

        Parameters
        ----------
        language : {"python", "sql", "javascript", "c", "onnx"}
        **options
            See `polyrule.model.exports.export`.
        """
        exports: Any = import_module("polyrule.kinds")
        if language == "onnx" and not options:
            return bytes(exports.export_onnx(self))
        return str(exports.export(self, language, **options))

    def report(self, data: Any = None, test: Any = None, title: str | None = None) -> Any:
        """Make an HTML report; it shows itself in a notebook, ``.save(path)`` writes a file.

        Parameters
        ----------
        data, test : Dataset or pair (X, Y), optional
            Training data, and examples the model has not seen. ``report(X, Y)`` does, too.
        title : str, optional
        """
        if not is_pair(data):
            data, test = (data, test), None
        return import_module("polyrule.report").build(self, data=data, test=test, title=title)

    def plot(self, ax: Any = None) -> Any:
        """Draw what each rule says about each label and return the axes; see `polyrule.report.plots.Scorecard`."""
        return import_module("polyrule.report.plots").Scorecard.of(self).plot(ax)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in what the rules say, one number per feature; they add up to 1.

        A rule counts as much as it moved in training: in a list the labels it set, in an ensemble the examples it
        covers times its weights in log-odds. Features of one body share that alike. Rules without counts count nothing,
        unless none has any. What a model *loses* without a feature is another question: `importances` of
        `polyrule.evaluation` answers it.
        """
        return importances_of(self)


def is_pair(data: Any) -> bool:
    """Whether `data` brings its labels, or there is none."""
    return data is None or isinstance(data, Dataset) or (isinstance(data, (tuple, list)) and len(data) == 2)


def labelled(model: Any, data: Any, y: Any = None) -> Dataset:
    """Return examples with their labels as the model knows them: a data set as it is, or X and y brought together."""
    if isinstance(data, Dataset):
        return data
    if y is None:
        raise OptionError("this needs labels: give a Dataset, or X and y")
    target = read_target(y, model.label_names)
    return Dataset(to_table(data, model.features), target.truth, target.names)


def importances_of(model: Any) -> Floats:
    """Share of each feature; see `ModelTools.feature_importances_`."""
    moved = np.array([_moved(model, rule) for rule in model.rules], dtype=np.float64)
    moved = moved if moved.any() else np.ones(len(moved))
    shares = np.zeros(len(model.features))
    for rule, amount in zip(model.rules, moved, strict=True):
        tested = used_features([rule])
        shares[tested] += amount / max(1, len(tested))
    return shares / total if (total := shares.sum()) else shares


def _moved(model: Any, rule: Any) -> float:
    if hasattr(rule.head[0], "weight"):
        return float((rule.coverage or 0.0) * sum(abs(e.weight) * model.worth[e.label] for e in rule.head))
    return float(sum(literal.tp + literal.fp for literal in rule.head))
