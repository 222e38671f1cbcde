"""`benchmarks/ablation.py`: variants, frozen splits, and paired differences."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyrule.ensemble.growth import GrowthOptions

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ablation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    sys.modules.pop("ablation", None)
    return import_module("ablation")


def row(variant: str, data: str, split: int, micro: float, **numbers: float) -> dict[str, str]:
    values = {"macro_f1": 0.5, "log_loss": 0.2, "rules": 10, "conditions": 20, "labels": 2, "cpu_s": 1} | numbers
    texts = {name: str(value) for name, value in values.items()}
    return {"learner": "list", "variant": variant, "data": data, "split": str(split), "micro_f1": str(micro)} | texts


def current(place: str, ablation: Any) -> Any:
    owner, attribute = ablation.owner_of(place)
    parameter = signature(owner).parameters.get(attribute) if isinstance(owner, type) else None
    return getattr(owner, attribute) if parameter is None else parameter.default


def test_every_variant_changes_something_and_restores_it(ablation: Any) -> None:
    for estimator, options, variants in ablation.LEARNERS.values():
        defaults = {name: p.default for name, p in signature(estimator).parameters.items()} | options
        for name, variant in variants.items():
            assert (name == "base") == (not variant.options and not variant.constants), name
            for option, value in variant.options.items():
                assert defaults[option] != value, f"{name}: {option} is {value} by default"
            before = {place: current(place, ablation) for place in variant.constants}
            with ablation.in_effect(variant.constants):
                for place, value in variant.constants.items():
                    changed = current(place, ablation)
                    assert changed != before[place], f"{name}: {place}"
                    assert changed == (value.__func__ if isinstance(value, staticmethod) else value)
            assert {place: current(place, ablation) for place in variant.constants} == before


def test_a_default_of_a_dataclass_changes_alone(ablation: Any) -> None:
    with ablation.in_effect({"polyrule.ensemble.growth:GrowthOptions.judges": 31}):
        assert GrowthOptions().judges == 31
        assert GrowthOptions(max_conditions=2) == GrowthOptions(2, judges=31)
    assert GrowthOptions().judges == 6


def test_splits_are_disjoint_and_frozen(ablation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, scored = ablation.split_rows(30, seed=1)
    assert len(fitted) == 20
    assert sorted([*fitted, *scored]) == list(range(30))
    fitted, scored = ablation.split_rows(9000, seed=1)
    assert len(fitted) == len(scored) == ablation.MAX_ROWS
    assert not set(fitted) & set(scored)
    stored = ablation.read(ablation.SPLITS)
    assert len(stored) == len({row["seed"] for row in stored}) == len(ablation.SETS) * ablation.N_SPLITS
    train, held_out = ablation.load_split("emotions", 0)
    assert len(train) + len(held_out) == 391
    monkeypatch.setattr(ablation, "split_rows", lambda count, seed: (np.arange(5), np.arange(5, 9)))
    with pytest.raises(SystemExit, match="rows are not those"):
        ablation.load_split("emotions", 0)


def test_differences_are_paired_by_split_and_averaged_by_set(ablation: Any) -> None:
    rows = [row("base", "flags", 0, 0.6), row("base", "flags", 1, 0.9), row("base", "birds", 0, 0.4)]
    rows += [row("no teacher", "flags", 0, 0.62, rules=11, cpu_s=2), row("no teacher", "birds", 0, 0.40, rules=9)]
    base, other = ablation.table(rows, "list").splitlines()[2:]
    # base: the mean of .75 and .4; the variant: +.02 and 0 on the splits that both have
    assert base == "| as it is | .5750 | .5000 | .2000 | 10.0 | 20.0 | 2.0 | 1.0 |  | 3 |"
    assert other.startswith("| no teacher | +.0100 ± .0100 | +.0000 ± .0000 | +0.0 % | -0.5 % | +0.0 % | 2.0 | +50 % |")
    assert other.endswith("| 1 of 2 | 2 |")


def test_only_what_is_missing_is_measured(ablation: Any) -> None:
    given = argparse.Namespace(learners=["list"], variants=["base", "no teacher"], data=["flags"], splits=2, again=[])
    rows = [row("base", "flags", 0, 0.6)]
    left = [("list", "no teacher", "flags", 0), ("list", "base", "flags", 1), ("list", "no teacher", "flags", 1)]
    assert ablation.missing(rows, given) == left
    given.again = ["list"]
    assert ablation.missing(rows, given) == [("list", "base", "flags", 0)]


def test_a_row_is_measured_and_stored(ablation: Any, tmp_path: Path) -> None:
    measured = ablation.measure("ensemble", "no groups", "flags", 0)
    assert tuple(measured) == ablation.COLUMNS
    assert 0.5 < float(measured["micro_f1"]) < 0.9
    assert 0 < int(measured["rules"]) <= 30
    ablation.write(tmp_path / "rows.csv", [measured])
    assert ablation.read(tmp_path / "rows.csv") == [measured]
