"""Predictions for a table that the model has not seen."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from tests.studio.conftest import LABELS, Client, learn, songs
from tests.studio.person import go, in_section
from tests.studio.person import visit as visit

from polyrule.data import read
from polyrule.errors import PolyruleError
from polyrule.evaluation import score
from polyrule.studio.saving import make_file
from polyrule.studio.setup import Origin


def unlabelled(rows: int = 60) -> str:
    return "\n".join(line.rsplit(",", 3)[0] for line in songs(rows, seed=5).splitlines()) + "\n"


def dropped(session, tmp_path, text, name="new.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return session.predict(Origin.of_file(tmp_path / name))


def rows_of(session) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(make_file(session, "new-predictions.csv"))))


@pytest.mark.parametrize("kind", ["list", "scorecard"])
def test_a_table_without_labels_is_predicted_with_reasons(session, tmp_path, kind):
    if kind == "scorecard":
        learn(session, kind="scorecard", max_rules=5)
    found = dropped(session, tmp_path, unlabelled())
    assert (found["examples"], found["labelled"]) == (60, False)
    model = session.project.model
    data = read(tmp_path / "new.csv", labels=None, features=model.features, identifier="title")
    predicted = model.predict(data.X)
    rows = rows_of(session)
    assert [[int(row[name]) for name in LABELS] for row in rows] == predicted.tolist()
    assert [row["example"] for row in rows] == [f"song {n}" for n in range(60)]
    assert [count for count, _, _ in found["labels"]] == predicted.sum(axis=0).tolist()
    for at, row in enumerate(rows):
        explained = model.explain(data.X, at)
        for label, name in enumerate(LABELS):
            if kind == "list" and predicted[at, label]:
                assert row[f"why {name}"].startswith(f"rule {explained.labels[label].rule + 1}: ")
            elif not predicted[at, label]:
                assert row[f"why {name}"] == ""
    assert not any(name.startswith("true ") for name in rows[0])


def test_a_table_with_labels_is_scored(session, tmp_path):
    found = dropped(session, tmp_path, songs(90, seed=3))
    model = session.project.model
    data = read(tmp_path / "new.csv", labels=LABELS, features=model.features)
    assert found["scores"]["micro_f1"] == pytest.approx(score(data.Y, model.predict(data.X))["micro_f1"])
    assert found["interval"]["micro_f1"][0] <= found["scores"]["micro_f1"] <= found["interval"]["micro_f1"][1]
    assert [[row[f"true {name}"] for name in LABELS] for row in rows_of(session)] == data.Y.astype(int).astype(
        str
    ).tolist()
    assert session.project.last_words == ()  # looking at it is no last word


def test_what_the_model_has_not_seen_is_said(session, tmp_path):
    text = unlabelled(30).replace("song 7,", "song 7,9", 1)
    notes = dropped(session, tmp_path, text)["notes"]
    assert any(note.startswith("tempo: 1 row outside of ") for note in notes)


def test_predictions_follow_the_model_at_hand(session, tmp_path):
    dropped(session, tmp_path, unlabelled())
    before = rows_of(session)
    session.change({"step": {"do": "insert", "at": 0, "text": "calm, happy, loud <- true"}})
    assert rows_of(session) != before
    assert all(row["calm"] == "1" for row in rows_of(session))
    session.undo()
    assert rows_of(session) == before


def test_a_table_that_is_another_one_is_refused(session, tmp_path):
    with pytest.raises(PolyruleError, match="tempo"):
        dropped(session, tmp_path, "a,b\n1,2\n")
    assert session.new_rows is None
    with pytest.raises(PolyruleError, match="no table to predict"):
        make_file(session, "new-predictions.csv")


def test_names_are_no_formulas(session, tmp_path):
    dropped(session, tmp_path, unlabelled(5).replace("song 1,", "=1+1,"))
    assert rows_of(session)[1]["example"] == "'=1+1"


def test_rows_with_tags_need_none(empty, tmp_path):
    client = Client(empty)
    tags = [f"{n},{n % 7},{'a;b' if n % 3 else 'b'}" for n in range(60)]
    client.upload("\n".join(["n,size,moods", *tags]), name="moods.csv")
    client.ask("prepare", {"tags": "moods", "drop": ["n"]})
    client.learn()
    for text, labelled in (("size\n3\n5\n", False), ("size,moods\n3,a;b\n", True)):
        found = client.upload(text, name="new.csv", part="predict")
        assert found["labelled"] is labelled
    assert np.isfinite(found["scores"]["micro_f1"])


def test_a_table_is_dropped_looked_at_and_downloaded(visit, empty):
    client = Client(empty)
    client.upload(songs())
    client.ask("prepare", {"labels": LABELS, "identifier": "title"})
    client.learn(max_rules=4)
    page = visit(empty, "predict")
    section = in_section(page, "predict")
    new = {"name": "new.csv", "mimeType": "", "buffer": unlabelled().encode()}
    section.get_by_label("Table to predict").set_input_files(new)
    section.get_by_text("new.csv: 60 examples").wait_for()
    table = section.get_by_role("table", name="Predictions")
    assert table.locator("tbody tr").count() == 25
    assert "rule " in table.inner_text()
    with page.expect_download() as waiting:
        section.get_by_role("link", name="Download with reasons").click()
    text = waiting.value.path().read_text(encoding="utf-8")
    assert len(text.splitlines()) == 61
    section.get_by_role("button", name="Later").click()
    section.get_by_text("26 to 50 of 60 examples").wait_for()
    page.reload()
    go(page, "Predict", "predict").get_by_text("new.csv: 60 examples").wait_for()
