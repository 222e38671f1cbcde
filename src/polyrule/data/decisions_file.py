"""How a table is read, in a file beside it: ``songs.polyrule.toml`` for ``songs.csv``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from polyrule.data.sniff import unpacked_name
from polyrule.errors import DataError

ENDING = ".polyrule.toml"


def decisions_path(path: str | Path) -> Path:
    """Return the path of the file of decisions beside a table.

    >>> decisions_path("data/songs.csv.gz").name
    'songs.polyrule.toml'
    """
    path = Path(path)
    return path.with_name(Path(unpacked_name(path.name)).stem + ENDING)


def read_decisions(path: str | Path, allowed: Iterable[str]) -> dict[str, Any]:
    """Return the options in the file of decisions beside a table, nothing if there is none.

    Raises
    ------
    DataError
        If the file is no TOML, or has an option that is not `allowed`.
    """
    place = decisions_path(path)
    if not place.is_file():
        return {}
    try:
        options = tomllib.loads(place.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise DataError(f"{place}: the file is no TOML ({problem})") from problem
    allowed = set(allowed)
    for name, value in options.items():
        if name not in allowed:
            raise DataError(f"{place}: there is no option {name!r} (options are {', '.join(sorted(allowed))})")
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not is_list and not isinstance(value, (str, bool)):
            raise DataError(f"{place}: {name} must be a text or a list of texts")
    return options


def write_decisions(path: str | Path, options: Mapping[str, Any], remarks: Iterable[str] = ()) -> Path:
    """Write the file of decisions beside a table and return its path; `remarks` become comments."""
    place = decisions_path(path)
    lines = [f"# How polyrule reads {Path(path).name}; options of a command count more."]
    lines += [f"{name} = {_toml(value)}" for name, value in options.items()]
    lines += [f"# {' '.join(remark.split())}" for remark in remarks]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def _toml(value: Any) -> str:
    # JSON's texts, lists and booleans are TOML, except for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
