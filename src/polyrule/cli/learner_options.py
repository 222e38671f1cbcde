"""Options of the learners, made from the signatures and docstrings of their classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
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

# Name on the command line -> module and class.
LEARNERS = {
    "list": ("polyrule.estimators.rule_list", "RuleListClassifier"),
    "seco": ("polyrule.estimators.seco", "SeCoClassifier"),
    "br": ("polyrule.estimators.binary_relevance", "BinaryRelevanceRuleClassifier"),
    "ensemble": ("polyrule.estimators.ensemble", "RuleEnsembleClassifier"),
}

_SUMMARIES = {
    "list": "a short rule list, selected as a whole",
    "seco": "the list of the paper's learner",
    "br": "one list per label",
    "ensemble": "a few weighted rules",
}

_SHARED = "Learning"

# Parameters without an option of that name.
_WITHOUT_OPTION = ("random_state", "verbose", "constraints")
_LIMITS = ("features", "forbid", "monotone", "keep_columns")
_SETTINGS = ("kernels", "device")

# Help of parameters whose docstring names Python objects, or differs between learners.
_TEXTS = {
    "measure": "Measure by which a rule is judged: see 'polyrule measure list', or an expression such as"
    " tp/(tp+fp+0.5*fn).",
    "optimize": "Measure of the whole model: f1, another F-measure or hamming (list); micro-f1, macro-f1, example-f1,"
    " subset or hamming (ensemble).",
    "points": "Whole points instead of weights (a scorecard): true for at most 10 per label, or the maximum.",
    "cv": "Folds of the cross-validation inside the training data.",
}
# Words for None, if it is not "none".
_NO_LIMIT = dict.fromkeys(("max_rules", "max_conditions", "max_head_size", "effort", "time_limit"), "no limit")
_NONE = _NO_LIMIT | {"n_jobs": "1", "max_samples": "all"}
_CHOICES = re.compile(r"^\{(.+)\}$")


@dataclass(frozen=True)
class Parameter:
    """A parameter as the source of its class states it.

    Parameters
    ----------
    annotation, default : str and object
        From the signature.
    kind, text : str
        Type and description from the docstring.
    """

    annotation: str
    default: Any
    kind: str
    text: str


@cache
def read_parameters(module: str, name: str) -> dict[str, Parameter]:
    """Return the parameters of a class of this package, read from its source.

    Its module is not imported, because that takes long. Defaults are plain constants.

    Examples
    --------
    >>> read_parameters("polyrule.estimators.seco", "SeCoClassifier")["beam_width"].default
    1
    """
    path = Path(polyrule.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    init = next(node for node in node.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    texts = parameter_texts(ast.get_docstring(node) or "")
    positional = init.args.args[1:]
    pairs = [
        *zip(positional, init.args.defaults, strict=True),
        *zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True),
    ]
    return {
        arg.arg: Parameter(ast.unparse(arg.annotation), ast.literal_eval(default), *texts.get(arg.arg, ("", "")))
        for arg, default in pairs
        if arg.annotation is not None and default is not None
    }


def parameter_texts(docstring: str) -> dict[str, tuple[str, str]]:
    """Return type and description of each parameter of a numpydoc docstring."""
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
            texts |= dict.fromkeys(names, (kind.partition(", default=")[0].strip(), ""))
        elif line.strip():
            for name in names:
                kind, text = texts[name]
                texts[name] = (kind, f"{text} {line.strip()}".strip())
    return texts


@cache
def available() -> dict[str, dict[str, Parameter]]:
    """Return the parameters of the learners, by their names on the command line."""
    return {name: read_parameters(*home) for name, home in LEARNERS.items()}


def learner_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--learner``, the parameters of all learners, and what bodies may test."""
    names = dict.fromkeys(name for parameters in available().values() for name in parameters)
    options = [_option(name) for name in names if name not in _WITHOUT_OPTION]
    options += [*_limit_options(), *_setting_options()]
    sections = [_SHARED, *map(_heading, LEARNERS), "The machine"]
    options.sort(key=lambda option: sections.index(option.section))
    for option in reversed(options):
        _attach(function, option)
    text = "; ".join(f"{name}: {summary}" for name, summary in _SUMMARIES.items()) + "."
    choice = click.Choice(list(LEARNERS))
    return click.option("--learner", type=choice, default="list", show_default=True, help=text)(function)


def _limit_options() -> Iterator[Option]:
    """Yield the options of `polyrule.Constraints`."""
    texts = {
        "features": ("LABEL=NAME,..", "The only features that rules for a label may test; may be repeated."),
        "forbid": ("NAME,..", "Features that no rule may test; may be repeated."),
        "monotone": ("NAME=up|down", "A feature that counts in one direction only; may be repeated."),
        "keep_columns": ("SPEC", "Columns to learn from although they identify rows, such as keys; may be repeated."),
    }
    for name, (metavar, text) in texts.items():
        dashed = name.replace("_", "-")
        text = f"{text.rstrip('.')} ({_owners(_of_constraints())})."
        yield Option([f"--{dashed}"], multiple=True, metavar=metavar, help=text, section=_SHARED)


def _setting_options() -> Iterator[Option]:
    """Yield the options of `polyrule.config_context`."""
    common: dict[str, Any] = {"show_default": True, "section": "The machine"}
    kernels = Maybe(click.Choice(["native", "reference"]))
    text = "Engine: compiled, or the slow one in NumPy; the model does not depend on it.  [default: as installed]"
    yield Option(["--kernels"], type=kernels, help=text, section="The machine")
    text = "Processor that counts bins and computes gains; the model does not depend on it."
    yield Option(["--device"], type=click.Choice(["cpu", "cuda"]), default="cpu", help=text, **common)


def names_in(text: str, feature_names: Collection[str]) -> list[str]:
    """Return the names in a list with commas; a known name that contains commas is one name.

    >>> names_in("a, b", ["a", "b"]), names_in("a,b", ["a,b"])
    (['a', 'b'], ['a,b'])
    """
    return [text] if text in feature_names else [name.strip() for name in text.split(",")]


def forbidden_names(ctx: click.Context, feature_names: Collection[str]) -> list[str]:
    """Return the features that ``--forbid`` names."""
    return list(dict.fromkeys(name for text in ctx.params["forbid"] for name in names_in(text, feature_names)))


def _constraints(ctx: click.Context, learner: str, feature_names: Collection[str]) -> dict[str, Any]:
    """Return the estimator's `constraints`; `feature_names` are those of the data."""
    for name in _LIMITS:
        if ctx.params.get(name) and learner not in _of_constraints():
            raise OptionError(f"{parameter_name(name)} is for the learners {_owners(_of_constraints())}")
    limits: dict[str, Any] = {}
    if forbidden := forbidden_names(ctx, feature_names):
        limits["forbid"] = forbidden
    allowed: dict[str, list[str]] = {}
    for label, names in _pairs(ctx, "features", "LABEL=NAME,.."):
        allowed.setdefault(label, []).extend(names_in(names, feature_names))
    directions: dict[str, str] = {}
    for feature, direction in _pairs(ctx, "monotone", "NAME=up or NAME=down"):
        if directions.setdefault(feature, direction) != direction:
            raise OptionError(f"--monotone has two directions for {feature}; pass one")
    limits |= ({"features": allowed} if allowed else {}) | ({"monotone": directions} if directions else {})
    if ctx.params.get("keep_columns"):
        limits["keep_columns"] = ",".join(ctx.params["keep_columns"])
    return {"constraints": limits} if limits else {}


def _pairs(ctx: click.Context, name: str, form: str) -> Iterator[tuple[str, str]]:
    """Split the values of an option at their last equals sign."""
    for text in ctx.params.get(name, ()):
        left, sign, right = text.rpartition("=")
        if not sign or not left:
            raise OptionError(f"--{name} is written {form}, not {right!r}")
        yield left, right


def make_learner(ctx: click.Context, learner: str, feature_names: Collection[str] = ()) -> Any:
    """Return the estimator with the options of the command line; `feature_names` are those of the data."""
    accepted = available()[learner]
    options = _constraints(ctx, learner, feature_names)
    if "random_state" in accepted:
        options["random_state"] = ctx.params["seed"]
    for name in sorted(set().union(*available().values()) - set(_WITHOUT_OPTION)):
        spelled = RENAMED.get(name, name)
        if ctx.get_parameter_source(spelled) in (ParameterSource.DEFAULT, None):
            continue
        value = ctx.params[spelled]
        if name not in accepted and value == _default(ctx.command, spelled):
            continue  # a configuration file holds the options of all learners
        if name not in accepted:
            raise OptionError(f"{parameter_name(name)} is no option of the learner {learner!r}")
        if name == "n_jobs" and value == 0:
            raise OptionError("--threads must not be 0; -1 uses all processors")
        options[name] = value
    module, attribute = LEARNERS[learner]
    return getattr(import_module(module), attribute)(**options)


def machine_settings(ctx: click.Context) -> dict[str, Any]:
    """Return the settings for `polyrule.config_context`."""
    return {name: ctx.params[name] for name in _SETTINGS}


def _default(command: click.Command, name: str) -> Any:
    return next((param.default for param in command.params if param.name == name), None)


def _of_constraints() -> list[str]:
    return [learner for learner, parameters in available().items() if "constraints" in parameters]


def _owners(learners: Collection[str]) -> str:
    """Return names of learners as the help lists them."""
    return ", ".join(learner for learner in LEARNERS if learner in learners)


def _heading(learner: str) -> str:
    return f"Learning, with --learner {learner}"


def _defaults(name: str, by_learner: dict[str, Parameter]) -> str:
    """Return the defaults of a parameter in words: one, or one for each learner."""
    by_word: dict[str, list[str]] = {}
    for learner, parameter in by_learner.items():
        value = parameter.default
        word = _NONE.get(name, "none") if value is None else str(value)
        if isinstance(value, bool):
            word = word.lower()
        by_word.setdefault(word, []).append(learner)
    if len(by_word) == 1:
        return next(iter(by_word))
    return "; ".join(f"{', '.join(learners)}: {word}" for word, learners in by_word.items())


def _option(name: str) -> Option:
    """Return the option of a parameter that one or several learners have."""
    by_learner = {learner: owned[name] for learner, owned in available().items() if name in owned}
    first = next(iter(by_learner.values()))
    dashed = RENAMED.get(name, name).replace("_", "-")
    text = _TEXTS.get(name) or (first.text or first.kind).split(". ")[0].rstrip(".") + "."
    text = re.sub("^True (if|to) (.)", lambda match: match[2].upper(), text)
    for python, word in (("None", "none"), ("True", "true"), ("False", "false"), ('"', ""), ("`", "")):
        text = text.replace(python, word)
    if 1 < len(by_learner) < len(LEARNERS):
        text = f"{text.rstrip('.')} ({_owners(by_learner)})."
    section = _SHARED if len(by_learner) > 1 else _heading(next(iter(by_learner)))
    is_same = len({repr(parameter.default) for parameter in by_learner.values()}) == 1
    common: dict[str, Any] = {"default": first.default if is_same else None, "section": section}
    common["help"] = f"{text}  [default: {_defaults(name, by_learner)}]"
    parts = {part for parameter in by_learner.values() for part in parameter.annotation.split(" | ")}
    if parts == {"bool"}:
        return Option([f"--{dashed}/--no-{dashed}"], **common)
    choices = _CHOICES.match(first.kind)
    base: Any = _type(parts)
    if choices and len({parameter.kind for parameter in by_learner.values()}) == 1:
        base = click.Choice([part.strip().strip("\"'") for part in choices[1].split(",") if "None" not in part])
    return Option([f"--{dashed}"], type=Maybe(base) if "None" in parts else base, **common)


def _type(parts: set[str]) -> Any:
    """Return the click type for the alternatives of annotations such as ``str | float``."""
    if len(parts & {"str", "float", "int", "bool"}) > 1:
        return Either(frozenset(parts))
    return click.INT if "int" in parts else click.FLOAT if "float" in parts else click.STRING


def _attach(function: Callable[..., Any], option: click.Option) -> None:
    params: list[click.Parameter] = getattr(function, "__click_params__", [])
    function.__click_params__ = [*params, option]  # type: ignore[attr-defined]
