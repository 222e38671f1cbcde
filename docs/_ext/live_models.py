"""The models of the live demo: real data that comes with polyrule or scikit-learn, learned while the site is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.data import read
from polyrule.report import Report, build

TUTORIAL = Path(__file__).resolve().parents[1] / "tutorial"


def songs() -> Report:
    """Moods of songs: the default list, the paper's, and a scorecard, to be compared."""
    train, test = datasets.load("emotions", part="train"), datasets.load("emotions", part="test")
    models = {
        "rule list": RuleListClassifier().fit(train),
        "list of the paper": RuleListClassifier.paper("f0.5", lift="kln:0.1", max_conditions=3).fit(train),
        "scorecard of 10 rules": RuleEnsembleClassifier(max_rules=10, points=5).fit(train),
    }
    return build(models, train, test, title="Moods of songs")


def wines() -> Report:
    """The tables and the list of the tutorial, which the first page shows, too."""
    train, test = (read(TUTORIAL / name, labels="last:5") for name in ("wines.csv", "new-wines.csv"))
    return build(RuleListClassifier().fit(train), train, test, title="Wines")


REPORTS: dict[str, Callable[[], Report]] = {"songs": songs, "wines": wines}
