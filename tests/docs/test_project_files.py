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
    coming = polyrule.__version__.partition(".dev")[0]
    for name in ("CITATION.cff", "packaging/conda-forge/recipe.yaml"):
        found = re.search(r'^ *version: "?([\d.]+)"?$', (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert found is not None
        assert found[1] == coming
    assert f"## {coming} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if coming == polyrule.__version__:  # a release stores the model files that later versions must read
        assert (ROOT / "tests/model/stored" / coming).is_dir()


def test_workflows_run_only_what_was_reviewed():
    """A tag can be moved to other code, a commit cannot; what publishes is pinned, too."""
    used = [
        line.split("uses:")[1].strip()
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(used) > 10
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", action), action
    assert all("==" in tool for tool in PROJECT["dependency-groups"]["release"])
    release = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    installed = re.findall(r"pip install (.*)", release)
    assert installed == ['--upgrade "pip>=25.1"', "--group release"]


def test_what_is_pinned_is_kept_up_to_date():
    """Pins of actions and of Python's tools are renewed by machine; releases 1 of the build backend are admitted."""
    renewed = (ROOT / ".github/dependabot.yml").read_text(encoding="utf-8")
    assert re.findall(r"package-ecosystem: (\S+)", renewed) == ["github-actions", "pip"]
    assert "scikit-build-core>=0.11,<2" in PROJECT["build-system"]["requires"]


def test_what_is_embedded_has_its_notice():
    """Wheels carry the licence of the project and of every data set in them."""
    patterns = PROJECT["project"]["license-files"]
    carried = {path.relative_to(ROOT).as_posix() for pattern in patterns for path in ROOT.glob(pattern)}
    embedded = {path.name.partition(".")[0] for path in (ROOT / "src/polyrule/datasets/_embedded").glob("*.gz")}
    assert embedded
    assert carried == {"LICENSE", *(f"licenses/{name}.txt" for name in embedded)}


def test_what_is_built_is_what_is_promised():
    built = {f"3.{number}" for number in re.findall(r"cp3(\d+)-", " ".join(PROJECT["tool"]["cibuildwheel"]["build"]))}
    named = {text.rpartition(" ")[2] for text in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", text)}
    assert named == built
