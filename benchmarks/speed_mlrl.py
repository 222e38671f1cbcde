"""One timed fit of MLRL-SeCo; run by speed.py with the interpreter of the peer's own environment.

Takes one JSON argument: the path of a pickle-free .npz with X, Y and the nominal columns, the heuristic, the kind of
heads and the number of threads. Prints one JSON line.
"""

import json
import resource
import sys
import time

import numpy as np
from mlrl.seco.learners import SeCoClassifier


def main() -> None:
    job = json.loads(sys.argv[1])
    with np.load(job["file"]) as stored:
        X, Y, nominal = stored["X"], stored["Y"], stored["nominal"]
    # "plain": no sampling, no pruning, no cap on rules; the setting closest to polyrule.
    learner = SeCoClassifier(
        head_type=job["heads"],
        heuristic=job["heuristic"],
        lift_function="none",
        instance_sampling="none",
        rule_pruning="none",
        max_rules=0,
        time_limit=int(job["limit"]),
        parallel_rule_refinement="false" if job["threads"] == 1 else f"true{{num_preferred_threads={job['threads']}}}",
        parallel_statistic_update="false",
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    learner.fit(X, Y, nominal_feature_indices=nominal.tolist())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rules = learner.model_.get_num_used_rules()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    complete = wall < job["limit"]
    print(
        json.dumps(
            {
                "fit_s": wall,
                "cpu_s": cpu,
                "rules": rules,
                "peak_mb": peak / 1024,
                "grown_mb": (peak - before) / 1024,
                "complete": complete,
            }
        )
    )


if __name__ == "__main__":
    main()
