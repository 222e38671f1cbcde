"""Take the README's picture of a report: ``python docs/report_picture.py``; needs Chromium, playwright and pillow."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
PICTURE = HERE / "_static" / "report.png"


def main() -> None:
    """Make the report of the live demo, open its rules, and store what is seen with few colours."""
    import live_models

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        report = Path(folder) / "wines.html"
        live_models.wines().save(report)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 760})
        page.goto(f"{report.as_uri()}#rules")
        page.locator("#section-rules h2").wait_for()
        page.screenshot(path=PICTURE)
        browser.close()
    Image.open(PICTURE).convert("RGB").quantize(64).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
