"""Experiments on files of one's own."""

import pytest

from polyrule.errors import DataError, OptionError
from polyrule.evaluation.experiment import load_spec
from polyrule.evaluation.experiment.one_run import execute, load_parts, plan_runs

SPEC = """
[[data]]
name = "songs"
file = "data/train.csv"
{more}
[[learner]]
name = "rules"
class = "polyrule.RuleListClassifier"
parameters = {{ max_rules = 2 }}
"""
TRAIN = "id,size,mood\n" + "".join(f"r{n},{n},{'low' if n < 20 else 'high|big'}\n" for n in range(40)) + "x,3,rare\n"
TEST = "id,size,mood\na,3,low\nb,30,big|high\nc,31,big\n"


def experiment(folder, more):
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/train.csv").write_text(TRAIN)
    (folder / "data/test.csv").write_text(TEST)
    (folder / "e.toml").write_text(SPEC.format(more=more))
    return plan_runs(load_spec(folder / "e.toml"))


def test_a_file_and_its_test_part(tmp_path):
    (run,) = experiment(tmp_path, 'test = "data/test.csv"\nparameters = { tags = "mood", identifier = "id" }')
    train, test = load_parts(run)
    assert (len(train), len(test)) == (41, 3)
    assert train.label_names == test.label_names == ("big", "high", "low", "rare")
    assert test.Y.tolist() == [[0, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]
    row = execute(run, {})
    assert (row["status"], row["train_examples"], row["test_examples"]) == ("ok", 41, 3)
    assert row["micro_f1"] > 0.7


def test_a_file_alone_is_cut_and_folded(tmp_path):
    more = 'parameters = { tags = "mood", identifier = "id" }'
    (run,) = experiment(tmp_path, more)
    assert [len(part) for part in load_parts(run)] == [28, 13]
    runs = experiment(tmp_path, more + '\n[split]\nkind = "folds"\nfolds = 4')
    assert sum(len(load_parts(run)[1]) for run in runs) == 41


def test_what_a_file_holds_decides_the_key_not_where_it_lies(tmp_path):
    more = 'test = "data/test.csv"\nparameters = { tags = "mood" }'
    (tmp_path / "other").mkdir()
    (one,), (same,) = experiment(tmp_path, more), experiment(tmp_path / "other", more)
    assert one.key == same.key
    (tmp_path / "data/test.csv").write_text(TEST + "d,4,low\n")
    (changed,) = plan_runs(load_spec(tmp_path / "e.toml"))
    assert changed.key != one.key


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('test = "none.csv"', r"\[\[data\]\] number 1: cannot read .*none.csv: No such file"),
        ('make = "a.b"', "not both"),
    ],
)
def test_wrong_files_get_a_sentence(tmp_path, more, words):
    with pytest.raises(OptionError, match=words):
        experiment(tmp_path, more)
    with pytest.raises(OptionError, match=r"say file = …, too"):
        load_spec_of(tmp_path, '[[data]]\nname = "flags"\ntest = "x.csv"\n[[learner]]\nname = "a"\nclass = "b.C"\n')


def test_wrong_parameters_get_a_sentence(tmp_path):
    (run,) = experiment(tmp_path, 'parameters = { lables = "mood" }')
    with pytest.raises(OptionError, match=r"parameters of a file are those of polyrule\.data\.read"):
        load_parts(run)
    (run,) = experiment(tmp_path, 'test = "data/test.csv"\nparameters = { labels = "mod" }')
    with pytest.raises(DataError, match="did you mean 'mood'"):
        load_parts(run)


def load_spec_of(folder, text):
    (folder / "x.toml").write_text(text)
    return load_spec(folder / "x.toml")
