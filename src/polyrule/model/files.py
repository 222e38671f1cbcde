"""Model files: versioned JSON that reads well in a diff, carries its own checksum and never runs code.

A file holds one model of some *kind*. What all kinds share (names, features, information about training, checksum) is
handled here; what a rule list is made of stands in `rule_list_file`. A new kind registers a `Codec`, and
`polyrule.kinds` imports the stages that have one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, NoReturn

from polyrule.budget import current_limits
from polyrule.data.columns import shorten
from polyrule.data.table import Feature
from polyrule.errors import ModelError, PolyruleError
from polyrule.model.atomic import atomic_write
from polyrule.model.info import decode_info
from polyrule.model.reading import Node

FORMAT = "polyrule-model"
VERSION = 1


@dataclass(frozen=True)
class Codec:
    """How the body of one kind of model is written and read.

    Parameters
    ----------
    encode : callable
        From a model to the plain JSON values of the members that belong to this kind.
    decode : callable
        From those members, the features, the label names and the information back to the model.
    members, optional : tuple of str
        Names of the members, and of those that may be absent.
    """

    encode: Callable[[Any], dict[str, Any]]
    decode: Callable[[dict[str, Node], tuple[Feature, ...], tuple[str, ...], dict[str, Any]], Any]
    members: tuple[str, ...]
    optional: tuple[str, ...] = ()


# The model class's KIND -> how to get its codec; a later stage adds its kinds here (see `polyrule.kinds`).
_KINDS: dict[str, Callable[[], Codec]] = {}


def register(kind: str, codec: Callable[[], Codec]) -> None:
    """Make a kind of model known; its codec is asked for when the first such model is read or written."""
    _KINDS[kind] = codec


def _rule_list_codec() -> Codec:
    from polyrule.model.rule_list_file import CODEC

    return CODEC


register("rule-list", _rule_list_codec)


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
    kind = kind_of(model)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "info": plain_json(model.info, "info"),
        "labels": list(model.label_names),
        "features": [_encode_feature(feature) for feature in model.features],
        **_KINDS[kind]().encode(model),
    }
    return _layout(document | {"checksum": _checksum(document)})


def loads(text: str, *, source: str = "model", check: bool = True) -> Any:
    """Read a model from the text of its file; see `load`."""
    allowed = current_limits()
    allowed.check_bytes(source, len(text))
    allowed.check_time(source)
    document = _parse(text, source)
    allowed.check_time(source)
    root = Node(document, source)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError(f"{source}: not a polyrule model file")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise ModelError(
            f"{source}: version {shorten(version)} of the model format; this polyrule reads version {VERSION}, another"
            " release may read this one"
        )
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ModelError(f"{source}: unknown kind of model {shorten(kind)}; known: {', '.join(_KINDS)}")
    if check:
        _check_sum(document, source)
    codec = _KINDS[kind]()
    shared = ("format", "version", "kind", "info", "labels", "features", "checksum")
    members = root.fields((*shared[:-1], *codec.members), ("checksum", *codec.optional))
    labels = tuple(node.text() for node in members["labels"])
    features = tuple(_decode_feature(node) for node in members["features"])
    info = decode_info(members["info"])
    allowed.check_cells(source, _size(document))
    own = {name: members[name] for name in (*codec.members, *codec.optional)}
    try:
        return codec.decode(own, features, labels, info)
    except ModelError as error:
        raise error if str(error).startswith(source) else ModelError(f"{source}: {error}") from error


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


def _parse(text: str, source: str) -> Any:
    def no_constant(name: str) -> NoReturn:
        raise ModelError(f"{source}: {name} is not a number a model may hold")

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    raise ModelError(f"{source}: member {shorten(name)} occurs twice in one object")
                seen.add(name)
        return members

    def finite(digits: str) -> float:
        number = float(digits)
        if number - number != 0:
            raise ModelError(f"{source}: {shorten(digits)} is too large for a number")
        return number

    try:
        return json.loads(text, parse_constant=no_constant, parse_float=finite, object_pairs_hook=no_duplicates)
    except json.JSONDecodeError as error:
        cut = "; the file looks cut off" if error.pos >= len(text.rstrip()) - 1 else ""
        raise ModelError(
            f"{source}: no model file, because it is not valid JSON at line {error.lineno}, column {error.colno}{cut}"
        ) from error
    except PolyruleError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{source}: not a model file ({error})") from error


def _check_sum(document: dict[str, Any], source: str) -> None:
    content = {name: value for name, value in document.items() if name != "checksum"}
    try:
        expected = _checksum(content)
    except RecursionError as error:
        raise ModelError(f"{source}: not a model file (nested too deeply)") from error
    if document.get("checksum") != expected:
        raise ModelError(
            f"{source}: the content does not match its checksum, so it was changed or damaged after it was written; if"
            " you edited it on purpose, seal it again with 'polyrule edit seal'"
        )


def _size(document: dict[str, Any]) -> int:
    """Names, conditions and literals of a model: what its cost grows with."""
    features = [feature for feature in document["features"] if isinstance(feature, dict)]
    listed = document.get("rules")
    rules = [rule for rule in listed if isinstance(rule, dict)] if isinstance(listed, list) else []
    parts = [document["labels"], features, *(feature.get("categories") for feature in features)]
    parts += [rule.get(half) for rule in rules for half in ("head", "body")]
    return sum(len(part) for part in parts if isinstance(part, list))


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _layout(document: dict[str, Any]) -> str:
    """One line per label, feature and rule: small enough to read, and a changed rule is a changed line."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value:
            inner = ",\n".join("  " + _line(item) for item in value)
            lines.append(f' "{name}": [\n{inner}\n ]')
        elif isinstance(value, dict) and value:
            inner = ",\n".join(f"  {_line(key)}: {_line(item)}" for key, item in value.items())
            lines.append(f' "{name}": {{\n{inner}\n }}')
        else:
            lines.append(f' "{name}": {_line(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    # A lone surrogate cannot be written as UTF-8; JSON's escape can.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if _encodable(text) else json.dumps(value, allow_nan=False)


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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


def _encode_feature(feature: Feature) -> dict[str, Any]:
    encoded: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    if feature.has_categories:
        encoded["categories"] = list(feature.categories)
    if feature.part:
        encoded["part"] = feature.part
    return encoded


def _decode_feature(node: Node) -> Feature:
    members = node.fields(("name", "kind"), ("categories", "part"))
    kind: Any = members["kind"].choice("numeric", "nominal", "ordinal", "date")
    categories = members["categories"].maybe(lambda n: tuple(item.text() for item in n)) or ()
    if kind in ("numeric", "date") and categories:
        node.fail(f"is {kind} and has categories")
    part = members["part"].maybe(lambda n: n.choice("year", "month", "weekday")) or ""
    return Feature(members["name"].text(), kind, categories, part)
