"""What a user meets at the top of the package, and mistakes that must not pass in silence."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from tests.cli.helpers import run

import polyrule
from polyrule import RuleListClassifier
from polyrule.errors import MeasureError


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"tempo": rng.normal(100, 20, 60).round(), "key": rng.choice(["C", "D", "E"], 60)})
    return data.assign(calm=(data["tempo"] < 95).astype(int), bright=(data["key"] != "D").astype(int))


@pytest.mark.parametrize("name", [name for name in polyrule.__all__ if not name.startswith("__")])
def test_every_public_name_exists(name: str) -> None:
    assert getattr(polyrule, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = polyrule.nothing_of_this_name


def public() -> dict[str, object]:
    """Every class and function that an ``__all__`` names, once."""
    found: dict[int, tuple[str, object]] = {}
    for module in [polyrule, *map(_import, pkgutil.walk_packages(polyrule.__path__, "polyrule."))]:
        for name in getattr(module, "__all__", ()):
            what = getattr(module, name)
            if getattr(what, "__module__", "").startswith("polyrule") and callable(what):
                found.setdefault(id(what), (f"{module.__name__}.{name}", what))
    return dict(found.values())


def _import(info: pkgutil.ModuleInfo) -> ModuleType:
    return importlib.import_module(info.name) if "._" not in info.name else polyrule


def test_every_public_name_and_parameter_is_described() -> None:
    gaps = []
    for name, what in public().items():
        text = inspect.getdoc(what) or ""
        if not text or text.startswith(f"{name.rpartition('.')[2]}("):  # what a dataclass says of itself
            gaps.append(name)
        if inspect.isclass(what) and not issubclass(what, Exception):
            methods = [key for key, value in vars(what).items() if key[0] != "_" and inspect.isfunction(value)]
            gaps += [f"{name}.{key}" for key in methods if not inspect.getdoc(getattr(what, key))]
        if not (inspect.isclass(what) and issubclass(what, Exception)):
            given = [
                key for key in inspect.signature(what).parameters if key[0] != "_" and key not in ("args", "kwargs")
            ]
            gaps += [f"{name}({key})" for key in given if not re.search(rf"\b{key}\b", text)]
    assert not gaps


@pytest.mark.parametrize("name", ["f05", "F05", "f007"])
def test_a_beta_with_a_leading_zero_is_not_guessed(name: str) -> None:
    with pytest.raises(MeasureError, match=name):
        polyrule.measures.get(name)


def test_a_stored_list_predicts_and_explains_frames(frame, tmp_path) -> None:
    X, Y = frame[["tempo", "key"]], frame[["calm", "bright"]]
    model = RuleListClassifier.paper("precision").fit(X, Y)
    model.rules_.save(tmp_path / "model.json")
    again = polyrule.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.explain(X, row=3)) == str(model.explain(X, row=3))


def test_an_output_never_replaces_what_is_read(frame, tmp_path) -> None:
    songs, model = tmp_path / "songs.csv", tmp_path / "model.json"
    frame.to_csv(songs, index=False)
    labels = ["--labels", "calm,bright"]
    before = songs.read_bytes()
    assert run("train", songs, *labels, "-o", model, "-q").exit_code == 0
    stored = model.read_bytes()
    for command in (
        ["train", str(songs), *labels, "-o", str(songs)],
        ["predict", str(model), str(songs), "-o", str(songs)],
        ["predict", str(model), str(songs), "-o", str(model)],
        ["report", str(model), "--data", str(songs), *labels, "-o", str(model)],
    ):
        result = run(*command)
        assert result.exit_code == 1, command
        assert "read by this command" in result.stderr
    assert songs.read_bytes() == before
    assert model.read_bytes() == stored


def test_a_time_limit_says_so(frame, tmp_path) -> None:
    songs = tmp_path / "songs.csv"
    frame.to_csv(songs, index=False)
    result = run("train", songs, "--labels", "calm,bright", "--time-limit", "1e-9")
    assert result.exit_code == 0
    assert "the time limit ended learning" in result.stderr
