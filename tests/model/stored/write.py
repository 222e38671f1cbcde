"""Write the model files of this version, and what they predict, for later versions to be tested with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from polyrule import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, SeCoClassifier, Table
from polyrule.data import Dataset, Feature
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.model import RuleList
from polyrule.model.files import save
from polyrule.utils.version import __version__

FEATURES = (Feature("size"), Feature("hue, <or> tone", "nominal", ("dark", "light", "Ünï 名")), Feature("weight"))
LABELS = ("red", "green & blue", "¬odd", "rare")
LEARNERS = {
    "list": SeCoClassifier(lift="kln:0.1"),
    "list-full": SeCoClassifier("hamming", scope="full", max_rules=6),
    "list-single": SeCoClassifier("precision", heads="single", max_rules=12),
    "binary-relevance": BinaryRelevanceRuleClassifier("m2"),
    "ensemble": RuleEnsembleClassifier(max_rules=6, cv=2, teacher=None),
    "scorecard": RuleEnsembleClassifier(max_rules=4, cv=2, teacher=None, points=5),
    "ensemble-sets": RuleEnsembleClassifier(max_rules=5, cv=2, teacher=None, decision="subset"),
}


RULES = (
    'red, ¬rare <- any of "showy" (size > 1, "hue, <or> tone" = Ünï 名, weight is missing)',
    'green & blue <- red, at least 2 of (size > 1, weight > 1, "hue, <or> tone" in {dark, light})',
)


def with_groups() -> dict[str, Any]:
    """Models made by hand whose rules have groups of alternatives."""
    made = RuleList((), FEATURES, LABELS)
    for number, text in enumerate(RULES):
        made = made.insert(number, text)
    first, second = (rule.body for rule in made)
    weighted = (
        WeightedRule((Entry(0, 1.5), Entry(3, -2.0)), first),
        WeightedRule((Entry(1, 2.25),), second[1:], coverage=12),
    )
    cuts = Decision("threshold", (0.0,) * len(LABELS))
    return {
        "list-groups": made.recount(dataset()),
        "ensemble-groups": RuleEnsemble(weighted, FEATURES, LABELS, (-0.5, -1.0, 0.25, -3.0), cuts),
    }


def examples(rows: int, seed: int) -> Table:
    """Made-up examples with missing values."""
    rng = np.random.default_rng(seed)
    values = np.column_stack(
        [rng.normal(0, 3, rows).round(2), rng.integers(0, 3, rows).astype(float), rng.integers(0, 20, rows) / 8]
    )
    values[rng.random(values.shape) < 0.05] = np.nan
    return Table.from_array(values, FEATURES)


def dataset() -> Dataset:
    """Labels that follow from the features, and from each other, with some noise."""
    table = examples(150, 1)
    size, hue, weight = np.nan_to_num(np.asarray(table)).T
    red = (size > 1) | (hue == 2)
    truth = np.column_stack([red, red & (weight > 1), ~red & (hue == 1), (size > 4) & (weight < 1)])
    noise = np.random.default_rng(2).random(truth.shape) < 0.04
    return Dataset(table, (truth ^ noise).astype(np.uint8), LABELS, name="made up")


def main() -> None:
    """Write one file per learner, and one with the examples and their predictions."""
    folder = Path(__file__).parent / __version__
    folder.mkdir(exist_ok=True)
    data, shown = dataset(), examples(40, 7)
    rows = [[None if np.isnan(value) else float(value) for value in row] for row in np.asarray(shown)]
    expected = {"examples": rows, "models": {}}
    models = {name: learner.fit(data).model_ for name, learner in LEARNERS.items()} | with_groups()
    for name, model in models.items():
        save(model, folder / f"{name}.json")
        labels, chances = model.predict(shown), model.predict_proba(shown)
        expected["models"][name] = {"labels": labels.tolist(), "probabilities": chances.tolist(), "text": str(model)}
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
