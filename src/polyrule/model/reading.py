"""Taking a model file apart with errors that say where."""

from __future__ import annotations

from polyrule.data import documents
from polyrule.errors import ModelError


class Node(documents.Node):
    """A value inside a model file, and the way there."""

    error = ModelError
