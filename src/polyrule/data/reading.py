"""Files become data sets: `read` whole, `read_chunks` in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyrule.data.assemble import Assembler
from polyrule.data.dataset import Dataset
from polyrule.data.formats.arff import ArffReader
from polyrule.data.roles import Roles, make_layout
from polyrule.data.sources import LARGEST_EXPANSION, Source
from polyrule.data.table import Feature


def read(
    path: Any,
    *,
    labels: Any = "auto",
    format: str | None = None,
    drop: Any = (),
    nominal: Any = (),
    numeric: Any = (),
    identifier: Any = None,
    weights: Any = None,
    tags: Any = None,
    tag_separator: str = "|",
    features: Sequence[Feature] | None = None,
    name: str | None = None,
    encoding: str | None = None,
    max_bytes: int = LARGEST_EXPANSION,
) -> Dataset:
    """Read a file."""
    source = Source(path, max_bytes, encoding)
    roles = Roles(labels, drop, nominal, numeric, identifier, weights, tags, tag_separator, features)
    reader = ArffReader(source)
    layout = make_layout(reader, roles, source)
    assembler = Assembler(layout, source.name, name or source.name)
    for block in reader.blocks(layout.numeric()):
        assembler.add(block)
    return assembler.dataset()
