"""Costs of false alarms and misses: cutoffs of least expected cost, in files, exports, scores and text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import ok, ok_json, run

import polyrule
from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.decisions import choose_cutoffs, costs_of, cutoffs, score_costs, set_costs, set_cutoffs
from polyrule.errors import ModelError, OptionError


def rows(count: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(count, 3)).round(2), columns=list("abc"))
    noise = rng.normal(size=(count, 2)) * 0.8
    return X, pd.DataFrame({"p": X.a + noise[:, 0] > 0.4, "q": X.b - X.c + noise[:, 1] > 0.6}).astype(int)


@pytest.fixture(scope="module")
def models():
    X, Y = rows(800, 0)
    return {
        "list": RuleListClassifier(teacher=None, simplicity=0.3).fit(X, Y).model_,
        "ensemble": RuleEnsembleClassifier(max_rules=10, decision="per-label", cv=0).fit(X, Y).model_,
        "scorecard": RuleEnsembleClassifier(max_rules=10, points=True, decision="per-label", cv=0).fit(X, Y).model_,
    }


@pytest.mark.parametrize(("alarm", "miss"), [(1, 9), (5, 1), (1, 1)])
@pytest.mark.parametrize("kind", ["ensemble", "scorecard"])
def test_the_decision_minimizes_the_expected_cost_of_the_model_itself(models, kind, alarm, miss) -> None:
    """Under the stated probabilities no other labels cost less."""
    model, X = set_costs(models[kind], {"p": (alarm, miss), "q": (alarm, miss)}), rows(500, 1)[0]
    chance, labels = model.predict_proba(X), model.predict(X)
    expected = np.where(labels == 1, (1 - chance) * alarm, chance * miss)
    assert (expected <= np.minimum((1 - chance) * alarm, chance * miss) + 1e-9).all()


@pytest.mark.parametrize("kind", ["list", "ensemble", "scorecard"])
@pytest.mark.parametrize("pair", [(1, 10), (10, 1)])
def test_new_examples_cost_less(models, kind, pair) -> None:
    X, Y = rows(4000, 2)
    costs = {"p": pair, "q": pair}
    before, after = (
        score_costs(Y, model.predict(X), costs, ("p", "q")).per_example
        for model in (models[kind], set_costs(models[kind], costs))
    )
    assert after <= before + 1e-9
    if kind != "list" or pair == (10, 1):  # a list cannot predict more than its rules
        assert after < before


def test_tuned_costs_are_the_least_on_the_data(models) -> None:
    X, Y = rows(600, 3)
    costs = {"p": (1.0, 4.0)}
    tuned = choose_cutoffs(models["ensemble"], X, Y, goal="cost", costs=costs)
    least = score_costs(Y, tuned.predict(X), costs, ("p", "q")).total
    for cut in np.linspace(0, 1, 101):
        other = set_cutoffs(models["ensemble"], {"p": float(cut)})
        assert least <= score_costs(Y, other.predict(X), costs, ("p", "q")).total
    again = choose_cutoffs(tuned, X, Y, goal="cost")
    assert (costs_of(again), cutoffs(again)) == (costs, cutoffs(tuned))


def test_costs_are_in_files_text_and_exports_and_end_with_another_cutoff(models, tmp_path) -> None:
    model = set_costs(models["ensemble"], {"p": (1, 19)})
    assert "(costs: p false alarm 1, miss 19)" in str(model)
    assert cutoffs(model) == {"p": pytest.approx(0.05)}
    model.save(tmp_path / "m.json")
    again = polyrule.load(tmp_path / "m.json")
    assert costs_of(again) == {"p": (1.0, 19.0)}
    space: dict[str, object] = {}
    exec(again.export("python"), space)
    X = rows(50, 4)[0]
    found = [[space["predict"](row)[name] for name in "pq"] for row in X.to_dict("records")]  # type: ignore[operator]
    np.testing.assert_array_equal(found, model.predict(X))
    assert costs_of(set_cutoffs(model, {"p": 0.5})) == {}


def test_unknown_labels_cost_nothing() -> None:
    found = score_costs(np.array([[2, 1], [0, 2]], dtype=np.uint8), [[1, 0], [1, 1]], {"a": (2, 3), "b": (1, 7)}, "ab")
    assert found.labels == {"a": (1, 0, 2.0), "b": (0, 1, 7.0)}
    assert found.as_dict()["per_example"] == 4.5


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"z": (1, 2)}, "the model has no label 'z'"),
        ({"p": (1, -2)}, "must be (false alarm, miss)"),
        ({"p": (0, 0)}, "not both 0"),
        ({"p": 3}, "must be (false alarm, miss)"),
        ([1], "must be a mapping"),
    ],
)
def test_bad_costs_are_one_sentence(models, costs, message) -> None:
    with pytest.raises(OptionError) as error:
        set_costs(models["ensemble"], costs)
    assert message in str(error.value)


def test_a_goal_without_costs_and_a_broken_note_are_refused(models) -> None:
    with pytest.raises(OptionError, match="goal 'cost' needs costs"):
        choose_cutoffs(models["ensemble"], *rows(50, 5), goal="cost")
    with pytest.raises(OptionError, match="costs are for goal='cost'"):
        choose_cutoffs(models["ensemble"], *rows(50, 5), costs={"p": (1, 2)}, goal="recall>=0.5")
    broken = set_cutoffs(models["ensemble"], 0.5)
    broken.info["costs"] = {"p": "cheap"}
    with pytest.raises(ModelError, match="costs are not as"):
        costs_of(broken)


def test_on_the_command_line(models, tmp_path) -> None:
    X, Y = rows(300, 6)
    path, data = tmp_path / "m.json", tmp_path / "d.csv"
    models["ensemble"].save(path)
    pd.concat([X, Y], axis=1).to_csv(data, index=False)
    assert "cost" not in ok("evaluate", path, data)
    assert "+ (costs: p false alarm 1, miss 20)" in ok("edit", "costs", path, "p=1:20")
    assert "per example (p " in ok("evaluate", path, data)
    assert ok_json("evaluate", path, data, "--json")["costs"]["labels"]["p"]["misses"] >= 0
    ok("edit", "tune", path, data, "--for", "cost")
    assert costs_of(polyrule.load(path)) == {"p": (1.0, 20.0)}
    assert "LABEL=FALSE_ALARM:MISS" in run("edit", "costs", path, "p=1").stderr
