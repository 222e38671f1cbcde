"""What data sets there are, in a form that prints and becomes a frame."""

from __future__ import annotations

from typing import Any, overload

from polyrule.datasets.registry import ENTRIES, Entry, entry


def names() -> list[str]:
    """Names of the benchmark data sets, smallest first as in the literature.

    Examples
    --------
    >>> names()[:3]
    ['flags', 'emotions', 'scene']
    """
    return list(ENTRIES)


@overload
def describe(name: str) -> dict[str, Any]: ...
@overload
def describe(name: None = None) -> list[dict[str, Any]]: ...
def describe(name: str | None = None) -> dict[str, Any] | list[dict[str, Any]]:
    """Tell what is known about one data set, or about all of them.

    ``pandas.DataFrame(describe())`` makes a table of it. For what is *in* a data set that was loaded, see
    `polyrule.data.Dataset.describe`.

    Parameters
    ----------
    name : str, optional
        One of the names that `list` gives; without it, all of them are described.

    Examples
    --------
    >>> describe("yeast")["labels"]
    14
    >>> len(describe())
    14
    """
    if name is not None:
        return _record(entry(name))
    return [_record(known) for known in ENTRIES.values()]


def _record(known: Entry) -> dict[str, Any]:
    return {
        "name": known.name,
        "domain": known.domain,
        "examples": known.examples,
        "train": known.train,
        "test": known.test,
        "nominal": known.nominal,
        "numeric": known.numeric,
        "labels": known.labels,
        "cardinality": known.cardinality,
        "density": round(known.density, 4),
        "source": known.source,
        "citation": known.citation,
        "note": known.note,
    }
