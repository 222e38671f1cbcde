"""Tables as people have them are read as a person would, and models of them hold for raw rows."""

from __future__ import annotations

import gzip
import subprocess
import sys

import pandas as pd
import pytest

from polyrule import RuleListClassifier
from polyrule.data import read
from polyrule.data.first_look import column_readings


def readings_of(data):
    return {one.name: one for one in column_readings(data)}


def test_films(tables_root):
    data = read(tables_root / "netflix.csv.gz", tags="listed_in")
    readings = readings_of(data)
    assert {name: one.role for name, one in readings.items()} == {
        "show_id": "left out",
        "type": "category",
        "title": "words",
        "director": "left out",
        "cast": "list",
        "country": "list",
        "date_added": "date",
        "release_year": "number",
        "rating": "category",
        "duration": "number",
        "description": "words",
    }
    assert readings["duration"].detail == "3 to 312 min, 1 to 16 Seasons"
    assert readings["date_added"].detail.startswith("2008-01-01 to 2021-01-16, month in words")
    assert len(data.label_names) == 42


def test_a_survey(tables_root):
    data = read(tables_root / "coffee.csv.gz", tags="brew")
    readings = readings_of(data)
    ordered = [name for name, one in readings.items() if one.role == "ordered"]
    assert ordered == [
        *("age", "cups", "strength", "total_spend", "most_paid", "most_willing", "spent_equipment"),
        *("education_level", "number_children"),
    ]
    assert readings["spent_equipment"].detail == "Less than $20 < $20-$50 < … < More than $1,000"
    assert [readings[name].role for name in ("where_drink", "purchase", "additions")] == ["list"] * 3
    assert "Coffee brewing machine (e.g. Mr. Coffee)" in data.label_names


def test_admissions(tables_root, tmp_path):
    script = str(tables_root / "hospital.py")
    table = subprocess.run([sys.executable, script, "1", "900"], capture_output=True, check=True).stdout
    (tmp_path / "hospital.csv").write_bytes(table)
    data = read(tmp_path / "hospital.csv", labels="last:5")
    readings = readings_of(data)
    assert readings["patient_id"].role == "left out"
    assert readings["admitted"].detail.endswith("month, weekday, hour")
    assert readings["complaint"].role == "words"
    with pytest.warns(match="patient_id"):
        model = RuleListClassifier(teacher=None).fit(data).model_
    frame = pd.read_csv(tmp_path / "hospital.csv")
    assert (model.predict(frame) == model.predict(data.X)).all()
    assert not any("admitted <=" in str(rule) or "patient_id" in str(rule) for rule in model.rules)


def test_new_films_are_predicted_from_raw_rows(tables_root, tmp_path):
    with gzip.open(tables_root / "netflix.csv.gz", "rt", encoding="utf-8") as stream:
        frame = pd.read_csv(stream, nrows=1500)
    frame.to_csv(tmp_path / "films.csv", index=False)
    data = read(tmp_path / "films.csv", tags="listed_in")
    with pytest.warns(match="show_id"):
        model = RuleListClassifier(teacher=None, max_rules=12).fit(data).model_
    new = frame.drop(columns="listed_in").iloc[::-1]
    assert (model.predict(new)[::-1] == model.predict(data.X)).all()
    again = read(tmp_path / "films.csv", tags="listed_in", labels=list(data.label_names), features=data.features)
    assert (model.predict(again.X) == model.predict(data.X)).all()
