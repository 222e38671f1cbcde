"""A mistyped name is answered with the name that was probably meant."""

import pytest
from tests.cli.helpers import READING, run

CASES = {
    "command": ("trian x", "'train'"),
    "command of a group": ("edit remov model", "'remove'"),
    "label column": ("train songs --labels clam,sad", "'calm'"),
    "dropped column": ("train songs --labels calm --drop loudnes", "'loudness'"),
    "measure": ("train songs READING --measure precison", "'precision'"),
    "data set": ("train emotoins:train", "'emotions:train'"),
    "data set to be described": ("data yeats", "'yeast'"),
    "file": ("data song", "'songs.csv'"),
    "label to show": ("show model --label hapy", "'happy'"),
    "feature to show": ("show model --feature Tempo", "'tempo'"),
    "label to flip": ("explain model songs --row 1 --flip hapy", "'happy'"),
    "feature to keep": ("explain model songs --row 1 --flip happy --fixed temp", "'tempo'"),
    "label of a rule": ("edit insert model hapy<-true", "'happy'"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_probably_meant(case, model, songs):
    text, meant = CASES[case]
    places = {"model": [model], "songs": [songs], "song": [songs.with_name("song.csv")], "READING": READING}
    words = [word for part in text.split() for word in places.get(part, [part])]
    result = run(*words)
    assert result.exit_code in (1, 2)
    assert f"did you mean {meant}" in result.stderr, result.stderr


def test_a_column_of_the_model_that_is_spelled_otherwise(model, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("id,Tempo,key,loudness\na,100,major,1\n")
    result = run("predict", model, data)
    assert "needs column(s) 'tempo'" in result.stderr
    assert "did you mean 'Tempo'?" in result.stderr


def test_an_option_in_a_configuration_file(songs, tmp_path):
    config = tmp_path / "options.toml"
    config.write_text('[train]\nmeasur = "f1"\n')
    assert "did you mean 'measure'?" in run("train", songs, "--config", config).stderr


def test_nothing_is_suggested_where_nothing_is_alike(model):
    result = run("show", model, "--label", "zzz")
    assert "the model has no label 'zzz'" in result.stderr
    assert "did you mean" not in result.stderr
