"""The rooms of the package, and the rule that a room imports only from rooms below it.

Every import counts, however deep in a function, and so does every module that a string names. `utils/late.py` is the
only place where a lower room may name a higher one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from polyrule.utils.late import LATE

SOURCE = Path(__file__).resolve().parents[1] / "src" / "polyrule"

#: From bottom to top; rooms on one line do not import from each other.
ROOMS = """
utils
data
conditions relations
binning
store
measures
heads
model
decisions
export
search
soft_targets
covering
selection ensemble
estimators
verification
datasets
evaluation
report
studio watch
cli dask
"""
LEVEL = {room: level for level, line in enumerate(ROOMS.split("\n")) for room in line.split()}

# Modules, by the beginning of their name, that have not moved to their room yet; the longest name decides.
OLD_NAMES = {
    "__main__": "cli",
    "errors": "utils",  # stays: a public module
}

# Imports that point upward today, with the reason why each is still there.
UPWARD = {}

# Files that may name modules of the package in strings: tables of names that are imported when first used.
TABLES = {
    "utils/late.py": "what methods of lower rooms promise",
    "cli/learner_options.py": "the learners of the command line, imported when one is chosen",
    "evaluation/experiment/runner.py": "modules of which child processes get a copy",
}

# Calls that import a module whose name is computed.
COMPUTED = {
    "cli/app.py": "one of COMMANDS",
    "cli/learner_options.py": "one of the learners of the table there",
    "data/results.py": "the package of the frame that was passed",
    "evaluation/experiment/recipe.py": "the class that an experiment names",
    "export/__init__.py": "one of LANGUAGES",
    "utils/late.py": "one of LATE",
    "utils/lazy.py": "the names of a package that are imported when first used",
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Every file of the package, as a path such as ``data/table.py``."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def module_of(name: str) -> str:
    """Module of a file, without the package: ``data.table``."""
    return name[:-3].replace("/", ".").removesuffix(".__init__")


def is_module(dotted: str) -> bool:
    path = SOURCE / dotted.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def room_of(module: str) -> str:
    """Room of a module; "" for the package itself, which only names what the rooms hold."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        room = OLD_NAMES.get(".".join(parts[:length]))
        if room is not None:
            return room
    return "" if module == "__init__" else parts[0]


def imports_of(tree: ast.Module) -> set[str]:
    """Modules of the package that a file imports, at any depth, or names in a string."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            base = str(node.module)
            modules |= {f"{base}.{alias.name}" for alias in node.names if is_module_of_package(f"{base}.{alias.name}")}
            if any(not is_module_of_package(f"{base}.{alias.name}") for alias in node.names):
                modules.add(base)
    modules |= {name for _, name in strings_of(tree)}
    return {
        name.removeprefix("polyrule.") for name in modules if name.startswith("polyrule.") and "_native" not in name
    }


def is_module_of_package(dotted: str) -> bool:
    return dotted.startswith("polyrule.") and is_module(dotted.removeprefix("polyrule."))


def strings_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String literals that name a module of the package, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            if re.fullmatch(r"polyrule(\.\w+)+", name) and is_module_of_package(name):
                yield node.lineno, name


def computed_imports(tree: ast.Module) -> Iterator[int]:
    """Lines that import a module whose name is no literal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "import_late", "__import__"):
                name = node.args[0] if node.args else None
                if not isinstance(name, ast.Constant):
                    yield node.lineno


def test_a_room_imports_only_from_rooms_below_it() -> None:
    upward = set()
    for name, tree in sources():
        module = module_of(name)
        room = room_of(module)
        if not room or name == "utils/late.py":
            continue
        assert room in LEVEL, f"{name}: {room} is no room; see ROOMS and OLD_NAMES"
        for imported in imports_of(tree):
            other = room_of(imported)
            assert other in LEVEL, f"{name} imports {imported}: {other} is no room; see ROOMS and OLD_NAMES"
            same_level = LEVEL[other] == LEVEL[room] and other != room
            if LEVEL[other] > LEVEL[room] or same_level:
                upward.add((module, imported))
    assert sorted(upward - UPWARD.keys()) == [], "these imports point upward"
    assert sorted(UPWARD.keys() - upward) == [], "these exceptions are gone: delete them from UPWARD"


def test_no_string_names_a_module() -> None:
    allowed = {*TABLES, "__init__.py"}
    places = [
        f"{name}:{line}: {module}"
        for name, tree in sources()
        for line, module in strings_of(tree)
        if name not in allowed and not is_resource(tree, line, module)
    ]
    assert places == []
    assert [name for name in TABLES if not (SOURCE / name).exists()] == []


def is_resource(tree: ast.Module, line: int, module: str) -> bool:
    """Whether a string names the place of a data file, or a module of the room that is imported when first used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and getattr(node.args[0], "value", None) == module:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("files", "import_late", "lazy_names") and node.lineno <= line:
                return True
    return False


def test_modules_with_computed_names_are_few_and_have_a_reason() -> None:
    files = {name for name, tree in sources() if any(computed_imports(tree))}
    assert files == COMPUTED.keys()


@pytest.mark.parametrize("name", LATE)
def test_the_late_functions_exist(name: str) -> None:
    module, _, function = LATE[name].partition(":")
    assert callable(getattr(import_module(module), function))


def test_the_late_functions_are_those_that_methods_promise() -> None:
    promises = {"by_group", "export", "plot", "refit", "report", "studio", "tune_decision", "verify", "watch"}
    assert LATE.keys() == promises


def test_the_check_sees_every_way_to_import() -> None:
    tree = ast.parse(
        "import polyrule.data.table\n"
        "from polyrule.model import rule_list, RuleList\n"
        "def f(name):\n"
        "    from polyrule.report import build\n"
        "    import_module('polyrule.studio.server')\n"
        "    importlib.import_module(name)\n"
        "    call = 'polyrule.cli.app:main'\n"
    )
    expected = {"data.table", "model", "model.rule_list", "report", "studio.server", "cli.app"}
    assert imports_of(tree) == expected
    assert list(computed_imports(tree)) == [6]
