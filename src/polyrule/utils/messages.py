"""Parts of messages: similar names, and the frame of the caller whom a warning concerns."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return what to append to "there is no X": the most similar known name, or nothing.

    Examples
    --------
    >>> "there is no label 'hapy'" + did_you_mean("hapy", ["calm", "Happy"])
    "there is no label 'hapy'; did you mean 'Happy'?"
    >>> did_you_mean("tempo", ["calm", "Happy"])
    ''
    """
    # long names and very many names are never what someone mistyped, and comparing them would take minutes
    by_lower = {other.lower(): other for other in reversed(list(known)[:5000]) if len(other) <= 200}
    close = difflib.get_close_matches(name.lower()[:100], by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def depth_of_caller() -> int:
    """Return the number of frames from the function that warns to the first one outside polyrule."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "polyrule":
        depth, frame = depth + 1, frame.f_back
    return depth
