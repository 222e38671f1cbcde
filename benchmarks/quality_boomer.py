"""BOOMER in 10-fold cross-validation on the folds of `quality.py --cv`; runs in an environment of its own.

    python benchmarks/quality.py --folds FOLDER              writes one .npz per data set: X, Y, nominal, fold
    PEER/bin/python benchmarks/quality_boomer.py FOLDER      needs mlrl-boomer (0.15.6 was measured) and scikit-learn

Defaults of BOOMER but for the number of rules and the loss, one thread. Predictions of all folds are put together and
scored once, as quality.py does. Rows go to results/quality_boomer_cv.csv as they come; finished ones are not measured
again. A fit that takes longer than --limit seconds ends the row: its data set, loss and larger sizes are left out.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from mlrl.boosting.learners import BoomerClassifier
from sklearn.metrics import f1_score

SETS = ("flags", "emotions", "birds", "genbase", "medical", "yeast", "scene", "CAL500")
LOSSES = ("decomposable", "non-decomposable")
COLUMNS = ("data", "loss", "rules", "micro_f1", "macro_f1", "subset_accuracy", "hamming_loss", "fit_s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", nargs="+", default=list(SETS))
    parser.add_argument("--rules", nargs="+", type=int, default=[30, 10, 100])
    parser.add_argument("--loss", nargs="+", default=list(LOSSES))
    parser.add_argument("--limit", type=float, default=60, help="seconds that one fit may take")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "quality_boomer_cv.csv")
    given = parser.parse_args()
    given.out.parent.mkdir(exist_ok=True)
    rows = []
    if given.out.exists():
        with given.out.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
    done = {(row["data"], row["loss"], row["rules"]) for row in rows}
    for rules in given.rules:
        for name in given.data:
            for loss in given.loss:
                if (name, loss, str(rules)) in done:
                    continue
                row = measure(given.folder / f"{name}.npz", loss, rules, given.limit)
                if row is None:
                    print(f"{name} {loss} {rules}: a fit takes more than {given.limit:g} s, left out", flush=True)
                    continue
                rows.append({"data": name, "loss": loss, "rules": str(rules), **row})
                with given.out.open("w", newline="", encoding="utf-8") as stream:
                    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
                print(rows[-1], flush=True)


def measure(file: Path, loss: str, rules: int, limit: float) -> dict[str, str] | None:
    with np.load(file) as stored:
        X, Y, nominal, fold = (stored[key] for key in ("X", "Y", "nominal", "fold"))
    predicted, seconds = np.zeros_like(Y), []
    for number in np.unique(fold):
        held = fold == number
        learner = BoomerClassifier(
            max_rules=rules,
            loss=f"logistic-{loss}",
            parallel_rule_refinement="false",
            parallel_statistic_update="false",
            parallel_prediction="false",
        )
        start = time.perf_counter()
        learner.fit(X[~held], Y[~held], nominal_feature_indices=nominal.tolist())
        seconds.append(time.perf_counter() - start)
        if seconds[-1] > limit:
            return None
        answer = learner.predict(X[held])
        predicted[held] = answer.toarray() if hasattr(answer, "toarray") else answer
    return {
        "micro_f1": f"{f1_score(Y, predicted, average='micro', zero_division=0):.5f}",
        "macro_f1": f"{f1_score(Y, predicted, average='macro', zero_division=0):.5f}",
        "subset_accuracy": f"{(predicted == Y).all(axis=1).mean():.5f}",
        "hamming_loss": f"{(predicted != Y).mean():.5f}",
        "fit_s": f"{np.mean(seconds):.2f}",
    }


if __name__ == "__main__":
    main()
