"""show, evaluate, explain, data, datasets: what a person looks at."""

import csv
import io
import json

import pytest
from tests.cli.helpers import READING, ok, ok_json, run

from polyrule.data import Dataset, Feature, read
from polyrule.data.derive.dates import date_features
from polyrule.evaluation import score, score_probabilities
from polyrule.model import Literal, NominalCondition, NumericCondition, Rule, RuleList


def test_show_prints_the_list(trained):
    assert ok("show", trained) == str(RuleList.load(trained)) + "\n"


def test_show_filters_rules(trained):
    model = RuleList.load(trained)
    lines = ok("show", trained, "--label", "sad").splitlines()
    assert lines
    assert all("sad" in line for line in lines)
    lines = ok("show", trained, "--feature", "loudness").splitlines()
    assert all("loudness" in line for line in lines)
    least = sorted(rule.coverage for rule in model)[-2]
    assert len(ok("show", trained, "--min-coverage", least).splitlines()) == sum(r.coverage >= least for r in model)
    assert ok("show", trained, "--min-coverage", "1e9") == "(no such rules)\n"
    assert "no label 'joy'" in run("show", trained, "--label", "joy").stderr
    assert "no feature 'joy'" in run("show", trained, "--feature", "joy").stderr


def test_show_in_other_forms(trained, tmp_path):
    model = RuleList.load(trained)
    rows = list(csv.DictReader(io.StringIO(ok("show", trained, "--format", "csv"))))
    assert [row["head"] for row in rows] == [model.format_rule(i).split(" <- ")[0] for i in range(len(model))]
    markdown = ok("show", trained, "--format", "markdown").splitlines()
    assert len(markdown) == len(model) + 2
    assert all(line.startswith("| ") and line.endswith(" |") for line in markdown)
    latex = ok("show", trained, "--format", "latex")
    assert latex.startswith(r"\begin{tabular}")
    assert latex.count(r"\\") == len(model) + 1
    ok("show", trained, "--format", "latex", "-o", tmp_path / "rules.tex")
    assert (tmp_path / "rules.tex").read_text() == latex


def test_chosen_rules_say_what_they_say_among_all(trained, tmp_path):
    model = RuleList.load(trained)
    whole = [f"{number}. {model.format_rule(number - 1)}" for number in range(1, len(model) + 1)]
    assert ok("show", trained, "--min-coverage", 0).splitlines() == whole
    model.insert(0, "calm <- tempo <= 90").save(tmp_path / "m.json")
    line = ok("show", tmp_path / "m.json", "--label", "calm").splitlines()[0]
    assert line == "1. calm <- tempo <= 90   (not counted) [hand]"


def test_what_is_printed_goes_to_the_file_that_is_asked_for(trained, tmp_path):
    target = tmp_path / "told"
    for words in (
        ("show", trained, "--json"),
        ("show", trained, "--stats"),
        ("show", trained, "--stats", "--json"),
        ("export", trained, "--to", "sql", "--json"),
    ):
        expected = ok(*words)
        assert ok(*words, "-o", "-") == expected
        assert ok(*words, "-o", target) == ""
        assert target.read_text() == expected
    found = ok("measure", "head", "10 01", "--json")
    assert ok("measure", "head", "10 01", "--json", "-o", "-") == found
    assert ok("measure", "head", "10 01", "--json", "-o", target) == found  # the tree goes to the file
    assert target.read_text() == ok("measure", "head", "10 01")


def test_data_is_not_written_over_by_the_model_it_changes(trained, songs, tmp_path):
    data = tmp_path / "data.csv"
    data.write_bytes(songs.read_bytes())
    done = run("edit", "recount", trained, data, "-o", data)
    assert (done.exit_code, "is read by this command" in done.stderr) == (1, True)
    assert data.read_bytes() == songs.read_bytes()


def test_a_file_that_is_read_beside_the_data_is_not_written_over(model, songs, tmp_path):
    beside = tmp_path / "beside"
    for words in (
        ("edit", "replace", model, "--rules", beside),
        ("edit", "recount", model, songs, "--label-file", beside),
        ("train", songs, "--label-file", beside),
        ("report", model, "--data", songs, "--label-file", beside),
    ):
        beside.write_text("calm,sad\n")
        assert "is read by this command" in run(*words, "-o", beside).stderr
        assert beside.read_text() == "calm,sad\n"


@pytest.mark.parametrize("words", [("show",), ("export", "--to", "sql")])
def test_a_model_is_not_written_over_by_what_is_made_of_it(words, trained):
    before = trained.read_bytes()
    done = run(words[0], trained, *words[1:], "-o", trained)
    assert done.exit_code == 1
    assert "is read by this command" in done.stderr
    assert trained.read_bytes() == before


def test_show_json_and_statistics(trained):
    told = ok_json("show", trained)
    assert told["info"]["learner"] == "SeCoClassifier"
    assert len(told["rules"]) == told["statistics"]["rules"]
    told_plainly = ok("show", trained, "--stats")
    assert "labels per head" in told_plainly
    assert "{" not in told_plainly
    assert "beam width 1, " in told_plainly
    assert ok_json("show", trained, "--stats")["statistics"] == told["statistics"]


def test_hostile_names_stay_text_in_every_form(tmp_path):
    from polyrule.data import Feature
    from polyrule.model import Literal, NumericCondition, Rule

    name = "a|b&c%d_e$f#g{h}i~j^k\\l<m>`n*"
    rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.0),))
    RuleList((rule,), (Feature(name),), ("\x1b[31mred\nblue",)).save(tmp_path / "m.json")
    for form in ("text", "markdown", "latex", "csv"):
        assert "\x1b" not in ok("show", tmp_path / "m.json", "--format", form)
    assert ok("show", tmp_path / "m.json", "--format", "markdown").splitlines()[-1].count(" | ") == 6
    assert r"\&c\%d\_e\$f\#g\{h\}i" in ok("show", tmp_path / "m.json", "--format", "latex")


def load(path, model) -> Dataset:
    return read(path, labels=list(model.label_names), features=model.features)


def test_evaluate_gives_the_scores_of_the_library(trained, songs):
    model = RuleList.load(trained)
    data = load(songs, model)
    told = ok_json("evaluate", trained, songs)
    assert told["model"] == score(data.Y, model.predict(data.X)).as_dict()
    assert told["examples"] == 120
    assert told["per_label"]["label"] == list(model.label_names)
    assert told["warning"] is None
    text = ok("evaluate", trained, songs)
    assert "0/0 counts as 0" in text
    assert "majority" in text
    assert "one rule" in text
    assert list(told["simple"]) == ["majority", "label set", "one rule per label"]
    assert told["simple"]["majority"] == told["baseline"]
    assert "micro F1" in text
    assert all(name in text for name in model.label_names)


def test_evaluate_warns_when_the_model_is_no_better_than_the_majority(songs, tmp_path):
    RuleList((), (), ("calm",)).save(tmp_path / "m.json")
    result = run("evaluate", tmp_path / "m.json", songs)
    assert result.exit_code == 0
    assert "warning: the model is no better than a simple model" in result.stderr


def test_labels_are_brought_into_the_order_of_the_model(trained, songs, tmp_path):
    header, *lines = songs.read_text().splitlines()
    swapped = tmp_path / "swapped.csv"
    rows = [line.split(",") for line in [header, *lines]]
    swapped.write_text("\n".join(",".join([*row[:4], row[6], row[4], row[5]]) for row in rows) + "\n")
    expected = ok_json("evaluate", trained, songs, "--train", songs)
    assert ok_json("evaluate", trained, swapped, "--train", songs) == expected
    assert ok_json("evaluate", trained, swapped, "--train", songs, "--labels", "last:3") == expected


def test_the_baseline_can_come_from_the_training_data(trained, songs):
    told = ok_json("evaluate", trained, songs, "--train", songs)
    assert told["baseline"] == ok_json("evaluate", trained, songs)["baseline"]


def test_explain_one_row(trained, songs):
    model = RuleList.load(trained)
    data = load(songs, model)
    expected = model.explain(data.X[16])
    shown = ok("explain", trained, songs, "--row", "17")
    assert shown == f"row 17 of 120 (counted from 1): s16\n{expected}\n"
    told = ok_json("explain", trained, songs, "--row", "17", "--counterfactual", "calm", "--flip", "sad")
    assert told["row"] == 17
    assert told["labels"] == json.loads(json.dumps(expected.to_dict()["labels"]))
    assert [flip["label"] for flip in told["flips"]] == ["calm", "sad"]
    assert told["flips"][0] == json.loads(json.dumps(model.smallest_flip(data.X[16], "calm").to_dict()))


def test_explain_by_name_and_with_fixed_features(trained, songs):
    by_name = ok("explain", trained, songs, "--id", "id", "--row-id", "s16")
    assert by_name == ok("explain", trained, songs, "--row", "17")
    text = ok("explain", trained, songs, "--row", "1", "--flip", "calm", "--fixed", "tempo")
    assert "tempo" not in text.splitlines()[-1].partition("; the smallest")[2]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "--row N or --row-id"),
        (["--row", "1", "--row-id", "x"], 2, "--row N or --row-id"),
        (["--row", "0"], 2, "range"),
        (["--row", "121"], 1, "there is no row 121, only 120"),
        (["--row-id", "zzz"], 1, "no row is named 'zzz'"),
        (["--id", "id", "--row-id", "zzz"], 1, "no row is named 'zzz'"),
        (["--row", "1", "--flip", "joy"], 1, "no label 'joy'"),
        (["--row", "1", "--flip", "calm", "--fixed", "joy"], 1, "no feature 'joy'"),
    ],
)
def test_explain_refuses_what_does_not_exist(trained, songs, words, code, message):
    result = run("explain", trained, songs, *words)
    assert result.exit_code == code
    assert message in result.stderr


def test_data_describes_a_file(songs):
    result = run("data", songs, "--labels", "calm,happy,sad", "--columns")
    assert result.exit_code == 0
    assert "120" in result.stdout
    assert "loudness" in result.stdout
    assert "major, minor" in result.stdout
    assert "identifier" in result.stderr, "the column id names the rows"
    told = ok_json("data", songs, *READING)
    assert told["examples"] == 120
    assert [label["name"] for label in told["labels"]] == ["calm", "happy", "sad"]
    assert {feature["name"]: feature["kind"] for feature in told["features"]}["key"] == "nominal"
    assert [finding["kind"] for finding in told["findings"]] == ["examples without label"]


def test_decisions_beside_the_data_hold_for_every_command(tmp_path):
    rows = "".join(f"r{row},{row % 7} kg,{'a|b' if row % 2 else 'b'}\n" for row in range(90))
    path = tmp_path / "songs.csv"
    path.write_text("name,size,mood\n" + rows)
    result = run("data", path, "--tags", "mood", "--save", "--keep-columns", "name", "--nominal", "size")
    assert result.exit_code == 0
    assert "written to" in result.stderr
    assert "identifies rows" not in result.stdout
    text = (tmp_path / "songs.polyrule.toml").read_text()
    assert 'tags = "mood"\nnominal = "size"\nkeep_columns = ["name"]\n' in text
    assert "size    category" in ok("data", path)
    trained = run("train", path, "-o", tmp_path / "model.json", "--test", path)
    assert trained.exit_code == 0
    assert "is left out" not in trained.stderr
    assert json.loads((tmp_path / "model.json").read_text())["labels"] == ["a", "b"]
    assert run("evaluate", tmp_path / "model.json", path).exit_code == 0
    (tmp_path / "songs.polyrule.toml").write_text('tag = "mood"')
    assert "there is no option 'tag'" in run("train", path).stderr


def test_a_first_look_fits_on_a_screen(tmp_path):
    names = [f"x{j}" for j in range(60)]
    rows = [",".join(str((j * row) % 7) for j in range(60)) + f",{row} min,{row % 2}" for row in range(40)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join([*names, "length", "y"]), *rows]))
    text = ok("data", path, "--labels", "y")
    assert len(text.splitlines()) < 25
    assert "x0 … x59" in text
    assert "0 to 39 min" in text
    assert "--nominal length" in text
    assert "rules test length as 0 to 39 min" in run("train", path, "--labels", "y").stderr


def test_data_finds_test_examples_in_the_training_data(songs):
    assert "120 of 120 test examples" in run("data", songs, *READING, "--test", songs).stderr


def test_datasets():
    text = ok("data", "--list")
    assert all(name in text for name in ("emotions", "yeast", "mediamill"))
    assert ok_json("data", "yeast")["benchmark"]["labels"] == 14
    about = ok("data", "emotions")
    assert "ISMIR 2008" in about
    assert "label sets" in about
    assert "ISMIR 2008" not in ok("data", "emotions:train")
    assert len(ok_json("data", "--list")) >= 14
    assert "did you mean 'yeast'" in run("data", "yeest").stderr
    assert run("data").exit_code == run("data", "emotions", "--list").exit_code == 2


def test_a_data_set_that_is_not_here_is_described_by_its_entry(monkeypatch):
    monkeypatch.setattr("polyrule.datasets.loading.find_folder", lambda entry: None)
    assert "here:         False" in ok("data", "yeast")
    assert list(ok_json("data", "yeast")) == ["benchmark"]


def test_a_file_with_the_name_of_a_data_set_is_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "yeast").write_text("size,red\n1,0\n2,1\n")
    assert "benchmark" not in ok_json("data", "yeast", "--format", "csv", "--labels", "red")


def test_thresholds_can_be_rounded(trained):
    assert ok("show", trained, "--digits", "1") == RuleList.load(trained).format(digits=1) + "\n"
    assert "tempo" in ok("show", trained, "--digits", "2", "--format", "markdown")


def test_evaluate_says_what_the_baseline_is_made_from(model, songs):
    assert f"simple models are fitted on {songs} itself;" in ok("evaluate", model, songs)
    assert "fitted on standard input itself;" in ok("evaluate", model, "-", input=songs.read_text())
    told = ok("evaluate", model, songs, "--train", songs)
    assert f"simple models are fitted on {songs};" in told
    assert "F1  Jaccard" in told


@pytest.mark.parametrize("way", ["file", "standard input"])
def test_data_without_labels_can_be_described(songs, way):
    given = {"input": songs.read_bytes()} if way == "standard input" else {}
    result = run("data", songs if way == "file" else "-", "--columns", **given)
    assert result.exit_code == 0
    assert "nothing says which columns are labels, so all are taken for features" in result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["labels", "0"] in lines
    assert ["calm", "numeric", "0", "0", "to", "1"] in lines
    assert "cardinality" not in result.stdout


def test_missing_values_are_counted_and_shown_per_cent(songs):
    count = songs.read_text().count("?")
    assert f"missing values    {count} ({100 * count / 360:.1f} %)\n" in ok("data", songs, *READING)


def test_a_flip_is_a_day_and_obeys_digits(tmp_path):
    body = (NumericCondition(2, ">", 10.5), NominalCondition(3, 4), NumericCondition(4, "<=", 44.567, (40.0, 47.0)))
    features = (*date_features("on"), Feature("age"))
    RuleList((Rule((Literal(0, 1),), body),), features, ("gift",)).save(tmp_path / "model.json")
    (tmp_path / "data.csv").write_text("on,age,gift\n2013-04-04,48.25,0\n")
    words = (
        "explain",
        tmp_path / "model.json",
        tmp_path / "data.csv",
        "--labels",
        "gift",
        "--row",
        "1",
        "--flip",
        "gift",
    )
    days = "on month = December and on weekday = Friday, such as"
    said = f"makes it present: {days} 2012-12-28 (now 2013-04-04); age <= 44.567 (now 48.25)"
    assert said in " ".join(ok(*words).split())
    said = f"makes it present: {days} 2013-12-06 (now 2013-04-04); age <= 44 (now 48)"
    assert said in " ".join(ok(*words, "--fixed", "on year", "--digits", "2").split())
    assert "whatever the features are" in ok(*words, "--fixed", "on")
    flip = ok_json(*words)["flips"][0]
    assert [change["feature"] for change in flip["changes"]] == ["on", "age"]


def test_a_row_is_named_in_the_output_and_found_in_standard_input(trained, songs):
    """The name of the rows, which the model knows, had to be given again where the data came from a pipe."""
    shown = ok("explain", trained, "-", "--row-id", "s16", input=songs.read_text())
    assert shown.splitlines()[0] == "row 17 of 120 (counted from 1): s16"
    assert shown == ok("explain", trained, songs, "--row", "17")


def test_a_store_is_no_data_for_the_studio(songs, tmp_path):
    ok("pack", songs, "--labels", "calm,happy,sad", "--drop", "id", "-o", tmp_path / "store", "-q")
    refused = run("studio", tmp_path / "store", "--project", tmp_path / "p.studio.json", "--no-browser")
    assert "a store holds codes to train on, not examples" in refused.stderr


def test_models_are_compared_on_the_same_rows(trained, songs, tmp_path):
    model = RuleList.load(trained)
    model.remove(0).save(tmp_path / "shorter.json")
    data = load(songs, model)
    told = ok_json("evaluate", tmp_path / "shorter.json", trained, songs)
    gap = score(data.Y, model.predict(data.X))["micro_f1"] - score(data.Y, model.remove(0).predict(data.X))["micro_f1"]
    value, low, high = told["models"]["differences"]["model"]["micro_f1"]
    assert value == pytest.approx(gap)
    assert low <= value <= high
    differ = int((model.predict(data.X) != model.remove(0).predict(data.X)).any(axis=1).sum())
    assert told["models"]["changes"]["model"]["rows"] == differ
    text = ok("evaluate", tmp_path / "shorter.json", trained, songs, "--rows", "2", "--no-per-label")
    assert f"{differ} of 120 rows differ" in text
    assert text.count("(truth ") >= 2
    RuleList((), model.features, ("calm", "other", "sad")).save(tmp_path / "other.json")
    assert "other labels" in run("evaluate", trained, tmp_path / "other.json", songs).stderr


def test_probabilities_and_groups_are_scored(trained, songs):
    model = RuleList.load(trained)
    data = load(songs, model)
    told = ok_json("evaluate", trained, songs, "--probabilities", "--by-group", "key")
    expected = score_probabilities(data.Y, model.predict_proba(data.X), model.label_names)
    assert told["probabilities"] == expected.as_dict()
    assert told["groups"]["column"] == "key"
    assert sum(told["groups"]["sizes"]) == 120
    assert told["groups"]["labels"]["all labels"]["recall"]
    text = ok("evaluate", trained, songs, "--probabilities", "--by-group", "key")
    assert "LRAP" in text
    assert "groups by key" in text
    assert "no column 'keys'" in run("evaluate", trained, songs, "--by-group", "keys").stderr
