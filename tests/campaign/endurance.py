"""``python -m tests.campaign.endurance``: the slow and the many, of which nothing may hang, get lost or end unnamed.

- `slow`: clients send a byte a second to a studio, headers or bodies, while another one works;
- `sessions`: many studios one after another leave no thread, file or temporary folder behind;
- `editors`: two programs edit one model file at once, and no edit that was confirmed is lost;
- `pack`: ``polyrule pack`` is killed at any moment; there is a whole store or nothing, and the next one
  succeeds;
- `workers`: a worker of a cluster is killed in mid-fit, and the model is the same;
- `names`: labels and features are named very often, and the answer comes soon.

Each prints one line. A fixed seed decides when something is killed.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.studio.conftest import LABELS, Client, learned_session, songs

import polyrule
from polyrule import RuleListClassifier, SeCoClassifier
from polyrule.errors import PolyruleError
from polyrule.model.rule_list import from_text
from polyrule.store import Store
from polyrule.studio.launch import Studio
from polyrule.studio.session import Session

SLOW_CLIENTS = 8
SOON = 30.0  # seconds within which every answer must come on a busy machine
POLYRULE = (sys.executable, "-m", "polyrule")


class Problem(Exception):
    """What must not happen has happened."""


def require(holds: bool, what: str) -> None:
    """Raise `Problem` unless something holds."""
    if not holds:
        raise Problem(what)


def slow_clients(rng: np.random.Generator, share: float, folder: Path) -> str:
    """Let clients send a byte a second, and work beside them."""
    seconds = max(3, round(60 * share))
    with Studio(learned_session(folder, max_rules=2)) as studio:
        client = Client(studio.start())
        ended: list[bool] = []

        def crawl(headers_too: bool) -> None:
            body = b'{"version": 0}' + b" " * seconds
            address = f"{client.path}api/go_to"
            head = f"POST {address} HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nOrigin: {client.origin}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            with socket.create_connection(("127.0.0.1", client.port), timeout=SOON) as line:
                line.sendall(b"" if headers_too else head.encode())
                for byte in (head.encode() if headers_too else body)[:seconds]:
                    line.sendall(bytes([byte]))
                    time.sleep(1)
                if headers_too:
                    return  # and goes away in the middle of a line
                line.sendall(body[seconds:])
                ended.append(line.recv(12) == b"HTTP/1.1 200")

        crawlers = [threading.Thread(target=crawl, args=(bool(n % 2),)) for n in range(SLOW_CLIENTS)]
        for crawler in crawlers:
            crawler.start()
        longest, answers = 0.0, 0
        while any(crawler.is_alive() for crawler in crawlers):
            begin = time.monotonic()
            client.get("api/state")
            client.ask("trial", {"step": {"do": "remove", "rule": 0}})
            longest, answers = max(longest, time.monotonic() - begin), answers + 2
            time.sleep(float(rng.uniform(0, 0.2)))
        require(longest < SOON, f"an answer took {longest:.0f} seconds beside slow clients")
        require(ended == [True] * (SLOW_CLIENTS // 2), f"slow questions were answered with {ended}")
        client.get("api/state")
        last = socket.create_connection(("127.0.0.1", client.port), timeout=SOON)
        last.sendall(b"POST /")  # one more, in the middle of a line when the studio ends
        time.sleep(0.5)
        begin = time.monotonic()
    last.close()
    require(time.monotonic() - begin < SOON, "the studio did not end beside a slow client")
    beside = f"{answers} answers beside them, {longest:.1f} s at most"
    return f"{SLOW_CLIENTS} clients at a byte a second for {seconds} s; {beside}"


def many_sessions(rng: np.random.Generator, share: float, folder: Path) -> str:
    """Open and end studios, each with a table, and compare what the process holds."""
    count, text = max(10, round(1000 * share)), songs(40)
    temporary = Path(tempfile.gettempdir())

    def one() -> None:
        with Studio(Session(None, by="tester")) as studio:
            client = Client(studio.start())
            client.upload(text)
            client.ask("prepare", {"labels": LABELS, "identifier": "title"})

    def held() -> tuple[int, int, int]:
        gc.collect()
        left = sum(1 for _ in temporary.glob("polyrule-studio-*"))
        return threading.active_count(), len(os.listdir("/proc/self/fd")), left

    for _ in range(5):
        one()
    before, memory = held(), _memory()
    for _ in range(count):
        one()
    after, grown = held(), _memory() - memory
    require(all(new <= old + 5 for old, new in zip(before, after, strict=True)), f"held {before}, then {after}")
    require(grown < 64 + 0.2 * count, f"{grown:.0f} MB more after {count} sessions")
    return f"{count} studios one after another: {after[0]} threads, {after[1]} open files, {grown:+.0f} MB"


def _memory() -> float:
    """Return the memory that the process holds, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def two_editors(rng: np.random.Generator, share: float, folder: Path) -> str:
    """Let two programs insert and remove rules of one file at once."""
    edits, place = max(2, round(40 * share)), folder / "model.json"
    rows = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    SeCoClassifier(max_rules=1).fit(rows, (rows[["x"]] > 0).astype(int), label_names=["a"]).save(place)
    confirmed: list[str] = []
    refused: list[str] = []

    def edit(name: str) -> None:
        for number in range(edits):
            rule = f"a <- {name} > {number + 1}"
            while True:
                command = [*POLYRULE, "edit", "insert", str(place), rule, "--at", "1"]
                done = subprocess.run(command, capture_output=True, text=True, timeout=300)
                if done.returncode == 0:
                    confirmed.append(rule)
                    break
                refused.append(done.stderr.strip())
                time.sleep(0.05)

    editors = [threading.Thread(target=edit, args=(name,)) for name in "xy"]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join()
    model = polyrule.load(place)
    rules = {str(model.format_rule(k, counts=False)) for k in range(len(model))}
    require(set(confirmed) <= rules, f"confirmed but lost: {sorted(set(confirmed) - rules)}")
    require(len(model) == 2 * edits + 1, f"{len(model)} rules after {2 * edits} insertions")
    unclear = [text for text in refused if "another program" not in text]
    require(not unclear, f"refused without a clear word: {unclear[:1]}")
    require(len(polyrule.load(place.with_name("model.json.bak"))) == 2 * edits, "the backup is not the model before")
    require(sorted(os.listdir(folder)) == ["model.json", "model.json.bak"], f"left behind: {os.listdir(folder)}")
    return f"{len(confirmed)} edits by two programs at once, {len(refused)} asked to come again"


def killed_packs(rng: np.random.Generator, share: float, folder: Path) -> str:
    """Kill ``polyrule pack`` at any moment, then pack again to the same place."""
    count, rows = max(2, round(30 * share)), 30_000
    table, store = folder / "t.csv", folder / "store"
    frame = pd.DataFrame(rng.normal(size=(rows, 6)).round(3), columns=[f"x{j}" for j in range(6)])
    frame.assign(a=(frame["x0"] > 0).astype(int)).to_csv(table, index=False)
    command = [*POLYRULE, "pack", str(table), "--labels", "a", "-o", str(store)]
    begin = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    usual, header = time.monotonic() - begin, (store / "header.json").read_bytes()
    whole = 0
    for _ in range(count):
        _remove(store)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(usual * float(rng.uniform(0.2, 0.95)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if store.exists():
            try:
                Store(store).verify()
                whole += 1
            except PolyruleError as error:
                raise Problem(f"a killed pack left half a store: {error}") from error
            _remove(store)
        done = subprocess.run(command, capture_output=True, text=True)
        require(done.returncode == 0, f"packing again ended in {done.stderr.strip()!r}")
        require((store / "header.json").read_bytes() == header, "packing again made another store")
        left = sorted(set(os.listdir(folder)) - {"t.csv", "store"})
        require(not left, f"left behind: {left}")
    return f"{count} killed packs: {whole} had ended, {count - whole} left nothing that is taken for a store"


def _remove(store: Path) -> None:
    for path in store.iterdir() if store.exists() else ():
        path.unlink()
    if store.exists():
        store.rmdir()


def killed_workers(rng: np.random.Generator, share: float, folder: Path) -> str:
    """Kill a worker of a cluster after some rule; the list is that of one machine."""
    import dask.dataframe as dd
    from dask.distributed import Client as Cluster
    from dask.distributed import LocalCluster

    import dask
    import polyrule.dask

    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    count, rows = max(2, round(20 * share)), 1500
    X = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    Y = pd.DataFrame({"p": (X["a"] > 0.3) | (X["c"] > 1), "q": (X["b"] > 0.5) & (X["a"] < 1)}).astype(int)
    expected = str(SeCoClassifier(max_bins=255, max_rules=6).fit(X, Y).rules_)
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        for _ in range(count):
            with Cluster(cluster) as client:
                client.wait_for_workers(2)
                when, seen = int(rng.integers(0, 4)), []

                def strike(progress: Any, when: int = when, seen: list[int] = seen) -> None:
                    seen.append(1)
                    if len(seen) == when + 1:
                        os.kill(next(nanny.pid for nanny in cluster.workers.values() if nanny.pid), signal.SIGKILL)

                learner = polyrule.dask.SeCoClassifier(client, max_rules=6)
                learner.fit(*(dd.from_pandas(frame, npartitions=3) for frame in (X, Y)), callback=strike)
                require(str(learner.rules_) == expected, "the list is another one after a worker was killed")
    return f"{count} fits in which a worker was killed: the lists of one machine"


def names_many_times(rng: np.random.Generator, share: float, folder: Path) -> str:
    """Name labels and features very often, wherever they are named."""
    times = max(1000, round(100_000 * share))
    frame = pd.DataFrame(rng.normal(size=(60, 2)).round(2), columns=["x", "y"])
    frame["a"], frame["b"] = (frame["x"] > 0).astype(int), (frame["y"] > 0).astype(int)
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "wide.csv").write_text(",".join(["x", *["a"] * times]) + "\n" + ",".join(["1"] * (times + 1)) + "\n")
    (folder / "tags.csv").write_text("x,tags\n" + "".join(f"{n},{'a ' * min(times, 60_000)}\n" for n in range(5)))
    X, Y = frame[["x", "y"]], frame[["a", "b"]]
    model = RuleListClassifier(max_rules=2).fit(X, Y).model_
    every, again = ["a"] * times, ", ".join(["a"] * times)
    read = polyrule.data.read
    asked: dict[str, Callable[[], Any]] = {
        "labels as text": lambda: read(folder / "t.csv", labels=",".join(every)),
        "labels as a list": lambda: RuleListClassifier(max_rules=1).fit(frame, labels=every),
        "label_names": lambda: RuleListClassifier(max_rules=1).fit(X, Y, label_names=every),
        "dropped columns": lambda: read(folder / "t.csv", labels="b", drop=",".join(every)),
        "columns of a file": lambda: read(folder / "wide.csv", labels="a"),
        "columns of a frame": lambda: RuleListClassifier().fit(X, pd.DataFrame(0, X.index, ["a"] * 5000)),
        "tags": lambda: read(folder / "tags.csv", tags="tags"),
        "forbidden features": lambda: RuleListClassifier(constraints={"forbid": ["x"] * times}).fit(X, Y),
        "features of labels": lambda: RuleListClassifier(constraints={"features": {"a": ["x"] * times}}).fit(X, Y),
        "the head of a rule": lambda: model.insert(0, f"{again} <- x > 1"),
        "unknown labels of a rule": lambda: model.insert(0, ", ".join(f"c{n}" for n in range(times)) + " <- x > 1"),
        "the body of a rule": lambda: model.insert(0, "a <- " + ", ".join(["x > 1"] * times)),
        "a group": lambda: model.insert(0, f"a <- any of ({', '.join(['x > 1'] * times)})"),
        "lines of an edited text": lambda: from_text(model, "a <- x > 1\n" * (times // 10)),
    }
    taken = refused = 0
    slowest = 0.0, ""
    for what, ask in asked.items():
        begin = time.process_time()
        try:
            ask()
            taken += 1
        except PolyruleError as error:
            require(len(str(error)) < 2000, f"{what}: a message of {len(str(error))} characters")
            refused += 1
        slowest = max(slowest, (time.process_time() - begin, what))
    require(slowest[0] < SOON, f"{slowest[1]} took {slowest[0]:.0f} seconds")
    options = ["--labels", "b", *["--drop", "a"] * (times // 20), "--max-rules", "1"]
    done = subprocess.run([*POLYRULE, "train", str(folder / "t.csv"), *options], capture_output=True, text=True)
    require(done.returncode == 0, f"options given often: {done.stderr[:300]}")
    longest = f"at most {slowest[0]:.1f} s ({slowest[1]})"
    return f"names {times:,} times: {taken} taken, {refused} refused in a sentence, {longest}"


KINDS: dict[str, Callable[[np.random.Generator, float, Path], str]] = {
    "slow": slow_clients,
    "sessions": many_sessions,
    "editors": two_editors,
    "pack": killed_packs,
    "workers": killed_workers,
    "names": names_many_times,
}


def endure(kinds: list[str], share: float, seed: int) -> Iterator[tuple[str, bool, str]]:
    """Yield what each kind showed: its name, whether all was well, and a line."""
    for kind in kinds:
        rng = np.random.default_rng([seed, list(KINDS).index(kind)])
        with tempfile.TemporaryDirectory(prefix="polyrule-campaign-") as folder:
            try:
                yield kind, True, KINDS[kind](rng, share, Path(folder))
            except Problem as problem:
                yield kind, False, str(problem)


def main() -> int:
    """Run the kinds that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the full campaign, such as 0.1")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    args = parser.parse_args()
    failed = 0
    for kind, well, line in endure(args.kind or list(KINDS), args.share, args.seed):
        sys.stdout.write(f"{kind}: {'' if well else 'FAILED, '}{line}\n")
        sys.stdout.flush()
        failed += not well
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
