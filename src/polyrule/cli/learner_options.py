"""Options of the learners, made from the signatures and docstrings of their classes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import polyrule
from polyrule.cli.command import RENAMED, Either, Maybe, Option
from polyrule.errors import OptionError
from polyrule.utils.messages import parameter_name


@cache
def read_signature(module: str, name: str) -> type:
    """Return a class with the docstring and the constructor's parameters of one of this package, but nothing else.

    Its module is not imported, which takes long. Defaults must be plain constants, as scikit-learn asks of estimators
    anyway.

    Examples
    --------
    >>> list(inspect.signature(read_signature("polyrule.cli.command", "Option")).parameters)
    ['args', 'section', 'extra']
    """
    path = Path(polyrule.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    start = next(node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    found.bases, found.keywords, found.decorator_list, found.body = [], [], [], [found.body[0], start]
    shell: dict[str, Any] = {}
    exec(compile(ast.Module([found], []), str(path), "exec"), shell)  # annotations stay text, as those of this module
    made: type = shell[name]
    return made


# Name on the command line -> module and class.
LEARNERS = {
    "list": ("polyrule.estimators.rule_list", "RuleListClassifier"),
    "br": ("polyrule.estimators.binary_relevance", "BinaryRelevanceRuleClassifier"),
    "ensemble": ("polyrule.estimators.ensemble", "RuleEnsembleClassifier"),
}

_WHAT = {"list": "one rule list for all labels", "br": "one list per label", "ensemble": "a few weighted rules"}

# Headings of the help text, in order.
_SECTIONS = (
    "Learning, with every learner",
    "Learning, with --learner list or br",
    "Learning, with --learner list",
    "Learning, with --learner ensemble",
)

# Parameters that have no place on the command line.
_LEFT_OUT = ("callback", "random_state", "verbose", "features", "forbid", "monotone", "keep_columns")

# Where a docstring describes several parameters at once, or speaks of Python objects.
_TEXTS = {
    "measure": "What a rule is judged by: see 'polyrule measure', or an expression such as tp/(tp+fp+0.5*fn).",
    "averaging": "How the counts of labels and examples are averaged.",
    "max_conditions": "Maximum number of conditions of a rule; a group counts as one.  [default: list: 3, with --prune"
    " none no limit; br: no limit; ensemble: 4]",
    "max_head_size": "Most labels in a head.",
    "effort": "Heads tried for a body, at most, by measures whose best head takes very long to find; rules then say by"
    " how much they can be beaten; with --prune none.",
    "negative": "Whether rules may say that a label is absent; with --prune none.  [default: yes, unless pruned]",
    "label_conditions": "Whether bodies may test labels set by earlier rules; with --prune none.  [default: yes, unless"
    " pruned]",
    "prune": "What the list as a whole is judged by when few rules are chosen: f1, another F-measure, hamming; none"
    " keeps the list as it is grown.",
    "simplicity": "Price of rules, conditions and labels: 2 gives shorter lists, 0.5 longer ones.",
    "max_rules": "Most rules in the model.",
    "teacher": "What tells how sure one can be of each training label; none fits the bare labels.",
    "kernels": "Which engine; both give the same model.",
    "n_jobs": "Threads; the model does not depend on it.",
}
_NOTHING = "no limit"
_LIMITS = ("max_conditions", "max_head_size", "max_rules", "time_limit", "effort")
_CHOICES = re.compile(r"^\{(.+)\}$")


@cache
def available() -> dict[str, Mapping[str, inspect.Parameter]]:
    """Return what the learners take, by their names on the command line."""
    return {name: inspect.signature(read_signature(*home)).parameters for name, home in LEARNERS.items()}


def learner_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--learner`` and the parameters of all learners; the command gets the latter as part of its keywords."""
    options: dict[str, Option] = {}
    for learner, parameters in available().items():
        texts = parameter_texts(inspect.getdoc(read_signature(*LEARNERS[learner])) or "")
        for name, parameter in parameters.items():
            if name not in _LEFT_OUT and name not in options:
                options[name] = _option(name, parameter, *texts.get(name, ("", "")))
    ordered = sorted(options.values(), key=lambda option: _SECTIONS.index(option.section))
    for option in reversed(ordered):
        _attach(function, option)
    names = list(available())
    text = "; ".join(f"{name}: {_WHAT[name]}" for name in names) + "."
    return click.option("--learner", type=click.Choice(names), default="list", show_default=True, help=text)(function)


def limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what bodies may test."""
    section = _SECTIONS[2]
    texts = {
        "features": (
            "LABEL=NAME,..",
            "The only features that rules for a label may test; may be repeated. Ensembles, too.",
        ),
        "forbid": ("NAME,..", "Features that no rule may test; may be repeated. Ensembles, too."),
        "monotone": ("NAME=up|down", "A feature that counts in one direction only; may be repeated. Ensembles, too."),
    }
    keep = "Columns to learn from although they identify rows, such as numbers of patients; may be repeated."
    _attach(function, Option(["--keep-columns"], multiple=True, metavar="SPEC", help=keep, section=_SECTIONS[0]))
    for name, (metavar, text) in reversed(texts.items()):
        _attach(function, Option([f"--{name}"], multiple=True, metavar=metavar, help=text, section=section))
    return function


def names_in(text: str, known: Collection[str]) -> list[str]:
    """Return the names in a list with commas; a known name that contains commas is one name.

    >>> names_in("a, b", ["a", "b"]), names_in("a,b", ["a,b"])
    (['a', 'b'], ['a,b'])
    """
    return [text] if text in known else [name.strip() for name in text.split(",")]


def forbidden_names(ctx: click.Context, known: Collection[str]) -> list[str]:
    """Return the features that ``--forbid`` names."""
    return list(dict.fromkeys(name for text in ctx.params["forbid"] for name in names_in(text, known)))


def _limits(ctx: click.Context, accepted: set[str], known: Collection[str]) -> dict[str, Any]:
    """Return what bodies may test, as the estimator takes it; `known` are the names of the features."""
    limits: dict[str, Any] = {}
    for name in ("features", "forbid", "monotone"):
        if ctx.params.get(name) and name not in accepted:
            raise OptionError(f"--{name} is for the learners 'list' and 'ensemble'")
    if forbidden := forbidden_names(ctx, known):
        limits["forbid"] = forbidden
    allowed: dict[str, list[str]] = {}
    for label, names in _pairs(ctx, "features", "LABEL=NAME,.."):
        allowed.setdefault(label, []).extend(names_in(names, known))
    directions: dict[str, str] = {}
    for feature, direction in _pairs(ctx, "monotone", "NAME=up or NAME=down"):
        if directions.setdefault(feature, direction) != direction:
            raise OptionError(f"--monotone says two directions of {feature}; give one")
    return limits | ({"features": allowed} if allowed else {}) | ({"monotone": directions} if directions else {})


def _pairs(ctx: click.Context, name: str, form: str) -> Iterator[tuple[str, str]]:
    """Split the values of an option at their last equals sign."""
    for text in ctx.params.get(name, ()):
        left, sign, right = text.rpartition("=")
        if not sign or not left:
            raise OptionError(f"--{name} is written {form}, not {right!r}")
        yield left, right


def make_learner(
    ctx: click.Context, learner: str, callback: Any, preset: str | None = None, known: Collection[str] = ()
) -> Any:
    """Return the estimator that the options ask for; `known` are the names of the features.

    A preset is a class method that gives other defaults.
    """
    accepted = set(available()[learner])
    names = set().union(*available().values())
    given: dict[str, Any] = {"callback": callback} if "callback" in accepted and callback else {}
    given |= _limits(ctx, accepted, known)
    if ctx.params.get("keep_columns"):
        given["keep_columns"] = ",".join(ctx.params["keep_columns"])
    if "random_state" in accepted:
        given["random_state"] = ctx.params["seed"]
    for name in sorted(names - set(_LEFT_OUT)):
        spelled = RENAMED.get(name, name)
        if ctx.get_parameter_source(spelled) in (ParameterSource.DEFAULT, None):
            continue
        if name not in accepted and ctx.params[spelled] == _default(ctx.command, spelled):
            continue  # a configuration file holds the options of all learners
        if name not in accepted:
            raise OptionError(f"{parameter_name(name)} is no option of the learner {learner!r}")
        if name == "n_jobs" and ctx.params[spelled] == 0:
            raise OptionError("--threads must not be 0; -1 takes all processors")
        given[name] = ctx.params[spelled]
    module, attribute = LEARNERS[learner]
    chosen = getattr(import_module(module), attribute)
    if preset is None:
        return chosen(**given)
    if not hasattr(chosen, preset):
        raise OptionError(f"--preset {preset} is for the learner 'list'")
    return getattr(chosen, preset)(**given)


def _default(command: click.Command, name: str) -> Any:
    return next((param.default for param in command.params if param.name == name), None)


def parameter_texts(docstring: str) -> dict[str, tuple[str, str]]:
    """Type and description of every parameter, from a numpydoc docstring."""
    lines = docstring.splitlines()
    start = lines.index("Parameters") + 2 if "Parameters" in lines else len(lines)
    texts: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for position in range(start, len(lines)):
        line = lines[position]
        if position + 1 < len(lines) and re.fullmatch(r"-+", lines[position + 1]):
            break
        if line and not line.startswith(" "):
            left, _, kind = line.partition(" : ")
            names = [name.strip() for name in left.split(",")]
            texts |= dict.fromkeys(names, (kind.strip(), ""))
        elif line.strip():
            for name in names:
                kind, text = texts[name]
                texts[name] = (kind, f"{text} {line.strip()}".strip())
    return texts


def _defaults(name: str) -> dict[str, Any]:
    """Return the default of a parameter for every learner that has it."""
    return {learner: taken[name].default for learner, taken in available().items() if name in taken}


def _section(learners: set[str]) -> str:
    """Return the heading for options of these learners; what list and ensemble share counts as common."""
    if {"list", "ensemble"} <= learners:
        return _SECTIONS[0]
    return _SECTIONS[1 if "br" in learners else 2 if "list" in learners else 3]


def _help(name: str, kind: str, text: str) -> tuple[str, bool]:
    """Return what the help says about a parameter, and whether click shall add the default."""
    told = _TEXTS.get(name) or (text or kind).split(". ")[0].rstrip(".") + "."
    told = told.replace("None", "none").replace("True", "true").replace('"', "")
    defaults = _defaults(name)
    if {"list", "ensemble"} <= set(defaults) and "br" not in defaults:
        told = told.rstrip(".") + " (not for br)."
    if "[default:" in told:
        return told, False
    if name in _LIMITS:
        shown = dict.fromkeys(_NOTHING if value is None else str(value) for value in defaults.values())
        words = [value if value == _NOTHING or len(shown) == 1 else f"ensemble: {value}" for value in shown]
        return f"{told}  [default: {'; '.join(words)}]", False
    default = next(iter(defaults.values()))
    if default is False and kind != "bool":
        return f"{told}  [default: false]", False  # click would show Python's False
    return told, default is not None


def _option(name: str, parameter: inspect.Parameter, kind: str, text: str) -> Option:
    spelled = RENAMED.get(name, name)
    dashed = spelled.replace("_", "-")
    annotation, default = parameter.annotation, parameter.default
    told, shown = _help(name, kind, text)
    common: dict[str, Any] = {"default": default, "help": told, "section": _section(set(_defaults(name)))}
    if annotation in ("bool", "bool | None"):
        return Option([f"--{dashed}/--no-{dashed}"], show_default=default is not None, **common)
    choices = _CHOICES.match(kind)
    base: Any
    if choices:
        base = click.Choice([part.strip().strip("\"'") for part in choices[1].split(",") if "None" not in part])
    else:
        base = _type(set(annotation.split(" | ")))
    maybe = Maybe(base) if "None" in annotation else base
    return Option([f"--{dashed}"], type=maybe, show_default=shown, **common)


def _type(parts: set[str]) -> Any:
    """Return the click type for the alternatives of an annotation such as ``str | float``."""
    if len(parts & {"str", "float", "int", "bool"}) > 1:
        return Either(frozenset(parts))
    return click.INT if "int" in parts else click.FLOAT if "float" in parts else click.STRING


def _attach(function: Callable[..., Any], option: click.Option) -> None:
    params: list[click.Parameter] = getattr(function, "__click_params__", [])
    function.__click_params__ = [*params, option]  # type: ignore[attr-defined]
