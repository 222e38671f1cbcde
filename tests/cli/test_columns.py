"""Options that name columns: given twice they add up or are refused, and no column leaks into a model."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.helpers import ok, ok_json, run

NAMES = ["a", "b", "c", "day", "until", "who", "code", "zip", "y", "z"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose columns a and c give the labels away."""
    rng = np.random.default_rng(0)
    lines = [",".join(NAMES)]
    for number in range(200):
        a, b, c = rng.normal(size=3).round(3)
        day = 20210101 + int(rng.integers(0, 28))
        cells = [a, b, c, day, day + 1, f"p{number}", int(rng.integers(3)), int(rng.integers(3)), a > 0.3, c > 0.2]
        lines.append(",".join(str(int(cell) if isinstance(cell, (bool, np.bool_)) else cell) for cell in cells))
    path = tmp_path_factory.mktemp("columns") / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def described(table: Path, *options: str) -> dict[str, str]:
    """Kind of every feature of a model that is trained with these options."""
    model = table.with_name("model.json")
    ok("train", table, *options, "--max-rules", "2", "--teacher", "none", "-q", "-o", model)
    return {feature["name"]: feature["kind"] for feature in json.loads(model.read_text())["features"]}


LABELS = ("--labels", "y,z")
PLAIN = (*LABELS, "--drop", "who")


def test_labels_add_up(table: Path) -> None:
    assert {"y", "z"}.isdisjoint(described(table, "--labels", "y", "--labels", "z", "--drop", "who"))


@pytest.mark.parametrize(
    "spelled", [("--drop", "a", "--drop", "c"), ("--drop", "a,c"), ("--drop", "a", "--drop", "c,a")]
)
def test_dropped_columns_add_up(table: Path, spelled: tuple[str, ...]) -> None:
    features = described(table, *LABELS, *spelled, "--drop", "who")
    assert {"a", "c", "who"}.isdisjoint(features)
    assert "b" in features


@pytest.mark.parametrize(
    ("option", "columns", "kind"),
    [("--nominal", ("code", "zip"), "nominal"), ("--numeric", ("code", "zip"), "numeric")],
)
def test_kinds_add_up(table: Path, option: str, columns: tuple[str, str], kind: str) -> None:
    features = described(table, *PLAIN, option, columns[0], option, columns[1])
    assert [features[column] for column in columns] == [kind, kind]


def test_dates_add_up(table: Path) -> None:
    features = described(table, *PLAIN, "--date", "day", "--date", "until")
    assert {"day weekday", "until weekday"} <= features.keys()


def test_ordinal_columns_add_up(table: Path) -> None:
    twice = ("--ordinal", "code=0,1,2", "--ordinal", "zip=2,1,0")
    features = described(table, *PLAIN, *twice)
    assert (features["code"], features["zip"]) == ("ordinal", "ordinal")
    refused = run("train", table, *PLAIN, "--ordinal", "code=0,1,2", "--ordinal", "code=2,1,0")
    assert "--ordinal says two orders of code; give one" in refused.stderr


@pytest.mark.parametrize("spelled", [("--forbid", "a", "--forbid", "c"), ("--forbid", "a,c")])
def test_forbidden_columns_add_up(table: Path, spelled: tuple[str, ...]) -> None:
    bodies = [rule["body"] for rule in ok_json("train", table, *PLAIN, "--teacher", "none", *spelled)["rules"]]
    assert bodies
    assert not any(text.startswith(("a ", "c ")) for body in bodies for text in body.split(", "))


def test_features_of_a_label_add_up(table: Path) -> None:
    once = ok_json("train", table, *PLAIN, "--features", "y=a,b")["rules"]
    assert ok_json("train", table, *PLAIN, "--features", "y=a", "--features", "y=b")["rules"] == once


def test_a_direction_is_not_replaced(table: Path) -> None:
    refused = run("train", table, *PLAIN, "--monotone", "a=up", "--monotone", "a=down")
    assert "--monotone has two directions for a; pass one" in refused.stderr


@pytest.mark.parametrize("option", ["--id", "--weights", "--tags", "--label-file"])
def test_an_option_of_one_column_is_not_replaced(table: Path, option: str) -> None:
    refused = run("train", table, *LABELS, option, "who", option, "code")
    assert f"{option} names one " in refused.stderr
    assert "not who and code" in refused.stderr


def test_columns_to_keep_add_up(table: Path) -> None:
    model = table.with_name("keep.json")
    ok("train", table, *PLAIN, "--teacher", "none", "-q", "-o", model)
    header = ok("predict", model, table, "--keep", "who", "--keep", "code,zip").splitlines()[0]
    assert header == "who,code,zip,y,z"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--labels", "y", "--drop", "y"), "--drop: column 'y' is named by --labels too; name it once"),
        (("--labels", "y", "--labels", "z,who", "--id", "who"), "--id: column 'who' is named by --labels too"),
        (("--labels", "y", "--drop", "a", "--numeric", "a"), "--numeric: column 'a' is named by --drop too"),
        (("--labels", "y", "--nominal", "zip", "--ordinal", "zip=0,1,2"), "column 'zip' is named by --nominal too"),
        (("--labels", "y", "--drop", "a", "--drop", "dya"), "--drop: there is no column 'dya'; did you mean 'day'?"),
        (("--labels", "y", "--forbid", "a,bb"), "--forbid: there is no feature 'bb'"),
    ],
)
def test_names_that_overlap_or_do_not_exist_are_refused(table: Path, options: tuple[str, ...], message: str) -> None:
    result = run("train", table, *options)
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_name_goes_before_a_pattern(table: Path) -> None:
    """What a pattern also matches is no contradiction: all of y and z but z."""
    assert "z" not in described(table, "--labels", "last:2", "--drop", "z,who")


def test_a_configuration_file_holds_lists(table: Path, tmp_path: Path) -> None:
    words = ("train", table, "--labels", "y", "--labels", "z", "--drop", "a", "--drop", "c", "--drop", "who")
    config = tmp_path / "t.toml"
    config.write_text(ok(*words, "--dump-config"))
    assert 'drop = ["a", "c", "who"]' in config.read_text()
    result = ok_json("train", table, "--config", config)
    assert result["rules"] == ok_json(*words)["rules"]
