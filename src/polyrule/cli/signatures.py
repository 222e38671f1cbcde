"""What a class takes and says about it, read from its source: help comes at once and does not wait for scikit-learn."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polyrule


@dataclass(frozen=True)
class Signature:
    """Parameters of a class's constructor, in order, with their annotations as text, and its docstring."""

    parameters: Mapping[str, inspect.Parameter]
    docstring: str


@cache
def read_signature(module: str, name: str) -> Signature:
    """Read the signature of a class of this package without importing its module.

    Defaults must be plain constants, as scikit-learn asks of estimators anyway.

    Examples
    --------
    >>> list(read_signature("polyrule.cli.command", "Option").parameters)
    ['args', 'section', 'extra']
    """
    path = Path(polyrule.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    start = next(node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    return Signature(_parameters(start.args), ast.get_docstring(found) or "")


def _parameters(given: ast.arguments) -> dict[str, inspect.Parameter]:
    plain = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    kinds = inspect.Parameter
    found: list[tuple[ast.arg, ast.expr | None, Any]] = []
    found += [(*pair, kinds.POSITIONAL_OR_KEYWORD) for pair in zip(plain, [*missing, *given.defaults], strict=True)]
    found += [(given.vararg, None, kinds.VAR_POSITIONAL)] if given.vararg else []
    found += [(*pair, kinds.KEYWORD_ONLY) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    found += [(given.kwarg, None, kinds.VAR_KEYWORD)] if given.kwarg else []
    return {arg.arg: _parameter(arg, default, kind) for arg, default, kind in found if arg.arg != "self"}


def _parameter(arg: ast.arg, default: ast.expr | None, kind: Any) -> inspect.Parameter:
    value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
    return inspect.Parameter(
        arg.arg, kind, default=value, annotation="" if arg.annotation is None else ast.unparse(arg.annotation)
    )
