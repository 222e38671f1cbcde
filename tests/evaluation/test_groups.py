"""Scores in groups, held against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.data import Dataset, Feature, Table
from polyrule.errors import DataError, OptionError
from polyrule.evaluation import by_group
from polyrule.evaluation.groups import ALL, SMALL
from polyrule.model import Literal, NumericCondition, Rule, RuleList

SEX = Feature("sex", "nominal", ("f", "m"))


@pytest.fixture
def data() -> Dataset:
    rng = np.random.default_rng(3)
    age, sex = rng.integers(18, 90, 400).astype(float), rng.integers(0, 2, 400).astype(float)
    sex[rng.random(400) < 0.05] = np.nan
    ill = ((age > 60) ^ (rng.random(400) < np.where(sex == 1, 0.3, 0.1))).astype(float)
    old = (age > 70).astype(float)
    ill[rng.random(400) < 0.1] = np.nan
    return Dataset(
        Table(np.column_stack([age, sex]), (Feature("age"), SEX)), np.column_stack([ill, old]), ("ill", "old")
    )


@pytest.fixture
def model() -> RuleList:
    rules = (
        Rule((Literal(1, 1),), (NumericCondition(0, ">", 70.0),)),
        Rule((Literal(0, 1),), (NumericCondition(0, ">", 60.0),)),
    )
    return RuleList(rules, (Feature("age"), SEX), ("ill", "old"))


def test_counts_are_those_of_the_examples_of_a_group_whose_label_is_known(data, model):
    found = model.by_group(data, "sex")
    assert found.groups == ("f", "m", "missing")
    sex, truth, predicted = data.X.column(1), np.asarray(data.Y), model.predict(data.X)
    for at, mask in enumerate((sex == 0, sex == 1, np.isnan(sex))):
        assert found.sizes[at] == mask.sum()
        y, said = truth[mask, 0], predicted[mask, 0]
        hits = int(((y == 1) & (said == 1)).sum())
        recall, precision = (list(found.shares(name, "ill").values())[at] for name in ("recall", "precision"))
        assert (recall.hits, recall.total) == (hits, int((y == 1).sum()))
        assert (precision.hits, precision.total) == (hits, int(((said == 1) & (y != 2)).sum()))
        alarms = list(found.shares("false alarms", "ill").values())[at]
        assert (alarms.hits, alarms.total) == (int(((said == 1) & (y == 0)).sum()), int((y == 0).sum()))
        coverage = list(found.shares("coverage", "ill").values())[at]
        assert (coverage.hits, coverage.total) == (precision.total, int((y != 2).sum()))
        low, high = recall.interval
        assert low <= recall.value <= high
    assert found.counts[ALL][0]["tp"] == sum(found.counts[name][0]["tp"] for name in ("ill", "old"))


def test_rules_are_counted_by_group(data, model):
    found = model.by_group(data, "sex")
    age, sex, ill = data.X.column(0), data.X.column(1), np.asarray(data.Y)[:, 0]
    mine = (age > 60) & (sex == 1)
    assert (found.rule_coverage[1][1].hits, found.rule_coverage[1][1].total) == (mine.sum(), (sex == 1).sum())
    assert (found.rules[1][1].hits, found.rules[1][1].total) == ((ill[mine] == 1).sum(), (ill[mine] != 2).sum())


def test_difference_and_ratio_are_those_of_the_groups(data, model):
    found = model.by_group(data, "sex")
    values = [share.value for share in found.shares("precision", "ill").values()]
    assert found.difference("precision", "ill") == max(values) - min(values)
    assert found.ratio("precision", "ill") == min(values) / max(values)
    shares = found.shares("precision", "ill").values()
    overall = sum(s.hits for s in shares) / sum(s.total for s in shares)
    assert found.difference("precision", "ill", "to_overall") == max(abs(value - overall) for value in values)
    assert found.ratio("recall", "old") == 1
    assert found.difference("recall", "old") == 0


def test_small_groups_are_shown_and_marked(data, model):
    found = model.by_group(data, "sex")
    small = found.shares("recall", "ill")["missing"]
    assert small.total < SMALL
    assert small.small
    assert not found.shares("recall", "ill")["f"].small
    assert "*" in found.text()
    assert found.frame()["small"].any()


def test_numbers_are_divided_into_four_groups_of_about_equal_size(data, model):
    found = model.by_group(data, "age")
    assert len(found.groups) == 4
    assert found.groups[0].startswith("up to ")
    assert max(found.sizes) - min(found.sizes) < 40
    assert sum(found.sizes) == len(data)
    few = by_group(model.predict(data.X), data, np.arange(len(data)) % 3)
    assert few.groups == ("0", "1", "2")


def test_groups_may_be_no_column_of_the_model(data, model):
    own = ["north" if n % 2 else "south" for n in range(len(data))]
    found = model.by_group(data, own)
    assert found.groups == ("north", "south")
    matrix = by_group(model.predict(data.X), data, own)
    assert matrix.counts == found.counts
    assert matrix.rules == []


def test_what_makes_no_groups_is_refused(data, model):
    with pytest.raises(OptionError, match="no column 'sexx' in the data"):
        model.by_group(data, "sexx")
    with pytest.raises(DataError, match="3 groups for 400 examples"):
        model.by_group(data, ["a", "b", "c"])
    with pytest.raises(OptionError, match="more than 50"):
        model.by_group(data, [f"p{n}" for n in range(400)])
    found = model.by_group(data, "sex")
    with pytest.raises(OptionError, match="no measure"):
        found.shares("f1")
    with pytest.raises(OptionError, match="no label"):
        found.shares("recall", "sick")
    with pytest.raises(OptionError, match="between_groups"):
        found.difference("recall", method="mean")


def test_a_measure_without_examples_has_no_value():
    truth = np.array([[0], [0], [1], [1]], dtype=np.uint8)
    found = by_group(truth, None, ["a", "a", "b", "b"], truth)
    assert found.shares("recall")["a"].value is None
    assert found.difference("recall") is None
    assert found.ratio("recall") is None
    assert found.as_dict()["labels"][ALL]["recall"][0][:2] == [0, 0]
