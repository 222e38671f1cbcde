"""Relations as people have them: texts, trees, edges, paths from root to leaf, and files of these."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from polyrule.errors import DataError, OptionError
from polyrule.relations.relation import HOW_TO, Relation, implication, read_text

_ENDINGS = (".txt", ".json", ".csv")


def read(source: Any, label_names: Sequence[str]) -> tuple[Relation, ...]:
    """Return relations between labels.

    Parameters
    ----------
    source : str, list, mapping, array, path or None
        A text such as ``"pneumonia => lung disease"``, ``"benign, malignant: at most one"`` or ``"grade 1, grade 2,
        grade 3: exactly one"``, or a list of them. A tree: ``{"lung disease": ["pneumonia", "asthma"]}``, also nested.
        Edges ``("lung disease", "pneumonia")``, parent first, or longer paths from root to leaf, as hiclass has them;
        empty steps are left out. A file: ``.txt`` (a text per line), ``.json`` (any of these), ``.csv`` (paths).
    label_names : sequence of str

    Examples
    --------
    >>> names = ("lung disease", "pneumonia", "asthma")
    >>> [one.text(names) for one in read({"lung disease": ["pneumonia", "asthma"]}, names)]
    ['pneumonia => lung disease', 'asthma => lung disease']
    """
    return tuple(dict.fromkeys(_relations(source, tuple(label_names))))


def _relations(source: Any, names: Sequence[str]) -> Iterator[Relation]:
    if source is None:
        return
    if isinstance(source, Relation):
        if not all(0 <= label < len(names) for label in source.labels):
            raise OptionError(f"relations: {source} names a label that is not there")
        yield source
    elif isinstance(source, os.PathLike) or (isinstance(source, str) and _is_file(source)):
        yield from _relations(_from_file(Path(source)), names)
    elif isinstance(source, str):
        for line in source.splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                yield from read_text(line, names)
    elif isinstance(source, Mapping):
        yield from _tree(source, names)
    elif isinstance(source, Iterable):
        rows = source.tolist() if hasattr(source, "tolist") else source
        for row in rows:
            if isinstance(row, (list, tuple)):
                yield from _path(row, names)
            else:
                yield from _relations(row, names)
    else:
        raise OptionError(f"relations must be texts, a tree, edges, paths or a file, got {type(source).__name__}")


def _is_file(text: str) -> bool:
    return "=>" not in text and "\n" not in text and text.lower().endswith(_ENDINGS)


def _tree(tree: Mapping[Any, Any], names: Sequence[str]) -> Iterator[Relation]:
    """Yield that each label implies the one above it."""
    for parent, below in tree.items():
        children = [below] if isinstance(below, str) else list(below or ())
        for child in children:
            if isinstance(child, Mapping):
                for inner in child:
                    yield implication(str(inner), str(parent), names)
                yield from _tree(child, names)
            else:
                yield implication(str(child), str(parent), names)
        if isinstance(below, Mapping):
            yield from _tree(below, names)


def _path(path: Sequence[Any], names: Sequence[str]) -> Iterator[Relation]:
    """Yield that each step of a path implies the step before it."""
    steps = [str(step).strip() for step in path if step is not None and step == step and str(step).strip()]
    for parent, child in pairwise(steps):
        yield implication(child, parent, names)


def _from_file(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"relations: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"relations: {path} is not a text in UTF-8") from error
    ending = path.suffix.lower()
    if ending == ".csv":
        return list(csv.reader(text.splitlines()))
    if ending == ".json":
        try:
            return json.loads(text)
        except ValueError as error:
            raise DataError(f"relations: {path} is not valid JSON: {error}") from error
    if ending == ".txt":
        return text
    raise OptionError(f"relations: {path} must end in {', '.join(_ENDINGS)}; in a .txt file {HOW_TO}, one per line")
