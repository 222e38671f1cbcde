"""Labels of new data beside those of a model: what the data lacks is absent there, what the model lacks is named."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.arrays import Bools
from polyrule.data.columns import listing, shorten
from polyrule.errors import DataError, DataWarning, depth_of_caller

_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Arranged:
    """Labels in a model's order.

    Attributes
    ----------
    Y : ndarray or csr_array of uint8, shape (examples, labels of the model)
    lacking : tuple of str
        Labels of the model that the data does not have; absent everywhere.
    strange : dict of str to int
        Labels that the model does not know, and how many examples have each, the most frequent first.
    touched : ndarray of bool, shape (examples,)
        Which examples have a label that the model does not know.
    """

    Y: Any
    lacking: tuple[str, ...]
    strange: dict[str, int]
    touched: Bools

    def check(self, source: str, outcome: str) -> Arranged:
        """Say once what differs, and refuse data that shares no label with the model.

        Parameters
        ----------
        source : str
            What to call the data.
        outcome : str
            What becomes of labels that the model does not know, such as "left out".
        """
        if len(self.lacking) == self.Y.shape[1]:
            raise DataError(f"{source}: none of the model's labels ({listing(self.lacking)}) is a label of the data")
        said = []
        if self.lacking:
            said.append(f"no example has the label(s) {listing(self.lacking)} of the model, which count as absent")
        if self.strange:
            shown = ", ".join(f"{shorten(name)} ({count})" for name, count in [*self.strange.items()][:_MOST_NAMED])
            more = f" and {len(self.strange) - _MOST_NAMED} more" if len(self.strange) > _MOST_NAMED else ""
            said.append(f"the model does not know the label(s) {shown}{more}, {outcome}")
        if said:
            warnings.warn(f"{source}: {'; '.join(said)}", DataWarning, stacklevel=depth_of_caller())
        return self


def arrange_labels(Y: Any, names: Sequence[str], wanted: Sequence[str]) -> Arranged:
    """Bring labels into a model's order.

    Parameters
    ----------
    Y : ndarray or sparse array, shape (examples, labels)
    names, wanted : sequence of str
        What the columns are called, and the labels of the model.

    Examples
    --------
    >>> found = arrange_labels(np.array([[1, 0], [0, 1]], dtype=np.uint8), ["jazz", "rock"], ["calm", "rock"])
    >>> found.Y.tolist(), found.lacking, found.strange, found.touched.tolist()
    ([[0, 0], [0, 1]], ('calm',), {'jazz': 1}, [True, False])
    """
    place = {name: column for column, name in enumerate(names)}
    lacking = tuple(name for name in wanted if name not in place)
    columns = [place.get(name, len(names)) for name in wanted]  # one more column, where nothing is present
    others = [place[name] for name in names if name not in set(wanted)]
    if sp.issparse(Y):
        wide = sp.csc_array(sp.hstack([Y, sp.csc_array((Y.shape[0], 1), dtype=Y.dtype)]))
        arranged, strangers = sp.csr_array(wide[:, columns]), np.asarray(wide[:, others].toarray())
    else:
        wide = np.hstack([np.asarray(Y), np.zeros((len(Y), 1), dtype=Y.dtype)])
        arranged, strangers = wide[:, columns], wide[:, others]
    present = strangers == 1
    counts = {names[column]: int(count) for column, count in zip(others, present.sum(axis=0), strict=True) if count}
    strange = dict(sorted(counts.items(), key=lambda item: -item[1]))
    return Arranged(arranged, lacking, strange, np.asarray(present.any(axis=1)))
