"""BOOMER's probabilities for `quality.py`: on the test part, and by 3-fold cross-validation on the training part.

    PEER/bin/python benchmarks/quality_boomer.py IN.npz OUT.npz [RULES]

Runs in an environment of its own, with mlrl-boomer (0.15.6 was measured). IN holds X, Y, X_test and fold, as
`quality.py` writes it; OUT gets left_out, test, cpu_s, wall_s and mb (growth of the peak resident size during the
fits). Defaults of BOOMER but for the number of rules, one thread.
"""

import sys
import time
from pathlib import Path

import numpy as np
from mlrl.boosting import BoomerClassifier


def main() -> None:
    source, target = sys.argv[1:3]
    rules = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    with np.load(source) as stored:
        X, Y, asked, fold = (stored[key] for key in ("X", "Y", "X_test", "fold"))
    before, start, used = peak(), time.perf_counter(), time.process_time()
    left_out = np.zeros(Y.shape)
    for number in np.unique(fold):
        held = fold == number
        left_out[held] = fitted(X[~held], Y[~held], rules).predict_proba(X[held])
    test = fitted(X, Y, rules).predict_proba(asked)
    np.savez(
        target,
        left_out=left_out,
        test=test,
        cpu_s=time.process_time() - used,
        wall_s=time.perf_counter() - start,
        mb=peak() - before,
    )


def fitted(X: np.ndarray, Y: np.ndarray, rules: int) -> BoomerClassifier:
    learner = BoomerClassifier(
        max_rules=rules,
        parallel_rule_refinement="false",
        parallel_statistic_update="false",
        parallel_prediction="false",
    )
    return learner.fit(X, Y)


def peak() -> float:
    """Largest resident size so far, in MB; `getrusage` would count what the process that started this one held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
