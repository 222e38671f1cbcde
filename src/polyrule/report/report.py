"""The public face: build a report, look at it in a notebook, save it as one file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polyrule.report.inputs import read_inputs
from polyrule.report.page import notebook_frame, render
from polyrule.report.summary import MOST_BYTES, summarise
from polyrule.utils.atomic import atomic_write


@dataclass(frozen=True, eq=False)
class Report:
    """A finished report; its `summary` holds every number it shows as plain JSON values.

    >>> from polyrule import RuleListClassifier, datasets
    >>> train = datasets.load("emotions", part="train")
    >>> report = build(RuleListClassifier(max_rules=3).fit(train), train, title="Songs")
    >>> report.html().startswith("<!doctype html>")
    True
    """

    summary: dict[str, Any]

    def html(self) -> str:
        """Return the page: one HTML document that needs no network and no other file."""
        return self._page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; the file appears whole or not at all."""
        with atomic_write(path) as stream:
            stream.write(self._page)

    @cached_property
    def _page(self) -> str:
        return render(self.summary)

    def _repr_html_(self) -> str:
        return notebook_frame(self._page)

    def __repr__(self) -> str:
        models = ", ".join(model["name"] for model in self.summary["models"])
        return f"Report({self.summary['title']!r}: {models})"


def build(
    models: Any,
    data: Any = None,
    test: Any = None,
    title: str | None = None,
    most_bytes: int = MOST_BYTES,
    resamples: int = 0,
    by_group: str | None = None,
) -> Report:
    """Make a report about one or several models.

    Parameters
    ----------
    models : model, fitted estimator, path of a model file, a sequence of these, or a mapping from name to one of these
        Several models must be about the same features and labels; the report compares them.
    data : Dataset or pair (X, Y), optional
        The training data, or any other data to show the models on; a model knows the examples it was learned from.
        Without any data the report shows the rules with the counts they were learned with.
    test : Dataset or pair (X, Y), optional
        Examples the models have not seen.
    title : str, optional
        Heading of the page.
    most_bytes : int
        Rough limit for the file; beyond it examples are sampled, and the page says so.
    resamples : int
        Number of times the models are learned again, from resamples of the training data, to show which rules and
        features come back; 20 is plenty. Each time takes as long as learning.

    by_group : str, optional
        A column of the data by whose values examples are grouped; the page then shows coverage, precision, recall and
        false alarms in each group. It need not be a column that the models use.

    Returns
    -------
    Report

    Examples
    --------
    >>> from polyrule.data import Feature, Table
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> table = Table.from_array([[6.0], [2.0]], [Feature("colours")])
    >>> model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)),), table.features, ("red",))
    >>> report = build(model, data=(table, [[1], [0]]), title="Flags")
    >>> report.summary["models"][0]["parts"][0]["scores"]["subset_accuracy"]
    1.0
    >>> report.html().startswith("<!doctype html>")
    True
    """
    return Report(summarise(read_inputs(models, data, test), title, most_bytes, resamples, by_group))
