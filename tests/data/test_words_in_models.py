"""Models of words and members: in memory, in files, on new rows, in other languages."""

from __future__ import annotations

import json
import pickle
import shutil
import sqlite3
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest

import polyrule
from polyrule import RuleEnsembleClassifier, RuleListClassifier
from polyrule.data import read, to_table
from polyrule.errors import ModelError
from polyrule.model import parse_rule
from polyrule.model.printing import rule_text

N = 240
MONSTERS = ("zombie", "undead")
FILLER = [
    "city",
    "family",
    "summer",
    "house",
    "brothers",
    "journey",
    "winter",
    "letter",
    "dog",
    "friend",
    "teacher",
    "island",
    "café",
]
SHOPS = ("Supermarket", "Farmers market", "Online (e.g. A, B)")


def frame(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows whose labels follow from words of their plots and members of their shops."""
    rng = np.random.default_rng(seed)
    plots, shops, horror, market = [], [], [], []
    for row in range(N):
        monster = rng.random() < 0.35
        words = [*rng.choice(FILLER, 7), *([rng.choice(MONSTERS)] if monster else [])]
        plots.append(None if row % 40 == 7 else f"A {' '.join(rng.permutation(words)).title()}, unique{row}.")
        chosen = [shop for shop in SHOPS if rng.random() < 0.5]
        shops.append(", ".join(rng.permutation(chosen)) if chosen else None)
        horror.append(int(monster and plots[-1] is not None))
        market.append(int("Farmers market" in chosen))
    X = pd.DataFrame({"plot": plots, "shops": shops, "size": rng.normal(size=N)})
    return X, pd.DataFrame({"horror": horror, "market": market})


@pytest.fixture(scope="module", params=["list", "ensemble"])
def classifier(request):
    learner = RuleListClassifier() if request.param == "list" else RuleEnsembleClassifier(max_rules=4, cv=2)
    return learner.fit(*frame())


def test_rules_name_words_and_members(classifier):
    text = str(classifier.model_)
    either = "plot has any of {zombie, undead}", "plot lacks zombie, plot lacks undead"
    assert any(part in text for part in either)
    assert "shops has Farmers market" in text or "shops lacks Farmers market" in text
    X, Y = frame(1)
    assert (np.asarray(classifier.predict(X)) == Y.to_numpy()).mean() > 0.99


def test_a_frame_a_table_and_a_file_give_the_same_predictions(classifier, tmp_path):
    X, _ = frame(2)
    expected = np.asarray(classifier.predict(X))
    X.to_csv(tmp_path / "x.csv", index=False)
    model = classifier.model_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(X), expected)
        assert np.array_equal(model.predict(to_table(X)), expected)
        assert np.array_equal(model.predict(read(tmp_path / "x.csv", labels=None).X), expected)
        assert np.array_equal(model.predict(read(tmp_path / "x.csv", features=model.features).X), expected)
        assert np.array_equal(pickle.loads(pickle.dumps(classifier)).predict(X), expected)
    polars = pytest.importorskip("polars")
    lists = polars.DataFrame(
        {"plot": X["plot"].astype(object).where(X["plot"].notna(), None).tolist(), "size": X["size"].tolist()}
    ).with_columns(shops=polars.Series([s.split(", ") if isinstance(s, str) else None for s in X.shops]))
    assert np.array_equal(model.predict(lists), expected)


def test_chunks_of_a_file_are_read_with_the_words_of_the_model(classifier, tmp_path):
    X, _ = frame(2)
    X.to_csv(tmp_path / "x.csv", index=False)
    model = classifier.model_
    parts = polyrule.data.read_chunks(tmp_path / "x.csv", rows=50, features=model.features, labels=None)
    found = np.vstack([np.asarray(model.predict(part.X)) for part in parts])
    assert np.array_equal(found, model.predict(X))


def test_a_file_stores_the_words_of_rules_and_no_others(classifier, tmp_path):
    classifier.model_.save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text(encoding="utf-8").lower()
    assert "zombie" in text
    assert "unique" not in text
    items = [f for f in classifier.model_.features if f.derived is not None and f.derived.item]
    used = {classifier.model_.features[j].name for j in polyrule.model.columns.used_features(classifier.model_.rules)}
    assert {f.name for f in items} <= used
    loaded = polyrule.load(tmp_path / "m.json")
    assert loaded.features == classifier.model_.features
    assert np.array_equal(loaded.predict(frame(3)[0]), classifier.model_.predict(frame(3)[0]))


def test_texts_of_rules_are_read_again(classifier):
    model = classifier.model_
    for rule in model.rules:
        text = rule_text(rule, model)
        if isinstance(classifier, RuleListClassifier):
            assert rule_text(parse_rule(text, model.features, model.label_names), model).startswith(text)


def test_conditions_are_parsed():
    from polyrule.data.derive.members import Member
    from polyrule.data.derive.words import Word

    names = [Word("plot", "zombie"), Word("plot", "undead"), Member("my, shops", "A, B", ";"), Word("plot", "true")]
    features = [one.feature() for one in names]
    texts = [
        "y <- plot has zombie",
        "y <- plot lacks zombie",
        "y <- plot has any of {zombie, undead}",
        'y <- plot has any of "monsters" {zombie, undead}',
        'y <- plot has at least 2 of {zombie, undead, "true"}',
        'y <- "my, shops" has "A, B"',
        'y <- any of {plot lacks zombie, "my, shops" has "A, B"}',
    ]
    for text in texts:
        rule = parse_rule(text, features, ["y"])
        model = polyrule.model.RuleList((rule,), tuple(features), ("y",))
        assert rule_text(rule, model) == text
    for text in ("y <- plot has vampire", "y <- plot has any of {zombie, vampire}", "y <- plot has any of {zombie}"):
        with pytest.raises(ModelError):
            parse_rule(text, features, ["y"])


def test_a_missing_text_is_missing_once_and_has_no_words():
    X, Y = frame()
    Y = Y.assign(gone=X["plot"].isna().astype(int))
    model = RuleListClassifier(max_rules=5).fit(pd.concat([X] * 2), pd.concat([Y] * 2)).model_
    (rule,) = [rule for rule in model.rules if any(entry.label == 2 for entry in rule.head)]
    assert rule_text(rule, model).endswith("<- plot is missing")


def test_the_smallest_change_is_about_the_text(classifier):
    X, Y = frame()
    row = int(np.flatnonzero((Y.horror == 0) & X["plot"].notna())[0])
    flip = classifier.model_.smallest_flip(X, "horror", row=row)
    assert "plot has" in str(flip)
    assert "(now lacks it)" in str(flip)


def test_models_are_verified_with_their_words():
    X, Y = frame()
    data = polyrule.data.Dataset(to_table(X), Y.to_numpy(), ("horror", "market"))
    for learner in (RuleListClassifier(), RuleEnsembleClassifier(max_rules=3, cv=2)):
        checked = learner.fit(data).model_.verify(data)
        assert checked.ok, checked
        assert not checked.unchecked


def test_python_code_predicts_the_same(classifier):
    X, _ = frame(4)
    namespace: dict = {}
    exec(classifier.model_.export("python"), namespace)
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    found = [list(namespace["predict"](row).values()) for row in rows]
    assert np.array_equal(found, classifier.model_.predict(X))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_code_predicts_the_same(classifier, tmp_path):
    X, _ = frame(4)
    rows = json.dumps(X.astype(object).where(X.notna(), None).to_dict("records"))
    script = f"{classifier.model_.export('javascript')}\nconst rows = {rows};\n"
    script += "console.log(JSON.stringify(rows.map((row) => Object.values(polyrule.predict(row)))));"
    (tmp_path / "m.js").write_text(script, encoding="ascii")
    done = subprocess.run(["node", str(tmp_path / "m.js")], capture_output=True, text=True, check=True)
    assert np.array_equal(json.loads(done.stdout), classifier.model_.predict(X))


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_sql_predicts_the_same(classifier, engine):
    X, _ = frame(4)
    query = classifier.model_.export("sql", table="films", keys=["n"])
    connection = sqlite3.connect(":memory:") if engine == "sqlite" else pytest.importorskip("duckdb").connect()
    connection.execute("CREATE TABLE films (n INTEGER, plot VARCHAR, shops VARCHAR, size DOUBLE PRECISION)")
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    connection.executemany("INSERT INTO films VALUES (?, ?, ?, ?)", [(n, *row) for n, row in enumerate(rows)])
    found = sorted(connection.execute(query).fetchall())
    connection.close()
    assert np.array_equal([row[1:] for row in found], classifier.model_.predict(X))


def test_c_takes_words_ready_made(classifier):
    code = classifier.model_.export("c")
    assert "plot has zombie" in code


def test_folds_choose_their_own_vocabulary():
    """A word of five rows is no feature of a fold that has four of them."""
    X, _ = frame()
    X.loc[:4, "plot"] = [f"{text} rareword" for text in X["plot"][:5]]
    table = to_table(X)
    assert "plot has rareword" in polyrule.data.preparation.prepare(table).feature_names
    assert "plot has rareword" not in polyrule.data.preparation.prepare(table[1:]).feature_names


def test_a_column_with_the_name_of_a_word_is_refused():
    X, Y = frame()
    with pytest.raises(polyrule.errors.DataError, match="'plot has zombie'"):
        RuleListClassifier().fit(X.assign(**{"plot has zombie": 1.5}), Y)


def test_the_command_line_trains_verifies_explains_and_reports(tmp_path):
    """Each command reads the texts again; verification is about the data as it was read."""
    from click.testing import CliRunner

    from polyrule.cli import app

    X, Y = frame()
    X = X.assign(pidnum=np.arange(N) + 7000)
    data, model = tmp_path / "d.csv", tmp_path / "m.json"
    pd.concat([X, Y], axis=1).to_csv(data, index=False)

    def run(*args):
        done = CliRunner().invoke(app, [str(arg) for arg in args])
        assert done.exit_code == 0, (args, done.output)
        return done.output

    assert "plot has any of {" in run("train", data, "--labels", "last:2", "-o", model)
    assert "everything is as the model says" in run("verify", model, data)
    assert "plot" in run("explain", model, data, "--row", "3")
    run("evaluate", model, data)
    run("predict", model, data)
    page = tmp_path / "r.html"
    run("report", model, "--data", data, "-o", page)
    assert "other examples" not in page.read_text(encoding="utf-8")
    lists = run("train", data, "--labels", "last:2", "--lists", "shops", "--list-separator", ";", "--nominal", "plot")
    assert "plot has" not in lists


def test_lists_of_json_lines_are_lists(tmp_path):
    X, Y = frame()
    shops = [s.split(", ") if isinstance(s, str) else [] for s in X.shops]
    rows = [{"shops": s, "size": z, "market": y} for s, z, y in zip(shops, X["size"], Y.market, strict=True)]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    data = read(tmp_path / "d.jsonl", labels="market")
    assert data.features[0].kind == "list"
    model = RuleListClassifier().fit(data).model_
    assert "market <- shops has Farmers market" in str(model)
    assert np.array_equal(model.predict(pd.DataFrame(rows)), data.Y)
    (tmp_path / "bad.jsonl").write_text('{"shops": ["a"], "market": 1}\n{"shops": {"a": 1}, "market": 0}\n')
    with pytest.raises(polyrule.errors.DataError, match="line 2, column 'shops': nested values"):
        read(tmp_path / "bad.jsonl", labels="market")


def test_words_and_lists_can_be_declared(tmp_path):
    X, _ = frame()
    X.head(15).to_csv(tmp_path / "d.csv", index=False)
    assert [f.kind for f in read(tmp_path / "d.csv", labels=None).features][:2] == ["nominal", "nominal"]
    data = read(tmp_path / "d.csv", labels=None, words="plot", lists="shops")
    assert [(f.kind, f.separator) for f in data.features][:2] == [("text", ""), ("list", ",")]
    data = read(tmp_path / "d.csv", labels=None, lists="shops", list_separator=";")
    assert data.features[1].separator == ";"
    with pytest.raises(polyrule.errors.OptionError):
        read(tmp_path / "d.csv", labels=None, words="plot", lists="plot")


def test_a_store_of_a_data_set_has_its_words(tmp_path):
    X, Y = frame()
    data = polyrule.data.Dataset(to_table(X), Y.to_numpy(), ("horror", "market"))
    store = polyrule.pack(data, out=tmp_path / "store")
    assert "plot has zombie" in [feature.name for feature in store.features]
    model = RuleListClassifier().fit(store).model_
    assert (np.asarray(model.predict(X)) == Y.to_numpy()).mean() > 0.99
