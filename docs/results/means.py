"""Mean micro F1 of the learners that the first page and the README compare, from the rows beside this file."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean

HERE = Path(__file__).resolve().parent
OURS = ("rule list", "weighted rules")
# Learners in the rows: what each is called, and its size.
LEARNERS = {
    "ours-30": (OURS[1], "30 rules"),
    "ours-100": (OURS[1], "100 rules"),
    "boomer": ("BOOMER", "1,000 rules"),
    "forest": ("label-powerset forest", "100 trees"),
}
SOURCES = ("list_defaults.csv", "quality.csv")


def means() -> list[tuple[str, str, float, float]]:
    """Learner, size and mean micro F1 over the eight data sets of the paper, and over those without genbase."""
    lists, weighted = (_read(HERE / name) for name in SOURCES)
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
