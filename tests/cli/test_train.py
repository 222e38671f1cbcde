import contextlib
import inspect
import json
import os
import re
import signal
import tomllib

import pytest
from tests.cli.helpers import READING, ok, ok_json, run
from tests.data.formats.test_xlsx import book_of, sheet

from polyrule import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, RuleListClassifier, SeCoClassifier
from polyrule.cli.learner_options import parameter_texts
from polyrule.covering.learner import CoveringLoop
from polyrule.model import RuleList


def test_the_rules_are_printed_and_stored(songs, tmp_path):
    place = tmp_path / "model.json"
    result = run("train", songs, *READING, "-o", place)
    assert result.exit_code == 0
    model = RuleList.load(place)
    assert str(model) in result.stdout
    assert f"{len(model)} rules" in result.stdout
    words = "warning: 16 of 120 examples have no label\n"
    assert result.stderr == f"{words}model written to {place}\n", "no progress where nobody watches"
    assert model.label_names == ("calm", "happy", "sad")
    assert [feature.name for feature in model.features] == ["tempo", "key", "loudness"]
    assert model.info["options"]["measure"] == "f0.5"


def test_json_says_everything(songs, tmp_path):
    told = ok_json("train", songs, *READING, "-o", tmp_path / "m.json", "--test", songs, "--cv", "3")
    assert told["output"] == str(tmp_path / "m.json")
    assert len(told["rules"]) == told["statistics"]["rules"]
    assert told["stopped"] == "complete"
    assert 0 <= told["test"]["micro_f1"] <= 1
    assert len(told["cross_validation"]["folds"]) == 3
    assert "micro_f1" in told["baseline"]


def test_options_reach_the_learner(songs, tmp_path):
    place = tmp_path / "m.json"
    ok("train", songs, *READING, "-o", place, "--measure", "precision", "--max-rules", "2", "--no-label-conditions",
       "--learner", "seco", "--stop-threshold", "none", "--threads", "1", "-q")  # fmt: skip
    options = RuleList.load(place).info["options"]
    assert options["measure"] == "precision"
    assert options["max_rules"] == 2
    assert options["label_conditions"] is False
    assert options["stop_threshold"] is None
    assert options["n_jobs"] == 1


def test_every_parameter_of_the_learners_is_an_option():
    text = ok("train", "--help")
    for learner in (RuleListClassifier, SeCoClassifier, BinaryRelevanceRuleClassifier, RuleEnsembleClassifier):
        for name in inspect.signature(learner).parameters:
            # an object has an option for each field, and a terminal has its own progress
            spelled = {"n_jobs": "threads", "cv": "inner_folds", "constraints": "forbid", "random_state": "seed"}
            if name != "verbose":
                assert f"--{spelled.get(name, name).replace('_', '-')}" in text, name


def test_descriptions_come_from_the_docstrings():
    texts = parameter_texts(inspect.cleandoc(SeCoClassifier.__doc__))
    assert texts["beam_width"][1].startswith("Number of bodies kept")
    assert texts["heads"][0] == '{"multi", "single"}'
    assert "Number of bodies kept at each step of growing a rule" in " ".join(ok("train", "--help").split())


def test_an_option_of_another_learner_is_refused(songs):
    result = run("train", songs, *READING, "--learner", "br", "--scope", "all")
    assert result.exit_code == 1
    assert "--scope is no option of the learner 'br'" in result.stderr
    assert "calm" in ok("train", songs, *READING, "--learner", "br", "--measure", "precision")


@pytest.mark.parametrize("words", [("--cv", "3"), ("--learner", "ensemble")])
def test_a_seed_from_which_nothing_can_be_drawn_is_refused(songs, words):
    refused = run("train", songs, *READING, "--seed", "-1", *words)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "--seed must be between 0 and 4294967295, got -1" in refused.stderr


def test_scores_on_test_data_and_by_cross_validation(songs):
    text = ok("train", songs, *READING, "--test", songs, "--cv", "3", "-q")
    assert "scores on the test data" in text
    assert "3 folds" in text
    assert " <- " not in text


def test_a_model_no_better_than_the_majority_is_pointed_out(tmp_path):
    noise = tmp_path / "noise.csv"
    noise.write_text("x,a\n" + "".join(f"{i % 7},{int(i % 10 == 0)}\n" for i in range(200)))
    result = run("train", noise, "--labels", "a", "--test", noise, "--max-rules", "1", "--max-conditions", "0")
    assert "warning: the model is no better" in result.stderr


def test_a_configuration_can_be_written_and_read(songs, tmp_path):
    chosen = [
        "--measure",
        "hamming",
        "--max-rules",
        "3",
        "--learner",
        "seco",
        "--stop-threshold",
        "none",
        "--no-negative",
    ]
    words = ["train", songs, *READING, *chosen]
    written = ok(*words, "--dump-config")
    table = tomllib.loads(written)["train"]
    assert (table["measure"], table["max_rules"], table["stop_threshold"]) == ("hamming", 3, "none")
    assert table["negative"] is False
    assert table["labels"] == "calm,happy,sad"
    config = tmp_path / "songs.toml"
    config.write_text(written)
    direct, configured = ok(*words).splitlines()[:-1], ok("train", songs, "--config", config).splitlines()[:-1]
    assert direct == configured
    assert ok("train", songs, "--config", config, "--dump-config") == written
    again = tomllib.loads(ok("train", songs, "--config", config, "--max-rules", "1", "--dump-config"))
    assert again["train"]["max_rules"] == 1, "the command line wins"


def test_a_configuration_can_be_written_without_data():
    """... but only written: the next command needs its data again."""
    assert ok("train", "--dump-config").startswith("[train]\n")
    assert run("train").exit_code == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[train]\nmeasur = 'f1'", "[train] has no option 'measur'"),
        ("[other]\n", "there is no table [train]"),
        ("[train", "not valid TOML"),
        ("[train]\nnegative = 'yes'", "negative must be true or false"),
        ("[train]\nmeasure = ['a']", "must be one value"),
    ],
)
def test_a_wrong_configuration_is_explained(songs, tmp_path, content, message):
    config = tmp_path / "wrong.toml"
    config.write_text(content)
    result = run("train", songs, "--config", config)
    assert result.exit_code == 1
    assert message in result.stderr
    assert str(config) in result.stderr


def test_a_value_of_the_wrong_type_in_a_configuration_is_refused(songs, tmp_path):
    config = tmp_path / "wrong.toml"
    config.write_text("[train]\nmax_rules = 'many'")
    result = run("train", songs, "--config", config)
    assert result.exit_code == 2
    assert "many" in result.stderr


def test_an_interrupted_run_keeps_its_rules(songs, tmp_path, monkeypatch):
    original = CoveringLoop._must_end

    def interrupt(self, *args):
        if len(self.rules) == 2:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(CoveringLoop, "_must_end", interrupt)
    place = tmp_path / "model.json"
    result = run("train", songs, *READING, "-o", place)
    assert result.exit_code == 130
    assert f"interrupted: the 2 rules learned so far are kept in {place}" in result.stderr
    assert len(RuleList.load(place)) == 2
    told = run("train", songs, *READING, "--json")
    assert told.exit_code == 130
    assert json.loads(told.stdout)["interrupted"] is True


@pytest.fixture
def background():
    """As a shell without job control starts what it does not wait for: with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("background")
@pytest.mark.parametrize("learner", ["list", "ensemble"])
def test_a_background_job_heeds_the_signal_if_it_has_something_to_keep(learner, songs, tmp_path, monkeypatch):
    sent = []

    def interrupt(progress):
        if progress.rules and not sent:
            sent.append(progress)
            os.kill(os.getpid(), signal.SIGINT)

    place = tmp_path / "model.json"
    words = ["train", songs, *READING, "--learner", learner, "--max-rules", 3]
    monkeypatch.setattr("polyrule.cli.train.learning_progress", lambda quiet: contextlib.nullcontext(interrupt))
    kept = run(*words, "-o", place)
    assert kept.exit_code == 130
    assert "learned so far are kept" in kept.stderr
    assert place.exists()
    sent.clear()
    assert run(*words).exit_code == 0
    assert sent, "ignored, as the shell wants it"


def test_an_interruption_before_the_first_rule_keeps_nothing(songs, tmp_path, monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("polyrule.cli.train.load_data", interrupt)
    result = run("train", songs, *READING, "-o", tmp_path / "m.json")
    assert result.exit_code == 130
    assert not (tmp_path / "m.json").exists()


def test_the_same_command_gives_the_same_file(songs, tmp_path):
    for name in ("a.json", "b.json"):
        ok("train", songs, *READING, "-o", tmp_path / name, "-q")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_benchmark_data_by_name():
    told = ok_json("train", "emotions:train", "--max-rules", "2", "--test", "emotions:test")
    assert told["statistics"]["rules"] == 2
    result = run("train", "emotions:middle")
    assert "parts train and test, not 'middle'" in result.stderr
    assert "--labels is for files" in run("train", "emotions", "--labels", "a").stderr


def test_standard_input(songs):
    text = ok("train", "-", *READING, "--max-rules", "1", input=songs.read_bytes())
    assert "1. " in text


def test_an_interruption_in_the_first_rule_overwrites_nothing(songs, tmp_path, monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(CoveringLoop, "_steps", interrupt)
    place = tmp_path / "m.json"
    place.write_text("an older model")
    result = run("train", songs, *READING, "-o", place)
    assert (result.exit_code, result.stderr.strip()) == (130, "Error: interrupted")
    assert place.read_text() == "an older model"


OF_SECTIONS = ("--learner", "--labels", "--max-rules", "--simplicity", "--lift", "--decision")


def test_help_lists_options_under_the_learners_that_have_them():
    text = ok("train", "--help")
    headings = [line.rstrip(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Options",
        "Reading DATA (a file, - for standard input, or a name such as emotions:test)",
        "Learning",
        "Learning, with --learner list",
        "Learning, with --learner seco",
        "Learning, with --learner ensemble",
        "The machine",
    ]
    parts = re.split(r"^\S.*:$", text, flags=re.MULTILINE)
    for number, options in enumerate(
        ("--learner", "--labels", "--max-rules", "--simplicity", "--lift", "--decision"), 1
    ):
        assert [options in re.findall(r"^  (--[a-z-]+)", part, re.MULTILINE) for part in parts].index(True) == number
    told = " ".join(text.split())
    assert "Maximum number of rules (list, seco, ensemble). [default: list, seco: no limit; ensemble: auto]" in told
    assert "None" not in told
    assert "False" not in told


def test_limits_and_rules_to_start_from(tmp_path):
    lines = ["age,income,old,rich"]
    lines += [f"{k},{k * 7 % 40},{int(k > 20)},{int(k * 7 % 40 > 25)}" for k in range(60)]
    data, first = tmp_path / "people.csv", tmp_path / "first.json"
    data.write_text("\n".join(lines) + "\n")
    ok("train", data, "--labels", "old,rich", "--max-rules", "1", "-o", first)
    for preset in ([], ["--preset", "paper"]):
        common = ["train", data, "--labels", "old,rich", *preset]
        assert "income" not in ok(*common, "--forbid", "income")
        text = ok(*common, "--features", "rich=income", "--monotone", "age=up")
        assert "age <=" not in text
        assert not any("rich" in line.split("<-")[0] and "age" in line for line in text.splitlines() if "<-" in line)
        kept = ok("show", first).splitlines()[0]
        assert kept in ok(*common, "--start", first).splitlines()
    wrong = [
        (("--monotone", "age"), "--monotone is written NAME=up or NAME=down, not 'age'"),
        (("--forbid", "agee"), "--forbid: there is no feature 'agee'; did you mean 'age'"),
        (("--forbid", "age", "--learner", "br"), "--forbid is for the learners list, seco, ensemble"),
        (("--start", first, "--learner", "br"), "a list starts from a rule list, an ensemble from an ensemble"),
    ]
    for options, message in wrong:
        assert message in run("train", data, "--labels", "old,rich", *options).stderr


def test_the_size_of_a_list_in_one_line_leaves_out_what_there_is_none_of():
    from polyrule.cli.train import summary

    found = {"rules": 2, "conditions": 3, "label_conditions": 0, "labels_per_head": 1.5, "stops": 0}
    assert summary(found, 0.5) == "2 rules, 3 conditions, 1.50 labels per head; 0.50 s"
    found |= {"label_conditions": 1, "stops": 1}
    assert summary(found, 0.5) == "2 rules, 3 conditions (1 on labels), 1.50 labels per head, 1 stop; 0.50 s"


def test_a_model_that_is_not_saved_says_so(songs, tmp_path):
    words = ["train", songs, *READING, "--max-rules", "1"]
    assert "the model was not saved; -o model.json keeps it" in run(*words).stderr
    assert "not saved" not in run(*words, "-o", tmp_path / "m.json").stderr
    assert "not saved" not in run(*words, "-q").stderr
    assert "not saved" not in run(*words, "--json").stderr


def test_a_sheet_of_a_workbook_is_named(tmp_path):
    rows = [["age", "sick"], *([number % 40, int(number % 40 > 25)] for number in range(60))]
    book = tmp_path / "ward.xlsx"
    book.write_bytes(book_of(Cover=sheet(["Study"], [1]), Patients=sheet(*rows)))
    model = tmp_path / "model.json"
    ok("train", book, "--sheet", "Patients", "--labels", "sick", "-o", model)
    assert [feature.name for feature in RuleList.load(model).features] == ["age"]
    refused = run("train", book, "--sheet", "Patient", "--labels", "sick")
    assert refused.exit_code == 1
    assert "there is no sheet 'Patient'; there are 'Cover', 'Patients' (--sheet)" in refused.stderr


def test_labels_that_would_be_wrong_too_often_are_kept_out(tmp_path):
    table = tmp_path / "signs.csv"
    rows = (
        (signs % 10, signs // 10 % 10, signs // 100 % 2) for signs in range(400)
    )  # b tells `poor` in every second case only
    lines = [f"{a},{b},{int(a > 6)},{int(b > 4 and chance)}" for a, b, chance in rows]
    table.write_text("\n".join(["a,b,good,poor", *lines]) + "\n")
    loose, strict = (
        ok_json("train", table, "--labels", "good,poor", "--min-precision", least)["rules"] for least in ("0", "0.8")
    )
    assert {rule["head"] for rule in loose} == {"good", "poor"}
    assert min(rule["expected"] for rule in loose) < 0.8
    assert {rule["head"] for rule in strict} == {"good"}
    assert min(rule["expected"] for rule in strict) >= 0.8


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--min-precision", "1.5"), "--min-precision must be a share from 0 to 1, got 1.5"),
        (("--min-precision", "0.5", "--preset", "paper"), "--min-precision is no option of the learner 'seco'"),
        (("--min-precision", "0.5", "--learner", "ensemble"), "--min-precision is no option of the learner 'ensemble'"),
    ],
)
def test_a_share_that_cannot_be_kept_is_refused(songs, words, told):
    result = run("train", songs, *READING, *words)
    assert result.exit_code == 1
    assert told in result.stderr
