"""Public names, their parameters and the options of the command line, as `api_snapshot.json` lists them.

A change of the public interface is made on purpose: ``python -m tests.test_api_snapshot`` writes the file anew.
"""

from __future__ import annotations

import enum
import inspect
import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from polyrule.cli.app import app

SNAPSHOT = Path(__file__).with_name("api_snapshot.json")
MODULES = ("polyrule", "polyrule.data", "polyrule.dask", "polyrule.errors", "polyrule.measures", "polyrule.model")
LATER = ("polyrule.testing",)  # listed as soon as it exists


def names_of(module: Any) -> list[str]:
    """Names that a module exports; of one without ``__all__``, what it defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return sorted(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def signature_of(function: Any) -> str:
    """Parameters with their defaults; types may change without notice."""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={shown(parameter.default)}"
        if parameter.kind == parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        parameters.append(f"{stars}{parameter.name}{default}")
    return f"({', '.join(parameters)})"


def shown(default: Any) -> str:
    return repr(default) if isinstance(default, (str, int, float, tuple, type(None))) else type(default).__name__


def entry_of(value: Any) -> Any:
    """Description of one public name."""
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value) and issubclass(value, (Exception, enum.Enum)):
        return f"class({', '.join(base.__name__ for base in value.__bases__)})"
    if inspect.isclass(value):
        members = {"()": signature_of(value)}
        for name in sorted(dir(value)):
            ours = str(getattr(getattr(value, name, None), "__module__", "polyrule")).startswith("polyrule")
            if name.startswith("_") or not ours:
                continue
            is_function = callable(getattr(value, name))
            members[name] = signature_of(getattr(value, name)) if is_function else "attribute"
        return members
    return signature_of(value) if callable(value) else type(value).__name__


def options_of(command: click.Command) -> list[str]:
    """Arguments and options of a command."""
    words = []
    for param in command.params:
        if isinstance(param, click.Option):
            words.append("/".join([*param.opts, *param.secondary_opts]))
        else:
            words.append(param.human_readable_name)
    return words


def commands_of(group: click.Group, path: str = "polyrule") -> dict[str, list[str]]:
    context = click.Context(group)
    commands = {path: options_of(group)}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = f"{path} {name}"
        commands |= commands_of(command, below) if isinstance(command, click.Group) else {below: options_of(command)}
    return commands


def snapshot() -> dict[str, Any]:
    modules = [*MODULES, *(name for name in LATER if find_spec(name))]
    names = {
        name: {public: entry_of(getattr(module, public)) for public in names_of(module)}
        for name, module in ((name, import_module(name)) for name in modules)
    }
    return {"names": names, "commands": commands_of(app)}


def test_the_public_interface_changes_only_on_purpose() -> None:
    stored = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    today = json.loads(json.dumps(snapshot()))
    for kind, entries in today.items():
        for name, content in entries.items():
            assert content == stored[kind].get(name), f"{name} changed; on purpose? python -m tests.test_api_snapshot"
        assert stored[kind].keys() == entries.keys()


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(snapshot(), indent=1) + "\n", encoding="utf-8")
