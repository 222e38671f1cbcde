"""Monitors: counts against a slow recount, changes and advice, and a state that survives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import ok, run

from polyrule import Dataset, RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import to_table
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.model import RuleList
from polyrule.watch import Monitor
from polyrule.watch.proportions import count


def patients(rows: int, seed: int, *, crp: float = 0, noise: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 90, rows),
            "crp": rng.gamma(2, 20, rows).round(1) + crp,
            "sex": rng.choice(["f", "m"], rows),
        }
    )
    Y = pd.DataFrame({"sepsis": X.crp - crp > 55, "frail": (X.age > 70) & (X.sex == "f")}).astype(float)
    return X, Y.where(rng.random(Y.shape) > noise, 1 - Y)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    X, Y = patients(900, 0)
    ensemble = RuleEnsembleClassifier(max_rules=6, teacher=None).fit(X, Y.astype(int)).model_
    return {"list": RuleListClassifier(teacher=None).fit(X, Y.astype(int)).model_, "ensemble": ensemble}


@pytest.mark.parametrize("kind", ["list", "ensemble"])
def test_counts_are_those_of_a_slow_recount(models, kind) -> None:
    model = models[kind].narrowed
    X, Y = patients(200, 5)
    X.loc[3:9, "crp"] = np.nan
    Y.iloc[10:30, 0] = np.nan
    monitor = model.watch(*patients(300, 1))
    table = to_table(X, model.features, others="skip")
    truth = np.where(np.isnan(Y), 2, Y).astype(np.uint8)
    hits, rows = count(model, monitor.bins, table, truth)
    for one, hit, row in zip(monitor.proportions, hits, rows, strict=True):
        if one.topic == "feature":
            continue
        if one.topic == "label":
            assert (hit, row) == ((Y.iloc[:, one.label] == 1).sum(), Y.iloc[:, one.label].notna().sum())
            continue
        body = models[kind].format_rule(one.rule, counts=False).partition(" <- ")[2]
        single = RuleList((), model.features, model.label_names).insert(0, f"sepsis <- {body}")
        covered = single.predict(table)[:, 0] == 1
        if one.topic == "coverage":
            assert (hit, row) == (covered.sum(), 200)
        else:
            entry = next(entry for entry in model.rules[one.rule].head if entry.label == one.label)
            positive = entry.value if kind == "list" else entry.weight > 0
            known = covered & (truth[:, one.label] <= 1)
            assert (hit, row) == ((truth[known, one.label] == int(positive)).sum(), known.sum())
    features = [hits[[p.feature == f and p.topic == "feature" for p in monitor.proportions]].sum() for f in range(2)]
    assert features == [200, 200]


@pytest.mark.parametrize("kind", ["list", "ensemble"])
def test_nothing_is_reported_while_nothing_changes(models, kind) -> None:
    monitor = models[kind].watch(*patients(600, 1))
    for day in range(8):
        monitor.update(*patients(100, 100 + day))
    assert monitor.summary().ok
    assert set(monitor.summary().advice) == {"keep"}


def test_a_device_that_measures_otherwise_is_reported(models) -> None:
    monitor = models["list"].watch(*patients(600, 1))
    monitor.update(patients(200, 2)[0], name="Monday")
    assert monitor.summary().ok
    X, Y = patients(300, 3, crp=25)
    monitor.update(X, Y, name="Tuesday")
    summary = monitor.summary()
    topics = {change.proportion.topic for change in summary.changes}
    assert {"coverage", "precision", "feature"} <= topics
    assert all(change.since == "Tuesday" for change in summary.changes)
    assert any("sepsis" in advice for advice in summary.advice)
    assert "is right less often" in str(summary)


def test_missing_values_and_new_categories_are_reported(models) -> None:
    monitor = models["list"].watch(*patients(600, 1))
    X, _ = patients(300, 2)
    X.loc[::2, "crp"] = np.nan
    X["sex"] = X["sex"].replace("f", "unknown")
    monitor.update(X)
    text = str(monitor.summary())
    assert "more rows with crp missing: 0 % in the reference data, 50 % of 300 recent rows" in text
    assert "more rows with sex missing" in text
    assert "unknown" in text


def test_the_advice_for_an_ensemble_is_to_refit(models) -> None:
    monitor = models["ensemble"].watch(*patients(600, 1))
    monitor.update(*patients(400, 2, crp=30))
    assert "refit the weights" in monitor.summary().advice


def test_quality_to_expect_needs_no_labels(models) -> None:
    monitor = models["list"].watch(*patients(600, 1))
    X, Y = patients(500, 2)
    monitor.update(X)
    summary = monitor.summary()
    truth, predicted = Y.to_numpy(), models["list"].predict(X)
    reached = 2 * (truth * predicted).sum() / (truth.sum() + predicted.sum())
    assert summary.quality.f1 is None
    assert summary.quality.expected_f1 == pytest.approx(reached, abs=0.1)
    monitor.update(X, Y)
    assert monitor.summary().quality.f1 == pytest.approx(reached)


def test_the_state_survives_and_belongs_to_one_model(models, tmp_path) -> None:
    monitor = models["list"].watch(*patients(600, 1), tolerance=0.01)
    for day in range(3):
        monitor.update(*patients(150, day, crp=12))
    path = tmp_path / "watch.json"
    monitor.save(path)
    again = Monitor.load(path, models["list"])
    assert again.summary().to_dict() == monitor.summary().to_dict()
    again.update(*patients(50, 9))
    assert len(again.summary().updates) == 4
    with pytest.raises(ModelError, match="another model"):
        Monitor.load(path, models["ensemble"])
    assert len(monitor.summary().frame()) == len(monitor.summary().changes)
    assert "<svg" in monitor.page()


def test_damaged_states_are_refused(models, tmp_path) -> None:
    monitor = models["list"].watch(*patients(60, 1))
    monitor.update(*patients(20, 2))
    document = monitor.to_dict()
    path = tmp_path / "watch.json"
    for change in (
        lambda doc: doc.pop("bins"),
        lambda doc: doc["updates"][0]["hits"].pop(),
        lambda doc: doc["reference"].update(hits="x"),
        lambda doc: doc.update(version=7),
        lambda doc: doc.update(format="other"),
        lambda doc: doc["features"].reverse() or doc["features"].append("none"),
        lambda doc: doc["updates"][0]["quality"].update(more=1),
    ):
        changed = json.loads(json.dumps(document))
        change(changed)
        path.write_text(json.dumps(changed))
        with pytest.raises(DataError):
            Monitor.load(path, models["list"])
    path.write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        Monitor.load(path, models["list"])
    with pytest.raises(DataError, match="cannot be read"):
        Monitor.load(tmp_path / "nowhere.json", models["list"])


@pytest.mark.parametrize(
    "option", [{"false_alarm_rate": 0}, {"false_alarm_rate": 1}, {"tolerance": "x"}, {"tolerance": -1}]
)
def test_options_are_checked(models, option) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        models["list"].watch(*patients(60, 1), **option)


def test_a_reference_needs_rows_and_an_update_none(models) -> None:
    X, Y = patients(30, 1)
    with pytest.raises(DataError, match="no rows"):
        models["list"].watch(Dataset(to_table(X), Y.to_numpy(np.uint8), ("sepsis", "frail"))[:0])
    monitor = models["list"].watch(X, Y)
    monitor.update(X[:0])
    assert monitor.summary().updates == ()
    assert monitor.summary().ok


def test_the_command_keeps_a_state_and_tells_a_scheduler(models, tmp_path) -> None:
    model, state, page = tmp_path / "model.json", tmp_path / "watch.json", tmp_path / "watch.html"
    models["list"].save(model)
    for name, parts in {
        "test": patients(600, 1),
        "monday": patients(200, 2),
        "tuesday": patients(300, 3, crp=30),
    }.items():
        table = pd.concat([parts[0], parts[1].astype(int)], axis=1)
        (table if name != "tuesday" else parts[0]).to_csv(tmp_path / f"{name}.csv", index=False)
    first = run("watch", model, tmp_path / "monday.csv", "--reference", tmp_path / "test.csv", "--state", state)
    assert first.exit_code == 0
    assert "nothing has changed" in first.stdout
    second = run(
        "watch", model, tmp_path / "tuesday.csv", "--state", state, "--page", page, "--name", "Tuesday", "--json"
    )
    assert second.exit_code == 3
    assert "precision is not watched" in second.stderr
    found = json.loads(second.stdout)
    assert found["updates"] == 2
    assert not found["ok"]
    assert {change["since"] for change in found["changes"]} == {"Tuesday"}
    assert page.read_text().startswith("<!doctype html>")
    assert len(json.loads(state.read_text())["updates"]) == 2


def test_the_command_says_what_it_needs(models, tmp_path) -> None:
    model, data = tmp_path / "model.json", tmp_path / "test.csv"
    models["list"].save(model)
    pd.concat([part.astype(str) for part in patients(60, 1)], axis=1).replace({"1.0": "1", "0.0": "0"}).to_csv(
        data, index=False
    )
    lacking = run("watch", model, data)
    assert lacking.exit_code == 1
    assert "--reference is needed" in lacking.stderr
    state = tmp_path / "watch.json"
    ok("watch", model, data, "--reference", data, "--state", state)
    twice = run("watch", model, data, "--reference", data, "--state", state)
    assert twice.exit_code == 1
    assert "has its reference data" in twice.stderr
