"""Label matrices: arrays, sparse matrices and frames become 0/1 with names.

A `LabelMatrix` is a 0/1 array that remembers what its columns are called.

Labels of new data are arranged beside those of a model: what the data lacks is absent there, what the model lacks is
named.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import counted, is_missing, listing, parse_number, shorten
from polyrule.data.frames import check_distinct, column_names, is_frame, open_frame, python_values
from polyrule.data.sparse import check_sparse
from polyrule.data.table import as_array
from polyrule.errors import DataError, DataWarning
from polyrule.utils.arrays import Array, Bools, Bytes, Ints
from polyrule.utils.messages import depth_of_caller

_ABSENT = (
    *(
        "0",
        "false",
        "no",
        "f",
        "n",
        "absent",
        "nein",
        "non",
        "nee",
        "nej",
        "nei",
        "nie",
        "não",
        "nao",
        "ei",
        "ne",
        "nem",
    ),
    *(
        "nu",
        "hayır",
        "hayir",
        "tidak",
        "không",
        "нет",
        "ні",
        "не",
        "όχι",
        "否",
        "不",
        "いいえ",
        "아니오",
        "아니요",
        "لا",
        "לא",
        "नहीं",
    ),
)
_PRESENT = (
    *(
        "1",
        "true",
        "yes",
        "t",
        "y",
        "present",
        "ja",
        "jo",
        "oui",
        "si",
        "sí",
        "sì",
        "sim",
        "tak",
        "kyllä",
        "ano",
        "igen",
    ),
    *("da", "evet", "ya", "có", "да", "так", "ναι", "是", "はい", "예", "네", "نعم", "כן", "हाँ", "हां"),
)

#: Words for an absent or a present label, in any case; also those of other languages.
TRUTH = {**dict.fromkeys(_ABSENT, 0), **dict.fromkeys(_PRESENT, 1)}
#: An unknown label: neither present nor absent, right or wrong, counted nowhere.
UNKNOWN = 2
_NO_LABEL = 255
_NO_TRUTH = ("", "?", "nan", "na")


def has_unknown(truth: Any) -> bool:
    """True if a label matrix contains an unknown label.

    >>> has_unknown(to_labels([[1, None], [0, 1]], unknown=True)[0])
    True
    """
    stored = truth.data if sp.issparse(truth) else truth
    return stored.dtype.kind in "iu" and bool(stored.size) and int(stored.max()) == UNKNOWN


def require_known(truth: Any, what: str) -> None:
    """Refuse a label matrix with unknown labels where something needs every label."""
    if has_unknown(truth):
        rows = rows_in_words(rows_with_unknown(truth))
        raise DataError(f"{what} needs every label to be known; leave out examples whose label is missing ({rows})")


def rows_with_unknown(truth: Any) -> Ints:
    """Return the rows that have a label that is unknown.

    >>> rows_with_unknown(to_labels([[1, None], [0, 1], [None, 0]], unknown=True)[0])
    array([0, 2])
    """
    unknown = truth == UNKNOWN
    return np.unique(unknown.nonzero()[0]).astype(np.int64)


def rows_in_words(rows: Sequence[int] | Ints, max_rows: int = 5) -> str:
    """Return the numbers of rows, counted from 0, for a message.

    >>> rows_in_words([3]), rows_in_words([3, 4, 8, 9, 11, 12, 30])
    ('row 3', 'rows 3, 4, 8, 9, 11 and 2 more')
    """
    listed = ", ".join(str(row) for row in rows[:max_rows])
    rest = f" and {len(rows) - max_rows} more" if len(rows) > max_rows else ""
    return f"row{'s' if len(rows) > 1 else ''} {listed}{rest}"


def dense_labels(truth: Any) -> Bytes:
    """Return a label matrix, which may be sparse, as an array in C order.

    >>> dense_labels(sp.csr_array([[0, 1]], dtype=np.uint8))
    array([[0, 1]], dtype=uint8)
    """
    return np.ascontiguousarray(truth.toarray() if sp.issparse(truth) else truth, dtype=np.uint8)


def to_labels(
    Y: Any, label_names: Sequence[str] | None = None, *, unknown: bool = False
) -> tuple[Bytes | Any, tuple[str, ...]]:
    """Turn a label matrix into 0/1 and names.

    Parameters
    ----------
    Y : array, nested list, SciPy sparse matrix or array, or a pandas, polars or pyarrow frame
        One column per label; 1 (or True) where the label is present, 0 (or False) where it is absent. The words false
        and true, no and yes, f and t, n and y, absent and present (any case) are read, too, and yes and no in other
        languages, such as ja, oui or sí. A one-dimensional array is a single label.
    label_names : sequence of str, optional
        Names of the labels; the columns' names of a frame or of `Dataset.Y` are the default, otherwise y0, y1, …
    unknown : bool
        Whether a label may be unknown (NaN, None or ?), which is written as 2; otherwise that is an error.

    Returns
    -------
    labels : ndarray of uint8 in C order, or scipy.sparse.csr_array of uint8 if `Y` is sparse
    names : tuple of str

    Examples
    --------
    >>> labels, names = to_labels([[1, 0], [0, 1]], ["jazz", "calm"])
    >>> labels
    array([[1, 0],
           [0, 1]], dtype=uint8)
    >>> to_labels([[1, 2]])
    Traceback (most recent call last):
    ...
    polyrule.errors.DataError: label 'y1', row 0: 2 is not 0 or 1, or no or yes
    """
    if label_names is None and isinstance(Y, LabelMatrix):
        label_names = Y.names
    if sp.issparse(Y):
        return _sparse_labels(Y, label_names, unknown)
    if not isinstance(Y, (np.ndarray, list, tuple)) and is_frame(Y):
        return _frame_labels(Y, label_names, unknown)
    if unknown and isinstance(Y, LabelMatrix) and has_unknown(Y):
        return np.asarray(Y), _names(label_names, Y.shape[1])  # read before
    array = _as_label_array(Y)
    names = _names(label_names, array.shape[1])
    return _check_array(array, names, unknown), names


def _as_label_array(Y: Any) -> Array:
    array = as_array(
        Y,
        "the rows of Y have different lengths; give one 0/1 column per label (scikit-learn's MultiLabelBinarizer turns "
        "sets of labels into such columns)",
    )
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise DataError(f"Y must be a table of examples by labels, got {array.ndim} dimension(s)")
    return array


def _check_array(array: Array, names: tuple[str, ...], unknown: bool = False) -> Bytes:
    if array.dtype.kind not in "biufOU":
        raise DataError(f"labels must be 0 or 1, not {array.dtype}")
    truth = truths(array, _NO_TRUTH if unknown else ())
    wrong = truth == _NO_LABEL if unknown else truth > 1
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), array.shape)
        value = array[row, column]
        raise _not_a_label(value.item() if isinstance(value, np.generic) else value, names[column], int(row))
    return np.ascontiguousarray(truth)


def truths(values: Any, no_answer: Collection[str] = ()) -> Bytes:
    """Return 0, 1 or `UNKNOWN` for the values of labels, and `_NO_LABEL` for what is none.

    Values may be numbers, words such as no and yes, or missing; words in `no_answer` are missing, too.

    >>> truths(["no", 1, None, "perhaps", "?"]).tolist(), truths(np.array([0.0, np.nan]), "?").tolist()
    ([0, 1, 2, 255, 255], [0, 2])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        present = values == 1
        if (present | (values == 0)).all():
            return np.asarray(present, dtype=np.uint8)
        converted = np.where(values == 0, 0, np.where(np.isnan(values), UNKNOWN, _NO_LABEL))
        return np.where(present, 1, converted).astype(np.uint8)
    flat = values.ravel() if isinstance(values, np.ndarray) else values
    converted = np.array([_truth(value, no_answer) for value in flat], dtype=np.uint8)
    return converted.reshape(values.shape) if isinstance(values, np.ndarray) else converted


def _truth(value: Any, no_answer: Collection[str]) -> int:
    truth = TRUTH.get(value) if isinstance(value, str) else None  # as most words are written
    if truth is None:
        missing = is_missing(value) or (isinstance(value, str) and value.strip().lower() in no_answer)
        truth = UNKNOWN if missing else truth_of(value)
    return _NO_LABEL if truth is None else truth


def truth_of(value: Any) -> int | None:
    """Return 1 or 0 for a present or absent label, by a value or a word; None if it is neither.

    >>> truth_of("Yes"), truth_of("0.0"), truth_of(True), truth_of("perhaps"), truth_of(2)
    (1, 0, 1, None, None)
    """
    if isinstance(value, str):
        word = value.strip().lower()
        value = TRUTH.get(word, parse_number(word))
    return int(value) if isinstance(value, (bool, int, float, np.generic)) and value in (0, 1) else None


def _not_a_label(value: Any, name: str, row: int) -> DataError:
    text = f"{value:g}" if isinstance(value, (float, int)) else shorten(value)
    mark = tag_mark(value)
    hint = f"; if it lists labels separated by {mark!r}, give this column alone as y" if mark else ""
    return DataError(f"label {name!r}, row {row}: {text} is not 0 or 1, or no or yes{hint}")


def tag_mark(value: Any) -> str | None:
    """Return the mark that may separate several labels in a text.

    >>> tag_mark("jazz;calm"), tag_mark("jazz")
    (';', None)
    """
    return next((mark for mark in "|;,/" if mark in value), None) if isinstance(value, str) else None


def _sparse_labels(Y: Any, label_names: Sequence[str] | None, unknown: bool) -> tuple[Any, tuple[str, ...]]:
    if Y.ndim != 2:
        raise DataError(f"Y must be a table of examples by labels, got {Y.ndim} dimension(s)")
    entries = sp.coo_array(check_sparse(Y, "Y"))
    matrix = sp.csr_array(entries)  # new: the caller's is never sorted or thinned in place
    matrix.sum_duplicates()
    names = _names(label_names, matrix.shape[1])
    if unknown and matrix.data.dtype.kind == "f":
        matrix.data = np.where(np.isnan(matrix.data), UNKNOWN, matrix.data)
    added_up = matrix.nnz < entries.nnz  # so that a 2 may be a label that is present twice
    wrong = ~((matrix.data == 0) | (matrix.data == 1) | ((unknown and not added_up) & (matrix.data == UNKNOWN)))
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise _not_a_label(matrix.data[entry].item(), names[int(matrix.indices[entry])], row)
    matrix.eliminate_zeros()
    return matrix.astype(np.uint8), names


def _frame_labels(Y: Any, label_names: Sequence[str] | None, unknown: bool) -> tuple[Bytes, tuple[str, ...]]:
    frame = open_frame(Y)
    names = _names(label_names if label_names is not None else column_names(frame), len(frame.columns))
    labels = np.empty((len(frame), len(names)), dtype=np.uint8)
    for j, name in enumerate(names):
        series = frame[:, j]
        if series.null_count() or not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
            column = np.empty(len(frame), dtype=object)
            column[:] = python_values(series)
        else:
            column = series.to_numpy()
        labels[:, [j]] = _check_array(column.reshape(-1, 1), (name,), unknown)
    return labels, names


def _names(label_names: Sequence[str] | None, width: int) -> tuple[str, ...]:
    if label_names is None:
        return tuple(f"y{j}" for j in range(width))
    names = tuple(str(name) for name in label_names)
    if len(names) != width:
        raise DataError(f"{len(names)} label name(s) for {width} label column(s)")
    check_distinct(names, "label")
    return names


class LabelMatrix(np.ndarray):
    """A label array whose columns have names; selecting rows or columns keeps the right ones.

    It lets ``fit(data.X, data.Y)`` print rules with the labels' own names, also inside cross-validation. Whatever else
    is done with the array gives one without names.

    Examples
    --------
    >>> labels = LabelMatrix.of(np.array([[1, 0], [0, 1]], dtype=np.uint8), ("jazz", "calm"))
    >>> labels[[1]].names
    ('jazz', 'calm')
    >>> labels[:, [1, 0]].names
    ('calm', 'jazz')
    >>> labels.T.names is None
    True
    """

    names: tuple[str, ...] | None

    @classmethod
    def of(cls, array: Any, names: tuple[str, ...] | None) -> LabelMatrix:
        """View an array with these column names."""
        matrix = np.asarray(array).view(cls)
        matrix.names = names
        return matrix

    def __array_finalize__(self, source: Any) -> None:
        self.names = None  # an operation may have moved the columns; those below that did not say so

    def __getitem__(self, key: Any) -> Any:
        selected = super().__getitem__(key)
        if self.names is not None and isinstance(selected, LabelMatrix) and selected.ndim == 2:
            selected.names = self._names_of(key, selected.shape[1])
        return selected

    def _names_of(self, key: Any, width: int) -> tuple[str, ...] | None:
        """Names of the columns that an index leaves, or None if it is not plainly rows, or rows and columns."""
        names = np.array(self.names, dtype=object)
        if isinstance(key, tuple):
            key = tuple(part for part in key if part is not Ellipsis)
            if any(part is None for part in key) or len(key) > 2:
                return None
            if len(key) == 2:
                if not any(isinstance(part, slice) for part in key):
                    return None
                names = names[key[1]]
        elif isinstance(key, np.ndarray) and key.ndim != 1:
            return None
        return tuple(names) if names.ndim == 1 and len(names) == width else None

    def copy(self, order: Any = "C") -> Any:
        """Copy the array; the names stay."""
        return LabelMatrix.of(super().copy(order), self.names)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        """Convert the values; the names stay."""
        return LabelMatrix.of(super().astype(*args, **kwargs), self.names)

    def take(self, indices: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Select rows (``axis=0``); the names stay."""
        selected = super().take(indices, axis, *args, **kwargs)
        if axis == 0 and isinstance(selected, LabelMatrix) and selected.ndim == 2:
            selected.names = self.names
        return selected

    def __reduce__(self) -> Any:
        return LabelMatrix.of, (np.asarray(self), self.names)


@dataclass(frozen=True, eq=False)
class Arranged:
    """Labels in a model's order."""

    Y: Any  # shape (examples, labels of the model)
    lacking: tuple[str, ...]  # labels of the model that the data does not have; absent everywhere
    # Labels that the model does not know, and how many examples have each, the most frequent first
    strange: dict[str, int]
    touched: Bools  # shape (examples,); which examples have a label that the model does not know

    def check(self, source: str, outcome: str) -> Arranged:
        """Warn once of what differs, and refuse data that shares no label with the model.

        `source` is what to call the data, `outcome` what becomes of labels that the model does not know: "left out".
        """
        if len(self.lacking) == self.Y.shape[1]:
            raise DataError(f"{source}: none of the model's labels ({listing(self.lacking)}) is a label of the data")
        messages = []
        if self.lacking:
            messages.append(f"no example has the label(s) {listing(self.lacking)} of the model, which count as absent")
        if self.strange:
            messages.append(f"the model does not know the label(s) {counted(self.strange)}, {outcome}")
        if messages:
            warnings.warn(f"{source}: {'; '.join(messages)}", DataWarning, stacklevel=depth_of_caller())
        return self


def arrange_labels(Y: Any, names: Sequence[str], model_names: Sequence[str]) -> Arranged:
    """Arrange labels in a model's order: from columns with these `names` to the `model_names`.

    Examples
    --------
    >>> found = arrange_labels(np.array([[1, 0], [0, 1]], dtype=np.uint8), ["jazz", "rock"], ["calm", "rock"])
    >>> found.Y.tolist(), found.lacking, found.strange, found.touched.tolist()
    ([[0, 0], [0, 1]], ('calm',), {'jazz': 1}, [True, False])
    """
    place = {name: column for column, name in enumerate(names)}
    lacking = tuple(name for name in model_names if name not in place)
    columns = [place.get(name, len(names)) for name in model_names]  # one more column, where nothing is present
    strange_columns = [place[name] for name in names if name not in set(model_names)]
    if sp.issparse(Y):
        wide = sp.csc_array(sp.hstack([Y, sp.csc_array((Y.shape[0], 1), dtype=Y.dtype)]))
        arranged, strangers = sp.csr_array(wide[:, columns]), np.asarray(wide[:, strange_columns].toarray())
    else:
        wide = np.hstack([np.asarray(Y), np.zeros((len(Y), 1), dtype=Y.dtype)])
        arranged, strangers = wide[:, columns], wide[:, strange_columns]
    present = strangers == 1
    counts = {
        names[column]: int(count) for column, count in zip(strange_columns, present.sum(axis=0), strict=True) if count
    }
    strange = dict(sorted(counts.items(), key=lambda item: -item[1]))
    return Arranged(arranged, lacking, strange, np.asarray(present.any(axis=1)))
