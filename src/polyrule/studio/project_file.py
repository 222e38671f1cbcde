"""The project file: one JSON document, written whole after every change, by one program at a time.

Rules and everything else of a model are stored once, however many versions share them, so that a long history stays
small.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyrule.errors import ModelError, OptionError
from polyrule.model.columns import without_unused_items
from polyrule.model.files import ModelNode, check_depth, dumps, loads
from polyrule.studio.project import Project, Version
from polyrule.utils.atomic import atomic_write, hold
from polyrule.utils.budget import current_limits

FORMAT = "polyrule-studio"
VERSION = 1


class Encoder:
    """Turns versions into plain values; each is looked at once, because it never changes."""

    def __init__(self) -> None:
        self.shells: dict[str, int] = {}
        self.rules: dict[str, int] = {}
        self._done: list[tuple[Version, dict[str, Any]]] = []

    def document(self, project: Project, data: dict[str, Any] | None) -> dict[str, Any]:
        """Return the whole file as plain values."""
        if [version for version, _ in self._done] != list(project.versions[: len(self._done)]):
            self.__init__()  # type: ignore[misc]  # another history
        for version in project.versions[len(self._done) :]:
            self._done.append((version, self._encode(version)))
        return {
            "format": FORMAT,
            "version": VERSION,
            "data": data,
            "at": project.at,
            "versions": [entry for _, entry in self._done],
            "rules": [json.loads(text) for text in self.rules],
            "models": [json.loads(text) for text in self.shells],
            "last_words": [dict(one) for one in project.last_words],
        }

    def _encode(self, version: Version) -> dict[str, Any]:
        shell = json.loads(dumps(without_unused_items(version.model)))
        rules = shell.pop("rules")
        del shell["checksum"]
        return {
            "model": self._place(self.shells, shell),
            "rules": [self._place(self.rules, rule) for rule in rules],
            **{name: getattr(version, name) for name in ("step", "what", "why", "by", "when", "parent")},
            "notes": dict(version.notes),
            "scores": version.scores,
        }

    @staticmethod
    def _place(pool: dict[str, int], value: Any) -> int:
        return pool.setdefault(json.dumps(value), len(pool))


def save_project(path: Path, project: Project, data: dict[str, Any] | None, encoder: Encoder | None = None) -> None:
    """Write the project; the file appears whole or not at all."""
    text = json.dumps((encoder or Encoder()).document(project, data), indent=None, separators=(",", ":"))
    with atomic_write(path) as stream:
        stream.write(text + "\n")


def read_project(path: Path) -> tuple[Project, dict[str, Any] | None]:
    """Read a project and the description of its data; any bytes give a project or one typed error."""
    allowed = current_limits()
    raw = path.read_bytes()
    allowed.check_bytes(str(path), len(raw))
    try:
        document = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: no project file of polyrule studio ({error})") from error
    root = ModelNode(document, str(path))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        root.fail("is no project file of polyrule studio")
    if document.get("version") != VERSION:
        root.fail(f"has another version of the project format than {VERSION}; another release may read it")
    check_depth(root)
    members = root.fields(("format", "version", "data", "at", "versions", "rules", "models"), ("last_words",))
    pools = members["models"].items(), members["rules"].items()
    versions: list[Version] = []
    for node in members["versions"]:
        versions.append(_version(node, len(versions), *pools))
    at = members["at"].whole(-1, len(versions) - 1)
    data = members["data"].maybe(ModelNode.mapping)
    last_words = [_last_word(one, len(versions)) for one in members["last_words"].maybe(ModelNode.items) or ()]
    return Project(tuple(versions), at if versions else -1, tuple(last_words)), data


def _version(node: ModelNode, number: int, shells: list[ModelNode], pool: list[ModelNode]) -> Version:
    members = node.fields(("model", "rules", "step", "what", "why", "by", "when", "parent", "notes"), ("scores",))
    shell = shells[members["model"].whole(0, len(shells) - 1)]
    rules = [pool[item.whole(0, len(pool) - 1)].value for item in members["rules"]]
    model = loads(json.dumps({**shell.mapping(), "rules": rules}), source=node.source, check=False)
    notes = {
        text: dict(ModelNode(note, node.source, text).mapping()) for text, note in members["notes"].mapping().items()
    }
    return Version(
        model,
        members["step"].mapping(),
        members["what"].text(),
        members["why"].text(),
        members["by"].text(),
        members["when"].text(),
        members["parent"].maybe(lambda n: n.whole(0, number - 1)),
        notes,
        members["scores"].maybe(_scores),
    )


def _last_word(node: ModelNode, versions: int) -> dict[str, Any]:
    entry_of_file: dict[str, Any] = node.mapping()
    for entry in node.member("versions"):
        entry.member("version").whole(0, versions - 1)
        entry.member("scores").mapping()
    return entry_of_file


def _scores(node: ModelNode) -> tuple[float, float]:
    values = [float(one.number()) for one in node]
    if len(values) != 2:
        node.fail("must hold two scores")
    return values[0], values[1]


@contextlib.contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Hold a project against other programs until the block ends; the lock goes with its holder, however it ends.

    The lock lies on a file beside the project, because the project itself is replaced at every save.
    """
    with hold(path.with_name(f".{path.name}.lock")) as is_sole:
        if not is_sole:
            raise OptionError(f"{path}: another polyrule studio has this project open; close it, or name another")
        yield
