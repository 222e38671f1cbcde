"""The studio's page and tables: what columns are is shown, guessed, asked and said."""

from __future__ import annotations

import json

import pytest
from fuzz.seeds import workbook
from tests.data.formats.test_xlsx import book_of, sheet
from tests.studio.conftest import Client, songs
from tests.studio.person import SECTIONS, go, in_section
from tests.studio.person import visit as visit

MOOD_SETS = (["calm"], ["calm", "loud"], [], ["loud", "fast"], ["fast"], ["calm", "fast"])
TITLED = [(f"song number {n}", n % 7, MOOD_SETS[n % 6]) for n in range(40)]
MOODS = "\n".join(json.dumps({"title": t, "size": s, "moods": m}) for t, s, m in TITLED).encode()
WORKBOOK = workbook(sheet(["title", "size", "moods"], *([t, s, "; ".join(m) or None] for t, s, m in TITLED)))


def test_a_table_can_be_dropped(visit, empty):
    page = visit(empty)
    text = songs(60)
    handle = page.evaluate_handle(
        "text => { const all = new DataTransfer(); all.items.add(new File([text], 'dropped.csv')); return all; }", text
    )
    page.locator(".drop").wait_for()
    page.dispatch_event(".drop", "drop", {"dataTransfer": handle})
    in_section(page, "data").get_by_text("dropped.csv: 60 examples").wait_for()


def test_what_the_columns_are_is_asked_and_can_be_said(visit, empty):
    """Scattered columns of 0 and 1, tags in lists, dates that can be read in two ways: nothing is guessed silently."""
    page = visit(empty)
    lines = [f"{n},{n % 2},{n * 7 % 50},{n // 3 % 2},{n % 12 + 1}/{n % 9 + 1}/2021,{n % 5}" for n in range(60)]
    table = "\n".join(["rownames,low,age,smoke,seen,ptl", *lines])
    send = page.get_by_label("Table", exact=True)
    send.set_input_files({"name": "births.csv", "mimeType": "text/csv", "buffer": table.encode()})
    section = in_section(page, "data")
    section.get_by_text("births.csv: 60 examples").wait_for()
    assert section.get_by_text("No label chosen yet").is_visible()
    assert section.get_by_label("Use rownames as").input_value() == "identifier"
    assert "every day may be a month" in section.get_by_role("region", name="Findings").inner_text()
    section.get_by_role("checkbox", name="low").check()
    assert section.get_by_label("Use low as").input_value() == "label"
    section.get_by_label("Use smoke as").select_option("label")
    assert section.get_by_role("checkbox", name="smoke").is_checked()
    section.get_by_role("checkbox", name="smoke").uncheck()
    assert section.get_by_text("1 label chosen: low (30) of 60 examples.").is_visible()
    section.get_by_label("What seen is").select_option("date")
    section.get_by_label("Dates in seen are written").select_option("month/day/year")
    section.get_by_text("Direction of age").click()
    section.get_by_label("In age").select_option("up")
    section.get_by_role("button", name="Set a part aside and go on").click()
    in_section(page, "learn").get_by_text("others are held out").wait_for()
    kinds = {feature.name: feature.kind for feature in empty.session.bench.train.features}
    assert kinds == {"age": "numeric", "smoke": "numeric", "seen": "date", "seen year": "numeric", "ptl": "numeric"} | {
        "seen month": "ordinal",
        "seen weekday": "nominal",
    }
    assert empty.session.intake.setup.monotone == {"age": "up"}
    page.reload()
    section = go(page, "Data", "data")
    assert section.get_by_label("Use low as").input_value() == "label"
    assert section.get_by_label("Dates in seen are written").input_value() == "month/day/year"


@pytest.mark.parametrize(("name", "content"), [("moods.jsonl", MOODS), ("moods.xlsx", WORKBOOK)])
def test_tags_are_found_in_lists_and_workbooks(visit, empty, name, content):
    page = visit(empty)
    page.get_by_label("Table", exact=True).set_input_files({"name": name, "mimeType": "", "buffer": content})
    section = in_section(page, "data")
    section.get_by_text(f"{name}: 40 examples").wait_for()
    assert section.get_by_label("Use moods as").input_value() == "tags"
    assert section.get_by_label("Use title as").input_value() == "identifier"
    section.get_by_role("button", name="Set a part aside and go on").click()
    in_section(page, "learn").get_by_text("others are held out").wait_for()
    assert empty.session.bench.label_names == ("calm", "fast", "loud")


def test_a_sheet_of_a_workbook_is_chosen_and_a_history_is_not_lost_unasked(visit, empty):
    patients = sheet(["age", "sick"], *([number % 40, int(number % 40 > 25)] for number in range(60)))
    visits = sheet(["day", "late", "seen"], *([number % 7, number % 2, number % 5] for number in range(40)))
    book = book_of(Cover=sheet(["Study"], [None, "internal"]), Patients=patients, Visits=visits)
    page = visit(empty)
    page.get_by_label("Table", exact=True).set_input_files({"name": "ward.xlsx", "mimeType": "", "buffer": book})
    section = in_section(page, "data")
    section.get_by_text("ward.xlsx, Patients: 60 examples").wait_for()  # a title page is no table
    control = section.get_by_label("Sheet of the workbook")
    control.select_option("Visits")
    section.get_by_text("ward.xlsx, Visits: 40 examples").wait_for()
    control.select_option("Patients")
    section.get_by_text("ward.xlsx, Patients: 60 examples").wait_for()
    section.get_by_role("button", name="Set a part aside and go on").click()
    in_section(page, "learn").get_by_text("others are held out").wait_for()
    Client(empty).learn(max_rules=1)
    assert "sheet='Patients'" in empty.session.script()
    page.reload()
    section = go(page, "Data", "data")
    control.select_option("Visits")
    section.get_by_text("The history of 1 version ends here").wait_for()
    section.get_by_role("button", name="Leave it").click()
    section.get_by_role("button", name="Drop another table").click()
    section.get_by_text("The history of 1 version ends here").wait_for()
    assert len(empty.session.project.versions) == 1
    assert empty.session.intake.origin.sheet == "Patients"


def test_ordered_categories_may_stand_among_columns_that_are_not_shown(visit, empty):
    Client(empty).upload(songs())
    page = visit(empty, "data")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="genre", exact=True))
    row.get_by_label("What genre is").select_option("ordinal")
    page.get_by_label("Find columns").fill("calm")
    page.locator(".columns-table tbody tr:only-child").wait_for()
    page.get_by_role("button", name="Set a part aside and go on").click()
    in_section(page, "learn")
    section = go(page, "Data", "data")
    section.locator(".columns-table").wait_for()
    assert section.get_by_label("Find columns").input_value() == "calm"
    assert section.locator(".columns-table tbody tr").count() == 1  # as searched for
    assert empty.session.intake.setup.reading["ordinal"] == {"genre": ["folk", "jazz", "rock"]}


def test_a_page_without_its_server_says_so(visit, empty, request):
    page = visit(empty)
    page.locator(".drop").wait_for()
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('gone')); }")
    page.get_by_label("Table", exact=True).set_input_files(
        {"name": "x.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
    )
    page.get_by_text("Is it still running in its terminal?").wait_for()


def test_a_hostile_name_is_only_ever_text(visit, empty):
    client = Client(empty)
    evil = '<img src=x onerror="document.title=1">'
    table = songs(80).replace("tempo", evil, 1).replace("rock", "<script>alert(1)</script>")
    client.upload(
        table.replace('"', '""').replace(
            f"title,{evil.replace(chr(34), chr(34) * 2)}", f'title,"{evil.replace(chr(34), chr(34) * 2)}"'
        )
    )
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=4)
    page = visit(empty)
    page.locator("article.rule").first.wait_for()
    for words, name in SECTIONS:
        go(page, words, name)
        page.wait_for_timeout(200)
        assert page.locator("main img, main script").count() == 0
    assert page.title().endswith("polyrule studio")
