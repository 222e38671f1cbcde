"""A mismatch made small: whatever can go without the mismatch going goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.campaign.worlds import World


def shrink(world: World, differs: Callable[[World], bool], seconds: float = 30) -> World:
    """Return a smaller world that still differs; tries for so long."""
    end = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < end:
        again = False
        for smaller in _smaller(world):
            if time.monotonic() > end:
                break
            if _still(smaller, differs):
                world, again = smaller, True
                break
    return world


def _still(world: World, differs: Callable[[World], bool]) -> bool:
    try:
        return differs(world)
    except Exception:  # not a world at all, for instance one that lost its last row
        return False


def _smaller(world: World) -> Iterator[World]:
    """Simpler worlds, the boldest cuts first."""
    if world.more:
        yield from (replace(world, limits=limits, more=[]) for limits in (world.limits, *world.more))
    if world.order:
        yield replace(world, order=[])
    for part in _parts(len(world.X)):
        keep = [i for i in range(len(world.X)) if i not in part]
        if keep:
            order = [keep.index(i) for i in world.order if i not in part]
            rows = {name: _take(getattr(world, name), keep) for name in ("X", "Y", "weights")}
            yield replace(world, **rows, order=order)
    for part in _parts(len(world.steps)):
        yield replace(world, steps=[step for i, step in enumerate(world.steps) if i not in part])
    for j in range(len(world.kinds)):
        keep = [i for i in range(len(world.kinds)) if i != j]
        if keep:
            yield replace(world, X=[_take(row, keep) for row in world.X], kinds=_take(world.kinds, keep))
    for k in range(len(world.Y[0]) - 1, 0, -1):  # a label that no step names
        if all(literal is None or literal[0] < k for _, literal, _ in world.steps):
            yield replace(world, Y=[row[:k] + row[k + 1 :] for row in world.Y])
    for name in world.limits:
        yield replace(world, limits={n: v for n, v in world.limits.items() if n != name})
    for name in world.options:
        yield replace(world, options={n: v for n, v in world.options.items() if n != name})
    if world.threads > 1:
        yield replace(world, threads=1)
    if world.sparse:
        yield replace(world, sparse=False)
    if world.counted:
        yield replace(world, counted=False)
    if world.sparse_labels:
        yield replace(world, sparse_labels=False)
    if set(world.weights) != {1}:
        yield replace(world, weights=[1] * len(world.weights))
    for name in world.objective:
        if name != "measure":
            yield replace(world, objective={n: v for n, v in world.objective.items() if n != name})


def _parts(size: int) -> Iterator[set[int]]:
    """Halves, quarters, … and single places."""
    step = (size + 1) // 2
    while size and step >= 1:
        for start in range(0, size, step):
            yield set(range(start, min(size, start + step)))
        step //= 2


def _take(items: list[Any], keep: list[int]) -> list[Any]:
    return [items[i] for i in keep]
