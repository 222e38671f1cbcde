"""The directive ``{comparison}``: the learners in one table, read from the results and never copied by hand."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

OURS = ("rule list", "weighted rules")
# Learners in the rows: what each is called here, and its size.
LEARNERS = {
    "ours-30": (OURS[1], "30 rules"),
    "ours-100": (OURS[1], "100 rules"),
    "boomer": ("BOOMER", "1,000 rules"),
    "forest": ("label-powerset forest", "100 trees"),
}
SOURCES = ("list_defaults.csv", "quality.csv")


def means(docs: Path) -> list[tuple[str, str, float, float]]:
    """Learner, size and mean micro F1 over the eight data sets of the paper, and over those without genbase."""
    lists, weighted = (_read(docs / "results" / name) for name in SOURCES)
    found = []
    for setting, name in (("default", OURS[0]), ("paper", "rule list of the paper")):
        own = [row for row in lists if row["split"] == "train-test" and row["setting"] == setting]
        size = f"{fmean(float(row['rules']) for row in own):.0f} rules"
        found.append((name, size, *_means({row["data"]: float(row["micro_f1"]) for row in own})))
    for learner, (name, size) in LEARNERS.items():
        own = [row for row in weighted if row["learner"] == learner and row["tuned_for"] == "micro-f1"]
        found.append((name, size, *_means({row["data"]: float(row["micro-f1"]) for row in own})))
    return sorted(found, key=lambda row: -row[2])


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _means(values: dict[str, float]) -> tuple[float, float]:
    return fmean(values.values()), fmean(value for data, value in values.items() if data != "genbase")


class Comparison(SphinxDirective):
    """Renders the means, ours in bold."""

    def run(self) -> list[nodes.Node]:
        """Write the table as Markdown and let the page's own parser read it."""
        lines = ["| | size | micro F1 | without genbase |", "| --- | --- | ---: | ---: |"]
        for name, size, *values in means(Path(self.env.srcdir)):
            bold = "**" if name in OURS else ""
            lines.append(f"| {bold}{name}{bold} | {size} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
        for source in SOURCES:
            self.env.note_dependency(f"results/{source}")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("comparison", Comparison)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
