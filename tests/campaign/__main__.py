"""``python -m tests.campaign --minutes 10 --seed 0``: compare engines until the time is over."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from tests.campaign.comparing import Result, compare, is_quick
from tests.campaign.programs import program
from tests.campaign.shrinking import shrink
from tests.campaign.worlds import World, draw


def world_of(seed: int, number: int) -> tuple[World, bool]:
    """World `number` of a seed, and whether it is small enough for the twin."""
    small = number % 6 == 0
    return draw(np.random.default_rng([seed, number]), small=small), small


def main() -> int:
    """Run the campaign; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--out", type=Path, default=Path("build/campaign"), help="folder for programs of mismatches")
    parser.add_argument("--most", type=int, default=20, help="mismatches after which to end")
    parser.add_argument("--patience", type=float, default=300, help="seconds after which a world does not end")
    parser.add_argument("--quick", action="store_true", help="only worlds that do not need the reference")
    parser.add_argument("--without", action="append", default=[], help="leave out worlds with this tag")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    end = time.monotonic() + 60 * args.minutes
    rules: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    number = args.first
    while time.monotonic() < end and kinds.total() < args.most:
        world, small = world_of(args.seed, number)
        left_out = set(args.without) & set(world.tags()) or (args.quick and not is_quick(world))
        with _patience(args, world, number):
            result = None if left_out else compare(world, small and not args.quick, quick=args.quick or number % 4 != 0)
        if result is not None:
            rules.update(result.rules)
            if result.differs:
                kinds[_report(world, small, args, number)] += 1
        number += 1
        if number % 2000 == 0:
            print(f"{number} worlds, {rules.total()} rules, {kinds.total()} mismatches", flush=True)
    print(f"seed {args.seed}: worlds {args.first} to {number - 1}, {rules.total()} rules compared")
    print(f"{time.process_time() / 60:.1f} CPU minutes")
    for kind, count in sorted(rules.items()):
        print(f"  {count:9} {kind}")
    print(f"{kinds.total()} mismatches")
    for kind, count in kinds.most_common():
        print(f"  {count:9} {kind}")
    return int(bool(kinds))


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
    args.out.mkdir(parents=True, exist_ok=True)
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
