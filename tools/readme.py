"""Write the two models of the README and all its scores anew: ``python tools/readme.py [list|card|strength ...]``.

The scorecard is about flags, which do not come with polyrule (`polyrule data --list` says where they
are looked for); the strength is read from stored rows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.data import read
from polyrule.evaluation import score

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial"
MADE = re.compile(r"(<!-- (\w+): made by tools/readme.py -->\n).*?(?=<!-- end of what is made -->\n)", re.DOTALL)
WIDTH = 120


def make_list() -> str:
    """Return the list of the tutorial's wines, without its counts, beside a forest."""
    train, new = (read(TUTORIAL / name, labels="last:5") for name in ("wines.csv", "new-wines.csv"))
    model = RuleListClassifier().fit(train)
    forest = RandomForestClassifier(random_state=0).fit(np.asarray(train.X), np.asarray(train.Y))
    ours, theirs = (
        share(score(new.Y, one.predict(X)).micro_f1) for one, X in ((model, new.X), (forest, np.asarray(new.X)))
    )
    words = (
        "**Readable rules for multi-label classification.** One example may carry several labels, and one rule may "
        f"predict several of them at once. This is a whole model, learned from {len(train)} wines. On {len(new)} wines "
        f"that it has not seen its micro F1 is {ours}; that of a random forest of 100 trees is {theirs}:"
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


def make_strength() -> str:
    """Return how strong few rules are beside BOOMER and a forest."""
    sys.path.insert(0, str(ROOT / "docs" / "results"))
    from means import LEARNERS, means

    found = {(name, size): (share(over_all), share(rest)) for name, size, over_all, rest in means()}
    few, many, boomer, forest = (found[LEARNERS[name]] for name in ("ours-30", "ours-100", "boomer", "forest"))
    words = (
        f"- **Close to a forest, on few pages.** Mean micro F1 over eight data sets: {few[0]} with 30 weighted rules, "
        f"{many[0]} with 100, {forest[0]} with a forest of 100 trees on label sets and a tuned cut. On the seven where "
        f"BOOMER's 1,000 rules with a tuned cut work, they reach {boomer[1]}, our 30 reach {few[1]} and our 100 "
        f"{many[1]} ([all results, and where we lose][ensemble])."
    )
    return wrapped(words, subsequent_indent="  ") + "\n  "  # the end of what is made stands inside the item


def block(words: str, lines: list[str]) -> str:
    """Return a paragraph, if there is one, and a code block."""
    said = wrapped(words) + "\n\n" if words else ""
    return f"{said}```text\n" + "\n".join(lines) + "\n```\n\n"


def wrapped(words: str, subsequent_indent: str = "") -> str:
    """Return words in lines of the page's width."""
    return fill(words, WIDTH, break_long_words=False, break_on_hyphens=False, subsequent_indent=subsequent_indent)


def share(number: float) -> str:
    """Return a share as the README writes it: .635."""
    return f"{number:.3f}".removeprefix("0")


def page_with_models(page: str, chosen: list[str]) -> str:
    """Return the page with the parts named, or all, made anew."""
    return MADE.sub(lambda match: match[1] + MAKERS[match[2]]() if not chosen or match[2] in chosen else match[0], page)


MAKERS = {"list": make_list, "card": make_card, "strength": make_strength}

if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    README.write_text(page_with_models(text, sys.argv[1:]), encoding="utf-8")
