"""Models, rows and names of strangers on the command line: one sentence and an exit code, never a traceback."""

import csv
import json

import pytest
from click.testing import CliRunner
from tests.cli.helpers import READING, ok, run, write_songs

from polyrule.cli.app import app
from polyrule.data.documents import checksum
from polyrule.evaluation.experiment.one_run import plan_runs
from polyrule.evaluation.experiment.spec import load_spec

FORMULAS = ["=1+1", "+1", "-x", "@x", "plain", "\t=2"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    songs = write_songs(folder, 60)
    ok("train", songs, *READING, "-o", folder / "model.json", "--max-rules", 4)
    return folder / "model.json"


def tamper(model, folder, change):
    document = json.loads(model.read_text())
    change(document)
    content = {name: value for name, value in document.items() if name != "checksum"}
    path = folder / "tampered.json"
    path.write_text(json.dumps(content | {"checksum": checksum(content)}))
    return path


def test_report_and_verify_refuse_a_model_that_lies(model, tmp_path):
    songs = write_songs(tmp_path, 60)

    def list_for_name(document):
        document["info"]["data_fingerprint"] = ["blake2b:0"]

    result = run("report", tamper(model, tmp_path, list_for_name), "--data", songs, *READING, "-o", tmp_path / "r.html")
    assert result.exit_code == 1
    assert "info.data_fingerprint must be a string" in result.stderr

    def without_measure(document):
        del document["info"]["options"]["measure"]

    result = run("verify", tamper(model, tmp_path, without_measure), songs, *READING)
    assert result.exit_code == 1
    assert "does not say with which measure it was learned" in result.stderr


def test_formulas_stay_text_for_spreadsheets(model, tmp_path):
    songs = write_songs(tmp_path, len(FORMULAS))
    with songs.open(newline="") as stream:
        rows = list(csv.reader(stream))
    for row, formula in zip(rows[1:], FORMULAS, strict=True):
        row[0] = formula
    with songs.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)
    plain = list(csv.reader(ok("predict", model, songs, "--id", "id").splitlines()))
    safe = list(csv.reader(ok("predict", model, songs, "--id", "id", "--safe-csv").splitlines()))
    assert [row[0] for row in safe[1:]] == ["'=1+1", "'+1", "'-x", "'@x", "plain", "'=2"]
    assert [row[1:] for row in safe] == [row[1:] for row in plain]
    assert run("predict", model, songs, "--safe-csv", "--to", "jsonl").exit_code == 1


def test_names_of_labels_stay_text_for_spreadsheets(model, tmp_path):
    def rename(document):
        document["labels"] = ["@calm" if name == "calm" else name for name in document["labels"]]
        text = json.dumps(document["rules"]).replace('"calm"', '"@calm"')
        document["rules"] = json.loads(text)

    renamed = tamper(model, tmp_path, rename)
    songs = write_songs(tmp_path, 5)
    assert ok("predict", renamed, songs, "--safe-csv").splitlines()[0].startswith("id,'@calm,")
    rows = list(csv.DictReader(ok("show", renamed, "--format", "csv", "--safe-csv").splitlines()))
    assert not any(row["head"].startswith(("@", "=", "+", "-")) for row in rows)


def test_a_terminal_is_not_given_control_characters(model, tmp_path):
    def colour(document):
        document["info"]["learner"] = "\x1b[31mred\u202e"

    shown = ok("show", tamper(model, tmp_path, colour), "--stats")
    assert "\x1b" not in shown
    assert "\\u001b[31mred\\u202e" in shown
    assert "\x1b" not in run("show", tmp_path / "no\x1b[31m.json").stderr


EXPERIMENT = """
name = "tiny"
[[data]]
name = "made"
make = "sklearn.datasets.make_multilabel_classification"
parameters = { n_samples = 40, n_classes = 3, random_state = 0 }
[[learner]]
name = "majority"
class = "polyrule.evaluation.MajorityClassifier"
"""
ROWS = [
    "{}",
    '{"status": []}',
    '{"status": "ok"}',
    '{"status": "ok", "counts": {"examples": 1, "tp": [1], "fp": [1, 2], "fn": [1], "example_groups": []}}',
    '{"status": "ok", "counts": {"examples": 1, "tp": [1], "fp": [1], "fn": [-1], "example_groups": []}}',
    '{"status": "ok", "counts": {"examples": 1, "tp": [1], "fp": [1], "fn": [1], "example_groups": [[1]]}}',
    '{"status": "ok", "rules": "x", "counts": {"examples": 1, "tp": [1], "fp": [1], "fn": [1], "example_groups": []}}',
    '{"status": NaN}',
    "[" * 5000,
]


@pytest.mark.parametrize("row", ROWS)
def test_rows_that_nobody_wrote(row, tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(EXPERIMENT)
    (key,) = [run.key for run in plan_runs(load_spec(path))]
    (tmp_path / "out" / "rows").mkdir(parents=True)
    (tmp_path / "out" / "rows" / f"{key}.json").write_text(row)
    result = CliRunner().invoke(app, ["experiment", str(path), "-o", str(tmp_path / "out"), "--tables-only"])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "delete it to have it made again" in result.output


def test_a_row_without_a_status_is_run_again(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(EXPERIMENT)
    (key,) = [run.key for run in plan_runs(load_spec(path))]
    (tmp_path / "out" / "rows").mkdir(parents=True)
    (tmp_path / "out" / "rows" / f"{key}.json").write_text("{}")
    result = CliRunner().invoke(app, ["experiment", str(path), "-o", str(tmp_path / "out"), "--retry"])
    assert result.exit_code == 0, result.output
    assert "1 results" in result.output
