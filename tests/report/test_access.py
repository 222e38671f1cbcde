"""axe-core finds nothing serious, in either theme, in any section."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.worlds import random_data, random_model

from polyrule.report import build

VERSION = "4.10.3"


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The script of axe-core, fetched once and kept outside the project."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "polyrule-tests" / f"axe-{VERSION}"
    script = cache / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        done = npm and subprocess.run(
            [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(cache), f"axe-core@{VERSION}"],
            capture_output=True,
            timeout=120,
        )
        if not done or done.returncode:
            message = "axe-core could not be fetched with npm"
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    return script.read_text(encoding="utf-8")


CHECK = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .filter((one) => ["serious", "critical", "moderate"].includes(one.impact))
  .map((one) => [one.id, one.impact, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])"""


@pytest.fixture(scope="module")
def small():
    """Few rules: axe looks at every element."""
    first, second = random_model(5, rules=7), random_model(5, rules=4)
    return build({"long": first, "short": second}, random_data(first, 40, 1), random_data(first, 20, 2))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation(visit, small, axe, scheme):
    page = visit(small, color_scheme=scheme)
    page.evaluate(axe)
    for section in ("overview", "rules", "labels", "whatif", "compare"):
        page.evaluate(f"() => {{ location.hash = '{section}' }}")
        page.locator(f"#section-{section}:not([hidden])").wait_for()
        assert page.evaluate(CHECK) == [], section
    page.evaluate("() => { location.hash = 'rules' }")
    page.get_by_role("button", name="As table").click()
    assert page.evaluate(CHECK) == []
    page.get_by_role("button", name="Rule 2", exact=True).click()
    assert page.evaluate(CHECK) == []
