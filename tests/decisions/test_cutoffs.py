"""Cutoffs as part of a model: against the scores that define them, in files, in exports and in messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import ok, run

import polyrule
from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import to_table
from polyrule.decisions import choose_cutoffs, cutoffs, set_cutoffs
from polyrule.decisions.cutoffs import scores
from polyrule.errors import DataError, ModelError, OptionError


def rows(count: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(count, 4)).round(2), columns=list("abcd"))
    noise = rng.normal(size=(count, 3)) * 0.5
    Y = pd.DataFrame({"p": X.a + noise[:, 0] > 0.4, "q": X.b - X.c + noise[:, 1] > 0.6, "r": X.d + noise[:, 2] > 1})
    return X, Y.astype(int)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    X, Y = rows(500, 0)
    return {
        "list": RuleListClassifier(teacher=None, simplicity=0.3).fit(X, Y).model_,
        "ensemble": RuleEnsembleClassifier(max_rules=8, teacher=None, decision="per-label").fit(X, Y).model_,
    }


@pytest.mark.parametrize("kind", ["list", "ensemble"])
@pytest.mark.parametrize("cutoff", [0.0, 0.2, 0.45, 0.7, 1.0])
def test_a_label_is_predicted_from_its_cutoff_on(models, kind, cutoff) -> None:
    model, X = models[kind], rows(300, 1)[0]
    reached = scores(model, to_table(X, model.features))
    predicted = set_cutoffs(model, {"p": cutoff, "q": 0.5, "r": cutoff}).predict(X)
    cuts = np.array([cutoff, 0.5, cutoff])
    clear = np.abs(reached - cuts) > 1e-9
    np.testing.assert_array_equal((predicted == 1)[clear], (reached >= cuts)[clear])


@pytest.mark.parametrize("kind", ["list", "ensemble"])
def test_cutoffs_are_part_of_files_and_exports(models, kind, tmp_path) -> None:
    X = rows(60, 2)[0]
    model = set_cutoffs(models[kind], {"p": 0.35})
    model.save(tmp_path / "m.json")
    again = polyrule.load(tmp_path / "m.json")
    assert cutoffs(again) == {"p": 0.35}
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    space: dict[str, Any] = {}
    exec(model.export("python"), space)
    coded = [[space["predict"](row)[name] for name in "pqr"] for row in X.to_dict("records")]
    np.testing.assert_array_equal(coded, model.predict(X))


@pytest.mark.parametrize("kind", ["list", "ensemble"])
@pytest.mark.parametrize("goal", ["recall>=0.6", "precision>=0.6", "recall >= .5"])
def test_a_share_is_reached_by_the_best_cutoff(models, kind, goal) -> None:
    X, Y = rows(300, 3)
    model = choose_cutoffs(models[kind], X, Y, goal=goal)
    predicted, truth = model.predict(X) == 1, Y.to_numpy() == 1
    right = (predicted & truth).sum(axis=0)
    share = right / (truth if "recall" in goal else predicted).sum(axis=0)
    assert (share >= float(goal.split("=")[1])).all()
    for label, name in enumerate("pqr"):  # a stricter, or looser, cutoff would not do
        reached = scores(models[kind], to_table(X, models[kind].features))[:, label]
        own = np.unique(reached[reached >= 0])
        beyond = own[own > cutoffs(model)[name]][:1] if "recall" in goal else own[own < cutoffs(model)[name]]
        levels = [
            (truth[:, label] & (reached > cut if "recall" in goal else reached >= cut)).sum()
            / (truth[:, label] if "recall" in goal else reached >= cut).sum()
            for cut in beyond
        ]
        assert all(level < float(goal.split("=")[1]) for level in levels)


@pytest.mark.parametrize("kind", ["list", "ensemble"])
def test_f1_is_the_best_of_all_cutoffs(models, kind) -> None:
    X, Y = rows(120, 4)
    truth = Y.to_numpy()
    reached = scores(models[kind], to_table(X, models[kind].features))
    predicted = choose_cutoffs(models[kind], X, Y, goal="macro-f1").predict(X)
    for label in range(3):
        best = max(
            2
            * ((reached[:, label] >= cut) & (truth[:, label] == 1)).sum()
            / max(1, (reached[:, label] >= cut).sum() + truth[:, label].sum())
            for cut in np.unique(reached[reached[:, label] >= 0, label])
        )
        mine = 2 * (predicted * truth)[:, label].sum() / max(1, predicted[:, label].sum() + truth[:, label].sum())
        assert mine == pytest.approx(best)
    micro = choose_cutoffs(models[kind], X, Y, goal="f1").predict(X)
    value = 2 * (micro * truth).sum() / (micro.sum() + truth.sum())
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = reached >= rng.uniform(0, 1, 3)
        assert 2 * (other * truth).sum() / max(1, other.sum() + truth.sum()) <= value + 1e-12


def test_unknown_labels_count_nowhere(models) -> None:
    X, Y = rows(200, 5)
    hidden = Y.astype(float).mask(np.random.default_rng(0).random(Y.shape) < 0.3)
    known = [hidden[name].notna() for name in "pqr"]
    whole = choose_cutoffs(models["ensemble"], X, hidden, goal="macro-f1")
    for label, name in enumerate("pqr"):
        part = choose_cutoffs(models["ensemble"], X[known[label]], Y[known[label]], goal="macro-f1")
        assert cutoffs(part)[name] == cutoffs(whole)[name]


def test_bad_input_is_answered_in_a_sentence(models) -> None:
    X, Y = rows(60, 6)
    for wrong, words in (({"P": 0.3}, "no label 'P'"), ({"p": 1.5}, "probability"), ({"p": "x"}, "probability")):
        with pytest.raises(OptionError, match=words):
            set_cutoffs(models["list"], wrong)
    with pytest.raises(OptionError, match="goal"):
        choose_cutoffs(models["list"], X, Y, goal="recall>2")
    with pytest.raises(DataError, match="no cutoff of"):
        choose_cutoffs(models["list"], X, Y, goal="recall>=1")
    with pytest.raises(ModelError, match="only make labels present"):
        set_cutoffs(RuleListClassifier.paper().fit(X, Y).model_, 0.5)


def test_a_model_of_label_sets_needs_all_cutoffs(models) -> None:
    X, Y = rows(200, 7)
    sets = models["ensemble"].tune_decision(X, Y, decision="subset")
    with pytest.raises(ModelError, match="whole label sets"):
        set_cutoffs(sets, {"p": 0.5})
    assert set_cutoffs(sets, 0.5).decision.kind == "per-label"


def test_the_commands_edit_cutoffs(models, tmp_path) -> None:
    model, data, out = tmp_path / "m.json", tmp_path / "d.csv", tmp_path / "out.json"
    models["ensemble"].save(model)
    pd.concat(rows(200, 8), axis=1).to_csv(data, index=False)
    ok("edit", "cutoff", model, "p=0.2", "q=0.9", "-o", out)
    assert cutoffs(polyrule.load(out)) == {"p": 0.2, "q": 0.9}
    ok("edit", "tune", model, data, "--for", "recall>=0.8", "-o", out)
    assert set(cutoffs(polyrule.load(out))) == set("pqr")
    wrong = run("edit", "cutoff", model, "p", "-o", out)
    assert wrong.exit_code == 1
    assert "LABEL=PROBABILITY" in wrong.stderr
