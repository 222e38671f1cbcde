"""How many planted rules come back: precision and recall in the learned list, by noise and measure.

python benchmarks/recovery.py [--seeds 5]
"""

from __future__ import annotations

import argparse
import statistics

from polyrule import RuleListClassifier
from polyrule.datasets import planted_rules, recovery

NOISE = (0.0, 0.02, 0.05, 0.1)
MEASURES = ("f1", "f0.5", "precision", "hamming")
KINDS = {
    "own labels": {},
    "shared labels": {"shared_labels": True},
    "label conditions": {"label_conditions": 1.0},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    print(
        "4 planted rules, 600 examples, 15 features, 8 labels, positive heads; a body must agree to 0.8, a head wholly"
    )
    print("(in brackets: at least one label of the head)")
    print(f"{'planted':<18}{'noise':>6}  {'measure':<11}{'rules':>6}{'precision':>18}{'recall':>16}")
    for kind, extra in KINDS.items():
        for noise in NOISE:
            for measure in MEASURES:
                show(kind, noise, measure, [one(seed, noise, measure, extra) for seed in seeds])


def one(seed: int, noise: float, measure: str, extra: dict) -> tuple[float, ...]:
    data, rules = planted_rules(examples=600, rules=4, labels=8, seed=seed, noise=noise, **extra)
    learned = RuleListClassifier.paper(measure=measure, negative=False).fit(data.X, data.Y)
    whole = recovery(learned.rules_, rules, data)
    some = recovery(learned.rules_, rules, data, whole_head=False)
    return len(learned.rules_), whole.precision, some.precision, whole.recall, some.recall


def show(kind: str, noise: float, measure: str, runs: list[tuple[float, ...]]) -> None:
    count, precision, some_precision, recall, some_recall = (
        statistics.mean(column) for column in zip(*runs, strict=True)
    )
    figures = f"{count:>6.1f}{precision:>11.2f} ({some_precision:.2f}){recall:>9.2f} ({some_recall:.2f})"
    print(f"{kind:<18}{noise:>6.2f}  {measure:<11}{figures}")


if __name__ == "__main__":
    main()
