"""The studio's page for everybody: keyboard, screen readers, phones, numbers as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.report.test_access import CHECK
from tests.report.test_access import axe as axe
from tests.studio.conftest import Client, songs
from tests.studio.person import SECTIONS, go, rules, rules_when_there, with_twins
from tests.studio.person import visit as visit

from polyrule.studio.launch import Studio
from polyrule.studio.steps import rule_text_at


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
    page.get_by_text("If any of lively (tempo is above 118, genre is folk) and level is above -30").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count - 1)
    assert rules(page)[0] == joined
    page.get_by_role("button", name="Change rule 2", exact=True).focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog")
    drawer.get_by_label("How many of the group must hold").focus()
    page.keyboard.press("ArrowUp")
    drawer.get_by_text("of quiet (tempo is at most 90, level is at most -12, genre is jazz)").wait_for()
    drawer.get_by_role("button", name="Remove genre is jazz from the group").focus()
    page.keyboard.press("Enter")
    drawer.get_by_text("any of quiet (tempo is at most 90, level is at most -12)").wait_for()
    assert page.evaluate("() => Boolean(document.activeElement.closest('.condition-editor'))"), "the keyboard is lost"
    drawer.get_by_role("button", name="Apply", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "text => polyrule.data.models[0].rules[1].text === text",
        arg='calm <- any of "quiet" (tempo <= 90, level <= -12)',
    )


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


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_a_scorecard_is_changed_and_accessible(visit, empty, axe, scheme, width):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": ["calm", "happy", "loud"], "identifier": "title"})
    client.learn(kind="scorecard", max_rules=2, max_conditions=2)
    client.ask("change", {"step": {"do": "insert", "at": 0, "text": "calm +2 <- tempo > 100"}})
    page = visit(empty, "rules", color_scheme=scheme, viewport={"width": width, "height": 844})
    count = len(rules_when_there(page))
    page.evaluate(axe)
    assert page.evaluate(CHECK) == [], "cards"
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_label("Threshold of tempo, typed").fill("95,5")
    drawer.get_by_label("Side of the threshold of tempo").select_option("at most")
    drawer.get_by_label("Points for calm").fill("3")
    drawer.get_by_label("Points for another label").select_option("loud")
    drawer.get_by_label("Points for loud").fill("−2")
    drawer.get_by_text("If tempo is at most 95.5, then calm +3 and loud −2").wait_for()
    drawer.get_by_role("region", name="Add a condition").wait_for()
    assert page.evaluate(CHECK) == [], "editor"
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    drawer.get_by_role("button", name="Apply", exact=True).click()
    page.wait_for_function("() => polyrule.data.models[0].rules[0].text === 'calm +3, loud −2 <- tempo <= 95.5'")
    page.get_by_role("button", name="Down rule 1", exact=True).click()
    page.wait_for_function("() => polyrule.data.models[0].rules[1].text.startsWith('calm +3')")
    page.get_by_role("button", name="Write a rule").click()
    page.keyboard.type("happy +1 <- genre = folk")
    page.get_by_role("button", name="Add the rule").click()
    page.wait_for_function("count => polyrule.data.models[0].rules.length === count", arg=count + 1)
    assert rules(page) == [rule_text_at(empty.session.project.model, at) for at in range(count + 1)]


def test_what_went_wrong_is_in_sight_wherever_the_page_is(visit, empty):
    with_twins(empty)
    page = visit(empty, "rules", viewport={"width": 900, "height": 500})
    page.locator("article.rule").first.wait_for()
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    page.evaluate(
        "() => { window.answers = window.fetch; window.fetch = () => Promise.reject(new TypeError('gone')); }"
    )
    last = page.locator("article.rule").last
    last.get_by_role("button", name=re.compile("^Remove rule")).click()
    alert = page.get_by_role("alert")
    alert.get_by_text("Is it still running in its terminal?").wait_for()
    seen = "box => { const { top, bottom } = box.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }"
    assert alert.evaluate(seen)
    alert.get_by_role("button", name="Dismiss").click()
    page.evaluate("() => { window.fetch = window.answers; }")
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    page.get_by_role("region", name="Add a condition").wait_for()
    dialog = page.get_by_role("dialog")
    page.evaluate("() => polyrule.complain('said in a dialog')")
    told = dialog.get_by_role("alert")
    told.get_by_text("said in a dialog").wait_for()
    assert told.evaluate(seen)
    dialog.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("alert").get_by_text("said in a dialog").wait_for()
