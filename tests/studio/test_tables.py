"""From a table that a person has to a report, a script and predictions: each in a real browser, within ten clicks."""

from __future__ import annotations

import csv
import gzip
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fuzz.seeds import workbook
from tests.data.formats.test_xlsx import sheet
from tests.studio.person import in_section
from tests.studio.person import visit as visit

import polyrule

WINES = Path(__file__).parents[2] / "docs" / "tutorial" / "wines.csv"
MAX_CLICKS = 10


def as_workbook(text: str) -> bytes:
    """A table of text as a workbook, numbers as numbers."""
    header, *rows = csv.reader(io.StringIO(text))
    return workbook(sheet(header, *([_cell(value) for value in row] for row in rows)))


def _cell(value: str) -> Any:
    try:
        return None if value in ("", "NA") else float(value)
    except ValueError:
        return value


@pytest.fixture
def table(request: pytest.FixtureRequest) -> tuple[str, bytes, bytes]:
    """Name and bytes of a table, and its last rows without their labels."""
    name, without = request.param
    if name == "wines.csv":
        text = WINES.read_text(encoding="utf-8")
    else:
        root: Path = request.getfixturevalue("tables_root")
        text = {"hospital.csv": _hospital, "netflix.csv": _netflix, "penguins.xlsx": _penguins}[name](root)
    rows = list(csv.reader(io.StringIO(text)))
    kept = [at for at, column in enumerate(rows[0]) if column not in without]
    stream = io.StringIO()
    csv.writer(stream).writerows([row[at] for at in kept] for row in [rows[0], *rows[-40:]])
    packed = as_workbook if name.endswith(".xlsx") else str.encode
    return name, packed(text), packed(stream.getvalue())


def _hospital(root: Path) -> str:
    if not (root / "hospital.py").is_file():
        pytest.skip("hospital.py is not among the tables")
    pytest.importorskip("pandas")
    return subprocess.run(
        [sys.executable, root / "hospital.py", "2026", "1500"], capture_output=True, text=True, check=True
    ).stdout


def _netflix(root: Path) -> str:
    if not (root / "netflix.csv.gz").is_file():
        pytest.skip("netflix.csv.gz is not among the tables")
    return "\n".join(gzip.decompress((root / "netflix.csv.gz").read_bytes()).decode().splitlines()[:2001]) + "\n"


def _penguins(root: Path) -> str:
    if (root / "penguins.csv").is_file():
        return (root / "penguins.csv").read_text(encoding="utf-8")
    package = pytest.importorskip("palmerpenguins", reason="penguins.csv is not among the tables")
    return (Path(package.__file__).parent / "data" / "penguins.csv").read_text(encoding="utf-8")


class Person:
    """Clicks, and counts them."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks = page, 0

    def click(self, target: Any) -> None:
        target.click()
        self.clicks += 1

    def save(self, link: Any) -> Path:
        with self.page.expect_download() as waiting:
            self.click(link)
        return Path(waiting.value.path())


@pytest.mark.parametrize(
    ("table", "labels"),
    [
        (("wines.csv", ("barolo", "grignolino", "barbera", "strong", "dark")), 5),
        (("penguins.xlsx", ("species",)), 3),
        (("hospital.csv", ("sepsis", "aki", "delirium", "icu", "readmit30")), 5),
        (("netflix.csv", ("listed_in",)), None),
    ],
    indirect=["table"],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_table_becomes_a_report_a_script_and_predictions_within_ten_clicks(visit, empty, tmp_path, table, labels):
    name, content, new = table
    page = visit(empty)
    person = Person(page)
    page.get_by_label("Table", exact=True).set_input_files({"name": name, "mimeType": "", "buffer": content})
    section = in_section(page, "data")
    if name == "penguins.xlsx":  # no column of 0 and 1 and no tags: the page asks
        section.get_by_text("No label chosen yet").wait_for()
        section.get_by_label("Each value, or each part of a text").select_option("species")
        person.clicks += 2
    person.click(section.get_by_role("button", name="Set a part aside and go on"))
    learn = in_section(page, "learn")
    person.click(learn.get_by_role("button", name="Learn", exact=True))
    page.locator("article.rule").first.wait_for()
    assert labels in (None, len(empty.session.bench.label_names))
    person.click(page.get_by_role("link", name="Save", exact=True))
    saving = in_section(page, "save")
    report = person.save(saving.get_by_role("link", name=re.compile("The report"))).read_text(encoding="utf-8")
    script = person.save(saving.get_by_role("link", name=re.compile("A Python script"))).read_text(encoding="utf-8")
    person.click(page.get_by_role("link", name="Predict", exact=True))
    predict = in_section(page, "predict")
    fresh = f"new{Path(name).suffix}"
    predict.get_by_label("Table to predict").set_input_files({"name": fresh, "mimeType": "", "buffer": new})
    person.clicks += 1
    predict.get_by_text(f"{fresh}: 40 examples").wait_for()
    predictions = person.save(predict.get_by_role("link", name="Download with reasons")).read_text(encoding="utf-8")
    assert person.clicks <= MAX_CLICKS
    model = empty.session.finished()
    assert '"history"' in report
    rows = list(csv.DictReader(io.StringIO(predictions)))
    assert len(rows) == 40
    assert all((row[f"why {label}"] != "") == (row[label] == "1") for row in rows for label in model.label_names[:3])
    if name == "netflix.csv":
        return  # learning again takes long
    (tmp_path / name).write_bytes(content)
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    again = polyrule.load(tmp_path / "model.json")
    assert [str(rule) for rule in again.rules] == [str(rule) for rule in model.rules]
