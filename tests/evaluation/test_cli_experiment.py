import json

import pytest
from click.testing import CliRunner

from polyrule.cli.app import app
from polyrule.evaluation.experiment import load_spec

TEXT = """
name = "tiny"
[[data]]
name = "made"
make = "sklearn.datasets.make_multilabel_classification"
parameters = { n_samples = 40, n_classes = 3, random_state = 0 }
[[learner]]
name = "majority"
class = "polyrule.evaluation.MajorityClassifier"
[[learner]]
name = "nothing"
class = "no_such_package.Thing"
"""


@pytest.fixture
def spec_file(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT)
    return path


def invoke(*arguments):
    return CliRunner().invoke(app, ["experiment", *map(str, arguments)])


def test_run_list_and_tables_only(spec_file, tmp_path):
    out = tmp_path / "out"
    before = invoke(spec_file, "-o", out, "--list")
    assert before.output.count("to do") == 2
    result = invoke(spec_file, "-o", out)
    assert result.exit_code == 0, result.output
    assert "1 results, 1 failures, 0 not run; open" in result.output
    assert (out / "index.html").is_file()
    assert invoke(spec_file, "-o", out, "--list").output.count("done") == 2
    (out / "index.html").unlink()
    assert invoke(spec_file, "-o", out, "--tables-only").exit_code == 0
    assert (out / "index.html").is_file()


def test_json_lines(spec_file, tmp_path):
    result = invoke(spec_file, "-o", tmp_path / "out", "--json", "--only", "maj*")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["learner"] for line in lines[:-1]] == ["majority"]
    assert lines[-1]["results"] == 1
    assert lines[-1]["missing"] == 1


@pytest.mark.parametrize(("pattern", "runs"), [("made", 2), ("maj*", 1), ("made/no*", 1), ("other/*", 0)])
def test_only_names_data_learners_or_both(spec_file, tmp_path, pattern, runs):
    result = invoke(spec_file, "-o", tmp_path / "out", "--list", "--only", pattern)
    assert len(result.output.splitlines()) == runs


def test_errors_are_one_sentence(spec_file, tmp_path):
    for arguments, words in (
        ((tmp_path / "none.toml",), "cannot read experiment file"),
        ((spec_file, "-o", spec_file), "cannot create"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 1
        assert words in result.output
        assert "Traceback" not in result.output
    spec_file.write_text("[[data]]\nnam = 1\n")
    result = invoke(spec_file)
    assert result.exit_code == 1
    assert "[[data]] number 1: name is missing" in result.output


def test_help_shows_examples(tmp_path):
    result = CliRunner().invoke(app, ["experiment", "--help"])
    assert "polyrule experiment experiments/paper.toml" in result.output
    shown = result.output.partition("two learners:\n")[2].partition("Options:")[0]
    for name in ("songs.csv", "songs-test.csv"):
        (tmp_path / name).write_text("size,mood_calm\n1,0\n")
    (tmp_path / "mine.toml").write_text(shown)
    spec = load_spec(tmp_path / "mine.toml")
    assert [data.name for data in spec.data] == ["songs"]  # as its file, unless it says otherwise
    assert [learner.name for learner in spec.learners] == ["list", "ten weighted rules"]
