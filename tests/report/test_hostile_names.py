"""Names from data are text, never markup or code."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.report.worlds import HOSTILE, random_data, random_model

from polyrule.report import build
from polyrule.report.page import embed, render


@pytest.fixture(scope="module")
def hostile():
    model = random_model(2, rules=30, features=12, labels=12, names=HOSTILE)
    data = replace(random_data(model, 40, 1, name=HOSTILE[0]), row_ids=tuple(HOSTILE[i % 12] for i in range(40)))
    test = random_data(model, 30, 2, name=HOSTILE[1])
    model.info["options"] = {"measure": HOSTILE[1], HOSTILE[0]: HOSTILE[2]}
    return build({HOSTILE[0]: model, HOSTILE[2]: model}, data, test, title=HOSTILE[0])


def test_no_name_becomes_markup(visit, hostile):
    page = visit(hostile)
    for section in ("overview", "rules", "labels", "whatif", "compare"):
        page.evaluate(f"() => {{ location.hash = '{section}' }}")
        page.locator(f"#section-{section}:not([hidden])").wait_for()
        for details in page.locator(f"#section-{section} details").all():
            details.evaluate("node => { node.open = true }")
    page.evaluate("() => { location.hash = 'rules' }")
    page.get_by_role("button", name="Rule 1", exact=True).click()
    assert page.locator("img, script:not([type]) ~ script, [onload], [onerror], iframe").count() == 0
    assert page.locator("script").count() == 2
    links = page.locator("a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)
    assert page.title() == HOSTILE[0]
    assert page.locator("h1").inner_text() == HOSTILE[0]
    names = page.locator("#section-labels th button.link").all_text_contents()
    assert HOSTILE[1] + "#1" in names


def test_the_file_holds_no_name_as_markup(hostile):
    text = hostile.html()
    assert text.count("</script>") == 2
    assert text.count("<script") == 2
    assert "<img" not in text
    assert "\u2028" not in text
    text.encode()  # a lone surrogate in a name must not spoil the file


def test_a_frame_for_notebooks_is_closed(hostile):
    frame = hostile._repr_html_()
    assert frame.count("<iframe") == frame.count("</iframe>") == 1
    assert re.fullmatch(r"<iframe [^<>]*></iframe>", frame)
    assert "allow-same-origin" not in frame


def test_only_the_page_s_own_script_may_run(visit, hostile):
    page = visit(hostile)
    ran = page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.intruder = 1";
          try { document.body.append(script); } catch { /* refused */ }
          return window.intruder ?? null;
        }"""
    )
    assert ran is None
    assert "Content Security Policy" in visit.troubles.pop()


def test_embedding_escapes_what_could_end_a_script():
    text = embed({"a": "</script>&\u2028"})
    assert not set("<>&\u2028") & set(text)


def test_placeholders_in_names_are_not_filled(sample):
    text = render(sample.summary | {"title": "@@script@@ @@data@@"})
    assert "<title>@@script@@ @@data@@</title>" in text
