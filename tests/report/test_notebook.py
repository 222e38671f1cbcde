"""What a notebook shows: run in a real kernel, and the page in a real browser."""

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from tests.report.worlds import HOSTILE, random_data, random_ensemble, random_model

from polyrule import Dataset, Feature, RuleEnsembleClassifier, RuleList, RuleListClassifier, Table
from polyrule.report import build

CELLS = (
    "from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets\n"
    "data = datasets.load('emotions', 'train')[:80]\n"
    "data",
    "model = RuleListClassifier(max_rules=12, max_conditions=2).fit(data)\nmodel",
    "model.rules_",
    "model.rules_[0]",
    "model.explain(data, row=1)",
    "model.smallest_flip(data, 'relaxing-calm')",
    "display(model.report(data))",
    "ensemble = RuleEnsembleClassifier(max_rules=2, cv=2, teacher=None).fit(data)\nensemble",
    "ensemble.explain(data, row=0)",
    "from polyrule.evaluation import importances\nimportances(model.model_, data.X, data.Y).plot().get_xlabel()",
)
WANTED = (
    ("emotions", "80 examples, 72 features, 6 labels", "relaxing-calm"),
    ("RuleListClassifier", "max_rules", "labels that no rule sets"),
    ("<th>head</th>",),
    ("y", "TP"),
    ("set by", "because", "right in training"),
    ("relaxing-calm", "The smallest change that makes", "needed"),
    ("<iframe", "polyrule report"),
    ("RuleEnsembleClassifier", "max_rules"),
    ("probability", "made up of"),
    ("micro F1 lost without it",),
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    folder = str(tmp_path_factory.mktemp("notebook"))
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    found = []
    for cell in notebook.cells:
        texts = [output["data"] for output in cell["outputs"] if "data" in output]
        found.append("\n".join(text.get("text/html", text["text/plain"]) for text in texts))
    return found


@pytest.mark.parametrize("number", range(len(CELLS)), ids=[cell.splitlines()[-1][:40] for cell in CELLS])
def test_every_cell_shows_what_a_reader_looks_for(shown, number):
    for words in WANTED[number]:
        assert words in shown[number]


def test_names_are_never_markup():
    model = random_model(3, rules=8, names=HOSTILE)
    data = random_data(model, 5, 1)
    fitted = RuleListClassifier(max_rules=2).fit(data)
    pages = [
        data._repr_html_(),
        model._repr_html_(),
        model.explain(data, row=0)._repr_html_(),
        model.smallest_flip(data, 0, row=0)._repr_html_(),
        fitted._repr_mimebundle_()["text/html"],
        random_ensemble(3).explain(np.zeros(len(random_ensemble(3).features)))._repr_html_(),
    ]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "onload=alert(1)>" not in page.replace("&gt;", "")


def test_the_page_works_in_its_frame(browser):
    model = random_model(9, rules=12)
    report = build(model, random_data(model, 20, 1))
    page = browser.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.set_content(f"<!doctype html><p>a cell</p>{report._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="Rules").click()
    assert frame.get_by_role("status").inner_text() == "12 rules"
    frame.get_by_role("button", name="Rule 1", exact=True).click()
    assert frame.get_by_role("dialog").is_visible()
    page.close()
    assert troubles == []


def test_long_names_break_where_the_notebook_is_narrow(browser):
    name = "x" * 10_000
    features = (Feature(name), Feature("hue", "nominal", (name + "b", "c")))
    rules = RuleList((), features, (name, "calm")).insert(0, f"{name}, calm <- {name} > 1, hue = {name}b")
    table = Table.from_array([[2.0, 0.0], [0.0, 1.0]], features)
    ensemble = RuleEnsembleClassifier(max_rules=1, cv=0, teacher=None, ridge=1.0).fit(
        table, [[1, 0], [0, 1]], label_names=rules.label_names
    )
    shown = {
        "list": rules,
        "rule": rules[0],
        "explanation": rules.explain(table, row=1),
        "flip": rules.smallest_flip(table, name, row=1),
        "no flip": rules.smallest_flip(table, name, row=0, fixed=[name, "hue"]),
        "ensemble": ensemble.model_,
        "ensemble's explanation": ensemble.explain(table),
        "data": Dataset(table, np.array([[1, 0], [0, 1]]), rules.label_names, name, (name, "b")),
    }
    page = browser.new_page(viewport={"width": 800, "height": 600})
    for what, told in shown.items():
        page.set_content(f"<!doctype html>{told._repr_html_()}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 800, what
    page.close()
