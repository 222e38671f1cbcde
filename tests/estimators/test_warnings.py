"""What a fit says about a list that can do little, and about data that looks as if something else was meant.

Each warning is shown by the estimator and by the command line; ordinary fits are silent.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import run

from polyrule import RuleListClassifier
from polyrule.data import read
from polyrule.datasets import load
from polyrule.errors import DataError, DataWarning, OptionError


def table(rows: int = 80, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    Y = np.column_stack([X.a > 0, X.b > 0.5, rng.random(rows) < 0.3]).astype(int)
    return X, Y


def said(fit) -> str:
    """Everything that a fit warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit()
    return "\n".join(f"{one.category.__name__}: {one.message}" for one in found)


def train(tmp_path, frame: pd.DataFrame, *options: str) -> str:
    """Standard error of the command on a frame."""
    frame.to_csv(tmp_path / "data.csv", index=False)
    return run("train", str(tmp_path / "data.csv"), *options).stderr


def labelled(X: pd.DataFrame, Y: np.ndarray) -> pd.DataFrame:
    return X.assign(**{name: Y[:, k] for k, name in enumerate(("red", "blue", "odd"))})


LABELS = ("--labels", "red,blue,odd")


def test_no_rules(tmp_path):
    X, Y = table()
    words = "the list has no rules: none was good enough; a smaller simplicity or min_coverage allows more"
    assert said(lambda: RuleListClassifier(simplicity=1000).fit(X, Y)) == f"ModelWarning: {words}"
    words = words.replace("simplicity or min_coverage", "--simplicity or --min-coverage")
    assert f"warning: {words}" in train(tmp_path, labelled(X, Y), *LABELS, "--simplicity", "1000")
    late = RuleListClassifier.paper(time_limit=1e-9)
    assert "no rules: the time limit ended learning before the first" in said(lambda: late.fit(np.tile(X, 40), Y))


def test_only_absences(tmp_path):
    X, _ = table()
    words = "the list can only say that labels are absent"
    rare = (np.random.default_rng(1).random((80, 3)) < 0.25).astype(int)
    assert words in said(lambda: RuleListClassifier.paper("f1", lift="kln:0.2").fit(X, rare))
    assert words not in said(lambda: RuleListClassifier.paper("f1", lift="kln:0.2", max_rules=1).fit(X, rare))
    options = ("--preset", "paper", "--measure", "f1", "--lift", "kln:0.2")
    assert f"warning: {words}" in train(tmp_path, labelled(X, rare), *LABELS, *options)


def test_a_label_that_is_never_predicted(tmp_path):
    X, Y = table()
    words = "never predicted by this model: 'odd', though at least one example in 5 has it"
    names = ["red", "blue", "odd"]
    assert words in said(lambda: RuleListClassifier(simplicity=6).fit(X, Y, label_names=names))
    assert words not in said(lambda: RuleListClassifier(simplicity=6, max_rules=9).fit(X, Y, label_names=names))
    assert f"warning: {words}" in train(tmp_path, labelled(X, Y), *LABELS, "--simplicity", "6")


def test_a_measure_for_which_true_wins(tmp_path):
    X, Y = table()
    words = "'label <- true' won"
    assert f"MeasureWarning: measure 'f1': {words}" in said(lambda: RuleListClassifier.paper("f1").fit(X, Y))
    assert words in train(tmp_path, labelled(X, Y), *LABELS, "--preset", "paper", "--measure", "f1")


def test_identifiers(tmp_path):
    X, Y = table()
    X = X.assign(name=[f"n{k}" for k in range(len(X))])
    words = "DataWarning: column 'name' has a distinct value in most rows, like an identifier, and is left out; "
    words += "constraints={'keep_columns': 'name'} keeps it"
    assert words in said(lambda: RuleListClassifier().fit(X, Y))
    told = train(tmp_path, labelled(X, Y), *LABELS)
    assert told.count("like an identifier, and is left out; --keep-columns name keeps it") == 1


def test_an_identifier_that_no_rule_may_test(tmp_path):
    X, Y = table()
    X = X.assign(name=[f"n{k}" for k in range(len(X))])
    assert "identifier" not in said(lambda: RuleListClassifier(constraints={"forbid": ["name"]}).fit(X, Y))
    assert "identifier" not in train(tmp_path, labelled(X, Y), *LABELS, "--forbid", "name")
    with pytest.raises(OptionError, match="forbid must be None or a list of feature names"):
        RuleListClassifier(constraints={"forbid": "name"}).fit(X, Y)


def test_running_text_becomes_words_without_a_warning(tmp_path):
    X, Y = table()
    X = X.assign(note=[f"the machine stopped {k} times in a row" for k in range(len(X))])
    assert "note" not in said(lambda: RuleListClassifier().fit(X, Y))
    output = train(tmp_path, labelled(X, Y), *LABELS)
    assert not [
        line for line in output.splitlines() if line.startswith("warning:") and "note" in line and "words" not in line
    ]


def test_tags_with_another_separator(tmp_path):
    X, _ = table(40)
    texts = ["jazz/calm", "calm", "jazz/loud", "loud", "jazz/calm/loud"] * 8
    words = "separated by '/', but is read as one class each; if these are labels, give lists of them"
    assert words in said(lambda: RuleListClassifier().fit(X, texts))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        RuleListClassifier().fit(X, [text.split("/") for text in texts])
        RuleListClassifier().fit(X, ["Smith, John", "Miller/Jane"] * 20)
    for separator in ";|":  # found in the file
        told = train(tmp_path, X.assign(mood=[text.replace("/", separator) for text in texts]), "--tags", "mood")
        assert "separator" not in told
    with pytest.raises(
        DataError, match="if the column lists tags, pass tags= instead of labels=, and tag_separator='/'"
    ):
        read(_csv(tmp_path, X.assign(mood=texts)), labels=["mood"])
    lists = tmp_path / "lists.jsonl"
    lists.write_text('{"a": 1, "mood": ["jazz", "calm"]}\n{"a": 2, "mood": []}\n')
    told = run("train", str(lists), "--labels", "mood").stderr
    assert told.endswith("or a word such as no or yes; if the column lists tags, pass --tags instead of --labels\n")
    with pytest.raises(DataError, match="if it lists labels separated by '/', give this column alone as y"):
        RuleListClassifier().fit(X.assign(mood=texts, red=1), labels=["mood", "red"])


def _csv(tmp_path, frame):
    frame.to_csv(tmp_path / "text.csv", index=False)
    return tmp_path / "text.csv"


@pytest.mark.parametrize("name", ["flags", "emotions", "birds", "medical", "scene", "yeast"])
def test_ordinary_fits_are_silent(benchmark_root, name):
    data = load(name, "train")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RuleListClassifier.paper().fit(data)
        RuleListClassifier(teacher=None).fit(data)
