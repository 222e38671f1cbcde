"""The models of the live demo: real data that comes with polyrule or scikit-learn, learned while the site is built."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn import datasets as sklearn_data

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.data import Dataset, Feature, Table
from polyrule.report import Report, build


def songs() -> Report:
    """Moods of songs: two rule lists and a scorecard, to be compared."""
    train, test = datasets.load("emotions", part="train"), datasets.load("emotions", part="test")
    models = {
        "rule list": RuleListClassifier.paper("f0.5", lift="kln:0.1", max_conditions=3).fit(train),
        "list of single-label rules": RuleListClassifier.paper("f0.5", heads="single", max_conditions=3).fit(train),
        "scorecard of 10 rules": RuleEnsembleClassifier(max_rules=10, points=5).fit(train),
    }
    return build(models, train, test, title="Moods of songs")


def wines() -> Report:
    """Chemical analyses of wines: three grapes, and whether a wine is strong or dark."""
    data = sklearn_data.load_wine()
    names = ["barolo", "grignolino", "barbera", "strong", "dark"]
    column = {name: data.data[:, position] for position, name in enumerate(data.feature_names)}
    strong = column["alcohol"] > np.median(column["alcohol"])
    dark = column["color_intensity"] > np.median(column["color_intensity"])
    labels = np.column_stack([*(data.target == grape for grape in range(3)), strong, dark]).astype(np.uint8)
    # The two properties are read off columns that the rules may not see; they must be told from the others.
    kept = [name for name in data.feature_names if name not in ("alcohol", "color_intensity")]
    features = tuple(Feature("protein" if "/" in name else name.replace("_", " ")) for name in kept)
    values = np.column_stack([column[name] for name in kept])
    return _split(
        values,
        features,
        labels,
        names,
        "Wines",
        RuleListClassifier.paper("f0.5", lift="kln:0.3", max_conditions=3, min_coverage=5),
    )


def _split(
    values: np.ndarray, features: tuple[Feature, ...], labels: np.ndarray, names: list[str], title: str, learner: object
) -> Report:
    order = np.random.default_rng(0).permutation(len(values))
    cut = 2 * len(values) // 3
    parts = [
        Dataset(Table.from_array(values[rows], features), labels[rows], tuple(names), name=title)
        for rows in (order[:cut], order[cut:])
    ]
    return build(learner.fit(parts[0]), *parts, title=title)  # type: ignore[attr-defined]


REPORTS: dict[str, Callable[[], Report]] = {"songs": songs, "wines": wines}
