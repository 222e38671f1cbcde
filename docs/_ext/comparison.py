"""The directive ``{comparison}``: the learners in one table, read from the results and never copied by hand."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import fmean

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

OURS = ("rule list", "weighted rules")
# The columns of the table in ensemble.md: what each is called here, and its size.
LEARNERS = (
    (OURS[1], "30 rules"),
    (OURS[1], "100 rules"),
    ("BOOMER", "1,000 rules"),
    ("label-powerset forest", "100 trees"),
)
HEADER = "| data | 30 rules | 100 rules | BOOMER, 1,000 rules | label-powerset forest |"


def means(docs: Path) -> list[tuple[str, str, float, float]]:
    """Learner, size and mean micro F1 over the eight data sets of the paper, and over those without genbase."""
    with (docs / "results" / "list_defaults.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["split"] == "train-test"]
    found = []
    for setting, name in (("default", OURS[0]), ("paper", "rule list of the paper")):
        own = {row["data"]: row for row in rows if row["setting"] == setting}
        size = f"{fmean(float(row['rules']) for row in own.values()):.0f} rules"
        values = {data: float(row["micro_f1"]) for data, row in own.items()}
        others = [value for data, value in values.items() if data != "genbase"]
        found.append((name, size, fmean(values.values()), fmean(others)))
    text = (docs / "ensemble.md").read_text(encoding="utf-8")
    table = text.partition(f"\nMicro-F1:\n\n{HEADER}\n")[2].partition("\n\n")[0]
    over_all, without = (_numbers(table, title) for title in (r"\*\*mean\*\*", "mean without genbase"))
    return sorted([*found, *zip(*zip(*LEARNERS, strict=True), over_all, without, strict=True)], key=lambda row: -row[2])


def _numbers(table: str, title: str) -> list[float]:
    row = re.search(rf"^\| {title} \| (.*) \|$", table, re.MULTILINE)
    if row is None:
        raise ValueError(f"the table of micro-F1 in ensemble.md has no row {title}")
    return [float(cell) for cell in row.group(1).split(" | ")]


class Comparison(SphinxDirective):
    """Renders the means, ours in bold."""

    def run(self) -> list[nodes.Node]:
        """Write the table as Markdown and let the page's own parser read it."""
        lines = ["| | size | micro F1 | without genbase |", "| --- | --- | ---: | ---: |"]
        for name, size, *values in means(Path(self.env.srcdir)):
            bold = "**" if name in OURS else ""
            lines.append(f"| {bold}{name}{bold} | {size} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
        for source in ("ensemble.md", "results/list_defaults.csv"):
            self.env.note_dependency(source)
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("comparison", Comparison)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
