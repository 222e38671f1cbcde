from pathlib import Path

import pytest

from polyrule.errors import OptionError
from polyrule.evaluation.experiment import load_spec, parse_spec
from polyrule.evaluation.experiment.one_run import plan_runs

MINIMAL = """
[[data]]
name = "flags"
[[learner]]
name = "tree"
class = "sklearn.tree.DecisionTreeClassifier"
"""
EXPERIMENTS = Path(__file__).parents[3] / "experiments"


def test_defaults():
    spec = parse_spec(MINIMAL)
    assert spec.data[0].source == "flags"
    assert spec.learners[0].input == "matrix"
    assert spec.split.kind == "parts"
    assert [run.split_name for run in plan_runs(spec)] == ["test"]


def test_grid_makes_one_learner_per_combination():
    text = MINIMAL + 'grid.criterion = ["gini", "entropy"]\ngrid.max_depth = [1, 2]\n'
    spec = parse_spec(text)
    assert [learner.name for learner in spec.learners] == [
        "tree gini 1",
        "tree gini 2",
        "tree entropy 1",
        "tree entropy 2",
    ]
    assert {learner.family for learner in spec.learners} == {"tree"}
    assert spec.learners[3].parameters == {"criterion": "entropy", "max_depth": 2}


def test_own_classes_get_tables():
    spec = parse_spec(MINIMAL.replace("sklearn.tree.DecisionTreeClassifier", "polyrule.RuleListClassifier"))
    assert spec.learners[0].input == "table"


def test_folds_and_seeds():
    spec = parse_spec(MINIMAL + "[split]\nkind = 'folds'\nfolds = 3\nseeds = [1, 2]\n")
    runs = plan_runs(spec)
    assert len(runs) == 6
    assert runs[4].split_name == "seed 2 fold 2"
    assert len({run.key for run in runs}) == 6


def test_a_key_changes_with_what_decides_the_result_and_with_nothing_else():
    def key(text):
        return plan_runs(parse_spec(text))[0].key

    assert key(MINIMAL) == key(MINIMAL + 'family = "trees"\nmeasure = "x"\n[limits]\nseconds = 5\n')
    for change in ("parameters = { max_depth = 2 }", "tune = { max_depth = [1, 2] }", 'input = "table"'):
        assert key(MINIMAL) != key(MINIMAL + change)
    assert key(MINIMAL) != key(MINIMAL.replace('"flags"', '"flags"\ndiscretise = 10'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"at least one \[\[data\]\] is needed"),
        ("[[data]]\nname = 'x'\n", r"at least one \[\[learner\]\] is needed"),
        (MINIMAL + "colour = 'red'\n", r"\[\[learner\]\] number 1: unknown key 'colour'"),
        (MINIMAL + "[limits]\nseconds = 'long'\n", r"\[limits\]: seconds must be a number of at least 0, got 'long'"),
        (MINIMAL + "[split]\nkind = 'halves'\n", "kind must be one of parts, folds, got 'halves'"),
        (MINIMAL + "[split]\nkind = 'folds'\nfolds = 1\n", "folds must be a whole number of at least 2"),
        (MINIMAL + "[split]\nseeds = []\n", "seeds must be a list of whole numbers"),
        ("workers = 0\n" + MINIMAL, "workers must be a whole number of at least 1, got 0"),
        ("measures = ['f3']\n" + MINIMAL, "unknown measure 'f3'"),
        (MINIMAL + "[[comparison]]\ndata = ['moon']\n", r"no data set is named 'moon' \(there are: flags\)"),
        (MINIMAL + "[[learner]]\nname = 'tree'\nclass = 'a.B'\n", "two entries for learner 'tree'"),
        (MINIMAL + "[[learner]]\nname = 'other'\n", "class is missing"),
        (MINIMAL.replace("[[data]]", "[data]"), r"data must be a list of tables, written \[\[data\]\]"),
        ("name = ", "not valid TOML"),
        (MINIMAL + "tune = {max_depth = 3}\n", "tune must be a table of lists of values, got {'max_depth': 3}"),
        (MINIMAL + "grid = {criterion = 'gini'}\n", "grid must be a table of lists"),
        (MINIMAL + "grid = {max_depth = []}\n", "grid must be a table of lists"),
        (MINIMAL + "[published]\nperformance = 3\n", r"\[published\]: performance must be a text, got 3"),
        (MINIMAL + "[published]\nfigures = 'a.csv'\n", r"\[published\]: unknown key 'figures'"),
        (MINIMAL + "[scores]\nempty_label = 2\n", r"\[scores\]: empty_label must be a number between 0 and 1, got 2"),
        (MINIMAL + "[[comparison]]\nlearners = ['tree', 'tree']\n", "the learner 'tree' is listed twice"),
        (MINIMAL + 2 * "[[comparison]]\n", "two entries for comparison 'comparison': give each its own name"),
        (MINIMAL + "[[comparison]]\nalpha = 5\n", "alpha must be a number between 0 and 1, got 5"),
        (
            MINIMAL + "[[comparison]]\nalpha = 1\n",
            r"\[comparison\]\] number 1: alpha must lie between 0 and 1, got 1",
        ),
        (
            MINIMAL.replace('"flags"', '"flags"\ndiscretise = 1'),
            "discretise must be at least 2 intervals, or 0 for none",
        ),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(OptionError, match=message):
        parse_spec(text, where="my.toml")


def test_unreadable_files(tmp_path):
    with pytest.raises(OptionError, match=r"cannot read experiment file .*missing.toml: No such file"):
        load_spec(tmp_path / "missing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="not UTF-8"):
        load_spec(tmp_path / "binary.toml")


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.name)
def test_the_experiments_of_this_repository_are_valid(path):
    spec = load_spec(path)
    assert len({run.key for run in plan_runs(spec)}) == len(plan_runs(spec))
    for file in spec.published.values():
        assert Path(file).is_file()


def test_the_papers_experiment_is_complete():
    spec = load_spec(EXPERIMENTS / "paper.toml")
    assert len(spec.comparisons[0].data) == 8
    assert len(spec.comparisons[0].learners) == 10
    assert len(plan_runs(spec)) == 11 * 10
