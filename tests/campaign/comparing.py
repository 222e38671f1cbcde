"""One world on two engines: everything they say must be the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tests.campaign.worlds import World
from tests.search.limits import native_engine
from tests.twin.engine import TwinEngine
from tests.twin.predicting import predict as slow_predict

import polyrule
from polyrule.data.labels import has_unknown
from polyrule.data.preparation import as_fitted
from polyrule.measures import Objective
from polyrule.search.native import is_supported
from polyrule.search.protocol import Candidate
from polyrule.search.reference import ReferenceEngine


@dataclass
class Result:
    """What a comparison showed: rules compared by kind, with how many of the reference, and what differs first."""

    rules: Counter[str] = field(default_factory=Counter)
    of_reference: int = 0
    step: int | None = None
    what: str = ""
    found: Any = None
    expected: Any = None

    @property
    def differs(self) -> bool:
        """Whether something differs."""
        return self.step is not None


def compare(world: World, twin: bool = False) -> Result | None:
    """Compare the compiled engine, with each set of limits, and the `twin` with the reference; None without either."""
    if world.fit is not None:
        return _compare_fits(world)
    arguments = world.arguments()
    objective: Objective = arguments[3]
    supported = is_supported(objective, len(world.X), len(world.Y[0]), int(arguments[2].sum()))
    if has_unknown(arguments[1]) and objective.measure.name == "subset":  # left to the reference
        supported = False
    if not supported and not twin:
        return None
    engines: dict[str, Any] = {"reference": ReferenceEngine(*arguments)}
    if supported:
        for number, limits in enumerate((world.limits, *world.more)):
            engines[f"native: {number}"] = native_engine(*arguments, limits=limits, n_jobs=world.threads)
        engines |= _permuted(world)
    if twin:
        engines["twin"] = TwinEngine(*arguments)
    return _follow(world, engines)


class Permuted:
    """An engine whose rows are in another order; seen from outside they are not."""

    def __init__(self, engine: Any, order: list[int]) -> None:
        self.engine = engine
        self.order = np.array(order)
        self.place = np.argsort(self.order)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def grow(self, *literal: int) -> Candidate | None:
        return self._moved(self.engine.grow(*literal), self.order)

    def grow_single(self) -> Candidate | None:
        return self._moved(self.engine.grow_single(), self.order)

    def commit(self, candidate: Candidate, *how: Any) -> Any:
        return self.engine.commit(self._moved(candidate, self.place), *how)

    def _moved(self, found: Candidate | None, where: Any) -> Candidate | None:
        return None if found is None else replace(found, cover=np.sort(where[found.covered]))


def _permuted(world: World) -> dict[str, Any]:
    if not world.order:
        return {}
    return {"native, permuted": Permuted(native_engine(*world.permuted().arguments()), world.order)}


def _follow(world: World, engines: dict[str, Any]) -> Result:
    result = Result()
    others = [name for name in engines if name != "reference"]
    reference = engines["reference"]
    for step, (what, literal, commit) in enumerate(world.steps):
        if not reference.has_unset or not reference.remaining:
            break
        expected = _grow(reference, what, literal)
        result.of_reference += 1
        for name in others:
            try:
                found = _grow(engines[name], what, literal)
            except Exception as error:  # an engine that breaks down differs, too
                found = error
            if not _same(found, expected):
                return _different(result, step, f"{what} ({name})", _shown(found), _shown(expected))
            result.rules[f"{what} ({name.partition(':')[0]})"] += 1
        if expected is None:
            break
        outcome = reference.commit(expected, *commit)
        stated = _state(reference)
        for name in others:
            done = engines[name].commit(expected, *commit)
            if done != outcome:
                return _different(result, step, f"commit ({name})", done, outcome)
            if (state := _state(engines[name])) != stated:
                return _different(result, step, f"state ({name})", state, stated)
    return result


def _grow(engine: Any, what: str, literal: tuple[int, int] | None) -> Any:
    return engine.grow_single() if what == "single" else engine.grow(*(literal or ()))


def _same(found: Any, expected: Any) -> bool:
    if found is None or expected is None or isinstance(found, Exception):
        return found is expected
    return _shown(found) == _shown(expected) and np.array_equal(found.covered, expected.covered)


def _shown(candidate: Any) -> Any:
    if candidate is None or isinstance(candidate, Exception):
        return candidate
    return candidate.value, tuple(candidate.head), tuple(candidate.body)


def _state(engine: Any) -> tuple[Any, ...]:
    return engine.remaining, engine.has_unset, np.asarray(engine.leftover()).tolist()


def _different(result: Result, step: int, what: str, found: Any, expected: Any) -> Result:
    result.step, result.what, result.found, result.expected = step, what, found, expected
    return result


def _compare_fits(world: World) -> Result | None:
    assert world.fit is not None
    name, parameters = world.fit
    result = Result()

    def fitted(of: World, **how: Any) -> Any:
        weights = None if set(of.weights) == {1} else of.weights
        estimator = getattr(polyrule, name)(**parameters, **how)
        return estimator.fit(of.table(), of.truth(), weights).rules_

    with polyrule.config_context(kernels="reference"):
        reference = fitted(world)
    ways = {"": fitted(world, n_jobs=world.threads)}
    if world.counted:
        ways[" counted"] = fitted(world, max_bins=255)
    if world.order:
        ways[" permuted"] = fitted(world.permuted())
    for way, model in ways.items():
        kind = f"fit {name}{way}"
        if _list(model) != _list(reference):
            return _different(result, 0, kind, _list(model), _list(reference))
        result.rules[kind] += len(model)
    result.of_reference += len(reference)
    table = as_fitted(world.table(), reference.features)  # days between dates are columns, too
    dense = np.stack([table.column(j) for j in range(len(table.features))], axis=1)
    predicted = reference.predict(world.table()).tolist()
    by_hand = [slow_predict(reference, row) for row in dense]
    if predicted != by_hand:
        return _different(result, 0, f"predict {name}", predicted, by_hand)
    return result


def _list(model: Any) -> tuple[Any, ...]:
    return model.rules, model.defaults, model.default_counts
