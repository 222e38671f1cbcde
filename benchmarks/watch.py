"""False alarms and delays of `model.watch`, by simulation.

    python benchmarks/watch.py [--runs 1000] [--seed 0]

In each run a model that was learned from 1,000 rows meets 40 batches of 50 rows, with labels. Without drift, the share
of runs in which anything is ever reported must not exceed the false-alarm rate. With drift (one feature is measured
50 % higher from batch 20 on), the delay until the first report is printed.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

from polyrule import RuleListClassifier

BATCHES, ROWS, FROM = 40, 50, 20


def rows(random: np.random.Generator, count: int, factor: float = 1.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return features and labels; the labels follow from the true values, the table holds measured ones."""
    values = random.gamma(2, 20, count)
    X = pd.DataFrame({"age": random.integers(20, 90, count), "crp": values, "sex": random.choice(["f", "m"], count)})
    noise = random.random((count, 2)) < 0.1
    Y = pd.DataFrame({"sepsis": X.crp > 55, "frail": (X.age > 70) & (X.sex == "f")})
    return X.assign(crp=(values * factor).round(1)), (Y ^ noise).astype(int)


def first_report(model: object, seed: int, factor: float) -> int | None:
    """Return the batch of the first report, or None."""
    random = np.random.default_rng(seed)
    monitor = model.watch(*rows(random, 1000))  # type: ignore[attr-defined]
    for batch in range(BATCHES):
        monitor.update(*rows(random, ROWS, factor if batch >= FROM else 1.0), name=str(batch))
    since = [int(change.since) for change in monitor.summary().changes]
    return min(since, default=None)  # type: ignore[type-var]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    model = RuleListClassifier(teacher=None).fit(*rows(np.random.default_rng(given.seed), 1000)).model_
    seeds = range(given.seed + 1, given.seed + 1 + given.runs)
    alarms = sum(first_report(model, seed, 1.0) is not None for seed in seeds)
    print(f"without drift: {alarms} of {given.runs} runs report anything (false-alarm rate 5 %)")
    drifts = [first_report(model, seed, 1.5) for seed in list(seeds)[: max(1, given.runs // 10)]]
    late = [since - FROM + 1 for since in drifts if since is not None and since >= FROM]
    print(
        f"crp 50 % higher from batch {FROM + 1}: {len(late)} of {len(drifts)} runs report it, after "
        f"{np.median(late):.0f} batches of {ROWS} rows (median)"
    )


if __name__ == "__main__":
    main()
