"""The studio as a person uses it, in a real browser: from a dropped table to a saved script."""

from __future__ import annotations

import io
import re

from playwright.sync_api import expect
from tests.studio.conftest import Client, songs
from tests.studio.person import go, in_section, rules, rules_when_there
from tests.studio.person import visit as visit

from polyrule.data import read
from polyrule.evaluation import score
from polyrule.studio.sentences import sentence
from polyrule.studio.steps import text_of


def test_from_a_dropped_table_to_a_saved_script(visit, empty, tmp_path):
    (tmp_path / "songs.csv").write_text(songs(), encoding="utf-8")
    page = visit(empty)
    page.get_by_label("Table", exact=True).set_input_files(tmp_path / "songs.csv")
    section = in_section(page, "data")
    section.get_by_text("240 examples, 7 columns").wait_for()
    assert section.get_by_label("Use calm as").input_value() == "label"
    assert section.get_by_label("Use title as").input_value() == "identifier"
    assert section.get_by_text("3 labels chosen: calm (").is_visible()
    page.get_by_role("button", name="Set a part aside and go on").click()
    learn = in_section(page, "learn")
    learn.get_by_text("others are held out").wait_for()
    learn.get_by_label(re.compile("Most rules")).fill("5")
    learn.get_by_role("button", name="Learn", exact=True).click()
    work = in_section(page, "rules")
    work.locator("article.rule").first.wait_for()
    before = rules(page)
    assert 0 < len(before) <= 5
    assert before == [text_of(rule, empty.session.project.model) for rule in empty.session.project.model.rules]
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
    drawer.get_by_text("If tempo is above 95.5, then calm").wait_for()
    expected = client.ask("trial", {"step": {"do": "replace", "rule": 0, "text": "calm <- tempo > 95.5"}})["effect"]
    shown = drawer.locator(".effects .would-do").inner_text()
    assert f"{expected[0]['fixed']} labels set right, {expected[0]['broken']} spoilt" in shown
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
    page.locator(".offer-list").get_by_role("option", name="calm").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert box.input_value() == "calm"
    page.keyboard.type(" <- gen")
    page.locator(".offer-list").get_by_role("option", name="genre").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type(" = ja")
    page.locator(".offer-list").get_by_role("option", name="jazz").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert box.input_value() == "calm <- genre = jazz"
    page.locator(".writer .would-do").first.wait_for()
    for _ in range(3):  # past the form and the place
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
    card.get_by_text("If any of lively (tempo is above 118, genre is folk) and level is above -30").wait_for()
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
    drawer.get_by_text("If any of (tempo is above 118, genre is folk) and level is above -30, then happy").wait_for()
    drawer.locator("summary", has_text="Threshold of tempo").click()
    drawer.get_by_label("Threshold of tempo, typed").fill("121")
    drawer.get_by_text("If any of (tempo is above 121, genre is folk) and level is above -30, then happy").wait_for()
    assert "121" in members.nth(0).inner_text()
    drawer.get_by_label("Side of the threshold of tempo").select_option("at most")
    drawer.get_by_text("If any of (tempo is at most 121, genre is folk) and level is above -30, then happy").wait_for()
    assert drawer.get_by_label("Threshold of tempo, typed").is_visible()
    members.nth(0).get_by_role("button").click()
    drawer.get_by_text("If genre is folk and level is above -30, then happy").wait_for()
    drawer.get_by_role("button", name="Cancel", exact=True).click()
    page.keyboard.press("Control+z")
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count)
    page.get_by_role("button", name="Remove rule 1", exact=True).click()
    page.wait_for_function("() => polyrule.data.models[0].rules.length === 1")
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    offers = page.get_by_role("region", name="Add an alternative")
    offers.get_by_role("button", name=re.compile("tempo is above")).first.click()
    page.wait_for_function("() => polyrule.data.models[0].rules[0].text.includes('any of (genre = folk, tempo >')")


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
    text = section.locator(".offers li > p").first.inner_text()
    count = len(rules(page))
    section.get_by_role("button", name="Add suggestion 1", exact=True).click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count + 1)
    model = empty.session.project.model
    assert text in [sentence(model, rule) for rule in model.rules]
    section.locator("tbody th button").first.click()
    whatif = in_section(page, "whatif")
    assert (
        "label" in whatif.get_by_role("region", name="Labels").inner_text()
        or whatif.locator(".label-list").is_visible()
    )


def test_two_windows_do_not_change_each_others_rules(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=4)
    one, other = visit(empty, "rules"), visit(empty, "rules")
    count = len(rules_when_there(one))
    kept = rules_when_there(other)
    one.get_by_role("button", name="Remove rule 1", exact=True).click()
    one.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count - 1)
    other.get_by_role("button", name="Remove rule 2", exact=True).click()  # by now another rule has this number
    other.get_by_text("The model has changed meanwhile").wait_for()
    assert rules(other) == rules(one) == kept[1:]
    other.get_by_role("button", name="Remove rule 1", exact=True).click()
    other.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count - 2)


def test_labels_are_drawn_and_one_version_is_not_compared(visit, studio):
    page = visit(studio, "labels")
    page.get_by_role("heading", name="How labels depend on each other").wait_for()
    section = go(page, "Compare", "compare")
    section.get_by_text("There is one version so far.").wait_for()


def test_a_label_leads_to_its_rules_and_they_to_their_examples(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=4)
    page = visit(empty, "labels")
    page.locator("#section-labels").get_by_role("button", name="loud", exact=True).first.click()
    drawer = page.get_by_role("dialog")
    assert drawer.get_by_role("button", name="Show these rules").is_visible()
    drawer.locator("tbody th button").first.click()
    drawer.get_by_role("button", name="Show the examples it covers").click()
    section = in_section(page, "ask")
    section.locator(".examples-table").wait_for()
    section.get_by_label("where").select_option("missed")
    section.get_by_label("Label").select_option("2")
    go(page, "Data", "data").get_by_label("Use loud as").select_option("drop")
    page.get_by_role("button", name="Set a part aside and go on").click()
    page.get_by_role("button", name="Begin anew").click()
    in_section(page, "learn").get_by_role("button", name="Learn", exact=True).click()
    rules_when_there(page)
    section = go(page, "Ask", "ask")
    section.locator(".examples-table, .note").first.wait_for()
    assert page.locator("#alert").inner_text() == ""


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
    expected = client.ask("compare", {"first": 0, "second": 3})
    held_out = expected["effect"][1]
    expect(effect).to_contain_text(re.compile(f"{held_out['fixed']} labels? set right, {held_out['broken']} spoilt"))
    model = empty.session.project.model
    own = section.get_by_role("region", name="Only in Version 4")
    assert own.locator("li").all_inner_texts() == [sentence(model, rule) for rule in model.rules[:3]]
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


def test_a_rule_in_plain_words_is_shown_as_it_was_understood_before_it_is_added(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=1)
    page = visit(empty, "rules")
    count = len(rules_when_there(page))
    page.get_by_role("button", name="Write a rule").click()
    box = page.get_by_role("combobox", name="Rule")
    add = page.get_by_role("button", name="Add the rule")
    box.fill("calm <- tempo")
    page.get_by_text("tempo is a quantity, from").wait_for()
    assert add.is_disabled()
    box.fill("calm if tempo below 90,5 and genre is jazz")
    page.get_by_text("90,5 is read as 90.5").wait_for()
    shown = page.locator(".writer .effects").inner_text()
    text = page.locator(".writer .as-text").inner_text()
    assert text.startswith("calm <- tempo <= 90.")
    assert text.endswith("genre = jazz")
    counts = client.ask("trial", {"step": {"do": "insert", "at": count, "text": text}})["counts"]
    for part in counts:
        assert f"applies to {part['covers']} example" in shown
        assert f"{part['right']} right, {part['wrong']} wrong" in shown
    add.click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count + 1)
    assert rules(page)[-1] == text


def test_a_rule_is_put_together_in_a_form(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=1)
    page = visit(empty, "rules")
    count = len(rules_when_there(page))
    page.get_by_role("button", name="Write a rule").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_text("Put it together").click()
    drawer.get_by_label("add a label").select_option("happy")
    column = drawer.get_by_label("add a condition on")
    column.fill("genre")
    column.press("Tab")
    drawer.get_by_label("genre is").select_option("folk")
    drawer.get_by_role("button", name="Add this condition").click()
    column.fill("tempo")
    column.press("Tab")
    drawer.get_by_label("Threshold of tempo, typed").fill("118,5")
    drawer.get_by_role("button", name="Add this condition").click()
    box = page.get_by_role("combobox", name="Rule")
    assert box.input_value() == "happy <- genre = folk, tempo > 118.5"
    page.get_by_role("button", name="Add the rule").click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count + 1)
    assert rules(page)[-1] == "happy <- genre = folk, tempo > 118.5"


def test_a_name_that_was_offered_for_an_earlier_text_replaces_nothing(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=1)
    page = visit(empty, "rules")
    page.get_by_role("button", name="Write a rule").click()
    box = page.get_by_role("combobox", name="Rule")
    box.press_sequentially("calm <- te")
    page.locator(".offer-list").get_by_role("option", name="tempo").wait_for()
    page.keyboard.press("ArrowDown")
    page.evaluate("() => { const box = document.querySelector('.writer textarea'); box.value += 'mpo > 90, ge'; }")
    page.keyboard.press("Enter")
    assert box.input_value().startswith("calm <- tempo > 90, ge")


def test_a_model_that_is_worse_than_a_baseline_says_so_above_its_rules(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=1)
    client.ask("change", {"step": {"do": "remove", "rule": 0}})
    client.ask("change", {"step": {"do": "insert", "at": 0, "text": "calm <- tempo > 150"}})
    page = visit(empty, "rules")
    told = page.get_by_role("region", name="Worse than a baseline")
    told.get_by_text("the model is worse than a baseline: its micro F1 is").wait_for()
    references = page.wait_for_function("() => polyrule.studio.references").json_value()
    best = max(one["scores"]["micro_f1"] for one in references if one["name"] != "forest")
    assert f"has {best:.3f}" in told.inner_text()
    told.get_by_role("button", name="fewer, simpler rules").click()
    section = in_section(page, "learn")
    assert "fewer, simpler rules (5)" in section.inner_text()
    section.get_by_role("button", name="Learn", exact=True).click()
    page.locator("article.rule").first.wait_for()
    client.learn(min_precision=0.5)
    assert empty.session.project.current.step["options"]["min_precision"] == 0.5


def test_a_good_model_gets_no_such_warning(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn()
    page = visit(empty, "rules")
    page.wait_for_function("() => polyrule.studio.references && polyrule.studio.interval")
    assert page.get_by_role("region", name="Worse than a baseline").count() == 0


def test_rules_are_lines_cards_or_a_table_with_search_and_filters(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(max_rules=5)
    for text in ("loud <- genre = jazz, tempo > 90", "calm <- tempo <= 80"):
        client.ask("change", {"step": {"do": "insert", "at": 0, "text": text}})
    page = visit(empty, "rules")
    count = len(rules_when_there(page))
    assert count > 3
    lines = page.locator("article.rule.compact")
    assert lines.count() == count  # many rules are lines at first
    assert lines.first.bounding_box()["height"] < 160
    held = page.evaluate("() => polyrule.data.models[0].rules[0].parts[1]")
    assert f"Held-out data: {held['right']} right, {held['wrong']} wrong" in lines.first.inner_text()
    page.get_by_label("Label", exact=True).select_option(label="loud")
    loud = [n for n, text in enumerate(rules(page)) if "loud" in text.split("<-")[0]]
    assert lines.count() == len(loud)
    page.get_by_text(f"{len(loud)} rule").first.wait_for()
    page.get_by_label("View").select_option("table")
    table = page.get_by_role("table", name="Rules")
    assert table.locator("tbody tr").count() == len(loud)
    page.get_by_role("button", name=f"Change rule {loud[0] + 1}", exact=True).click()
    assert f"Change rule {loud[0] + 1}" in page.get_by_role("dialog").inner_text()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("View").select_option("cards")
    assert page.locator("article.card.work").count() == count
    page.get_by_label("Search").fill("tempo")
    page.get_by_role("button", name=re.compile("^Remove rule")).first.click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count - 1)
    assert page.get_by_label("Search").input_value() == "tempo"  # the filter stays


def test_a_scorecard_has_a_sheet_to_add_up_by_hand(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(kind="scorecard", max_rules=4)
    page = visit(empty, "rules")
    sheet = page.locator(".sheet")
    sheet.get_by_role("button", name="Print this sheet").wait_for()
    model = empty.session.project.model
    text = sheet.inner_text()
    assert "start" in text
    assert sheet.locator("tbody tr").count() == len(model.rules) + 2 + (
        model.decision.kind in ("threshold", "per-label")
    )


def test_a_change_that_leaves_f1_is_explained(client):
    """The counts behind micro F1: present labels found or missed, false alarms more or less."""
    before = client.ask("trial", {"step": {"do": "insert", "at": 0, "text": "¬loud <- tempo > 0"}})["effect"][0]
    assert before["fixed"] - before["broken"] == before["found"] - before["alarms"]
    assert before["found"] < 0
