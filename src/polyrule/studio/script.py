"""The work so far as a Python script that repeats it with the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyrule.studio.intake import Intake
from polyrule.studio.learn import Recipe
from polyrule.studio.project import Project
from polyrule.studio.setup import MOST_STRATIFIED, Origin, Setup
from polyrule.studio.steps import code
from polyrule.utils.names import visible
from polyrule.utils.version import __version__


def script(project: Project, intake: Intake, examples: int, recounted: bool, items: bool = False) -> str:
    """Return a script that learns and changes the current model again, step by step.

    The split is made by how many `examples` the whole data has; `recounted` states if the saved model was counted
    anew after the last change, `items` if words of texts, members of lists or days between dates are features.
    """
    lines = [
        '"""Made by polyrule studio: repeats every step that led to the model, and writes it to a file."""',
        f"# polyrule {__version__}",
        "",
        "from dataclasses import replace",
        "",
        "import polyrule",
        "from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets",
        "from polyrule.data import read, to_table",
        "from polyrule.data.splits import train_test_split",
    ]
    if items:
        lines += [
            "from polyrule.data.preparation import prepare",
            "from polyrule.model.columns import over_features, without_unused_items",
        ]
    lines.append("")
    path = project.path()
    opened = bool(path) and project.versions[path[0]].step["do"] == "open"
    if opened:
        lines.append('opened = polyrule.load("opened.json")  # the model that the work began with')
    lines += [*_data(intake, examples, opened), ""]
    widen = items and not opened
    forbids = any("forbid" in version.step.get("options", {}).get("constraints", {}) for version in project.versions)
    if forbids and not widen:
        lines += ["features = train.features", ""]
    if widen:
        lines += [
            "# words of texts, members of lists and days between dates, so that any rule can be written",
            f"features = prepare(train.X{_keeping(intake.setup)}).features",
            "",
        ]
    for number in path:
        version = project.versions[number]
        before = None if version.parent is None else project.versions[version.parent].model
        lines += [f"# {line}" for line in _comment(version.what, version.why, version.by, version.when)]
        lines += _step(version.step, before) or ["pass  # names and comments change no rule"]
        if widen and version.step["do"] == "learn":
            lines.append("model = over_features(model, features)")
    if recounted:
        lines += ["# the counts of changed rules", "model = model.recount(train)"]
    if items:
        lines += ["# words that no rule tests are not stored", "model = without_unused_items(model)"]
    return "\n".join([*lines, "", 'model.save("model.json")', "print(model)", ""])


def _keeping(setup: Setup) -> str:
    return f", keep={sorted(setup.kept())!r}" if setup.kept() else ""


def _step(step: dict[str, Any], before: Any) -> list[str]:
    if step["do"] == "learn":
        return Recipe.of_step(step).code()
    if step["do"] == "open":
        return ["model = opened"]
    return code(before, step)


def _data(intake: Intake, examples: int, opened: bool) -> list[str]:
    """The data as it was read: where a model was opened, with its features."""
    origin, test, setup = intake.origin, intake.test_origin, intake.setup
    if origin is None or origin.kind == "python":
        return [
            "# The data was handed over from Python: put it here.",
            "train = test = None",
            'assert train is not None, "assign the training data, a polyrule.Dataset, to train"',
        ]
    lines = []
    if origin.kind == "file":
        lines = [f"# {visible(origin.name)} has the SHA-256 {origin.digest}; it must lie beside this script."]
    features = "opened.features" if opened else ""
    if test is not None:
        lines += _read("train", origin, setup, features)
        return [*lines, *_read("test", test, setup, "train.features" if opened or test.kind == "file" else "")]
    stratified = "" if examples <= MOST_STRATIFIED else ", stratified=False"
    split = f"train, test = train_test_split(data, {setup.share!r}, seed={setup.seed}{stratified})"
    return [*lines, *_read("data", origin, setup, features), split]


def _read(what: str, origin: Origin, setup: Setup, features: str) -> list[str]:
    """Lines that read data into a variable, with the features that an expression gives."""
    if origin.kind == "benchmark":
        name, _, part = origin.name.partition(":")
        line = f"{what} = datasets.load({name!r}{f', part={part!r}' if part else ''})"
        skip = f'{what} = replace({what}, X=to_table({what}.X, {features}, others="skip"))'
        return [line, *([skip] if features else [])]
    reading = ({"sheet": origin.sheet} if origin.sheet else {}) | setup.reading
    options = "".join(f", {name}={value!r}" for name, value in reading.items())
    return [f"{what} = read({origin.name!r}{options}{f', features={features}' if features else ''})"]


def _comment(what: str, why: str, by: str, when: str) -> Sequence[str]:
    """The history of a step, one line each, whatever a person typed."""
    lines = [*what.splitlines(), *(f"why: {line}" for line in why.splitlines()), f"{f'{by}, ' if by else ''}{when}"]
    return [visible(line) for line in lines]
