"""The studio as a person uses it, in a real browser: from a dropped table to a saved script."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fuzz.seeds import workbook
from tests.data.formats.test_xlsx import book_of, sheet
from tests.report.test_access import CHECK
from tests.report.test_access import axe as axe
from tests.studio.conftest import Client, songs

from polyrule.data import read
from polyrule.evaluation import score
from polyrule.studio.launch import Studio
from polyrule.studio.steps import said

MOOD_SETS = (["calm"], ["calm", "loud"], [], ["loud", "fast"], ["fast"], ["calm", "fast"])
TITLED = [(f"song number {n}", n % 7, MOOD_SETS[n % 6]) for n in range(40)]
MOODS = "\n".join(json.dumps({"title": t, "size": s, "moods": m}) for t, s, m in TITLED).encode()
WORKBOOK = workbook(sheet(["title", "size", "moods"], *([t, s, "; ".join(m) or None] for t, s, m in TITLED)))


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a studio's page; whatever it complains about, or asks anybody else for, fails the test."""
    troubles: list[str] = []
    contexts: list[Any] = []

    def open_page(studio: Studio, section: str = "", **options: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        own = studio.url.rsplit("/", 2)[0]
        page.on(
            "request",
            lambda asked: None if asked.url.startswith((own, "data:", "blob:")) else troubles.append(asked.url),
        )
        page.goto(studio.url + (f"#{section}" if section else ""))
        return page

    yield open_page
    for context in contexts:
        context.close()
    # A test may end its studio while the page still asks it something; nobody else is asked, see above.
    assert [trouble for trouble in troubles if "ERR_CONNECTION_REFUSED" not in trouble] == []


def in_section(page: Any, name: str) -> Any:
    section = page.locator(f"#section-{name}:not([hidden])")
    section.wait_for()
    return section


def go(page: Any, words: str, name: str) -> Any:
    page.get_by_role("link", name=words, exact=True).click()
    return in_section(page, name)


def rules(page: Any) -> list[str]:
    return page.evaluate("() => polyrule.data.models[0].rules.map((rule) => rule.text)")


def test_from_a_dropped_table_to_a_saved_script(visit, empty, tmp_path):
    (tmp_path / "songs.csv").write_text(songs(), encoding="utf-8")
    page = visit(empty)
    page.get_by_label("Table", exact=True).set_input_files(tmp_path / "songs.csv")
    section = in_section(page, "data")
    section.get_by_text("240 examples, 7 columns").wait_for()
    assert section.get_by_label("Use calm as").input_value() == "label"
    assert section.get_by_label("Use title as").input_value() == "identifier"
    assert section.get_by_text("3 labels chosen.").is_visible()
    page.get_by_role("button", name="Set a part aside and go on").click()
    learn = in_section(page, "learn")
    learn.get_by_text("others are held out").wait_for()
    learn.get_by_label(re.compile("Most rules")).fill("5")
    learn.get_by_role("button", name="Learn", exact=True).click()
    work = in_section(page, "rules")
    work.locator("article.rule").first.wait_for()
    before = rules(page)
    assert 0 < len(before) <= 5
    assert before == [said(empty.session.project.model, n) for n in range(len(before))]
    page.get_by_label(re.compile("Why the next change")).fill("it says nothing new")
    page.get_by_role("button", name="Remove rule 1", exact=True).click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=len(before) - 1)
    assert rules(page) == before[1:]
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=len(before))
    page.get_by_role("button", name="Redo").click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=len(before) - 1)
    saving = go(page, "Save", "save")
    assert "Why: it says nothing new" in saving.inner_text()
    with page.expect_download() as waiting:
        saving.get_by_role("link", name=re.compile("A Python script")).click()
    script = waiting.value.path().read_text(encoding="utf-8")
    assert "model = model.remove(0)" in script
    assert "# why: it says nothing new" in script
    with page.expect_download() as waiting:
        saving.get_by_role("link", name=re.compile("The model")).click()
    assert waiting.value.suggested_filename == "model.json"


def test_a_table_can_be_dropped(visit, empty):
    page = visit(empty)
    text = songs(60)
    handle = page.evaluate_handle(
        "text => { const all = new DataTransfer(); all.items.add(new File([text], 'dropped.csv')); return all; }", text
    )
    page.locator(".drop").wait_for()
    page.dispatch_event(".drop", "drop", {"dataTransfer": handle})
    in_section(page, "data").get_by_text("dropped.csv: 60 examples").wait_for()


def test_a_threshold_is_dragged_and_counted_before_it_is_applied(visit, tmp_path, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=3)
    client.ask("change", {"step": {"do": "insert", "at": 0, "text": "calm <- tempo > 100"}})
    page = visit(empty, "rules")
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    drawer = page.get_by_role("dialog")
    assert drawer.get_by_role("button", name="Apply", exact=True).is_disabled()
    picture = drawer.locator(".where svg").first
    picture.wait_for()
    box = picture.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 20, steps=4)
    page.mouse.up()
    typed = drawer.get_by_label("Threshold of tempo, typed")
    at = float(typed.input_value())
    assert at > 110
    drawer.locator(".would-do").first.wait_for()
    typed.fill("95.5")
    drawer.get_by_text("calm <- tempo > 95.5").wait_for()
    expected = client.ask("trial", {"step": {"do": "replace", "rule": 0, "text": "calm <- tempo > 95.5"}})["effect"]
    shown = drawer.locator(".effects .would-do").inner_text()
    assert f"{expected[0]['fixed']} set right, {expected[0]['broken']} spoilt" in shown
    assert rules(page)[0] == "calm <- tempo > 100"
    drawer.get_by_role("button", name="Apply", exact=True).click()
    page.wait_for_function("() => polyrule.data.models[0].rules[0].text === 'calm <- tempo > 95.5'")


def test_a_rule_is_written_with_completion_by_keyboard_alone(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=2)
    page = visit(empty, "rules")
    count = len(rules_when_there(page))
    page.get_by_role("button", name="Write a rule").focus()
    page.keyboard.press("Enter")
    box = page.get_by_role("combobox", name="Rule")
    page.keyboard.type("ca")
    page.get_by_role("option", name="calm").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert box.input_value() == "calm"
    page.keyboard.type(" <- gen")
    page.get_by_role("option", name="genre").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type(" = ja")
    page.get_by_role("option", name="jazz").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert box.input_value() == "calm <- genre = jazz"
    page.locator(".writer .would-do").wait_for()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count + 1)
    assert rules(page)[-1] == "calm <- genre = jazz"
    page.keyboard.press("Control+z")
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count)


def test_rules_are_joined_and_their_group_changed(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=1)
    client.ask("change", {"step": {"do": "remove", "rule": 0}})
    for text in ("happy <- genre = folk, level > -30", "happy <- tempo > 118, level > -30"):
        client.ask("change", {"step": {"do": "insert", "at": 0, "text": text}})
    page = visit(empty, "rules")
    count = len(rules_when_there(page))
    for number in (1, 2):
        page.get_by_role("checkbox", name=f"Join rule {number} with others").check()
    card = page.get_by_role("region", name="Join rules")
    card.get_by_label("Name of the group").fill("lively")
    joined = 'happy <- any of "lively" (tempo > 118, genre = folk), level > -30'
    card.get_by_text(joined).wait_for()
    assert "nothing changes" in card.locator(".would-do").inner_text()
    card.get_by_role("button", name="Join into").click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count - 1)
    assert rules(page)[0] == joined
    assert "lively" in page.locator("article.rule").first.inner_text()
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    drawer = page.get_by_role("dialog")
    members = drawer.locator(".members li")
    assert members.count() == 2
    drawer.get_by_label("Name of the group").fill("")
    drawer.get_by_text("happy <- any of (tempo > 118, genre = folk), level > -30").wait_for()
    members.nth(0).get_by_role("button").click()
    drawer.get_by_text("happy <- genre = folk, level > -30").wait_for()
    drawer.get_by_role("button", name="Cancel", exact=True).click()
    page.keyboard.press("Control+z")
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count)
    page.get_by_role("button", name="Remove rule 1", exact=True).click()
    page.wait_for_function("() => polyrule.data.models[0].rules.length === 1")
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    offers = page.get_by_role("region", name="Add an alternative")
    offers.get_by_role("button", name=re.compile("tempo >")).first.click()
    page.wait_for_function("() => polyrule.data.models[0].rules[0].text.includes('any of (genre = folk, tempo >')")


def rules_when_there(page: Any) -> list[str]:
    page.locator("article.rule").first.wait_for()
    return rules(page)


def test_suggested_rules_are_added_and_examples_explained(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=3)
    client.ask("change", {"step": {"do": "remove", "rule": 0}})
    page = visit(empty, "ask")
    section = in_section(page, "ask")
    section.get_by_label("where").select_option("missed")
    section.get_by_role("button", name=re.compile("Suggest rules for all")).click()
    section.get_by_role("button", name="Add suggestion 1", exact=True).wait_for()
    text = section.locator(".offers .as-text").first.inner_text()
    count = len(rules(page))
    section.get_by_role("button", name="Add suggestion 1", exact=True).click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count + 1)
    assert text in rules(page)
    section.locator("tbody th button").first.click()
    whatif = in_section(page, "whatif")
    assert (
        "label" in whatif.get_by_role("region", name="Labels").inner_text()
        or whatif.locator(".label-list").is_visible()
    )


def test_labels_are_drawn_and_one_version_is_not_compared(visit, studio):
    page = visit(studio, "labels")
    page.get_by_role("heading", name="How labels depend on each other").wait_for()
    section = go(page, "Compare", "compare")
    section.get_by_text("There is one version so far.").wait_for()


def test_versions_are_compared_and_judged_on_a_fresh_file(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=3)
    first = empty.session.project.model
    for text in ("calm <- tempo > 150", "loud <- genre = jazz", "happy <- tempo <= 60"):
        client.ask("change", {"step": {"do": "insert", "at": 0, "text": text}})
    page = visit(empty, "rules")
    page.get_by_text("3 changes so far, with the held-out scores in sight").wait_for()
    page.get_by_role("button", name="Judge it on a file of its own").click()
    section = in_section(page, "compare")
    section.get_by_label("First", exact=True).select_option("0")
    effect = section.get_by_role("region", name="From the first to the second")
    effect.wait_for()
    expected = client.ask("compare", {"first": 0, "second": 3})
    assert (
        f"{expected['effect'][1]['fixed']} set right, {expected['effect'][1]['broken']} spoilt" in effect.inner_text()
    )
    own = section.get_by_role("region", name="Only in Version 4")
    assert own.locator("li").all_inner_texts() == [said(empty.session.project.model, at) for at in range(3)]
    assert "No rule of its own" in section.get_by_role("region", name="Only in Version 1").inner_text()
    otherwise = section.get_by_role("region", name="Decided otherwise: Held-out data")
    assert otherwise.locator("tbody tr").count() == min(50, expected["effect"][1]["rows"])
    assert otherwise.locator(".is-wrong").count() > 0
    section.get_by_text("Judge the model on a fresh file").click()
    fresh = songs(100, seed=9)
    section.get_by_label("Fresh table").set_input_files({"name": "new.csv", "mimeType": "", "buffer": fresh.encode()})
    section.get_by_text("On new.csv, 100 examples").wait_for()
    rows = section.get_by_role("table", name="Scores on a fresh file").locator("tbody tr")
    assert rows.count() == 2
    new = read(io.BytesIO(fresh.encode()), labels=["calm", "happy", "loud"], features=first.features)
    for row, model in zip(rows.all(), (first, empty.session.project.model), strict=True):
        counted = score(new.Y, model.predict(new.X))
        assert f"{counted['micro_f1']:.3f}"[1:] in row.inner_text()
    assert all(path.read_text() != fresh for path in empty.session.path.parent.glob("*-data/*"))  # scored and forgotten
    assert len(empty.session.project.versions) == 4


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
    assert section.get_by_text("1 label chosen").is_visible()
    section.get_by_label("Values of seen are").select_option("date")
    section.get_by_label("Dates in seen are written").select_option("month/day/year")
    section.get_by_text("Kind and direction of age").click()
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


SECTIONS = [
    ("Data", "data"), ("Learn", "learn"), ("Rules", "rules"), ("Labels", "labels"),
    ("Ask", "ask"), ("What if", "whatif"), ("Compare", "compare"), ("Save", "save"),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_violation_of_accessibility(visit, studio, axe, scheme, width):
    page = visit(studio, color_scheme=scheme, viewport={"width": width, "height": 844})
    page.locator("article.rule").first.wait_for()
    # The page's own policy lets no other script in, so axe comes through the debugger.
    page.evaluate(axe)
    for words, name in SECTIONS:
        section = go(page, words, name)
        if name in ("data", "ask", "compare"):
            section.locator("table, .note").first.wait_for()
        assert page.evaluate(CHECK) == [], name
    go(page, "Rules", "rules")
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    page.get_by_role("region", name="Add a condition").wait_for()
    assert page.evaluate(CHECK) == [], "editor"
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Write a rule").click()
    assert page.evaluate(CHECK) == [], "writer"


def with_twins(empty: Studio) -> None:
    """Give a studio two rules that can be joined, and one with a group that has a name."""
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=1)
    for text in (
        'calm <- at least 2 of "quiet" (tempo <= 90, level <= -12, genre = jazz)',
        "happy <- genre = folk, level > -30",
        "happy <- tempo > 118, level > -30",
    ):
        client.ask("change", {"step": {"do": "insert", "at": 0, "text": text}})


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_joining_and_groups_are_accessible(visit, empty, axe, scheme, width):
    with_twins(empty)
    page = visit(empty, "rules", color_scheme=scheme, viewport={"width": width, "height": 844})
    page.locator("article.rule").first.wait_for()
    page.evaluate(axe)
    card = page.get_by_role("region", name="Join rules")
    page.get_by_role("checkbox", name="Join rule 1 with others").check()
    card.get_by_text("Choose another rule").wait_for()
    assert page.evaluate(CHECK) == [], "one rule chosen"
    page.get_by_role("checkbox", name="Join rule 2 with others").check()
    card.locator(".would-do").wait_for()
    assert card.is_visible()
    assert card.evaluate("card => card.getBoundingClientRect().top < innerHeight"), "it is in sight"
    assert page.evaluate(CHECK) == [], "two rules chosen"
    page.get_by_role("checkbox", name="Join rule 3 with others").check()
    card.locator(".warn").wait_for()
    assert page.evaluate(CHECK) == [], "rules that cannot be joined"
    page.get_by_role("button", name="Change rule 3", exact=True).click()
    page.get_by_role("region", name="Add a condition").wait_for()
    assert page.get_by_role("dialog").locator(".members li").count() == 3
    assert page.evaluate(CHECK) == [], "group editor"
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_rules_are_joined_and_a_group_is_changed_by_keyboard_alone(visit, empty):
    with_twins(empty)
    page = visit(empty, "rules")
    count = len(rules_when_there(page))
    for number in (1, 2):
        page.get_by_role("checkbox", name=f"Join rule {number} with others").focus()
        page.keyboard.press("Space")
    page.locator(".effects .would-do").wait_for()
    page.keyboard.press("Tab")  # the card follows the rule that was chosen last
    page.keyboard.type("lively")
    joined = 'happy <- any of "lively" (tempo > 118, genre = folk), level > -30'
    page.get_by_text(joined).wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count - 1)
    assert rules(page)[0] == joined
    page.get_by_role("button", name="Change rule 2", exact=True).focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    drawer.get_by_label("How many of the group must hold").focus()
    page.keyboard.press("ArrowUp")
    drawer.get_by_text('calm <- any of "quiet" (tempo <= 90, level <= -12, genre = jazz)').wait_for()
    drawer.get_by_role("button", name="Remove genre is jazz from the group").focus()
    page.keyboard.press("Enter")
    drawer.get_by_text('calm <- any of "quiet" (tempo <= 90, level <= -12)').wait_for()
    assert page.evaluate("() => Boolean(document.activeElement.closest('.condition-editor'))"), "the keyboard is lost"
    drawer.get_by_role("button", name="Apply", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "text => polyrule.data.models[0].rules[1].text === text",
        arg='calm <- any of "quiet" (tempo <= 90, level <= -12)',
    )


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


def test_nothing_sticks_out_of_a_phone(visit, studio):
    page = visit(studio, viewport={"width": 390, "height": 844})
    page.locator("article.rule").first.wait_for()
    for words, name in SECTIONS:
        go(page, words, name)
        page.wait_for_timeout(300)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390, name


@pytest.mark.parametrize(
    ("text", "locale", "number"),
    [
        ("1,234.5", "en-US", 1234.5),
        ("1.234,5", "de-DE", 1234.5),
        ("1 234,5", "fr-FR", 1234.5),
        ("1.234,5", "es-ES", 1234.5),
        ("1'234.5", "de-CH", 1234.5),
        ("1,234", "en-US", 1234),
        ("1,234", "de-DE", 1.234),
        ("1.234", "de-DE", 1234),
        ("1.234", "en-US", 1.234),
        ("0,5", "en-US", 0.5),
        ("−3,25", "fr-FR", -3.25),
        ("1.234.567", "en-US", 1234567),
        ("1e-3", "de-DE", 0.001),
        ("1.2.3", "en-US", None),
        ("1,2,3.4.5", "en-US", None),
        ("abc", "en-US", None),
        ("", "en-US", None),
        ("--1", "en-US", None),
    ],
)
def test_numbers_are_read_as_people_write_them(number_page, text, locale, number):
    found = number_page.evaluate(
        "([text, locale]) => { const n = polyrule.readNumber(text, locale); return Number.isNaN(n) ? null : n; }",
        [text, locale],
    )
    assert found == number


@pytest.fixture(scope="module")
def number_page(browser: Any, studio: Studio) -> Iterator[Any]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(studio.url)
    yield page
    context.close()


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


def test_a_page_without_its_server_says_so(visit, empty, request):
    page = visit(empty)
    page.locator(".drop").wait_for()
    page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('gone')); }")
    page.get_by_label("Table", exact=True).set_input_files(
        {"name": "x.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
    )
    page.get_by_text("Is it still running in its terminal?").wait_for()
