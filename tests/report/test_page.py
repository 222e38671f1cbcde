"""What a person can do with the page, done in a browser."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from tests.report.worlds import random_data, random_model

from polyrule.data import Feature, Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.model import (
    GroupCondition,
    LabelCondition,
    Literal,
    NominalCondition,
    NumericCondition,
    Rule,
    RuleList,
)
from polyrule.model.parsing import parse_rule
from polyrule.report import build


def cards(page):
    return page.locator("#section-rules article.rule")


@pytest.mark.parametrize("width", [390, 1000, 1240, 1280])
def test_the_button_that_clears_the_filters_stands_beside_them(visit, sample, width):
    page = visit(sample, "rules", viewport={"width": width, "height": 800})
    button = page.get_by_role("button", name="Clear", exact=True).bounding_box()
    view = page.locator("#section-rules").get_by_label("View").bounding_box()
    assert abs(button["y"] + button["height"] - view["y"] - view["height"]) < 2
    assert view["x"] + view["width"] <= button["x"]
    assert button["x"] + button["width"] <= width
    if width >= 1240:
        assert page.locator("#section-rules").get_by_label("Search").bounding_box()["y"] == view["y"]


def test_a_limited_search_is_told_of_in_the_rule(visit):
    """As the text says it, and only where there is something to say."""
    body = (NumericCondition(0, ">", 0.0),)
    near = Rule((Literal(0, 1, 3, 1),), body, value=Fraction(97, 100), bound=Fraction(1))
    broken_off = Rule((Literal(1, 1, 3, 1),), body, unfinished=True)
    model = RuleList(
        (near, broken_off, Rule((Literal(2, 1, 3, 1),), body)), (Feature("tempo"),), ("calm", "sad", "loud")
    )
    report = build(model, random_data(model, 20, 1))
    doubts = [rule["doubt"] for rule in report.summary["models"][0]["rules"]]
    assert doubts == ["at most 3 % from the best head", "unfinished", ""]
    page = visit(report, "rules")
    page.get_by_role("button", name="Rule 1", exact=True).first.click()
    assert page.locator("#drawer").get_by_text("at most 3 % from the best head").is_visible()
    page.get_by_role("button", name="Next rule").click()
    assert "Limited search\n\nunfinished" in page.locator("#drawer .facts").inner_text()
    page.get_by_role("button", name="Next rule").click()
    assert "Limited search" not in page.locator("#drawer").inner_text()


def test_the_overview_shows_scores_against_the_baseline(visit, sample):
    page = visit(sample)
    shown = page.locator(".tile").all_inner_texts()
    part = sample.summary["models"][0]["parts"][1]
    assert any(
        f"{part['scores']['micro_f1']:.3f}" in text
        and f"{max(simple['micro_f1'] for simple in part['simple'].values()):.3f}" in text
        and f"{part['interval']['micro_f1'][0]:.3f} to {part['interval']['micro_f1'][1]:.3f}" in text
        for text in shown
    )
    assert "50 rules" in page.locator(".lead").first.inner_text()
    page.locator("summary", has_text="All measures").click()
    assert page.get_by_role("row", name=re.compile("Macro Jaccard")).is_visible()


@pytest.mark.parametrize("value", [1, 0])
def test_a_list_whose_order_changes_nothing_is_read_rule_by_rule(visit, value):
    heads = (Literal(0, 1, 3, 1), Literal(1, value, 2, 1))
    rules = tuple(Rule((head,), (NumericCondition(0, ">", threshold),)) for threshold, head in enumerate(heads))
    model = RuleList(rules, (Feature("tempo"),), ("calm", "sad", "loud"))
    report = build(model, random_data(model, 20, 1))
    told = report.summary["models"][0]["warnings"]
    assert any(line.startswith("1 of 3 labels is never" if value else "2 of 3 labels are never") for line in told)
    text = visit(report).locator("#section-overview").inner_text()
    assert ("Every rule can be read by itself" in text) == bool(value)
    assert ("predictions of absence" in text) == (not value)
    assert "conditions on labels" not in text


def test_the_curve_can_be_read_with_the_keyboard(visit, sample):
    page = visit(sample)
    slider = page.get_by_label("Score if the list ended here: after how many rules")
    slider.focus()
    page.keyboard.press("Home")
    figure = page.locator("figure", has=slider)
    assert "Before the first rule" in figure.inner_text()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    value = sample.summary["models"][0]["parts"][1]["curve"]["micro_f1"][3]
    assert "After rule 3 of 50" in figure.inner_text()
    assert f"{100 * value:.1f}\u202f%" in figure.inner_text()


def test_rules_are_searched_filtered_and_sorted(visit, sample):
    page = visit(sample, "rules")
    model = sample.summary["models"][0]
    status = page.get_by_role("status")
    assert status.inner_text() == "50 rules"
    told = page.get_by_text("Counted on the test data.")
    page.get_by_label("View").select_option("lines")
    assert told.is_visible()
    page.get_by_label("View").select_option("cards")
    assert not told.is_visible(), "cards name their parts"
    assert cards(page).count() == 40
    page.get_by_role("button", name="Show 10 more").click()
    assert cards(page).count() == 50
    page.get_by_label("Label", exact=True).select_option(label="label 2")
    page.get_by_label("Sign").select_option(label="predicts absent")
    wanted = [n for n, rule in enumerate(model["rules"]) if any(lit[:2] == [2, 0] for lit in rule["head"])]
    assert page.locator("article.rule h3").all_text_contents() == [f"Rule {n + 1}" for n in wanted]
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Feature", exact=True).select_option(label="feature_1")
    page.get_by_label("Covers at least").fill("10")
    slot = [feature["name"] for feature in sample.summary["features"]].index("feature_1")
    wanted = [
        n
        for n, rule in enumerate(model["rules"])
        if rule["parts"][0]["covers"] >= 10 and any(c[0] != 3 and c[1] == slot for c in rule["body"])
    ]
    assert page.locator("article.rule h3").all_text_contents() == [f"Rule {n + 1}" for n in wanted]
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Order", exact=True).select_option(label="Most wrong")
    wrong = [rule["parts"][1]["wrong"] for rule in model["rules"]]
    first = int(page.locator("article.rule h3").first.text_content().split()[1]) - 1
    assert wrong[first] == max(wrong)
    page.get_by_label("Search").fill("rule 7 ")
    assert "Rule 7" in page.locator("article.rule h3").all_text_contents()
    page.get_by_label("Search").fill("no such thing")
    assert page.get_by_text("No rule fits this filter.").is_visible()


def test_rules_as_a_table_are_sorted_by_its_headings(visit, sample):
    page = visit(sample, "rules")
    page.get_by_label("View", exact=True).select_option("table")
    page.get_by_role("button", name="Covers", exact=True).click()
    assert page.locator('th[aria-sort="descending"]').inner_text() == "Covers"
    shown = [int(text) for text in page.locator(".rules-table tbody tr td.number").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)


def test_a_rule_opens_with_the_examples_it_covers(visit, sample):
    page = visit(sample, "rules")
    rules = sample.summary["models"][0]["rules"]
    number = max(range(40), key=lambda n: min(rules[n]["parts"][1]["wrong"], rules[n]["parts"][1]["right"]))
    page.get_by_role("button", name=f"Rule {number + 1}", exact=True).click()
    drawer = page.get_by_role("dialog")
    covered = sum(part["covers"] for part in rules[number]["parts"])
    assert f"{covered} examples of the 240 in this page" in drawer.inner_text()
    region = drawer.get_by_role("region", name="Examples the rule covers")
    assert region.locator("tbody tr").count() == min(100, covered)
    drawer.get_by_label("only where it is wrong").check()
    assert region.locator("tbody tr").count() > 0
    assert region.locator("tbody tr").count() == region.locator("tbody tr", has=page.locator(".is-wrong")).count()
    page.keyboard.press("Escape")
    assert not drawer.is_visible()


def test_the_drawer_leads_on_and_back(visit, sample):
    page = visit(sample, "rule-3")
    drawer = page.get_by_role("dialog")
    title = drawer.locator("h2")
    assert title.inner_text() == "Rule 3"
    drawer.get_by_role("button", name="Next rule").click()
    assert title.inner_text() == "Rule 4"
    drawer.locator("button.chip").first.click()
    assert title.inner_text().startswith("label")
    drawer.get_by_role("button", name="Back").click()
    assert title.inner_text() == "Rule 4"
    assert drawer.get_by_role("button", name="Back").count() == 0
    drawer.get_by_role("button", name="Close").click()
    assert not drawer.is_visible()


def test_many_rules_are_seen_one_to_a_line(visit, sample):
    page = visit(sample, "rules")
    heights = cards(page).evaluate_all("rules => rules.map((rule) => rule.offsetHeight)")
    assert len(heights) == 40
    assert max(heights) < 140  # eight conditions and members take five lines
    rule = sample.summary["models"][0]["rules"][0]["parts"][1]
    assert f"{rule['right']} right, {rule['wrong']} wrong" in cards(page).first.inner_text()
    few = visit(build(random_model(3, rules=5)), "rules")
    assert few.locator("article.card.rule").count() == 5


def test_importances_are_ranked_with_their_intervals(visit, sample):
    page = visit(sample, "matters")
    found = sample.summary["models"][0]["importance"]
    section = page.locator("#section-matters")
    rows = section.get_by_role("region", name="Rules").locator("tbody tr")
    assert rows.count() == 12
    number, drop, low, high, _ = found["rules"][0]
    first = rows.first.inner_text()
    assert f"Rule {number + 1}" in first
    assert f"{drop:.3f}" in first
    assert [f"{abs(value):.3f}" in rows.first.text_content() for value in (low, high)] == [True, True]
    section.get_by_role("button", name="Show 38 more").click()
    assert rows.count() == 50
    rows.first.get_by_role("button").click()
    assert page.get_by_role("dialog").locator("h2").inner_text() == f"Rule {number + 1}"


def test_a_feature_that_no_rule_tests_is_named_in_what_if(visit):
    rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 0.5),))
    model = RuleList((rule,), (Feature("tested"), Feature("idle one"), Feature("idle two")), ("red",))
    page = visit(build(model), "whatif")
    page.locator("summary", has_text="2 other features: no rule tests them").click()
    assert page.get_by_text("idle one, idle two").is_visible()


def test_nearly_fired_is_only_what_would_change_the_prediction(visit):
    high = NumericCondition(0, ">", 1.0)
    rules = (
        Rule((Literal(0, 0),), (high,)),  # the default is absent anyway
        Rule((Literal(1, 1),), (high,)),
        Rule((Literal(1, 1),), (NumericCondition(0, ">", 2.0),)),
    )
    model = RuleList(rules, (Feature("size"),), ("red", "blue"))
    table = Table.from_array([[0.0]], model.features)
    page = visit(build(model, (table, [[0, 0]])), "whatif")
    near = page.locator(".outcome ul.trace li")
    assert [text.split()[1] for text in near.all_inner_texts()] == ["2", "3"]
    assert [miss.rule for miss in model.explain(table).near] == [1, 2]


def roads() -> RuleList:
    words = tuple(Feature(word, "nominal", ("0", "1")) for word in ("jam", "queue", "works"))
    members = (NominalCondition(0, 1), NominalCondition(1, 1), NominalCondition(2, 0), NumericCondition(3, ">", 30.0))
    group = GroupCondition(members, 2, "road words")
    rule = Rule((Literal(0, 1, 5, 1),), (group, NumericCondition(3, "<=", 90.0)))
    return RuleList((rule,), (*words, Feature("speed")), ("traffic",))


def test_members_of_a_group_are_chips_and_what_if_says_which_would_do(visit):
    model = roads()
    table = Table.from_array([[1.0, 0.0, 1.0, 20.0], [1.0, 1.0, 0.0, 50.0]], model.features)
    page = visit(build(model, (table, [[0], [1]])), "rules")
    members = page.locator(".card.rule .member")
    assert [text.strip() for text in members.all_inner_texts()] == ["jam", "queue", "not works", "speed is above 30"]
    assert "at least 2 of road words" in " ".join(page.locator(".card.rule .group").inner_text().split())
    page = visit(build(model, (table, [[0], [1]])), "whatif")
    near = page.locator(".outcome ul.trace li").inner_text()
    assert "needs one more of these" in near
    assert page.locator(".outcome .member.holds b").all_inner_texts() == ["jam"]
    assert page.locator(".outcome .member.fails").count() == 3


def test_columns_of_0_and_1_are_named_alone(visit):
    features = (Feature("laptop", flag=True), Feature("stolen", "nominal", ("0", "1")), Feature("lost", flag=True))
    rule = parse_rule("loss <- laptop, ¬stolen, lost > 0", features, ("loss", "lost"))
    page = visit(build(RuleList((rule,), features, ("loss", "lost"))), "rules")
    words = [text.strip() for text in cards(page).first.locator(".words").all_inner_texts()]
    assert words == ["laptop", "not stolen", "lost is above 0"]  # a label is called like the last


def test_what_if_of_an_ensemble_shows_the_border_of_its_groups(visit):
    model = roads()
    weighted = WeightedRule((Entry(0, 2.0),), model.rules[0].body)
    decision = Decision("threshold", (0.0,))
    ensemble = RuleEnsemble((weighted,), model.features, model.label_names, (-1.0,), decision)
    table = Table.from_array([[1.0, 0.0, 1.0, 20.0]], model.features)
    page = visit(build(ensemble, (table, [[0]])), "whatif")
    assert "needs one more of these" in page.locator(".outcome ul.trace li").inner_text()


def test_models_that_cannot_be_told_apart_are_called_level(visit, sample):
    page = visit(sample, "compare")
    level = sample.summary["level"]["micro_f1"]
    row = page.get_by_role("row", name=re.compile("Micro F1"))
    assert row.locator(".badge").count() == sum(level)
    same = build({"a": random_model(5), "b": random_model(5)}, random_data(random_model(5), 60, 1))
    assert all(all(flags) for flags in same.summary["level"].values())


def test_numbers_on_a_card_are_those_of_the_summary(visit, sample):
    page = visit(sample, "rules")
    page.get_by_label("View", exact=True).select_option("cards")
    for number, rule in enumerate(sample.summary["models"][0]["rules"][:5]):
        text = cards(page).nth(number).inner_text()
        for part, whole in zip(rule["parts"], (150, 90), strict=True):
            assert f"{part['right']} right, {part['wrong']} wrong" in text
            assert f"covers {part['covers']} of {whole}" in text


def test_a_label_opens_with_its_rules_and_leads_to_them(visit, sample):
    page = visit(sample, "labels")
    page.locator("#section-labels table").first.get_by_role("button", name="label 3").click()
    drawer = page.get_by_role("dialog")
    deciders = [
        n for n, rule in enumerate(sample.summary["models"][0]["rules"]) if any(h[0] == 3 for h in rule["head"])
    ]
    assert drawer.get_by_role("region", name="Rules that decide the label").locator("tbody tr").count() == len(deciders)
    assert "Confused with" in drawer.inner_text()
    drawer.get_by_role("button", name="Show these rules").click()
    cards(page).first.wait_for()
    # Rules that only test the label are shown as well.
    assert cards(page).count() >= min(40, len(deciders))


def test_the_graph_tells_kinds_of_dependency_apart_and_opens_labels(visit, sample):
    page = visit(sample, "labels")
    graph = page.get_by_role("group", name="Graph of label dependencies")
    before = graph.locator("path.edge").count()
    page.get_by_label("depends on features").uncheck()
    assert graph.locator("path.edge.conditional").count() == 0
    assert 0 < graph.locator("path.edge").count() < before
    page.get_by_label("one implies the other").uncheck()
    assert graph.locator("path[marker-end].edge").count() == 0
    node = graph.get_by_role("button", name="Label label 1")
    node.focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog").get_by_role("heading", name="label 1").is_visible()


def test_changing_a_feature_changes_the_labels_at_once(visit):
    model = random_model(12, rules=15, least=1)
    page = visit(build(model, random_data(model, 20, 1)), "whatif")
    state = "() => Array.from(polyrule.predict(0, polyrule.examples.values(0)).labels)"
    present = sum(page.evaluate(state))
    outcome = page.locator(".outcome")
    assert outcome.locator("h3").first.inner_text() == f"{present} label{'' if present == 1 else 's'} present"
    flips = page.get_by_role("button", name=re.compile("Smallest change that flips"))
    for position in range(flips.count()):
        flips.nth(position).click()
        apply = page.get_by_role("button", name="Apply")
        if apply.count():
            name = outcome.locator(".flip h4").inner_text()
            apply.click()
            label = re.search(r"makes (label \d) (present|absent)", name)
            assert label is not None
            row = page.locator(".label-list li.flipped", has_text=label[1])
            assert page.evaluate("() => document.activeElement.ariaLabel").endswith(label[1])
            assert f"{label[2]}: {label[1]}" in row.inner_text().replace("\n", " ")
            assert "feature" in page.locator("#section-whatif").inner_text()
            page.get_by_role("button", name="Reset").click()
            assert page.locator(".label-list li.flipped").count() == 0
            return
    pytest.fail("no label of the first example can be flipped")


def test_an_example_can_be_typed_and_missing_values_are_understood(visit):
    model = random_model(8, rules=20)
    page = visit(build(model, random_data(model, 30, 3)), "whatif")
    page.get_by_role("button", name="Blank").click()
    assert "every value is missing" in page.locator("#section-whatif").inner_text()
    number = page.locator(".feature input[inputmode=decimal]").first
    assert number.input_value() == ""
    number.fill("0,25 m")  # nothing is set by what is no number
    assert number.get_attribute("aria-invalid") == "true"
    assert page.locator(".feature.changed").count() == 0
    number.fill("0,25")
    assert number.get_attribute("title") == "read as 0.25"
    nominal = page.locator(".feature select").first
    nominal.select_option(index=2)
    assert page.locator(".feature.changed").count() == 2
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_label("Example, 1 to 30").fill("7")
    page.keyboard.press("Tab")
    assert page.locator(".which").inner_text() == "Example 7"
    page.get_by_role("button", name="Next wrong one").click()
    assert "from the truth" in page.locator(".outcome").inner_text()


def test_models_are_compared_and_switched(visit, sample):
    page = visit(sample, "compare")
    text = page.locator("#section-compare").inner_text()
    pair = sample.summary["comparison"][0]
    assert f"different labels on {pair['examples']} of 90 examples" in text
    page.locator("summary", has_text="Examples on which they differ").click()
    rows = page.get_by_role("region", name="Examples on which the models differ").locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() == min(100, pair["examples"])
    page.get_by_label("Model", exact=True).select_option("short")
    page.get_by_role("link", name="Rules").click()
    assert page.get_by_role("status").inner_text() == "20 rules"


def test_the_theme_can_be_changed_and_follows_the_system(visit, sample):
    page = visit(sample, color_scheme="dark")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Light").click()
    light = page.evaluate(ground)
    assert dark != light
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize("width", [360, 768, 1920])
def test_nothing_is_wider_than_the_screen(visit, sample, width):
    page = visit(sample, viewport={"width": width, "height": 800})
    for section in ("overview", "rules", "matters", "labels", "whatif", "compare"):
        page.evaluate(f"() => {{ location.hash = '{section}' }}")
        page.locator(f"#section-{section}:not([hidden])").wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, section


def test_on_a_phone_the_name_of_the_section_is_in_sight(visit, sample):
    page = visit(sample, "compare", viewport={"width": 360, "height": 800})
    for section in ("compare", "overview", "whatif"):
        page.evaluate(f"() => {{ location.hash = '{section}' }}")
        page.locator(f"#section-{section}:not([hidden])").wait_for()
        box = page.locator("#nav a[aria-current]").bounding_box()
        assert box["x"] >= -1
        assert box["x"] + box["width"] <= 361


def test_printing_shows_every_section_and_every_rule(visit, sample):
    page = visit(sample)
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert cards(page).count() == 50
    page.emulate_media(media="print")
    assert page.locator("#section-labels").is_visible()
    assert not page.locator("#nav").is_visible()
    assert len(page.pdf()) > 10_000
    page.emulate_media(media="screen")
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert not page.locator("#section-labels").is_visible()


def test_a_report_without_data_shows_what_was_learned(visit):
    model = random_model(4, rules=6)
    report = build(model)
    page = visit(report, "rules")
    first = report.summary["models"][0]["rules"][0]
    right, wrong = (sum(literal[at] for literal in first["head"]) for at in (2, 3))
    assert f"{right} right, {wrong} wrong" in cards(page).first.inner_text()
    for section in ("overview", "labels", "whatif"):
        page.get_by_role("link", name={"whatif": "What if"}.get(section, section.title())).click()
        page.locator(f"#section-{section} h2").wait_for()


def test_an_empty_list_can_be_looked_at(visit):
    model = random_model(4, rules=0)
    page = visit(build(model, random_data(model, 8, 0), random_data(model, 8, 1)))
    assert "no rules" in page.get_by_role("region", name="Warnings").inner_text()
    for name in ("Rules", "Labels", "What if"):
        page.get_by_role("link", name=name).click()
        page.get_by_role("heading", name=name, exact=True).wait_for()


def test_the_keyboard_reaches_everything(visit, sample):
    page = visit(sample)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("() => document.activeElement.textContent"))
    assert {"Overview", "Rules", "Labels", "What if", "Compare", "Dark"} <= reached
    page.get_by_role("link", name="Rules").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.activeElement.tagName === 'H2' && document.activeElement.textContent === 'Rules'"
    )


def test_no_name_covers_an_arrow_head(visit):
    """Names stand where no line arrives, from wherever the arrows of a ring come."""
    labels = tuple(f"a longer name {label}" for label in range(8))
    rules = tuple(Rule((Literal((label + 1) % 8, 1),), (LabelCondition(label, 1),)) for label in range(8))
    page = visit(build(RuleList(rules, (Feature("size"),), labels)), "labels")
    covered = page.evaluate(
        """() => {
          const graph = document.querySelector(".graph svg");
          const names = [...graph.querySelectorAll(".node text")].map((name) => name.getBoundingClientRect());
          return [...graph.querySelectorAll("path.edge")].filter((path) => {
            const point = path.getPointAtLength(path.getTotalLength()).matrixTransform(path.getScreenCTM());
            return names.some((n) => point.x > n.left && point.x < n.right && point.y > n.top && point.y < n.bottom);
          }).length;
        }"""
    )
    assert page.locator(".graph path.edge").count() == 8
    assert covered == 0


def test_legend_samples_all_look_different(visit, sample):
    page = visit(sample, "labels")
    samples = page.locator(".legend-group svg.key").evaluate_all("keys => keys.map((key) => key.innerHTML)")
    assert len(samples) == len(set(samples)) == 7


def test_stops_are_explained_where_there_are_some(visit, sample):
    page = visit(sample, "overview")
    assert page.get_by_text("ends the list for the examples it sets a label of").is_visible()
    never = RuleList((Rule((Literal(0, 1),)),), (Feature("size"),), ("red",))
    page = visit(build(never), "overview")
    assert page.get_by_text("ends the list").count() == 0


def test_a_last_column_that_stands_for_more_keeps_to_one_line(visit):
    rng = np.random.default_rng(0)
    features = tuple(Feature(f"x{j}") for j in range(14))
    rules = tuple(
        Rule((Literal(0, 1),), tuple(NumericCondition(int(j), ">", 0.5) for j in rng.permutation(14)[:size]))
        for size in range(1, 14)
    )
    page = visit(build(RuleList(rules, features, ("red",))), "overview")
    heights = page.locator(".columns .key").evaluate_all("keys => keys.map((key) => key.offsetHeight)")
    assert page.get_by_text("10+", exact=True).count() == 1
    assert len(set(heights)) == 1
