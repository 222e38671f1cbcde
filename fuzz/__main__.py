"""Run the attack: a process per target, under limits of time and memory, until the time is up.

A finding is an input that ends in anything but a result or a typed error, or that takes too long or too much memory; it
is written to ``fuzz/findings`` and makes the exit code 1. With ``--keep``, small inputs that showed something new join
the corpus, which `make test` replays.
"""

from __future__ import annotations

import argparse
import hashlib
import mmap
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

from fuzz.targets import CORPUS, TARGETS, Target, quiet

FINDINGS = Path(__file__).parent / "findings"
SECONDS = 10
MEMORY = 1 << 30
_ROOM = 1 << 20


class TooLong(BaseException):
    """An input took longer than any input may; no Exception, so that nothing swallows it."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--targets", default="", help="names, separated by commas; all unless given")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="add small inputs that showed something new to the corpus")
    options = parser.parse_args()
    chosen = [target for target in TARGETS if not options.targets or target.name in options.targets.split(",")]
    seed = int(time.time()) if options.seed is None else options.seed
    total_share = sum(target.share for target in chosen)
    total, findings = 0, 0
    for target in chosen:
        seconds = 60 * options.minutes * target.share / total_share
        count, found, shapes = attack(target, seconds, seed, options.keep)
        total, findings = total + count, findings + found
        print(f"{target.name:<12} {count:>9,} inputs  {shapes:>4} shapes  {found} findings", flush=True)
    print(f"{'all':<12} {total:>9,} inputs  {findings} findings (seed {seed})")
    return 1 if findings else 0


def attack(target: Target, seconds: float, seed: int, keep: bool) -> tuple[int, int, int]:
    """Run inputs in processes of their own, as a crash ends one; returns inputs, findings and shapes of outcomes."""
    shared = mmap.mmap(-1, _ROOM + 64)
    left, count, findings, shapes, lives = seconds, 0, 0, 0, 0
    while left > 0 and lives < 20:
        lives += 1
        started = time.monotonic()
        _write(shared, 0, b"")
        process = os.fork()
        if process == 0:
            code = 1
            try:
                with quiet():
                    _work(target, left, random.Random(f"{seed} {target.name} {lives}"), shared, keep)
                code = 0
            except BaseException:  # the harness itself; an input's own errors are caught where it is run
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(process, 0)
        left -= time.monotonic() - started
        done, found, seen, raw = _read(shared)
        count, findings, shapes = count + done, findings + found, max(shapes, seen)
        if os.WIFSIGNALED(status):
            findings += 1
            _save(target, raw, f"killed by signal {os.WTERMSIG(status)}")
        elif os.WEXITSTATUS(status):
            return count, findings + 1, shapes
    return count, findings, shapes


def _work(target: Target, seconds: float, rng: random.Random, shared: mmap.mmap, keep: bool) -> None:
    pool = target.inputs()
    target.run(pool[0])  # imports take longer than any input may, and more memory
    pool = [raw for raw in pool if _is_quick(target, raw)] or pool[:1]
    end = time.monotonic() + seconds
    used = _address_space()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGPROF, _too_long)  # seconds of this process's own work
    signal.signal(signal.SIGALRM, _too_long)  # and, for one that waits, of the clock on the wall
    shapes: set[str] = set()
    found: set[str] = set()
    count = 0
    while time.monotonic() < end:
        raw = target.mutate(rng.choice(pool), pool, target.words, rng)
        _write(shared, count, raw, len(found), len(shapes))
        count += 1
        if count % 64 == 1:
            _set_timers(SECONDS)  # for a few dozen inputs at a time: setting a timer takes as long as a small one
        try:
            shape = target.run(raw)
        except (Exception, TooLong) as problem:
            shape = f"finding {type(problem).__name__} {_place(problem)}"
            if shape not in found:
                found.add(shape)
                _save(target, raw, "".join(traceback.format_exception(problem)))
            _set_timers(SECONDS)
        if shape not in shapes and len(pool) < 5000:
            shapes.add(shape)
            pool.append(raw)
            if keep and len(raw) <= 300 and "finding" not in shape:
                _keep(target, raw)
    _set_timers(0)
    _write(shared, count, b"", len(found), len(shapes))


def _is_quick(target: Target, raw: bytes) -> bool:
    """Whether an input is worth changing a thousand times: those that unpack to megabytes are only replayed."""
    started = time.process_time()
    target.run(raw)
    return time.process_time() - started < 0.02


def _set_timers(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 20 * seconds)


def _too_long(*_: object) -> None:
    raise TooLong


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if os.path.exists("/proc/self/statm") else 1 << 20
    return pages * resource.getpagesize()


def _place(problem: BaseException) -> str:
    frames = traceback.extract_tb(problem.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def _write(shared: mmap.mmap, count: int, raw: bytes, found: int = 0, shapes: int = 0) -> None:
    raw = raw[:_ROOM]
    head = b"".join(number.to_bytes(8, "little") for number in (count, found, shapes, len(raw)))
    shared[: len(head) + len(raw)] = head + raw


def _read(shared: mmap.mmap) -> tuple[int, int, int, bytes]:
    count, found, shapes, size = (int.from_bytes(shared[8 * j : 8 * j + 8], "little") for j in range(4))
    return count, found, shapes, bytes(shared[32 : 32 + size])


def _save(target: Target, raw: bytes, why: str) -> None:
    FINDINGS.mkdir(exist_ok=True)
    base = FINDINGS / f"{target.name}-{hashlib.sha256(raw).hexdigest()[:12]}"
    base.write_bytes(raw)
    base.with_suffix(".txt").write_text(why, encoding="utf-8", errors="backslashreplace")
    print(f"finding in {target.name}: {why.strip().splitlines()[-1][:200]} ({base.name})", file=sys.stderr, flush=True)


def _keep(target: Target, raw: bytes) -> None:
    folder = CORPUS / target.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(raw).hexdigest()[:12]).write_bytes(raw)


if __name__ == "__main__":
    sys.exit(main())
