"""What the files of the project say about each other."""

import re
import tomllib
from pathlib import Path

import pytest

import polyrule

ROOT = Path(__file__).parents[2]
if not (ROOT / "packaging").is_dir():
    pytest.skip("the tests run without the project around them", allow_module_level=True)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "packaging/conda-forge/recipe.yaml").read_text(encoding="utf-8")
    lines = recipe.partition("  run:\n")[2].partition("\n\n")[0].splitlines()
    asked = {line.strip("- ").replace(" ", "") for line in lines}
    python = f"python{PROJECT['project']['requires-python']}"
    assert asked == {python, *PROJECT["project"]["dependencies"]}


def test_one_version_everywhere():
    for name in ("CITATION.cff", "packaging/conda-forge/recipe.yaml"):
        found = re.search(r'^ *version: "?([\d.]+)"?$', (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert found is not None
        assert found[1] == polyrule.__version__
    assert f"## {polyrule.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (ROOT / "tests/model/stored" / polyrule.__version__).is_dir()


def test_what_is_built_is_what_is_promised():
    built = {f"3.{number}" for number in re.findall(r"cp3(\d+)-", " ".join(PROJECT["tool"]["cibuildwheel"]["build"]))}
    named = {text.rpartition(" ")[2] for text in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", text)}
    assert named == built
