"""Whatever is wrong, every command says it in one sentence, exits with 1 and leaves no file behind."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.helpers import PROGRAM, READING, ok, program, run

BINARY = b"\x80\x04\x95\x00\xff\xfe\x00pickle"


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def commands(model: Path, data: Path, out: Path) -> dict[str, list[object]]:
    """Every command that reads a model, data, or both, with an output where it has one."""
    return {
        "train": ["train", data, *READING, "-o", out / "m.json"],
        "predict": ["predict", model, data, "-o", out / "p.csv"],
        "evaluate": ["evaluate", model, data],
        "show": ["show", model, "-o", out / "rules.txt"],
        "explain": ["explain", model, data, "--row", "1"],
        "edit remove": ["edit", "remove", model, "1", "-o", out / "m.json"],
        "edit move": ["edit", "move", model, "1", "2", "-o", out / "m.json"],
        "edit insert": ["edit", "insert", model, "calm <- true", "-o", out / "m.json"],
        "edit replace": ["edit", "replace", model, "1", "calm <- true", "-o", out / "m.json"],
        "edit recount": ["edit", "recount", model, data, "-o", out / "m.json"],
        "edit seal": ["edit", "seal", model, "-o", out / "m.json"],
        "export": ["export", model, "-o", out / "m.py"],
        "verify": ["verify", model, data],
        "data": ["data", data, *READING],
    }


NAMES = list(commands(Path(), Path(), Path()))
READ_MODEL = [name for name in NAMES if name not in ("train", "data")]
READ_DATA = ["train", "predict", "evaluate", "explain", "edit recount", "verify", "data"]
WRITE = [name for name in NAMES if name not in ("evaluate", "explain", "verify", "data")]


def complain(words: list[object], *parts: str) -> None:
    result = run(*words)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1, "one sentence"
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stderr, result.stderr
    for part in parts:
        assert part in result.stderr, result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_the_table_works(name, model, songs, place):
    ok(*commands(model, songs, place)[name])


@pytest.mark.parametrize("name", READ_MODEL)
@pytest.mark.parametrize("fault", ["missing", "folder", "binary", "cut", "other", "empty"])
def test_models_that_cannot_be_read(name, fault, model, songs, place, tmp_path):
    wrong = tmp_path / "wrong.json"
    text = model.read_text()
    if fault == "folder":
        wrong.mkdir()
    elif fault != "missing":
        content = {"binary": BINARY, "cut": text[: len(text) // 2].encode(), "other": b'{"a": 1}', "empty": b""}[fault]
        wrong.write_bytes(content)
    complain(commands(wrong, songs, place)[name], "wrong.json")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("name", READ_DATA)
@pytest.mark.parametrize("fault", ["missing", "folder", "binary", "empty", "columns"])
def test_data_that_cannot_be_read(name, fault, model, songs, place, tmp_path):
    wrong = tmp_path / "wrong.csv"
    if fault == "folder":
        wrong.mkdir()
    elif fault != "missing":
        content = {"binary": BINARY, "empty": b"", "columns": b"id,size\na,1\nb,2\n"}[fault]
        wrong.write_bytes(content)
    complain(commands(model, wrong, place)[name], "wrong.csv" if fault != "columns" else "")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("name", WRITE)
def test_a_folder_that_does_not_exist(name, model, songs, tmp_path):
    complain(commands(model, songs, tmp_path / "nowhere")[name], "nowhere", "cannot be written")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; a read-only disk is tested instead")
def test_a_folder_that_must_not_be_written(model, songs, place):
    place.chmod(0o500)
    for name in WRITE:
        complain(commands(model, songs, place)[name], "cannot be written")


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system that is full after 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a tiny file system cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 512)


@pytest.mark.parametrize("name", WRITE)
def test_a_full_disk(name, model, songs, tiny_disk):
    fill(tiny_disk / "filler")
    complain(commands(model, songs, tiny_disk)[name], "No space left on device", "cannot be written")
    assert [path.name for path in tiny_disk.iterdir()] == ["filler"], "no half-written file"


def test_a_full_disk_leaves_the_old_model(model, tiny_disk):
    target = tiny_disk / "model.json"
    target.write_bytes(model.read_bytes())
    fill(tiny_disk / "filler")
    before = target.read_bytes()
    complain(["edit", "remove", target, "1"], "No space left on device")
    assert target.read_bytes() == before


def test_a_read_only_disk(model, songs, tiny_disk):
    subprocess.run(["mount", "-o", "remount,ro", tiny_disk], check=True)
    for name in WRITE:
        complain(commands(model, songs, tiny_disk)[name], "cannot be written")


def test_output_that_is_full(trained):
    """/dev/full takes nothing; what cannot be printed is an error, not silence."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, "show", str(trained)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tampered_model_is_refused_everywhere(model, songs, place):
    text = model.read_text()
    tampered = text.replace('"value": 1, "tp"', '"value": 0, "tp"', 1)
    assert tampered != text
    model.write_text(tampered)
    for name in READ_MODEL:
        if name != "edit seal":
            complain(commands(model, songs, place)[name], "does not match its checksum")


def test_wrong_kinds_of_columns_are_named(trained, tmp_path):
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("id,tempo,key,loudness\na,fast,major,1\n")
    complain(["predict", trained, wrong], "tempo", "line 2")


def test_a_model_from_a_later_release_is_refused_clearly(model):
    model.write_text(model.read_text().replace('"version": 1', '"version": 7'))
    complain(["show", model], "version 7 of the model format; this polyrule reads versions 1 to 2")


def test_errors_reach_standard_error_of_the_program(tmp_path):
    done = program("evaluate", tmp_path / "a.json", "b.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--measure nonsense", "unknown measure 'nonsense'"),
        ("--learner seco --lift nonsense", "lift 'nonsense'"),
        ("--learner seco --beam-width 0", "--beam-width must be a whole number of at least 1, got 0"),
        ("--learner seco --remaining 3", "--remaining must be a share"),
        ("--max-rules 0", "--max-rules must be none or a whole number of at least 1, got 0"),
        ("--threads 0", "--threads must not be 0"),
        ("--learner seco --search antimonotone --measure subset --scope all", "{3}=1/2 > {1,3}=0 but {1,2,3}=1/2"),
        ("--learner seco --heads single --max-head-size 3", "--max-head-size contradicts --heads single"),
        ("--test flags.nowhere", "flags.nowhere: no such file"),
        ("--test emotions:test", "emotions:test: "),
        ("--drop nothing", "nothing"),
        ("--weights key", "key"),
    ],
)
def test_options_of_training_that_make_no_sense(songs, words, message):
    complain(["train", songs, *READING, *words.split()], message)


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        (
            "tempo,calm\n1,0\n",
            "",
            "say it with --labels (names, a pattern such as 'mood_*', last:3, @labels.xml), --tags",
        ),
        (
            'size;calm\n"7,750";0\n12345;1\n',
            "--labels calm",
            "write them in one way, drop it (--drop) or declare it nominal (--nominal)",
        ),
        ("1,0\n2,1\n", "--labels last:1", "pass --no-header if it is data, --header if these are the names"),
        ("tempo,calm\n1,0\n", "--labels calm --id temp", "--id: there is no column 'temp'; did you mean 'tempo'?"),
        ("tempo,calm\n1,0\n", "--labels calm --drop tempo", "no column is left to learn from"),
    ],
)
def test_errors_name_options_and_no_parameters_of_python(tmp_path, content, words, message):
    data = tmp_path / "data.csv"
    data.write_text(content)
    complain(["train", data, *words.split()], message)


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("tempo,key\n", "predict", "'loudness'"),
        ('tempo,key,loudness\n"88,6",major,1\n', "predict", "with a decimal comma, pass --decimal ','"),
        ('tempo,key,loudness\n"7,750",major,1\n', "predict", "with thousands separators, pass --thousands ','"),
        ("tempo,key,loudness\n1,major,1\n", "evaluate", "labels ('calm', 'happy', 'sad') are not all columns of it"),
        ("id,tempo,key,loudness\ns1,1,major,1\n", "explain --row 7", "there is no row 7, only 1"),
        (
            "id,tempo,key,loudness\ns1,1,major,1\n",
            "explain --id id --row-id s2",
            "no row is named 's2'",
        ),
        ("id,tempo,key,loudness\na,1,major,1\na,1,major,1\n", "explain --id id --row-id a", "2 rows are named 'a'"),
        ("PK\x03\x04 and so on\n", "predict", "not a readable workbook"),
    ],
)
def test_data_that_does_not_fit_a_model(trained, tmp_path, content, words, message):
    data = tmp_path / "data.csv"
    data.write_text(content)
    command, *options = words.split()
    complain([command, trained, data, *options], message)


def test_models_that_are_none(trained, songs):
    complain(["show", songs], "songs.csv: no model file, because it is not valid JSON")
    complain(["show", trained.with_name("modell.json")], "no such model file; did you mean 'model.json'?")


def test_a_model_is_stored_in_a_file_with_a_name(model, songs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (("train", songs, "--labels", "last:3"), ("edit", "remove", model, 1)):
        done = run(*words, "-o", "-")
        assert (done.exit_code, done.stderr) == (1, "Error: -o -: a model is stored in a file; give its name\n")
    assert not (tmp_path / "-").exists()


def test_a_file_without_rows_cannot_be_learned_from(tmp_path):
    (tmp_path / "none.csv").write_text("tempo,calm\n")
    complain(["train", tmp_path / "none.csv", "--labels", "calm"], "none.csv: there are columns but no rows")
