"""Learn a multi-label rule list on real data, print it, and score it on songs it has not heard."""

from __future__ import annotations

import time

from polyrule import RuleListClassifier, datasets
from polyrule.evaluation.baseline import MajorityClassifier
from polyrule.evaluation.scores import score


def main() -> None:
    train, test = datasets.load("emotions", part="train"), datasets.load("emotions", part="test")
    print(f"emotions: {len(train)} songs to learn from, {len(test)} to be tested on,", end=" ")
    print(f"{len(train.feature_names)} audio features, {len(train.label_names)} moods (Trohidis et al. 2008)\n")

    began = time.perf_counter()
    model = RuleListClassifier(measure="f0.5", lift="kln:0.16").fit(train.X, train.Y)
    seconds = time.perf_counter() - began

    print(model.rules_)
    print(f"\nlearned in {seconds:.2f} s\n")
    for name, value in model.rules_.statistics().items():
        print(f"  {name:<28}{value:g}")

    rules = score(test.Y, model.predict(test.X))
    majority = score(test.Y, MajorityClassifier().fit(train.X, train.Y).predict(test.X))
    print(f"\n{'on the test songs':<28}{'rules':>8}{'majority':>10}")
    for measure in ("hamming_accuracy", "subset_accuracy", "micro_f1", "macro_f1", "example_f1"):
        print(f"  {measure:<26}{rules[measure]:8.3f}{majority[measure]:10.3f}")

    print("\nwhy did the first test song get its labels?\n")
    print(model.explain(test.X, row=0))


if __name__ == "__main__":
    main()
