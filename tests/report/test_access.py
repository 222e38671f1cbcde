"""axe-core finds nothing serious, in either theme, in any section."""

from __future__ import annotations

from importlib.resources import files

import pytest
from tests.browser import absent
from tests.report.worlds import random_data, random_ensemble, random_model

from polyrule.report import build


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core, as the package axe-playwright-python carries it."""
    try:
        folder = files("axe_playwright_python")
    except ModuleNotFoundError:
        absent("axe-core (pip install axe-playwright-python)")
    return (folder / "axe.min.js").read_text(encoding="utf-8")


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
    for section in ("overview", "rules", "matters", "labels", "whatif", "compare"):
        page.evaluate(f"() => {{ location.hash = '{section}' }}")
        page.locator(f"#section-{section}:not([hidden])").wait_for()
        assert page.evaluate(CHECK) == [], section
    page.evaluate("() => { location.hash = 'rules' }")
    for view in ("lines", "table"):
        page.get_by_label("View", exact=True).select_option(view)
        assert page.evaluate(CHECK) == [], view
    page.get_by_role("button", name="Rule 2", exact=True).click()
    assert page.evaluate(CHECK) == []


def test_no_violation_in_an_ensemble(visit, axe):
    model = random_ensemble(5, rules=5)
    page = visit(build(model, random_data(model, 20, 1)))
    page.evaluate(axe)
    for section in ("overview", "rules", "labels", "whatif"):
        page.evaluate(f"() => {{ location.hash = '{section}' }}")
        page.locator(f"#section-{section}:not([hidden])").wait_for()
        assert page.evaluate(CHECK) == [], section
