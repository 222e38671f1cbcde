"""What a model says about how it was made: what polyrule itself reads of it has a type, the rest is plain JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyrule.data import documents
from polyrule.errors import ModelError

DEEPEST = 40
_LARGEST = 2**63 - 1


class Node(documents.Node):
    """A value inside a model file, and the way there; errors are about the model."""

    error = ModelError


def _text(node: Node) -> object:
    return node.text()


def _flag(node: Node) -> object:
    return node.flag()


def _number(node: Node) -> object:
    return node.number()


def _count(node: Node) -> object:
    return node.whole(0, _LARGEST)


def _maybe(read: Callable[[Node], object]) -> Callable[[Node], object]:
    return lambda node: node.maybe(read)


def _reading(node: Node) -> object:
    """How the training data was written: texts, lists of texts, or yes and no."""
    for name, value in node.mapping().items():
        if not isinstance(value, (str, bool)):
            for part in node.member(name):
                part.text()
    return node.value


_MEMBERS: dict[str, Callable[[Node], object]] = {
    "learner": _text,
    "polyrule_version": _text,
    "examples": _count,
    "data_fingerprint": _text,
    "stopped": _text,
    "recounted": _text,
    "id_column": _text,
    "reading": _reading,
}
_OPTIONS: dict[str, Callable[[Node], object]] = {
    "measure": _text,
    "averaging": _text,
    "scope": _text,
    "search": _text,
    "heads": _text,
    "lift": _maybe(_text),
    "negative": _maybe(_flag),
    "prune": _maybe(_text),
    "teacher": _maybe(_text),
    "keep_covered": _flag,
    "max_head_size": _maybe(lambda node: node.whole(1, _LARGEST)),
    "effort": _maybe(lambda node: node.whole(1, _LARGEST)),
    "stop_threshold": _maybe(_number),
}


def decode_info(node: Node) -> dict[str, Any]:
    """Return the information about a model after holding it against the types of its members."""
    found = node.mapping()
    check_depth(node)
    for name, read in _MEMBERS.items():
        if name in found:
            read(node.member(name))
    if "options" in found:
        options = node.member("options")
        given = options.mapping()
        for name, read in _OPTIONS.items():
            if name in given:
                read(options.member(name))
    return found


def learning_options(info: dict[str, Any], *required: str) -> dict[str, Any]:
    """Return the options a model was learned with, of the right types and with everything `required` among them."""
    decode_info(Node(info, "model", "info"))
    options = info.get("options")
    if not isinstance(options, dict):
        raise ModelError("the model does not say how it was learned, so it cannot be checked against data")
    for name in required:
        if name not in options:
            raise ModelError(f"the model does not say with which {name} it was learned, so it cannot be checked")
    return options


def check_depth(node: Node) -> None:
    """Refuse what is nested so deeply that writing it again would fail."""
    level: list[Any] = [node.value]
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    node.fail(f"is nested more than {DEEPEST} deep")
