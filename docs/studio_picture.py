"""Take the picture of the studio: ``python docs/studio_picture.py``; needs Chromium, playwright and pillow."""

from __future__ import annotations

import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_wine

from polyrule import Dataset, RuleListClassifier, Table
from polyrule.data.table import Feature

PICTURE = Path(__file__).resolve().parent / "_static" / "studio.png"


def wines() -> tuple[Dataset, Dataset]:
    """Return the table of the tutorial in its two parts."""
    wine = load_wine(as_frame=True)
    table = wine.data.rename(columns={"od280/od315_of_diluted_wines": "protein"})
    labels = {grape: wine.target == number for number, grape in enumerate(["barolo", "grignolino", "barbera"])}
    labels["strong"], labels["dark"] = table.pop("alcohol") > 13, table.pop("color_intensity") > 5
    order = table.sample(frac=1, random_state=0).index
    values, truth = table.loc[order].to_numpy(), [labels[name].loc[order].to_numpy() for name in labels]
    features = [Feature(name) for name in table.columns]
    whole = Dataset(Table.from_array(values, features), _matrix(truth), tuple(labels), "wines")
    return whole[:120], whole[120:]


def _matrix(columns: list[object]) -> object:
    import numpy as np

    return np.column_stack(columns).astype(np.uint8)


def main() -> None:
    """Learn a list, name a rule, and store what is seen with few colours."""
    train, test = wines()
    model = RuleListClassifier().fit(train)
    with model.studio(train, test, browser=False) as studio, sync_playwright() as driver:
        studio.session.change({"step": {"do": "note", "rule": 0, "name": "rich in proline", "pinned": True}})
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 760})
        page.goto(f"{studio.url}#rules")
        page.locator("article.rule").first.wait_for()
        page.screenshot(path=PICTURE)
        browser.close()
    Image.open(PICTURE).convert("RGB").quantize(64).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
