"""A frame that holds features and labels side by side, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyrule.data.frames import column_names, is_frame, open_frame
from polyrule.data.labelspec import choose_columns
from polyrule.errors import DataError, OptionError


def split_labels(frame: Any, labels: Any) -> tuple[Any, Any]:
    """Return the features and the labels of a frame, each as a frame of the same library.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame
    labels : list of names and positions, or a text such as ``"mood_*"``
        As for files: see `polyrule.data.labelspec`.

    Examples
    --------
    >>> import pandas as pd
    >>> X, Y = split_labels(pd.DataFrame({"size": [1, 2], "red": [0, 1], "blue": [1, 1]}), ["blue", "red"])
    >>> list(X.columns), list(Y.columns)
    (['size'], ['blue', 'red'])
    """
    if not is_frame(frame):
        raise OptionError("labels= names columns of a data frame; for other data pass the labels as y")
    opened = open_frame(frame)
    names = column_names(opened)
    chosen = choose_columns(labels, names).positions
    if not chosen:
        raise DataError("labels= names no column; name at least one")
    rest = [position for position in range(len(names)) if position not in set(chosen)]
    return opened[:, rest].to_native(), opened[:, chosen].to_native()


def without_columns(frame: Any, names: Sequence[str]) -> Any:
    """Return a frame without columns of these names, as far as it has them; what is no frame stays as it is."""
    if not names or not is_frame(frame):
        return frame
    opened = open_frame(frame)
    kept = [position for position, name in enumerate(column_names(opened)) if name not in set(names)]
    return frame if len(kept) == len(opened.columns) else opened[:, kept].to_native()
