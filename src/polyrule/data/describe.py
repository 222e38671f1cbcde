"""Look before you learn: what a data set holds, and what in it will mislead a learner."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import listing, recode
from polyrule.data.identifiers import find_identifiers, identifier_messages
from polyrule.data.labels import UNKNOWN, has_unknown
from polyrule.data.results import make_frame
from polyrule.data.table import Feature, Table

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset

FindingKind = Literal[
    "identifier-like feature",
    "constant feature",
    "missing values",
    "feature equals label",
    "unknown labels",
    "never-present label",
    "always-present label",
    "identical labels",
    "examples without label",
    "duplicate examples",
    "test examples in train",
]
MISSING_SHARE = 0.5
COINCIDENCE_LEAST = 10
"""Agreement on fewer examples than this is taken for chance."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know before learning; `names` are the features or labels it is about."""

    kind: FindingKind
    message: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """A data set in numbers, and the findings; made by `Dataset.describe`.

    Examples
    --------
    >>> from polyrule.datasets import load
    >>> description = load("emotions").describe()
    >>> description.examples, description.label_sets, round(description.cardinality, 4)
    (593, 27, 1.8685)
    >>> description.findings
    ()
    """

    name: str
    examples: int
    numeric: int
    nominal: int
    sparse: bool
    missing_cells: int
    labels: int
    cardinality: float
    label_sets: int
    label_counts: tuple[int, ...]
    label_names: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def missing(self) -> float:
        """Share of the cells whose value is missing."""
        return self.missing_cells / max(self.examples * (self.numeric + self.nominal), 1)

    @property
    def density(self) -> float:
        """Share of present labels."""
        return self.cardinality / self.labels if self.labels else 0.0

    def summary(self) -> dict[str, Any]:
        """Return the numbers under the names they are shown with."""
        about_labels = {"cardinality": self.cardinality, "density": self.density, "label sets": self.label_sets}
        return {
            "data set": self.name,
            "examples": self.examples,
            "numeric features": self.numeric,
            "nominal features": self.nominal,
            "stored sparsely": self.sparse,
            "missing values": self.missing,
            "labels": self.labels,
            **(about_labels if self.labels else {}),
        }

    def frame(self) -> Any:
        """Return the labels and how often each is present, as a data frame."""
        shares = [count / max(self.examples, 1) for count in self.label_counts]
        return make_frame({"label": self.label_names, "present": self.label_counts, "share": shares})

    def __repr__(self) -> str:
        return str(self)  # what a notebook or a console shows

    def __str__(self) -> str:
        missing = f"{self.missing_cells} ({_percent(self.missing)})" if self.missing_cells else "none"
        entries = {**self.summary(), "missing values": missing}
        lines = [f"{key:<18}{_shown(value)}" for key, value in entries.items()]
        lines += [f"! {finding}" for finding in self.findings]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _percent(share: float) -> str:
    """A share as people read it; what is not nothing is never shown as 0 %.

    >>> _percent(0.07407), _percent(0.00001), _percent(0.5)
    ('7.4 %', 'less than 0.1 %', '50.0 %')
    """
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def describe(data: Dataset, test: Dataset | None = None) -> Description:
    """Describe a data set; with `test`, also look for test examples that are in it."""
    labels = _Labels(data)
    counts, rows = labels.counts, len(data)
    nominal = sum(feature.is_nominal for feature in data.features)
    columns = [_Column(data, j, labels.informative) for j in range(len(data.features))]
    findings = [
        *_about_features(data, columns),
        *_about_labels(data, labels),
        *_about_examples(data, labels),
        *([] if test is None else _about_overlap(data, test)),
    ]
    return Description(
        name=data.name,
        examples=rows,
        numeric=len(columns) - nominal,
        nominal=nominal,
        sparse=data.X.is_sparse,
        missing_cells=sum(column.missing for column in columns),
        labels=len(data.label_names),
        cardinality=float(counts.sum() / rows) if rows else 0.0,
        label_sets=len(set(row_keys(data.Y))),
        label_counts=tuple(int(count) for count in counts),
        label_names=data.label_names,
        findings=tuple(findings),
    )


class _Labels:
    """The labels that are present, and how many are unknown."""

    def __init__(self, data: Dataset) -> None:
        labels_matrix: Any = data.Y
        unknown = sp.csr_array(labels_matrix == UNKNOWN) if has_unknown(labels_matrix) else None
        self.present: Any = labels_matrix if unknown is None else labels_matrix * (labels_matrix == 1)
        self.counts = np.asarray(self.present.sum(axis=0), dtype=np.int64).ravel()
        self.unknown = np.zeros_like(self.counts) if unknown is None else np.asarray(unknown.sum(axis=0)).ravel()
        self.complete = np.ones(len(data), bool) if unknown is None else np.asarray(unknown.sum(axis=1)).ravel() == 0
        columns = sp.csc_array(self.present)
        self.places = [columns.indices[a:b].astype(np.int64).tobytes() for a, b in pairwise(columns.indptr)]
        is_frequent = (self.counts >= COINCIDENCE_LEAST) & (self.counts < len(data))
        self.informative = {place for place, is_enough in zip(self.places, is_frequent, strict=True) if is_enough}


class _Column:
    """Statistics of one pass over a feature; `labels` are the rows in which labels are present."""

    def __init__(self, data: Dataset, j: int, labels: set[bytes]) -> None:
        values: Any = data.X.values
        rows = data.X.shape[0]
        if data.X.is_sparse:
            entries = slice(values.indptr[j], values.indptr[j + 1])
            stored, omitted = values.data[entries], rows - len(values.data[entries])
        else:
            stored, omitted = values[:, j], 0
        self.missing = int(np.isnan(stored).sum())
        distinct = np.unique(stored[~np.isnan(stored)])
        self.distinct = len(distinct) + (1 if omitted and 0 not in distinct else 0)
        self.is_label = False
        if labels and not self.missing and np.isin(distinct, (0, 1)).all():
            ones = np.flatnonzero(stored == 1)
            ones = values.indices[entries][ones] if data.X.is_sparse else ones
            self.is_label = ones.astype(np.int64).tobytes() in labels


def _about_features(data: Dataset, columns: list[_Column]) -> list[Finding]:
    rows = len(data)
    constant, mostly_missing, labels = [], [], []
    for feature, column in zip(data.features, columns, strict=True):
        if column.is_label:
            labels.append(feature.name)
        if feature.derived is not None:  # it is computed, and a year may well be the same throughout
            continue
        if rows and column.missing > MISSING_SHARE * rows:
            mostly_missing.append(feature.name)
        if rows > 1 and column.distinct <= 1:
            constant.append(feature.name)
    candidates: list[tuple[FindingKind, list[str], str, str]] = [
        ("constant feature", constant, "{} never changes", "{} never change"),
        (
            "missing values",
            mostly_missing,
            "{} is missing in more than half of the examples",
            "{} are missing in more than half of the examples",
        ),
        (
            "feature equals label",
            labels,
            "{} is the same as a label in every example",
            "{} are the same as a label in every example",
        ),
    ]
    identifiers = [data.features[j] for j in find_identifiers(data.X)]
    of_identifiers = [Finding("identifier-like feature", *texts) for texts in identifier_messages(identifiers)]
    return [*of_identifiers, *(finding for texts in candidates for finding in _about(*texts))]


def _about(kind: FindingKind, names: list[str], one: str, many: str) -> list[Finding]:
    """Describe features or labels in a finding, if there are any."""
    return [Finding(kind, (one if len(names) == 1 else many).format(listing(names)), tuple(names))] if names else []


def _about_labels(data: Dataset, labels: _Labels) -> list[Finding]:
    findings, counts = [], labels.counts
    if not len(data):
        return []
    if labels.unknown.any():
        cells = len(data) * len(data.label_names)
        findings.append(Finding("unknown labels", f"{labels.unknown.sum()} of {cells} labels are unknown"))
    never = [name for name, count in zip(data.label_names, counts, strict=True) if count == 0]
    findings += _about("never-present label", never, "label {} is never present", "labels {} are never present")
    everywhere = (counts > 0) & (counts + labels.unknown == len(data))
    always = [name for name, holds in zip(data.label_names, everywhere, strict=True) if holds]
    findings += _about("always-present label", always, "label {} is always present", "labels {} are always present")
    seen: dict[bytes, str] = {}
    same: list[str] = []
    for k, (name, key) in enumerate(zip(data.label_names, labels.places, strict=True)):
        if key in seen and counts[k] >= COINCIDENCE_LEAST:
            same += [other for other in (seen[key],) if other not in same] + [name]
        seen.setdefault(key, name)
    alike = "labels {} are present in exactly the same examples as another one"
    return [*findings, *_about("identical labels", same, "", alike)]


def _about_examples(data: Dataset, labels: _Labels) -> list[Finding]:
    findings = []
    if len(data.label_names) > 1 and len(data):  # for one label this repeats the label's share
        without = int(((np.asarray(labels.present.sum(axis=1)).ravel() == 0) & labels.complete).sum())
        if without:
            findings.append(Finding("examples without label", f"{without} of {len(data)} examples have no label"))
    keys = [x + y for x, y in zip(row_keys(data.X.values), row_keys(data.Y), strict=True)]
    repeated = len(keys) - len(set(keys))
    if repeated:
        findings.append(Finding("duplicate examples", f"{repeated} of {len(keys)} examples repeat an earlier one"))
    return findings


def _about_overlap(data: Dataset, test: Dataset) -> list[Finding]:
    X = _recode_like(test.X, data.features)
    train_keys = set(row_keys(data.X.values))
    shared = sum(key in train_keys for key in row_keys(X.values))
    if not shared:
        return []
    message = f"{shared} of {len(test)} test examples have the same features as a training example"
    return [Finding("test examples in train", message)]


def _recode_like(table: Table, features: tuple[Feature, ...]) -> Table:
    """Return a table whose categories have the numbers that they have in `features`; others have a number below 0."""
    if table.features == features or [f.kind for f in table.features] != [f.kind for f in features]:
        return table
    changed = {}
    for j, (old, new) in enumerate(zip(table.features, features, strict=True)):
        if old.categories != new.categories:
            column = table.column(j)
            codes = recode(column, old, new)
            changed[j] = np.where(np.isnan(codes) & ~np.isnan(column), -1, codes)
    return table.rearranged(range(len(features)), features, changed)


def row_keys(matrix: Any) -> list[bytes]:
    """Return keys that are equal for equal rows, dense or sparse; a missing value equals a missing value.

    Examples
    --------
    >>> keys = row_keys(np.array([[1.0, np.nan], [0.0, 2.0], [1.0, np.nan]]))
    >>> keys[0] == keys[2], keys[0] == keys[1]
    (True, False)
    """
    if sp.issparse(matrix):
        rows = sp.csr_array(matrix, dtype=np.float64)
        rows.sort_indices()
        data = rows.data + 0.0  # -0.0 and 0.0 are the same number
        indices = rows.indices.astype(np.int64)
        bounds = list(zip(rows.indptr[:-1], rows.indptr[1:], strict=True))
        return [indices[a:b].tobytes() + data[a:b].tobytes() for a, b in bounds]
    dense = np.ascontiguousarray(matrix, dtype=np.float64)  # equal numbers have equal bytes in one type only
    dense = np.where(np.isnan(dense), np.nan, dense + 0.0)
    if dense.shape[1] == 0:
        return [b""] * len(dense)
    return [row.tobytes() for row in dense]
