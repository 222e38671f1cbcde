"""What each way of the compiled search buys: CPU time of whole fits without it, divided by the time with it.

    python benchmarks/paths.py [SET[:MAX_RULES] ...]

Lists must not change. A way stays only while it buys at least 1.3 times somewhere.
"""

from __future__ import annotations

import sys
import time
from functools import partialmethod
from unittest import mock

from polyrule import Dataset, RuleListClassifier, datasets
from polyrule.search.native import NativeEngine

NEVER = 10**12
WAYS = {
    "bounds kept": {"bounds": 0},
    "first conditions kept between rules": {"first_labels": 1 << 30},
    "search among pure literals": {"pure_search": 0},
    "counts of the empty body kept": {"kept_rows": NEVER},
}
SETS = ["emotions", "scene", "yeast", "medical", "enron", "bibtex:300", "delicious:100", "mediamill:20"]


def fit(data: Dataset, measure: str, rules: int | None, limits: dict[str, int]) -> tuple[float, str]:
    """CPU seconds of one fit, and the list."""
    model = RuleListClassifier.paper(measure).set_params(n_jobs=1, max_rules=rules)
    limited = partialmethod(NativeEngine.__init__, limits=limits)
    with mock.patch.object(NativeEngine, "__init__", limited):
        start = time.process_time()
        model.fit(data.X, data.Y)
        return time.process_time() - start, str(model.rules_)


def main(names: list[str]) -> None:
    print(f"| set | measure | seconds | {' | '.join(WAYS)} |\n|{' --- |' * (3 + len(WAYS))}")
    for name in names or SETS:
        name, _, rules = name.partition(":")
        data = datasets.load(name, "train")
        for measure in ("f0.5", "precision"):
            usual, expected = min(fit(data, measure, int(rules) if rules else None, {}) for _ in range(2))
            ratios = []
            for limits in WAYS.values():
                seconds, found = fit(data, measure, int(rules) if rules else None, limits)
                assert found == expected, (name, measure, limits)
                ratios.append(f"{seconds / usual:.2f}")
            print(f"| {name} | {measure} | {usual:.3f} | {' | '.join(ratios)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
