"""A page about a large model stays small and alive."""

from tests.report.worlds import random_data, random_model

from polyrule.report import build


def test_a_thousand_rules_two_hundred_labels_five_thousand_examples(visit):
    model = random_model(1, rules=1000, features=300, labels=200, largest=6, least=1)
    report = build(model, random_data(model, 3000, 1), random_data(model, 2000, 2))
    assert len(report.html().encode()) < 5_000_000
    shown = [part["shown"] for part in report.summary["parts"]]
    assert sum(shown) < 5000
    assert len([note for note in report.summary["notes"] if "to keep the file small" in note]) == 2
    page = visit(report, "rules")
    assert page.locator("article.rule").count() == 40  # not all at once
    page.get_by_label("Search").fill("rule 999")
    assert page.locator("article.rule h3").all_text_contents() == ["Rule 999"]
    page.get_by_role("button", name="Rule 999").click()
    assert page.get_by_role("dialog").is_visible()
