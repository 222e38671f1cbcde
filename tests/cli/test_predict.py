import csv
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow.parquet
import pytest
from python_calamine import CalamineWorkbook
from tests.cli.helpers import PLAIN, PROGRAM, READING, ok, program, run, write_songs

from polyrule.cli.predict import open_writer
from polyrule.data import read
from polyrule.errors import OptionError
from polyrule.model import RuleList


@pytest.fixture
def expected(trained, songs):
    model = RuleList.load(trained)
    data = read(songs, labels=None, features=model.features)
    return model, model.predict(data.X), model.predict_proba(data.X)


def test_csv_to_a_file_and_to_standard_output(trained, songs, tmp_path, expected):
    model, labels, _ = expected
    result = run("predict", trained, songs, "-o", tmp_path / "out.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"120 rows written to {tmp_path / 'out.csv'}\n"
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows[0] == ["id", *model.label_names]
    assert np.array_equal(np.array([row[1:] for row in rows[1:]], dtype=int), labels)
    assert ok("predict", trained, songs) == (tmp_path / "out.csv").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_the_size_of_the_pieces_changes_nothing(trained, songs, rows):
    assert ok("predict", trained, songs, "--rows", rows) == ok("predict", trained, songs)


def test_scores_are_written_to_the_last_digit_if_asked(trained, songs, expected):
    _, _, chances = expected
    rows = list(csv.reader(io.StringIO(ok("predict", trained, songs, "--scores", "--digits", "17"))))
    assert np.array_equal(np.array([row[1:] for row in rows[1:]], dtype=float), chances)
    assert ok("predict", trained, songs, "--probabilities") == ok("predict", trained, songs, "--scores")


def test_row_names_come_first(trained, songs):
    rows = list(csv.reader(io.StringIO(ok("predict", trained, songs, "--id", "id", "--to", "tsv")), delimiter="\t"))
    assert rows[0][0] == "id"
    assert [row[0] for row in rows[1:4]] == ["s0", "s1", "s2"]


def test_json_lines(trained, songs, expected):
    model, labels, _ = expected
    lines = [json.loads(line) for line in ok("predict", trained, songs, "--json", "--id", "id").splitlines()]
    assert lines[0]["id"] == "s0"
    assert [line["labels"][model.label_names[0]] for line in lines] == labels[:, 0].tolist()
    assert ok("predict", trained, songs, "--to", "jsonl") == ok("predict", trained, songs, "--json")


def test_names_of_the_present_labels(trained, songs, expected):
    model, labels, _ = expected
    lines = ok("predict", trained, songs, "--to", "labels").splitlines()
    assert lines == [f"s{n}\t" + ", ".join(np.array(model.label_names)[row == 1]) for n, row in enumerate(labels)]
    assert run("predict", trained, songs, "--to", "labels", "--scores").exit_code == 1


@pytest.mark.parametrize("scores", [False, True])
def test_parquet(trained, songs, tmp_path, expected, scores):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    model, labels, chances = expected
    place = tmp_path / "out.parquet"
    ok("predict", trained, songs, "-o", place, "--id", "id", "--rows", "50", *(["--scores"] if scores else []))
    table = parquet.read_table(place)
    assert table.column_names == ["id", *model.label_names]
    found = np.column_stack([table[name].to_numpy() for name in model.label_names])
    assert np.array_equal(found, chances if scores else labels)
    for where in ((), ("-o", "-")):
        assert "give a file with -o" in run("predict", trained, songs, "--to", "parquet", *where).stderr


@pytest.mark.parametrize("scores", [False, True])
def test_workbooks(trained, songs, tmp_path, expected, scores):
    model, labels, chances = expected
    place = tmp_path / "out.xlsx"
    ok("predict", trained, songs, "-o", place, "--id", "id", "--rows", "50", *(["--scores"] if scores else []))
    with CalamineWorkbook.from_path(str(place)) as book:
        header, *rows = book.get_sheet_by_name("predictions").to_python()
    assert header == ["id", *model.label_names]
    np.testing.assert_allclose([row[1:] for row in rows], chances if scores else labels, rtol=1e-15)
    with songs.open(newline="") as stream:
        assert [row[0] for row in rows] == [row["id"] for row in csv.DictReader(stream)]
    for where in ((), ("-o", "-")):
        assert "give a file with -o" in run("predict", trained, songs, "--to", "xlsx", *where).stderr


def test_a_cell_that_looks_like_a_formula_is_text_in_a_workbook(tmp_path):
    place = tmp_path / "out.xlsx"
    with open_writer("xlsx", place, ["=1+1"], False, ["id"]) as write:
        write(np.array([[1]]), [["=HYPERLINK(1)"]])
    with CalamineWorkbook.from_path(str(place)) as book:
        assert book.get_sheet_by_index(0).to_python() == [["id", "=1+1"], ["=HYPERLINK(1)", 1.0]]
    with zipfile.ZipFile(place) as archive:
        assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")


def test_what_no_sheet_holds_is_refused(tmp_path):
    place = tmp_path / "out.xlsx"
    with (
        pytest.raises(OptionError, match=r"32,767 characters in a cell.*write csv or parquet"),
        open_writer("xlsx", place, ["red"], False, ["id"]) as write,
    ):
        write(np.array([[1]]), [["x" * 40_000]])
    with (
        pytest.raises(OptionError, match="a sheet holds 1048575 rows"),
        open_writer("xlsx", place, ["red"], False, []) as write,
    ):
        write(np.zeros((1 << 20, 1)), [])
    assert not place.exists()


def test_a_name_that_promises_compression_is_refused(trained, songs, tmp_path):
    done = run("predict", trained, songs, "-o", tmp_path / "out.csv.GZ")
    assert "leave .gz out of its name" in done.stderr
    assert done.exit_code == 1
    assert not list(tmp_path.glob("out*"))


def test_the_ending_says_the_format_as_it_does_for_data(trained, songs, tmp_path):
    for name, said in (("out.json", "jsonl"), ("out.tab", "tsv"), ("out.txt", "labels"), ("out.dat", "csv")):
        ok("predict", trained, songs, "-o", tmp_path / name)
        assert (tmp_path / name).read_text() == ok("predict", trained, songs, "--to", said)
    assert "not written as arff" in run("predict", trained, songs, "-o", tmp_path / "out.arff").stderr
    assert not (tmp_path / "out.arff").exists()


def test_standard_input_and_data_without_labels(trained, songs, tmp_path):
    bare = "\n".join(",".join(line.split(",")[:4]) for line in songs.read_text().splitlines())
    assert ok("predict", trained, "-", input=bare) == ok("predict", trained, songs)


def test_columns_may_come_in_another_order_and_categories_be_unknown(trained, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("more,loudness,key,tempo\nx,0.5,dorian,120\nx,,minor,80\n")
    assert len(ok("predict", trained, other).splitlines()) == 3


def test_memory_stays_bounded(trained, tmp_path):
    """A file twenty times as long must not need more than a little more memory."""
    peaks = []
    for rows in (5_000, 100_000):
        big = write_songs(tmp_path, rows=200, name=f"big{rows}.csv")
        header, *lines = big.read_text().splitlines()
        big.write_text("\n".join([header, *(lines * (rows // 200))]) + "\n")
        code = (
            "import resource, sys\nfrom polyrule.cli import app\n"
            "try:\n    app.main(sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        words = ["predict", str(trained), str(big), "-o", str(tmp_path / "out.csv"), "--rows", "2000"]
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        peaks.append(int(done.stderr.split()[-1]))
    assert peaks[1] < peaks[0] + 60_000, "kilobytes"


def test_a_failure_half_way_leaves_no_file(trained, songs, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text(songs.read_text() + "s999,fast,major,0.1,0,0,0\n")
    place = tmp_path / "out.csv"
    result = run("predict", trained, broken, "-o", place, "--rows", "10")
    assert result.exit_code == 1
    assert "tempo" in result.stderr
    assert "line 122" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.csv"]


def test_a_reader_that_has_seen_enough_is_no_error(trained, songs):
    words = [*PROGRAM, "predict", str(trained), str(songs), "--rows", "1"]
    surroundings = {**os.environ, **PLAIN}
    writer = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings)
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.readline()
    writer.stdout.close()
    assert (writer.stderr.read(), writer.wait(60)) == ("", 0)
    writer.stderr.close()


def test_as_a_program(trained, songs):
    done = program("predict", trained, songs)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ok("predict", trained, songs)


def test_columns_that_no_rule_tests_may_be_missing(songs, tmp_path):
    model, few = tmp_path / "model.json", tmp_path / "few.csv"
    ok("train", songs, *READING, "--preset", "paper", "--max-rules", "1", "-o", model, "-q")
    rows = [line.split(",") for line in songs.read_text().splitlines()]
    tested = {condition["feature"] for rule in json.loads(model.read_text())["rules"] for condition in rule["body"]}
    assert tested == {"tempo"}
    few.write_text("\n".join(",".join([row[4], row[5], row[6], row[1], row[0]]) for row in rows))
    assert ok("predict", model, few) == ok("predict", model, songs)
    assert ok("evaluate", model, few, "--train", few) == ok("evaluate", model, songs, "--train", few)
    words = ("--row", "1", "--flip", "calm", "--fixed", "loudness")
    assert ok("explain", model, few, *words) == ok("explain", model, songs, *words)


def test_a_column_that_a_rule_tests_must_be_there(trained, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("id,key\na,major\n")
    result = run("predict", trained, few)
    assert result.exit_code == 1
    assert "the model needs column(s) " in result.stderr


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_categories_the_model_never_saw_are_told_once(command, trained, songs, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text(songs.read_text().replace("major", "lydian"))
    count = new.read_text().count("lydian")
    words = {"predict": ["--rows", 7]}.get(command, [])
    result = run(command, trained, new, *words)
    assert result.exit_code == 0
    assert result.stderr.count("warning: ") == 1
    assert f"{count} in 'key' ('lydian')" in " ".join(result.stderr.split())
    assert run(command, trained, songs, *words).stderr == ""


@pytest.mark.parametrize("fault", ["id,key\na,major\n", "id,tempo,key,loudness\na,fast,major,1\n", ""])
@pytest.mark.parametrize("form", ["csv", "jsonl", "labels"])
def test_nothing_is_written_where_the_data_is_refused(trained, tmp_path, fault, form):
    new = tmp_path / "new.csv"
    new.write_text(fault)
    result = run("predict", trained, new, "--to", form)
    assert result.exit_code == 1
    assert result.stdout == ""


def test_a_file_without_rows_gives_a_header_only(trained, songs, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text(songs.read_text().splitlines()[0] + "\n")
    assert ok("predict", trained, new) == "id,calm,happy,sad\n"


def test_the_id_column_is_remembered_from_training(tmp_path):
    data = tmp_path / "people.csv"
    data.write_text("name,age,calm\nann,1,0\nbob,2,0\ncyd,3,1\ndee,4,1\n")
    model = tmp_path / "model.json"
    ok("train", str(data), "--labels", "calm", "--id", "name", "-o", str(model))
    assert "calm" in ok("explain", str(model), str(data), "--row-id", "cyd")
    page = tmp_path / "report.html"
    ok("report", str(model), "--data", str(data), "-o", str(page))
    assert '"id":["ann","bob","cyd","dee"]' in page.read_text()
    predicted = "name,calm\nann,0\nbob,0\ncyd,1\ndee,1\n"
    assert ok("predict", str(model), str(data)) == predicted
    assert ok("predict", str(model), "-", input=data.read_bytes()) == predicted
    assert ok("predict", str(model), str(data), "--keep", "age,name").startswith("age,name,calm\n1,ann,0\n")
    other = tmp_path / "other.csv"
    other.write_text("age,calm\n1,0\n4,1\n")
    assert "2 examples" in ok("evaluate", str(model), str(other))
    assert ok("predict", str(model), str(other)) == "calm\n0\n1\n"
    unnamed = run("explain", str(model), str(other), "--row-id", "ann")
    assert (unnamed.exit_code, "--row-id needs the column" in unnamed.stderr) == (1, True)


def test_columns_are_kept_as_they_are_written(trained, songs, tmp_path):
    """Whatever they hold; the file is read in pieces of another size for them."""
    with songs.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for words in (["--rows", "7"], []):
        text = ok("predict", trained, songs, "--keep", "id, loudness,calm", *words)
        found = list(csv.reader(io.StringIO(text)))
        assert found[0] == ["id", "loudness", "calm", "calm", "happy", "sad"]
        wanted = [[row["id"], row["loudness"].replace("?", ""), row["calm"]] for row in rows]
        assert [row[:3] for row in found[1:]] == wanted
    lines = ok("predict", trained, songs, "--id", "id", "--keep", "key", "--json").splitlines()
    assert json.loads(lines[0]) | {"labels": 0} == {"id": "s0", "key": rows[0]["key"], "labels": 0}
    assert ok("predict", trained, songs, "--to", "labels", "--keep", "key,id").startswith(f"{rows[0]['key']}\ts0\t")
    place = tmp_path / "p.parquet"
    ok("predict", trained, songs, "-o", place, "--keep", "key,tempo")
    assert pyarrow.parquet.read_table(place).column("tempo").to_pylist() == [row["tempo"] for row in rows]
    unknown = run("predict", trained, songs, "--keep", "keys")
    assert "--keep: there is no column 'keys'; did you mean 'key'?" in unknown.stderr
    assert unknown.stdout == ""
    refused = run("predict", trained, "-", "--keep", "key", input=songs.read_bytes())
    assert "--keep reads DATA once more" in refused.stderr
    assert refused.exit_code == 1


def test_probabilities_have_four_digits_unless_told_otherwise(trained, songs, expected):
    _, _, exact = expected
    for words, digits in (([], 4), (["--digits", "2"], 2)):
        rows = list(csv.reader(io.StringIO(ok("predict", trained, songs, "--scores", *words))))[1:]
        assert [[float(cell) for cell in row[1:]] for row in rows] == exact.round(digits).tolist()
        assert max(len(cell) for row in rows for cell in row[1:]) <= digits + 2


def test_an_explanation_warns_of_its_own_row_only(trained, songs, tmp_path):
    lines = songs.read_text().splitlines()
    lines[3] = lines[3].replace("major", "odd").replace("minor", "odd")
    strange = tmp_path / "strange.csv"
    strange.write_text("\n".join(lines) + "\n")
    assert run("explain", trained, strange, "--row", "1").stderr == ""
    told = run("explain", trained, strange, "--row", "3").stderr
    assert told == "warning: key = 'odd' is a category that the model does not know, and counts as missing\n"
    assert "1 in 'key'" in run("explain", trained, "-", "--row", "1", input=strange.read_bytes()).stderr


def test_a_warning_comes_once(trained, songs, tmp_path):
    strange = tmp_path / "strange.csv"
    strange.write_text(songs.read_text().replace("major", "odd"))
    told = run("evaluate", trained, strange, "--train", strange).stderr
    assert told.count("categories that the model does not know") == 1


def test_a_report_about_models_of_other_data_is_refused(trained, songs, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("pace,calm\n" + "".join(f"{n},{int(n > 9)}\n" for n in range(20)), encoding="utf-8")
    ok("train", other, "--labels", "calm", "-o", tmp_path / "other.json", "-q")
    refused = run("report", tmp_path / "other.json", trained, "--data", other, "-o", tmp_path / "r.html")
    assert "have different labels; a report is about one data set" in refused.stderr
    assert not (tmp_path / "r.html").exists()
