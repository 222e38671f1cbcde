"""Whole lists of the paper's learner by two versions of the library, in one run.

    native/build.sh                                    in each of two checkouts
    python benchmarks/two_trees.py OLD NEW [SET[:MEASURE] ...]

`-` is the installed version. Each version runs in a process of its own, on one thread; fits take turns, and the least
CPU time of each counts, so that what else the machine does falls on both. A cell is `old, new (ms)` and their ratio;
below 1 the new one is faster. Lists that differ are named.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

INSTALLED = "-"
MEASURES = ("f0.5", "precision", "hamming")
#: Whole lists, or the first rules of those that take long.
RULES: dict[str, int | None] = {
    **dict.fromkeys(("flags", "genbase", "emotions", "birds", "medical", "scene", "yeast", "enron", "CAL500")),
    **dict.fromkeys(("tmc2007-500", "corel5k", "bibtex"), 40),
    "mediamill": 10,
    "delicious": 5,
}
LEAST, MOST, ENOUGH = 2, 15, 4.0  # fits of a list: at least, at most, and CPU seconds after which no more begin
Case = tuple[str, str]


def fit_what_is_asked(tree: str) -> None:
    """Read a case a line; write the CPU seconds of its fit by the library in `tree` and a hash of its list."""
    if tree != INSTALLED:
        if not list(Path(tree, "src/polyrule").glob("_native*")):
            raise SystemExit(f"{tree}: nothing compiled there; run native/build.sh")
        # an editable installation would come before the path
        sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != "ScikitBuildRedirectingFinder"]
        sys.path.insert(0, f"{tree}/src")
    from polyrule import RuleListClassifier, datasets

    name, data = "", None
    for line in sys.stdin:
        asked, measure = json.loads(line)
        if asked != name:
            name, data = asked, datasets.load(asked, "train")
        model = RuleListClassifier.paper(measure, max_rules=RULES[name], n_jobs=1)
        start = time.process_time()
        model.fit(data)
        seconds = time.process_time() - start
        rules = "\n".join(f"{rule.head} {rule.body} {rule.stop}" for rule in model.rules_.rules)
        print(json.dumps([seconds, hashlib.sha256(rules.encode()).hexdigest()]), flush=True)


class Version:
    """A version of the library at work."""

    def __init__(self, tree: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--fit", tree],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def fit(self, case: Case) -> tuple[float, str]:
        """CPU seconds, and what the list is known by."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(case), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(1)  # it has said why
        seconds, digest = json.loads(answer)
        return seconds, digest

    def end(self) -> None:
        """Let the process go."""
        self._process.communicate()


def compare(old: Version, new: Version, case: Case) -> tuple[float, float, bool]:
    """The least CPU seconds of both, and whether they learn the same list."""
    least, spent, same = [float("inf")] * 2, 0.0, True
    for turn in range(MOST):
        if turn >= LEAST and spent > ENOUGH:
            break
        (before, first), (after, second) = old.fit(case), new.fit(case)
        least = [min(least[0], before), min(least[1], after)]
        spent, same = spent + before + after, same and first == second
    return *least, same


def main(old: str, new: str, *wanted: str) -> None:
    """Print a row for each set."""
    versions = [Version(old), Version(new)]
    sums = [0.0, 0.0]
    print(f"| set | {' | | '.join(MEASURES)} | |\n| --- |{' ---: |' * (2 * len(MEASURES))}")
    for name in RULES:
        cells = []
        for measure in MEASURES:
            if wanted and name not in wanted and f"{name}:{measure}" not in wanted:
                cells.append(" | ")
                continue
            before, after, same = compare(*versions, (name, measure))
            sums = [sums[0] + before, sums[1] + after]
            words = "" if same else " other lists"
            cells.append(f"{1000 * before:.3g}, {1000 * after:.3g} | {after / before:.2f}{words}")
        if any(cell.strip(" |") for cell in cells):
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\nsum: {sums[0]:.2f} s, {sums[1]:.2f} s, ratio {sums[1] / sums[0]:.2f}")
    for version in versions:
        version.end()


if __name__ == "__main__":
    fit_what_is_asked(sys.argv[2]) if sys.argv[1] == "--fit" else main(*sys.argv[1:])
