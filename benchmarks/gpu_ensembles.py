"""Random worlds, from which the GPU and the processor learn ensembles: every digit of the stored model is compared."""

from __future__ import annotations

import time
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np

from gpu_worlds import random_world
from polyrule import RuleEnsembleClassifier, config_context
from polyrule.model import RuleList
from polyrule.model.files import dumps
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.store import Packed


def file_of(model: RuleList | RuleEnsemble) -> str:
    """The model as it is stored, but for where it was learned."""
    return dumps(replace(model, info={key: value for key, value in model.info.items() if key != "options"}))


def random_options(rng: np.random.Generator, packed: Packed) -> dict[str, Any]:
    numeric = [feature.name for feature in packed.features if not feature.is_nominal]
    options: dict[str, Any] = {"max_rules": int(rng.integers(1, 8)), "cv": int(rng.choice([0, 2])), "teacher": None}
    options |= {"max_bins": int(rng.choice([4, 64]))}
    options |= {"labels_per_head": None if rng.random() < 0.3 else 4}
    limits: dict[str, Any] = {}
    if numeric and rng.random() < 0.3:
        limits["monotone"] = {numeric[0]: str(rng.choice(["up", "down"]))}
    if rng.random() < 0.3:
        limits["features"] = {packed.label_names[0]: [packed.features[0].name]}
    return options | {"constraints": limits}


def check_ensembles(worlds: int, seconds: float, seed: int, processes: int) -> dict[str, Any]:
    """Divide the worlds among processes that share the GPU; any difference ends it with an error."""
    started = time.monotonic()
    with get_context("spawn").Pool(processes) as pool:
        found = pool.starmap(check_some, [(worlds, seconds, seed, i, processes) for i in range(processes)])
    told = {name: sum(part[name] for part in found) for name in found[0]}
    return told | {"seed": seed, "differences": 0, "seconds": time.monotonic() - started}


def check_some(worlds: int, seconds: float, seed: int, first: int, step: int) -> dict[str, int]:
    """Learn from every so many-th world with both."""
    started, told = time.monotonic(), {"worlds": 0, "rules compared": 0}
    for number in range(first, worlds, step):
        if time.monotonic() - started > seconds:
            break
        rng = np.random.default_rng([seed, number])
        packed = random_world(rng)
        options = random_options(rng, packed)
        here = RuleEnsembleClassifier(**options).fit(packed).model_
        with config_context(device="cuda"):
            there = RuleEnsembleClassifier(**options).fit(packed).model_
        assert file_of(here) == file_of(there), f"world {number} of seed {seed}: {here} {there}"
        told["worlds"] += 1
        told["rules compared"] += len(here)
    return told
