"""Cutoffs that keep the recall of groups together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import ok, run

import polyrule
from polyrule import RuleEnsembleClassifier
from polyrule.decisions import choose_cutoffs
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.evaluation import by_group, score


def rows(count: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"lactate": rng.normal(size=count).round(2), "sex": rng.choice(["f", "m"], count)})
    ill = X.lactate + np.where(X.sex == "m", 0.8, 0.0) + 0.5 * rng.normal(size=count) > 0.9
    return X, pd.DataFrame({"sepsis": ill.astype(int)})


@pytest.fixture(scope="module")
def model():
    X, Y = rows(1500, 0)
    return RuleEnsembleClassifier(max_rules=8, decision="per-label", cv=0).fit(X[["lactate"]], Y).model_


@pytest.mark.parametrize("goal", ["f1", "macro-f1", "recall>=0.6"])
def test_recall_differs_by_at_most_the_gap(model, goal) -> None:
    X, Y = rows(800, 1)
    free = choose_cutoffs(model, X[["lactate"]], Y, goal=goal)
    fair = choose_cutoffs(model, X[["lactate"]], Y, goal=goal, by_group=X.sex.to_numpy(), max_gap=0.1)
    gaps = [by_group(one, X[["lactate"]], X.sex.to_numpy(), Y).difference("recall", "sepsis") for one in (free, fair)]
    assert gaps[1] <= 0.1 < gaps[0]
    assert fair.predict(X[["lactate"]]).any()
    if goal == "f1":
        values = [score(Y, one.predict(X[["lactate"]])).micro_f1 for one in (free, fair)]
        assert values[1] <= values[0]


def test_a_column_of_the_data_may_name_the_groups_and_small_groups_do_not_count(model) -> None:
    X, Y = rows(800, 1)
    both = choose_cutoffs(model, X, Y, by_group="sex", max_gap=0.1)
    alone = choose_cutoffs(model, X[["lactate"]], Y, by_group=X.sex.to_numpy(), max_gap=0.1)
    assert both.decision == alone.decision
    few = np.where(np.arange(800) < 10, "x", "f")
    X = X[["lactate"]]
    assert choose_cutoffs(model, X, Y, by_group=few, max_gap=0.0).decision == choose_cutoffs(model, X, Y).decision


def test_what_cannot_be_reached_or_makes_no_sense_is_one_sentence(model) -> None:
    X, Y = rows(800, 1)
    with pytest.raises(OptionError, match="by_group and max_gap belong together"):
        choose_cutoffs(model, X[["lactate"]], Y, max_gap=0.1)
    with pytest.raises(OptionError, match="max_gap must be a number from 0 to 1, got 2"):
        choose_cutoffs(model, X, Y, by_group="sex", max_gap=2)
    only = polyrule.RuleListClassifier(teacher=None, max_rules=1).fit(X[["lactate"]], Y).model_
    with pytest.raises(DataError, match="no cutoff of 'sepsis' keeps the difference of recall"):
        choose_cutoffs(only, X, Y, by_group="sex", max_gap=0.0)
    two = Y.assign(other=1 - Y.sepsis)
    related = RuleEnsembleClassifier(max_rules=2, decision="per-label", cv=0).fit(X[["lactate"]], two).model_
    related = related.with_relations("sepsis, other: at most one")
    with pytest.raises(ModelError, match="this model has relations"):
        choose_cutoffs(related, X, two, by_group="sex", max_gap=0.1)


def test_on_the_command_line(model, tmp_path) -> None:
    X, Y = rows(800, 1)
    path, data = tmp_path / "m.json", tmp_path / "d.csv"
    model.save(path)
    pd.concat([X, Y], axis=1).to_csv(data, index=False)
    ok("edit", "tune", path, data, "--by-group", "sex", "--max-gap", "0.1")
    assert by_group(polyrule.load(path), X[["lactate"]], X.sex.to_numpy(), Y).difference("recall", "sepsis") <= 0.1
    assert "belong together" in run("edit", "tune", path, data, "--max-gap", "0.1").stderr
