"""Take the pictures of the studio: ``python docs/studio_picture.py``; needs Chromium, playwright and pillow.

They are what a reader of the tutorial sees who goes its second way, step by step.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from polyrule.studio.launch import Studio
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Go the way of the tutorial and take a picture of every section."""
    session = Session(by="you")
    tables = (Origin.of_file(HERE / "tutorial" / name) for name in ("wines.csv", "new-wines.csv"))
    with Studio(session) as studio, sync_playwright() as driver:
        session.begin(*tables)
        studio.start()
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 760})
        page.set_default_timeout(120_000)
        page.goto(studio.url)
        walk(page, session)
        browser.close()


def walk(page: Any, session: Session) -> None:
    """Do what the tutorial says."""
    page.get_by_role("button", name="Set a part aside and go on").wait_for()
    take(page, "studio-data")
    page.get_by_role("button", name="Set a part aside and go on").click()
    page.get_by_text("Random forest").wait_for()
    page.get_by_text("Growing a forest").wait_for(state="detached")
    take(page, "studio-learn")
    page.get_by_role("button", name="Learn", exact=True).click()
    page.locator("article.rule").first.wait_for()
    session.change({"step": {"do": "note", "rule": 0, "name": "rich in proline", "pinned": True}})
    page.reload()
    page.locator("article.rule").first.wait_for()
    take(page, "studio")
    page.get_by_role("button", name="Change rule 1", exact=True).click()
    picture = page.locator(".where svg").first
    picture.wait_for()
    box = picture.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.62, box["y"] + 20, steps=4)
    page.mouse.up()
    page.locator(".effects .would-do").wait_for()
    page.get_by_role("region", name="Add a condition").wait_for()
    take(page, "studio-change")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_role("button", name=re.compile("Suggest rules for all")).click()
    page.get_by_role("region", name="Suggested rules").wait_for()
    take(page, "studio-ask")
    page.get_by_role("button", name="Add suggestion 1", exact=True).click()
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("region", name="From the first to the second").wait_for()
    take(page, "studio-compare")


def take(page: Any, name: str) -> None:
    """Store what is seen, with few colours but the small bright ones among them."""
    page.evaluate("() => { document.activeElement?.blur(); scrollTo(0, 0); }")
    picture = HERE / "_static" / f"{name}.png"
    page.screenshot(path=picture)
    Image.open(picture).convert("RGB").quantize(64, Image.Quantize.MAXCOVERAGE, kmeans=3).save(picture, optimize=True)


if __name__ == "__main__":
    main()
