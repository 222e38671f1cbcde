"""Write the two models of the README, and their scores, anew: ``python tools/readme.py``.

The scorecard is about flags, which do not come with polyrule (`polyrule datasets` says where they are looked for).
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from textwrap import fill

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.evaluation import score

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
MADE = re.compile(r"(<!-- (list|card): made by tools/readme.py -->\n).*?(?=<!-- end of what is made -->\n)", re.DOTALL)
WIDTH = 120


def default_list() -> tuple[str, int]:
    """Micro F1 and number of rules of the default list on emotions, from the stored rows."""
    with (ROOT / "docs" / "results" / "list_defaults.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["split"] == "train-test" and row["setting"] == "default"]
    row = next(row for row in rows if row["data"] == "emotions")
    return share(float(row["micro_f1"])), round(float(row["rules"]))


def make_list() -> str:
    """Return the list of the demo, without its counts."""
    sys.path.insert(0, str(ROOT / "examples"))
    import demo

    train, test = (demo.plainly_named(datasets.load("emotions", part=part)) for part in ("train", "test"))
    model = RuleListClassifier(max_rules=8, max_conditions=2).fit(train)
    found = share(score(test.Y, model.predict(test.X)).micro_f1)
    best, rules = default_list()
    words = (
        "**Readable rules for multi-label classification.** One example may carry several labels, and one rule may "
        f"predict several of them at once. This is a whole model, learned from {len(train)} songs (`make demo`; micro "
        f"F1 {found} on songs it has not heard, {best} with {rules} rules and no limits):"
    )
    lines = model.rules_.format(numbers=False, counts=False).splitlines()
    return block(words, [line for line in lines if not line.startswith("(")])


def make_card() -> str:
    """Return a scorecard about flags."""
    train, test = (datasets.load("flags", part=part) for part in ("train", "test"))
    card = RuleEnsembleClassifier(max_rules=5, points=5, labels_per_head=2, max_conditions=2).fit(train)
    found = share(score(test.Y, card.predict(test.X)).micro_f1)
    words = (
        f"Or a scorecard to add up by hand. The colours of a flag, from {len(train)} countries "
        "(`RuleEnsembleClassifier(max_rules=5, points=5, labels_per_head=2, max_conditions=2)`; micro F1 "
        f"{found} on the other {len(test)}):"
    )
    return block(words, str(card.rules_).splitlines())


def block(words: str, lines: list[str]) -> str:
    """Return a paragraph, if there is one, and a code block."""
    said = fill(words, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n\n" if words else ""
    return f"{said}```text\n" + "\n".join(lines) + "\n```\n\n"


def share(number: float) -> str:
    """Return a share as the README writes it: .635."""
    return f"{number:.3f}".removeprefix("0")


if __name__ == "__main__":
    makers = {"list": make_list, "card": make_card}
    text = README.read_text(encoding="utf-8")
    README.write_text(MADE.sub(lambda match: match[1] + makers[match[2]](), text), encoding="utf-8")
