"""The walk of `fit` and `predict` through the source: docs/architecture.md names every file, and there are few."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyrule
from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.utils.compute import native

SOURCE = Path(polyrule.__file__).parent
PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
ESTIMATORS = {"list": RuleListClassifier, "ensemble": RuleEnsembleClassifier}
# Heading of the table, and the most files that its way may pass.
WAYS = {
    ("list", "fit"): ("A list is fitted", 62),
    ("list", "predict"): ("A list predicts", 11),
    ("ensemble", "fit"): ("An ensemble is fitted", 47),
    ("ensemble", "predict"): ("An ensemble predicts", 11),
}


def files_passed(action: Callable[[], Any]) -> set[str]:
    """Files of the package with a function that is called, in any thread; importing a module does not count."""
    seen: set[str] = set()

    def called(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {Path(name).relative_to(SOURCE).as_posix() for name in seen if name.startswith(str(SOURCE))}


def files_named(page: str, heading: str) -> list[str]:
    """Files in the last column of the table below a heading, as ``folder/module.py``."""
    section = page.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    named = []
    for row in re.findall(r"^\| .* \|$", section, re.MULTILINE)[2:]:
        for folder, modules in re.findall(r"`([\w/]+)/`: ([^;|]+)", row):
            named += [f"{folder}/{name}.py" for name in re.findall(r"\w+", modules)]
        named += [f"{name}.py" for name in re.findall(r"`(\w+)\.py`", row)]
    return named


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(200, 6))
    return X, np.column_stack([X[:, 0] > 0.2, X[:, 1] + X[:, 2] > 0, X[:, 3] > 1]).astype(int)


@pytest.mark.skipif(native is None, reason="the walk goes through the compiled core")
@pytest.mark.parametrize(("kind", "step"), WAYS, ids=" ".join)
def test_the_page_names_the_files_of_the_walk(data: tuple[Any, Any], kind: str, step: str) -> None:
    X, Y = data
    fitted = ESTIMATORS[kind]().fit(X, Y)
    passed = files_passed(lambda: fitted.fit(X, Y) if step == "fit" else fitted.predict(X))
    heading, most = WAYS[kind, step]
    named = files_named(PAGE.read_text(encoding="utf-8"), heading)
    assert len(named) == len(set(named))
    assert (sorted(passed - set(named)), sorted(set(named) - passed)) == ([], []), "missing on the page, and too many"
    assert len(passed) <= most


def test_files_are_found_in_a_table() -> None:
    table = "| hop | files |\n| --- | --- |\n| read | `data/`: table, encode; `budget.py` |"
    page = f"\n### A way\n\n{table}\n\n## Next\n| a | b |\n| --- | --- |\n| c | `data/`: sparse |\n"
    assert files_named(page, "A way") == ["data/table.py", "data/encode.py", "budget.py"]


# Imports inside functions hide cycles. What is left outside the command line, where help must come at once:
LOCAL_IMPORTS = {
    ("measures/base.py", "polyrule.measures.properties"): "a measure is asked for proofs, which speak of measures",
    ("measures/expression.py", "polyrule.measures.proofs.normal_form"): "an expression is asked for a proof, likewise",
    ("model/rule.py", "polyrule.model.printing"): "a rule shows itself in a notebook, and printing is about rules",
}


def test_imports_inside_functions_are_few_and_have_a_reason() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        inside = [node for node in imports if node not in tree.body and str(node.module).startswith("polyrule")]
        if not inside or name[:4] == "cli/":
            continue
        functions = [node for node in ast.walk(tree) if hasattr(node, "args")]
        within = {inner for function in functions for inner in ast.walk(function)}
        found |= {(name, str(node.module)) for node in inside if node in within}
    assert found == LOCAL_IMPORTS.keys()
