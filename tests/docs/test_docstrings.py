"""The reference is made from docstrings, so they must say everything a user of an estimator can set or read."""

from __future__ import annotations

import inspect
import re

import pytest
from tests.docs.test_site import PUBLIC_MODULES, import_module

import polyrule

ESTIMATORS = ("BinaryRelevanceRuleClassifier", "RuleEnsembleClassifier", "RuleListClassifier")


def described(docstring: str, section: str) -> dict[str, str]:
    """Name -> description, of one section of a numpydoc docstring."""
    text = inspect.cleandoc(docstring)
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\S[^\n]*)\n((?:[ ]+[^\n]*\n?|\n)*)", found.group(1) if found else "", flags=re.MULTILINE)
    return {name.strip(): words.strip() for names, words in entries for name in names.partition(" : ")[0].split(",")}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_described(name: str) -> None:
    estimator = getattr(polyrule, name)
    words = described(estimator.__doc__, "Parameters")
    assert [p for p in inspect.signature(estimator).parameters if not words.get(p)] == []


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_described(name: str) -> None:
    estimator = getattr(polyrule, name)
    fitted = estimator().fit([[tempo] for tempo in range(60, 180, 5)], [[tempo < 100] for tempo in range(60, 180, 5)])
    words = described(estimator.__doc__, "Attributes")
    learned = [a for a in vars(fitted) if a.endswith("_") and not a.startswith("_")]
    assert len(learned) >= 4
    assert [attribute for attribute in learned if not words.get(attribute)] == []


def test_a_gap_is_found() -> None:
    text = "Parameters\n----------\na, b : int\n    Both.\nc : int\n\nAttributes\n----------\nd_ : int\n    Set.\n"
    assert described(text, "Parameters") == {"a": "Both.", "b": "Both.", "c": ""}
    assert described(text, "Attributes") == {"d_": "Set."}


def test_everything_public_has_a_docstring() -> None:
    bare = [
        f"{module}.{name}"
        for module in PUBLIC_MODULES
        for name in import_module(module).__all__
        if callable(value := getattr(import_module(module), name)) and not inspect.getdoc(value)
    ]
    assert bare == []


def without_example(modules: tuple[str, ...]) -> list[str]:
    """Public classes and functions whose docstring shows no call; pytest runs those that do."""
    found = {
        id(value): f"{module}.{name}"
        for module in modules
        for name in import_module(module).__all__
        if callable(value := getattr(import_module(module), name)) and ">>>" not in (value.__doc__ or "")
    }
    return sorted(found.values())


def test_everything_public_has_an_example() -> None:
    assert without_example(PUBLIC_MODULES) == []
    assert without_example(("json",)) != []
