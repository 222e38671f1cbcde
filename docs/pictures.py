"""Make the small pictures of the site: ``python docs/pictures.py [NAME ...]``; without names, all of them.

One picture per page of the gallery, which is the last one that the page draws, and ``card``, which link previews show.
Run it when a page of the gallery is new or draws something else. Needs what the site needs, and pillow.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import nbclient
from myst_nb.core.read import read_myst_markdown_notebook
from PIL import Image

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

DOCS = Path(__file__).resolve().parent
THUMBNAILS = DOCS / "gallery" / "thumbnails"
CARD = DOCS / "_static" / "card.png"
SIZE = (480, 300)
BLUE = "#0b5fa5"


def last_picture(page: Path) -> Image.Image:
    """Run a page and return the last picture among its outputs."""
    notebook = read_myst_markdown_notebook(page.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(
            notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": folder}}
        ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    if not pictures:
        raise SystemExit(f"{page.name} draws nothing")
    return Image.open(io.BytesIO(base64.b64decode(pictures[-1]))).convert("RGB")


def thumbnail(page: Path) -> None:
    """Store the picture of a page on a white sheet, so that all of them have one shape."""
    picture = last_picture(page)
    picture.thumbnail((SIZE[0] - 20, SIZE[1] - 20), Image.Resampling.LANCZOS)
    sheet = Image.new("RGB", SIZE, "white")
    sheet.paste(picture, ((SIZE[0] - picture.width) // 2, (SIZE[1] - picture.height) // 2))
    _store(sheet, THUMBNAILS / f"{page.stem}.png")


def card() -> None:
    """Store the picture for link previews: the name, what it is, and a real list."""
    from polyrule import RuleListClassifier
    from polyrule.data import read

    rules = RuleListClassifier().fit(read(DOCS / "tutorial" / "wines.csv", labels="last:5")).rules_
    figure = plt.figure(figsize=(12, 6.3), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1200), ylim=(0, 630))
    axes.set_axis_off()
    axes.add_patch(FancyBboxPatch((0, 430), 1200, 200, boxstyle="square,pad=0", color=BLUE))
    axes.text(60, 545, "polyrule", color="white", fontsize=58, fontweight="bold", va="center")
    axes.text(60, 468, "Readable rules for multi-label classification", color="white", fontsize=26, va="center")
    lines = [rules.format_rule(number, counts=False) for number in range(4)]
    size = min(19, 19 * 68 / max(map(len, lines)))  # 68 letters of size 19 fit between the margins
    for number, text in enumerate(lines):
        axes.text(60, 350 - 72 * number, text, fontsize=size, family="monospace", va="center")
    axes.text(1140, 32, f"{len(rules)} rules for 120 wines", fontsize=15, color="#555", ha="right", va="center")
    held = io.BytesIO()
    figure.savefig(held, format="png")
    plt.close(figure)
    _store(Image.open(held).convert("RGB"), CARD)


def _store(picture: Image.Image, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    picture.quantize(64).save(path, optimize=True)


def main(chosen: list[str]) -> None:
    """Make the pictures named, or all."""
    pages = {page.stem: page for page in sorted((DOCS / "gallery").glob("*.md")) if page.stem != "index"}
    for name in chosen or [*pages, "card"]:
        card() if name == "card" else thumbnail(pages[name])


if __name__ == "__main__":
    main(sys.argv[1:])
