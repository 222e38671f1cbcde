"""What the pages run: only data that every build has, and in the tutorial only what the reader was promised."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from polyrule import datasets

DOCS = Path(__file__).resolve().parents[2] / "docs"
EMBEDDED = {"emotions", "paper-example"}
ELSEWHERE = "|".join(re.escape(name) for name in datasets.list() if name not in EMBEDDED)
# What runs when the site is built: cells, and blocks of plain pages that no comment excuses.
RUN = re.compile(
    r"(<!-- not run: [^\n]*-->\s*)?^```(?:python|\{code-cell\}[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
NAMED = re.compile(
    rf"""["'](?:{ELSEWHERE})(?::train|:test)?["']|^!.*\s(?:{ELSEWHERE})(?::train|:test)?(?=\s|$)""", re.M
)
KNOWN_WITHOUT_DATA = re.compile(r"describe\([^()]*\)")


def code_that_runs(text: str) -> str:
    return "\n".join(code for excused, code in RUN.findall(text) if not excused)


def data_from_elsewhere(code: str) -> list[str]:
    """Data sets of the benchmark that are not embedded, and whatever scikit-learn would download."""
    code = KNOWN_WITHOUT_DATA.sub("", code)
    return [*NAMED.findall(code), *re.findall(r"\bfetch_\w+", code)]


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_runs_with_data_that_every_build_has(page: Path) -> None:
    assert data_from_elsewhere(code_that_runs(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.py")), ids=lambda path: path.relative_to(DOCS).as_posix())
def test_a_script_of_the_site_runs_with_data_that_every_build_has(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    assert re.findall(rf"""\bload\(\s*["'](?:{ELSEWHERE})["']|\bfetch_\w+""", code) == []


def test_data_from_elsewhere_is_found() -> None:
    page = (
        '```python\nload("yeast", part="train")\n```\n<!-- not run: no data -->\n```python\nload("birds")\n```\n'
        "```{code-cell}\n!polyrule train flags:train -o x.json\n```\n"
        '```{code-cell}\ndescribe("scene"); fetch_openml()\n```\n'
    )
    assert data_from_elsewhere(code_that_runs(page)) == ['"yeast"', "!polyrule train flags:train", "fetch_openml"]


def script(path: str) -> Any:
    """A script of the site as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_tutorial_are_what_their_script_writes() -> None:
    pytest.importorskip("pandas")
    for name, table in script("tutorial/wines.py").tables().items():
        assert table.to_csv(index=False, lineterminator="\n") == (DOCS / "tutorial" / name).read_text(encoding="utf-8")


def test_the_tables_of_results_are_made_from_the_stored_rows() -> None:
    tables = script("results/tables.py")
    made = set()
    for place in tables.PAGES:
        page = place.read_text(encoding="utf-8")
        assert tables.page_with_tables(page) == page, place.name
        assert tables.page_with_tables(page.replace("| .6", "| .5")) == page, "a number changed by hand is set right"
        made |= {kind for _, kind in tables.MADE.findall(page)}
    assert made == set(tables.MAKERS)


def test_the_models_in_the_pages_are_what_is_learned_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose data is part of the documentation are learned here, the others when the script runs."""
    monkeypatch.syspath_prepend(DOCS.parent / "tools")
    samples = script("../tools/samples.py")
    made = set()
    for place in samples.PAGES:
        page = place.read_text(encoding="utf-8")
        assert samples.page_with_samples(page, ["wines"]) == page
        made |= {kind for _, kind in samples.MADE.findall(page)}
    assert made == set(samples.SAMPLES)


def test_the_first_page_compares_with_figures_of_the_results() -> None:
    means = script("results/means.py").means()
    assert len(means) == 6
    results = (DOCS / "results.md").read_text(encoding="utf-8")
    for row in ("paper", "default"):
        last = re.search(rf"^\| micro-F1, {row} \|.*\| (\.\d+) \|$", results, re.MULTILINE)
        assert last is not None
        assert float(last[1]) in [round(mean, 3) for _, _, mean, _ in means]


def test_every_page_of_the_gallery_has_a_picture() -> None:
    pages = {page.stem for page in (DOCS / "gallery").glob("*.md")} - {"index"}
    assert pages == {picture.stem for picture in (DOCS / "gallery" / "thumbnails").glob("*.png")}


def test_the_tutorial_needs_no_programming_until_it_says_so() -> None:
    """Cells that are shown are commands; what the page does for itself is not shown."""
    text = (DOCS / "tutorial" / "index.md").read_text(encoding="utf-8")
    before, said, _ = text.partition("## Where Python begins")
    assert said
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", before, re.MULTILINE | re.DOTALL)
    shown = [cell for cell in cells if not re.match(r":tags: \[remove-(?:cell|input)\]", cell)]
    assert len(shown) > 8
    assert [line for cell in shown for line in cell.splitlines() if not line.startswith(("!", ":tags:"))] == []
    assert "--preset paper" not in text


def test_the_readme_quotes_figures_of_the_results() -> None:
    made = script("../tools/readme.py")
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert made.page_with_models(text, ["strength"]) == text


def test_the_readme_marks_what_a_script_writes() -> None:
    made = script("../tools/readme.py")
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert [kind for _, kind in made.MADE.findall(text)] == list(made.MAKERS)
