"""Learn a multi-label rule list on real data, print it, and score it on songs it has not heard."""

from __future__ import annotations

import textwrap
import time
from dataclasses import replace

from polyrule import Dataset, RuleListClassifier, Table, datasets
from polyrule.evaluation.baseline import MajorityClassifier
from polyrule.evaluation.scores import score


def main() -> None:
    train, test = (plainly_named(datasets.load("emotions", part=part)) for part in ("train", "test"))
    print(f"emotions: {len(train)} songs to learn from, {len(test)} to be tested on,", end=" ")
    print(f"{len(train.feature_names)} audio features, {len(train.label_names)} moods (Trohidis et al. 2008)\n")

    began = time.perf_counter()
    model = RuleListClassifier(max_rules=8, max_conditions=2).fit(train)
    seconds = time.perf_counter() - began

    for line in model.rules_.format().splitlines():
        print(textwrap.fill(line, 110, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False))
    print(f"\nlearned in {seconds:.2f} s\n")
    statistics = model.rules_.statistics()
    for name in ("rules", "conditions_per_rule", "rules_with_multi_label_heads", "labels_per_head"):
        print(f"  {name.replace('_', ' '):<32}{statistics[name]:.4g}")

    rules = score(test.Y, model.predict(test.X))
    majority = score(test.Y, MajorityClassifier().fit(train.X, train.Y).predict(test.X))
    print(f"\n{'on the test songs':<28}{'rules':>8}{'majority':>10}")
    for measure in ("hamming_accuracy", "subset_accuracy", "micro_f1", "macro_f1", "example_f1"):
        print(f"  {measure.replace('_', ' '):<26}{rules[measure]:8.3f}{majority[measure]:10.3f}")

    print("\nthe first test song, label by label:")
    for reason in model.explain(test.X, row=0).labels:
        said = "present" if reason.value else "absent"
        source = "no rule set it" if reason.rule is None else f"rule {reason.rule + 1}"
        print(f"  {reason.label:<20}{said:<9}{source:<16}{reason.tp:g} right, {reason.fp:g} wrong in training")


def plainly_named(data: Dataset) -> Dataset:
    """Name features without what all of them share: "Std Mean MFCC_7" for "Std_Acc1298_Mean_Mem40_MFCC_7"."""
    plain = [name.replace("_Acc1298", "").replace("_Mem40", "").replace("_", " ") for name in data.X.feature_names]
    table = Table(data.X.values, tuple(replace(f, name=name) for f, name in zip(data.features, plain, strict=True)))
    return replace(data, X=table)


if __name__ == "__main__":
    main()
