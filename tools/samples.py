"""Write the models that stand in docs/lists.md and docs/ensemble.md anew: ``python tools/samples.py [NAME ...]``.

All but the wines need data that does not come with polyrule (`polyrule data --list` says where it is looked for).
"""

from __future__ import annotations

import re
import sys

from readme import ROOT, block, share

from polyrule import RuleEnsembleClassifier, RuleListClassifier, SeCoClassifier, datasets
from polyrule.data import read
from polyrule.evaluation import score

DOCS = ROOT / "docs"
PAGES = (DOCS / "lists.md", DOCS / "ensemble.md")
MADE = re.compile(r"(<!-- (\w+): made by tools/samples.py -->\n).*?(?=<!-- end of what is made -->\n)", re.DOTALL)
WIDTH = 150


def wines() -> str:
    """Return the default list of the tutorial."""
    model = RuleListClassifier().fit(read(DOCS / "tutorial" / "wines.csv", labels="last:5"))
    return block("", str(model.rules_).splitlines())


def groups() -> str:
    """Return rules about radiology reports that are nothing but a group."""
    rules = RuleListClassifier().fit(datasets.load("medical", part="train")).rules_
    lines = [rules.format_rule(number) for number in range(len(rules))]
    return block("", [line for line in lines if "<- any of {" in line and "}, " not in line][:2])


def before_and_after() -> str:
    """Return how the learner of the paper and the default begin."""
    lines = []
    for name in ("flags", "emotions", "medical"):
        train = datasets.load(name, part="train")
        for kind, learner in (("paper", SeCoClassifier()), ("default", RuleListClassifier())):
            rules = learner.fit(train).rules_
            lines += [f"{name}, {kind}: {len(rules)} rules"]
            lines += [cut(line.lstrip()) for line in str(rules).splitlines()[:3]] + [""]
    return block("", lines[:-1])


def card() -> str:
    """Return a scorecard about flags, and the sums of one flag."""
    train, test = (datasets.load("flags", part=part) for part in ("train", "test"))
    model = RuleEnsembleClassifier(max_rules=8, points=5, labels_per_head=3).fit(train)
    found = share(score(test.Y, model.predict(test.X)).micro_f1)
    words = (
        f"The flags of {len(train)} countries as a scorecard, which reaches micro-F1 {found} on the other {len(test)}:"
    )
    whole = block(words, str(model.rules_).splitlines())
    return whole + block("The first of these others, added up:", str(model.explain(test.X, 0)).splitlines())


def words() -> str:
    """Return the first rules of an ensemble about aviation reports."""
    train = datasets.load("tmc2007-500", part="train")
    return block("", RuleEnsembleClassifier().fit(train).rules_.format(digits=2).splitlines()[:5])


def cut(line: str) -> str:
    """Return the line, or its beginning if it is long."""
    return line if len(line) <= WIDTH else line[: line.rindex(",", 0, WIDTH)] + ", …"


def page_with_samples(page: str, chosen: list[str]) -> str:
    """Return the page with the models named, or all, made anew."""
    return MADE.sub(lambda m: m[1] + SAMPLES[m[2]]() if not chosen or m[2] in chosen else m[0], page)


SAMPLES = {"wines": wines, "groups": groups, "before_and_after": before_and_after, "card": card, "words": words}

if __name__ == "__main__":
    for place in PAGES:
        place.write_text(page_with_samples(place.read_text(encoding="utf-8"), sys.argv[1:]), encoding="utf-8")
