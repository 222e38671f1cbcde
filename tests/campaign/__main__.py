"""``python -m tests.campaign --minutes 10 --seed 0``: compare engines until the time is over.

What was compared is kept in a file by compiled core and seed: the same command goes on where it ended, and a core that
was built anew begins anew.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tests.campaign.comparing import Result, compare
from tests.campaign.programs import program
from tests.campaign.shrinking import shrink
from tests.campaign.tally import Tally, core, kept
from tests.campaign.worlds import World, draw

CHUNK = 100  # worlds that a process compares before it tells
SMALL = 6  # one world of so many is small enough for the twin


def world_of(seed: int, number: int) -> tuple[World, bool]:
    """World `number` of a seed, and whether it is small enough for the twin."""
    small = number % SMALL == 0
    return draw(np.random.default_rng([seed, number]), small=small), small


def main() -> int:
    """Run the campaign; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=Path("build/campaign"), help="folder for tallies and mismatches")
    parser.add_argument("--most", type=int, default=20, help="mismatches after which to end")
    parser.add_argument("--patience", type=float, default=300, help="seconds after which a world does not end")
    parser.add_argument("--without", action="append", default=[], help="leave out worlds with this tag")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * args.minutes
    tally = kept(args.out, core(), args.seed)
    shown = tally.cpu_minutes
    with ProcessPoolExecutor(args.jobs) as pool:
        ahead: list[Future[Tally]] = []
        first = tally.worlds
        while ahead or time.monotonic() < end:
            while len(ahead) < 2 * args.jobs and time.monotonic() < end and sum(tally.mismatches.values()) < args.most:
                ahead.append(pool.submit(compared, args, first))
                first += CHUNK
            if not ahead:
                break
            tally.add(ahead.pop(0).result())  # in order, so that the tally is of all worlds before the next
            tally.save(args.out)
            if tally.cpu_minutes > shown + 1:
                shown = tally.cpu_minutes
                print(tally.line(), flush=True)
    print(tally)
    return int(bool(tally.mismatches))


def compared(args: argparse.Namespace, first: int) -> Tally:
    """Compare a chunk of worlds."""
    warnings.simplefilter("ignore")
    begun = time.process_time()
    tally = Tally(core(), args.seed)
    for number in range(first, first + CHUNK):
        world, small = world_of(args.seed, number)
        if not set(args.without) & set(world.tags()):
            try:
                with _patience(args, world, number):
                    result = compare(world, small)
            except Exception as problem:  # of the reference or the estimator: a finding like any other
                result = None
                tally.mismatches[_write(args, world, number, Result(what=f"{problem!r}"))] += 1
            if result is not None:
                tally.rules.update(result.rules)
                tally.of_reference += result.of_reference
                if result.differs:
                    tally.mismatches[_report(world, small, args, number)] += 1
        tally.worlds += 1
    tally.cpu_minutes = (time.process_time() - begun) / 60
    return tally


@contextmanager
def _patience(args: argparse.Namespace, world: World, number: int) -> Iterator[None]:
    """End the campaign with a program of a world that does not end; the kernels let other threads run."""

    def give_up() -> None:
        _write(args, world, number, Result(what="an engine does not end"))
        os._exit(1)

    timer = threading.Timer(args.patience, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _write(args: argparse.Namespace, world: World, number: int, result: Result) -> str:
    kind = f"{result.what}: {', '.join(world.tags()) or 'nothing unusual'}"
    path = args.out / f"mismatch_{args.seed}_{number}.py"
    path.write_text(program(world, result), encoding="utf-8")
    print(f"world {number} differs ({kind}); {path} shows it", flush=True)
    return kind


def _report(world: World, small: bool, args: argparse.Namespace, number: int) -> str:
    def differs(candidate: World) -> bool:
        found = compare(candidate, twin=small)
        return found is not None and found.differs

    world = shrink(world, differs)
    result = compare(world, twin=small)
    assert result is not None
    return _write(args, world, number, result)


if __name__ == "__main__":
    sys.exit(main())
