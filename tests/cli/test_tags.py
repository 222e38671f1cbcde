"""Labels in one column of tags: the model knows which labels there are, and how its data was written."""

import json

import pytest
from tests.cli.helpers import ok, ok_json, run

import polyrule

TRAIN = "id;size;mood\n" + "".join(f"r{n};{n},5;{'low' if n < 20 else 'high|big'}\n" for n in range(40)) + "x;3;rare\n"
TEST = "id;size;mood\na;3,5;low\nb;30;high|big|strange\nc;31,25;strange|other\n"


@pytest.fixture
def model(tmp_path):
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "test.csv").write_text(TEST)
    words = ["train", tmp_path / "train.csv", "--tags", "mood", "--decimal", ",", "--id", "id", "--learner", "ensemble"]
    result = run(*words, "-o", tmp_path / "model.json", "--test", tmp_path / "test.csv", "--max-rules", "2")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("no row has the label(s) 'rare', which count as absent") == 1
    assert result.stderr.count("3 tag(s) are none of the labels and left out: 'strange' (2), 'other' (1)") == 1
    return tmp_path / "model.json"


def test_options_of_reading_are_remembered(model, tmp_path):
    assert json.loads(model.read_text())["info"]["reading"] == {"tags": "mood", "decimal": ","}
    assert polyrule.load(model).label_names == ("big", "high", "low", "rare")
    told = ok_json("evaluate", model, tmp_path / "test.csv")
    assert told["examples"] == 3
    assert told["per_label"]["present"] == [1, 1, 1, 0]
    ok("report", model, "--data", tmp_path / "train.csv", "--test", tmp_path / "test.csv", "-o", tmp_path / "r.html")
    assert ok("predict", model, tmp_path / "test.csv").count("\n") == 4
    assert "high  present" in ok("explain", model, tmp_path / "test.csv", "--row-id", "b")


def test_the_separator_is_found_in_few_rows_too(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("size,mood\n" + '1,"calm, sad"\n2,calm\n8,happy\n9,"happy, rare"\n' * 2)
    test.write_text('size,mood\n1,"calm, sad"\n')
    ok("train", train, "--tags", "mood", "-o", tmp_path / "model.json")
    assert polyrule.load(tmp_path / "model.json").label_names == ("calm", "happy", "rare", "sad")
    assert ok_json("evaluate", tmp_path / "model.json", test)["per_label"]["present"] == [1, 0, 0, 1]


def test_what_is_said_wins_over_what_is_remembered(model, tmp_path):
    (tmp_path / "other.csv").write_text(TEST.replace("|", "/").replace(",", ".").replace("mood", "feel"))
    words = ["--tags", "feel", "--tag-separator", "/", "--decimal", "."]
    told = ok_json("evaluate", model, tmp_path / "other.csv", *words)
    assert told["per_label"]["present"] == [1, 1, 1, 0]
    columns = "size,big,high,low,rare\n3,0,0,1,0\n"
    (tmp_path / "columns.csv").write_text(columns)
    assert ok_json("evaluate", model, tmp_path / "columns.csv", "--labels", "last:4")["examples"] == 1


def test_the_form_of_dates_is_remembered(tmp_path):
    lines = [f"{1 + n % 12}/{1 + n % 28}/2021,{int(n % 12 > 5)}" for n in range(60)]
    (tmp_path / "d.csv").write_text("on,late\n" + "\n".join(lines) + "\n")
    ok("train", tmp_path / "d.csv", "--labels", "late", "-o", tmp_path / "d.json")
    assert polyrule.load(tmp_path / "d.json").info["reading"] == {"dates": "month/day/year"}
    (tmp_path / "new.csv").write_text("on\n9/2/2021\n2/9/2021\n")
    assert ok("predict", tmp_path / "d.json", tmp_path / "new.csv") == "late\n1\n0\n"


def test_a_model_cannot_lie_about_reading(model, tmp_path):
    loaded = polyrule.load(model)
    for wrong in ({"decimal": 3}, {"missing": [1]}, ["tags"], "tags"):
        loaded.info["reading"] = wrong
        with pytest.raises(polyrule.errors.ModelError, match=r"info\.reading"):
            polyrule.load(_saved(loaded, tmp_path))


def _saved(model, folder):
    model.save(folder / "lying.json")
    return folder / "lying.json"
