"""The page inside a notebook's cell."""

from tests.report.worlds import random_data, random_model

from polyrule.report import build


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
