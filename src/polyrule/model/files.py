"""Model files: versioned JSON that reads well in a diff, carries its own checksum and never runs code.

A file holds one model of some *kind*. What all kinds share (names, features, information about training, checksum) is
handled here; the members of each kind are in `schema.MODELS`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import resources
from typing import Any

from polyrule.conditions import group_of
from polyrule.conditions.vocabulary import Vocabulary
from polyrule.data import documents
from polyrule.data.columns import shorten
from polyrule.data.documents import checksum as _checksum  # noqa: F401 - whoever changes a file seals it with this
from polyrule.data.documents import feature_record, is_sealed, parse, read_feature, sealed
from polyrule.errors import ModelError
from polyrule.utils.atomic import atomic_write
from polyrule.utils.budget import current_limits
from polyrule.utils.lazy import import_late

FORMAT = "polyrule-model"
VERSION = 2

_KINDS = ("rule-list", "rule-ensemble")


def _codecs() -> Any:
    """Return the module of the members of models, imported late, because models save themselves."""
    return import_late("polyrule.model.schema")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model; the file appears whole or not at all."""
    text = dumps(model)
    with atomic_write(path) as stream:
        stream.write(text)


def load(path: str | os.PathLike[str], *, check: bool = True) -> Any:
    """Read a model of any kind.

    Parameters
    ----------
    path : str or path-like
        A file that `save` wrote.
    check : bool
        Refuse a file whose content does not match its checksum. Pass False for a file edited by hand on purpose; its
        content is still checked in every other way.

    Raises
    ------
    ModelError
        The file is truncated, of an unknown version or kind, changed since it was written, or makes no sense.
    LimitError
        The file asks for more than `polyrule.limits` allows.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from polyrule import RuleListClassifier, datasets
    >>> model = RuleListClassifier(max_rules=3).fit(datasets.load("emotions", part="train")).rules_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.json")
    ...     again = load(f"{folder}/model.json")
    >>> str(again) == str(model)
    True
    """
    allowed = current_limits()
    try:
        with open(path, "rb") as stream:
            # one byte more than allowed tells enough, also of a pipe that never ends
            raw = stream.read() if allowed.max_bytes is None else stream.read(allowed.max_bytes + 1)
        allowed.check_bytes(str(path), len(raw))
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not a model file (not UTF-8 text at byte {error.start})") from error
    return loads(text, source=str(path), check=check)


def dumps(model: Any) -> str:
    """Return the text of a model file.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule, RuleList
    >>> text = dumps(RuleList((Rule((Literal(0, 1, tp=3),)),), (), ("sad",)))
    >>> loads(text).format_rule(0)
    'sad <- true   (TP 3, FP 0)'
    """
    kind, codecs = kind_of(model), _codecs()
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": _version_for(model),
        "kind": kind,
        "info": plain_json(model.info, "info"),
        "labels": list(model.label_names),
        "features": [feature_record(feature) for feature in model.features],
        **codecs.MODELS[kind].write(model, Vocabulary(model.features, model.label_names)),
    }
    return sealed(document)


def loads(text: str, *, source: str = "model", check: bool = True) -> Any:
    """Read a model from the text of its file; see `load`."""
    allowed = current_limits()
    allowed.check_bytes(source, len(text))
    allowed.check_time(source)
    document = parse(text, source, "model file", ModelError)
    allowed.check_time(source)
    root = ModelNode(document, source)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError(f"{source}: not a polyrule model file")
    version: Any = document.get("version")
    if isinstance(version, bool) or version not in range(1, VERSION + 1):
        raise ModelError(
            f"{source}: version {shorten(version)} of the model format; this polyrule reads versions 1 to {VERSION},"
            " another release may read this one"
        )
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ModelError(f"{source}: unknown kind of model {shorten(kind)}; known: {', '.join(_KINDS)}")
    if check and not is_sealed(document):
        raise ModelError(
            f"{source}: the content does not match its checksum, so it was changed or damaged after it was written; if"
            " you edited it on purpose, seal it again with 'polyrule edit seal'"
        )
    codecs = _codecs()
    record = codecs.MODELS[kind]
    required = ("format", "version", "kind", "info", "labels", "features")
    members = root.fields((*required, *record.required), ("checksum", *record.optional))
    shared = {
        "label_names": tuple(node.text() for node in members["labels"]),
        "features": tuple(read_feature(node) for node in members["features"]),
        "info": decode_info(members["info"]),
    }
    allowed.check_cells(source, _size(document))
    names = Vocabulary(shared["features"], shared["label_names"])  # type: ignore[arg-type]
    try:
        model = record.make(**record.values(members, names), **shared)
    except ModelError as error:
        raise error if str(error).startswith(source) else ModelError(f"{source}: {error}") from error
    if version < _version_for(model):
        raise ModelError(
            f"{source}: it has a group of alternatives or relations, which takes version 2 of the model format"
        )
    return model


def _version_for(model: Any) -> int:
    """The oldest version that can store a model, so that older releases read as many files as possible."""
    return 2 if model.relations or any(group_of(rule.body) for rule in model.rules) else 1


def kind_of(model: Any) -> str:
    """Name of the kind a model belongs to."""
    kind = getattr(type(model), "KIND", None)
    if kind not in _KINDS:
        raise ModelError(f"{type(model).__name__} is no model that can be stored")
    return str(kind)


def schema() -> dict[str, Any]:
    """Return the published JSON Schema of model files."""
    text = resources.files("polyrule.model").joinpath("schema", f"model-v{VERSION}.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _size(document: dict[str, Any]) -> int:
    """Names, conditions, members of groups and literals of a model: what its cost grows with."""
    features = [feature for feature in document["features"] if isinstance(feature, dict)]
    listed = document.get("rules")
    rules = [rule for rule in listed if isinstance(rule, dict)] if isinstance(listed, list) else []
    parts = [document["labels"], features, *(feature.get("categories") for feature in features)]
    halves = [half for rule in rules for half in (rule.get("head"), rule.get("body")) if isinstance(half, list)]
    parts += [*halves, *(part.get("members") for half in halves for part in half if isinstance(part, dict))]
    return sum(len(part) for part in parts if isinstance(part, list))


def plain_json(value: Any, path: str) -> Any:
    """Return the value itself if JSON can hold it exactly."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and value - value == 0:
        return float(value)
    if isinstance(value, (list, tuple)):
        return [plain_json(item, f"{path}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain_json(item, f"{path}.{key}") for key, item in value.items()}
    raise ModelError(f"{path} holds {value!r}, which a model file cannot store: use text, numbers, lists or dicts")


DEEPEST = 40
_LARGEST = 2**63 - 1


class ModelNode(documents.JsonNode):
    """A value inside a model file, and the way there; errors are about the model."""

    error = ModelError


def _count(node: ModelNode) -> object:
    return node.whole(0, _LARGEST)


def _maybe(read: Callable[[ModelNode], object]) -> Callable[[ModelNode], object]:
    return lambda node: node.maybe(read)


def _reading(node: ModelNode) -> object:
    """Check the notation of the training data: texts, lists of texts, or yes and no."""
    for name, value in node.mapping().items():
        if not isinstance(value, (str, bool)):
            for part in node.member(name):
                part.text()
    return node.value


_MEMBERS: dict[str, Callable[[ModelNode], object]] = {
    "learner": ModelNode.text,
    "polyrule_version": ModelNode.text,
    "examples": _count,
    "data_fingerprint": ModelNode.text,
    "stopped": ModelNode.text,
    "recounted": ModelNode.text,
    "id_column": ModelNode.text,
    "reading": _reading,
}
_OPTIONS: dict[str, Callable[[ModelNode], object]] = {
    "measure": ModelNode.text,
    "averaging": ModelNode.text,
    "scope": ModelNode.text,
    "search": ModelNode.text,
    "heads": ModelNode.text,
    "lift": _maybe(ModelNode.text),
    "negative": _maybe(ModelNode.flag),
    "optimize": ModelNode.text,
    "prune": _maybe(ModelNode.text),
    "teacher": _maybe(ModelNode.text),
    "keep_covered": ModelNode.flag,
    "max_head_size": _maybe(lambda node: node.whole(1, _LARGEST)),
    "effort": _maybe(lambda node: node.whole(1, _LARGEST)),
    "stop_threshold": _maybe(ModelNode.number),
}


def decode_info(node: ModelNode) -> dict[str, Any]:
    """Return the information about a model after holding it against the types of its members."""
    members = node.mapping()
    check_depth(node)
    for name, read in _MEMBERS.items():
        if name in members:
            read(node.member(name))
    if "options" in members:
        options = node.member("options")
        recorded = options.mapping()
        for name, read in _OPTIONS.items():
            if name in recorded:
                read(options.member(name))
    return members


def learning_options(info: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which a model was learned, after checking their types."""
    decode_info(ModelNode(info, "model", "info"))
    options = info.get("options")
    if not isinstance(options, dict):
        raise ModelError("the model does not say how it was learned, so it cannot be checked against data")
    return options


def check_depth(node: ModelNode) -> None:
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
