"""What can be checked about the site without building it: links resolve, and nothing public is missing."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PUBLIC_MODULES = (
    "polyrule",
    "polyrule.data",
    "polyrule.datasets",
    "polyrule.measures",
    "polyrule.model",
    "polyrule.heads",
    "polyrule.ensemble",
    "polyrule.evaluation",
    "polyrule.report",
    "polyrule.report.plots",
)


def prose(page: Path) -> str:
    """The page without code, whose brackets are no links; what an include brings is a page of its own."""
    return re.sub(r"^(`{3,}).*?^\1|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Markdown renderers make them."""
    text = re.sub(r"^(`{3,}).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


OURS = re.compile(r"https://github\.com/polyrule/polyrule/(?:blob|raw)/main/")  # as PyPI needs them


def broken_links(page: Path) -> list[str]:
    text = prose(page)
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[[^\]]+\]: (\S+)$", text, flags=re.MULTILINE)
    defined = set(re.findall(r"^\[([^\]]+)\]: ", text, flags=re.MULTILINE))
    bad = [name for name in re.findall(r"\]\[([^\]]+)\]", text) if name not in defined]
    for link in links:
        if re.match(r"[a-z]+:", link) and not OURS.match(link):
            continue
        path, _, anchor = OURS.sub("", link).partition("#")
        start = ROOT if OURS.match(link) else page.parent
        target = page if not path else (start / path).resolve()
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            bad.append(link)
    return bad


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title\n[good](#a-title) [bad](#no-title) [gone](other.md) `[code](x.md)`\n", encoding="utf-8")
    assert broken_links(page) == ["#no-title", "other.md"]
    page.write_text(
        "[good][readme] [bad][none]\n\n[readme]: https://github.com/polyrule/polyrule/blob/main/README.md\n"
        "[gone]: https://github.com/polyrule/polyrule/blob/main/gone.md\n",
        encoding="utf-8",
    )
    assert broken_links(page) == ["none", "https://github.com/polyrule/polyrule/blob/main/gone.md"]


def test_links_of_the_front_page_work_on_pypi() -> None:
    text = prose(ROOT / "README.md")
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[[^\]]+\]: (\S+)$", text, flags=re.MULTILINE)
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []


def described() -> set[int]:
    """The objects that the reference describes, whatever name it uses for them."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference" / "api").glob("*.md"))
    dotted = re.findall(r"^\.\. auto(?:class|function|data|exception):: (\S+)", pages, flags=re.MULTILINE)
    # The directive `public-names` describes all that a module exports, of one kind or of every kind.
    for module, kinds in re.findall(r"^\.\. public-names:: (\S+)\n(?:   :kinds: (.+)\n)?", pages, flags=re.MULTILINE):
        exported = [getattr(import_module(module), name) for name in import_module(module).__all__]
        dotted += [
            f"{module}.{name}"
            for name, value in zip(import_module(module).__all__, exported, strict=True)
            if not kinds or kind_of(value) in kinds
        ]
    return {id(getattr(import_module(module), name)) for module, _, name in (path.rpartition(".") for path in dotted)}


def kind_of(value: object) -> str:
    return "classes" if inspect.isclass(value) else "functions" if inspect.isroutine(value) else "data"


def test_every_public_name_is_in_the_reference() -> None:
    known = described()
    public = {
        f"{module}.{name}": getattr(import_module(module), name)
        for module in PUBLIC_MODULES
        for name in import_module(module).__all__
        if not name.startswith("__")
    }
    assert len(public) > 70
    assert [name for name, value in public.items() if not inspect.ismodule(value) and id(value) not in known] == []


def test_every_page_stands_in_a_tree() -> None:
    """A page nobody can find from the first one is a page nobody reads."""
    listed = {DOCS / "index.md"}
    for page in DOCS.rglob("*.md"):
        for tree in re.findall(
            r"^```\{toctree\}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            entries = [line.strip() for line in tree.splitlines() if line.strip() and not line.startswith(":")]
            for entry in entries:
                listed.update(path.resolve() for path in page.parent.glob(f"{entry}.md"))
    assert sorted(str(page) for page in set(DOCS.rglob("*.md")) - listed) == []


SHARED = {"explain", "export", "feature_importances_", "plot", "predict", "predict_proba", "report", "save"} | {
    "smallest_flip",
    "verify",
}


def test_the_table_of_methods_is_complete(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    table = import_module("methods")
    page = (DOCS / "reference" / "api" / "estimators.md").read_text(encoding="utf-8")
    paths = re.search(r"\.\. method-table:: (.+)", page)
    assert paths is not None
    classes = [table.class_of(path) for path in paths[1].split()]
    assert {owner.__name__ for owner in classes} >= {"RuleListClassifier", "RuleEnsemble", "RuleList"}
    owned = {name: owners for name, _, owners in table.rows_of(classes)}
    assert {name for name, owners in owned.items() if all(owners)} >= SHARED
    estimators = [place for place, owner in enumerate(classes) if owner.__name__.endswith("Classifier")]
    assert len(estimators) == 4
    assert all(owned["from_rules"][place] for place in estimators)
    assert all(text for _, text, _ in table.rows_of(classes))


def test_pages_that_use_a_name_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    found = import_module("public_names").words_in_cells(DOCS)
    pages = {page for page, words in found.items() if "name_features" in words}
    assert pages == {"/gallery/documentation", "/howto/text-to-tags"}


def test_a_page_of_cells_can_be_taken_home(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("myst_nb")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    notebooks = import_module("notebooks")
    source = [(DOCS / "gallery" / "documentation.md").read_text(encoding="utf-8")]
    notebooks.add_link(None, "gallery/documentation", source)
    assert 'href="documentation.ipynb"' in source[0]
    for page in ("ensemble.md", "tutorial/index.md"):  # no cells; cells that need files of the site
        source = [(DOCS / page).read_text(encoding="utf-8")]
        notebooks.add_link(None, page, source)
        assert ".ipynb" not in source[0]
