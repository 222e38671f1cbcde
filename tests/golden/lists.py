"""Which lists are kept, how one is learned, and its hash."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from polyrule import BinaryRelevanceRuleClassifier, SeCoClassifier, config_context, datasets

FILE = Path(__file__).with_name("hashes.json")
MEASURES = ("precision", "f0.5", "hamming", "subset")
# Whole lists, or the first rules of those that take minutes.
LONGEST: dict[str, int | None] = {
    "flags": None,
    "genbase": None,
    "emotions": None,
    "birds": None,
    "medical": None,
    "scene": None,
    "yeast": None,
    "enron": None,
    "CAL500": None,
    "tmc2007-500": 40,
    "corel5k": 40,
    "bibtex": 40,
    "mediamill": 10,
    "delicious": 5,
}
#: Cases that take long, or whose reference takes hours, are left to `make golden`.
QUICK = [
    *((name, "multi", measure) for name in ("flags", "genbase") for measure in MEASURES),
    *((name, "single", measure) for name in ("flags", "genbase") for measure in MEASURES),
    *((name, "binary relevance", measure) for name in ("flags", "genbase") for measure in MEASURES[:3]),
    *((name, "multi", measure) for name in ("emotions", "birds", "medical") for measure in MEASURES[:3]),
    ("scene", "multi", "f0.5"),
    ("yeast", "multi", "f0.5"),
    ("CAL500", "multi", "hamming"),
]  # fmt: skip


def cases() -> list[tuple[str, str, str]]:
    """Every case: data set, learner, measure."""
    several = [(name, learner, m) for name in LONGEST for learner in ("multi", "single") for m in MEASURES]
    whole = [name for name, longest in LONGEST.items() if longest is None]
    return several + [(name, "binary relevance", measure) for name in whole for measure in MEASURES[:3]]


def key(case: tuple[str, str, str]) -> str:
    """How a case is called in the file."""
    longest = LONGEST[case[0]]
    return ", ".join(case) + ("" if longest is None else f", {longest} rules")


def learn(case: tuple[str, str, str], kernels: str | None = None) -> Any:
    """Learn the list of a case from the training part."""
    name, learner, measure = case
    data = datasets.load(name, "train")
    with config_context(kernels=kernels):
        if learner == "binary relevance":
            return BinaryRelevanceRuleClassifier(measure).fit(data).rules_
        return SeCoClassifier(measure, heads=learner, max_rules=LONGEST[name]).fit(data).rules_


def digest(model: Any) -> str:
    """Hash everything that a list says: heads, counts, bodies, stops, values, defaults."""
    lines = [f"{rule.head} {rule.body} {rule.stop} {rule.value} {rule.coverage}" for rule in model.rules]
    text = "\n".join([*lines, repr(model.defaults), repr(model.default_counts)])
    return f"{len(model)} rules {hashlib.sha256(text.encode()).hexdigest()[:24]}"


def known() -> dict[str, str]:
    """The kept hashes."""
    return dict(json.loads(FILE.read_text("utf-8"))) if FILE.exists() else {}
