"""Why the published single-label rows differ from ours: the original's Single learner, imitated.

The program behind the paper's tables learns single-label heads differently from multi-label heads, and from polyrule:

- it counts, for the literal of a label, only examples whose label no earlier rule has set, and counts FN and TN
  relative to the literal (an uncovered absent label is a false negative of a rule that predicts absence);
- it goes on refining a rule past a worse step until no wrong prediction is left, and keeps the best rule of the path.

This script learns that way, slowly and plainly, and prints the result beside the published row. What is left of the
differences is the original's breaking of ties by pseudo-random numbers.

    python experiments/original_single.py flags genbase
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from polyrule import datasets
from polyrule.evaluation import score
from polyrule.evaluation.experiment.writer import read_published

PUBLISHED = Path(__file__).parent / "published"
MEASURES = ("precision", "hamming", "f0.5")
SHOWN = ("hamming_accuracy", "subset_accuracy", "micro_f1", "macro_f1")


def values(measure, tp, fp, positive, negative):
    """Judge candidates by their true and false positives among `positive` and `negative` examples."""
    tp, fp = np.asarray(tp, dtype=float), np.asarray(fp, dtype=float)
    top, bottom = {
        "precision": (tp, tp + fp),
        "hamming": (tp + negative - fp, np.full_like(tp, positive + negative)),
        "f0.5": (1.25 * tp, 1.25 * tp + 0.25 * (positive - tp) + fp),
    }[measure]
    return np.divide(top, bottom, out=np.zeros_like(tp), where=bottom > 0)


@dataclass
class Conditions:
    """All conditions on features, as rows of a 0/1 matrix over examples; what they are is kept beside."""

    masks: np.ndarray
    meaning: list[tuple] = field(default_factory=list)

    @classmethod
    def of(cls, table):
        """List the conditions a table allows."""
        masks, meaning = [], []
        for index, feature in enumerate(table.features):
            column = table.column(index)
            if feature.is_nominal:
                for category in range(len(feature.categories)):
                    masks.append(column == category)
                    meaning.append(("=", index, category))
                continue
            distinct = np.unique(column)
            for cut in (distinct[:-1] + distinct[1:]) / 2:
                masks += [column <= cut, column > cut]
                meaning += [("<=", index, cut), (">", index, cut)]
        # conditions that select the same training examples are one candidate: the first stands for all
        _, first = np.unique(np.array(masks), axis=0, return_index=True)
        first.sort()
        return cls(np.array(masks)[first].astype(np.float32), [meaning[position] for position in first])


def holds(condition, values_of, assigned):
    """Tell for which examples a condition is true."""
    kind, index, operand = condition
    if kind == "label":
        return assigned[:, index] == operand
    column = values_of[:, index]
    return {"=": column == operand, "<=": column <= operand, ">": column > operand}[kind]


class OriginalSingle:
    """Separate-and-conquer with single-label heads as the original does it."""

    def __init__(self, measure):
        self.measure = measure

    def fit(self, table, labels):
        """Learn the list."""
        self.truth = np.asarray(labels).astype(int)
        self.conditions = Conditions.of(table)
        self.values = np.asarray(table)
        self.assigned = np.full_like(self.truth, -1)
        self.working = np.ones(len(self.truth), dtype=bool)
        self.in_heads: set[int] = set()
        self.rules = []
        while self.working.sum() > 0.1 * len(self.working) and (self.assigned[self.working] == -1).any():
            grown = [self.grow(label, value) for label in range(self.truth.shape[1]) for value in (1, 0)]
            found = [rule for rule in grown if rule is not None]
            if not found:
                break
            self.commit(max(found, key=lambda rule: rule[:2]))
        return self

    def grow(self, label, value):
        """Return (value, tp, label, literal, body) of the best rule on the greedy path, or None."""
        open_ = self.working & (self.assigned[:, label] == -1)
        right, wrong = open_ & (self.truth[:, label] == value), open_ & (self.truth[:, label] != value)
        positive, negative = int(right.sum()), int(wrong.sum())
        if not positive:
            return None
        masks, meaning = self.candidates(label)
        body, tp, fp = [], positive, negative
        best = (float(values(self.measure, tp, fp, positive, negative)), tp, label, value, [])
        while fp:
            tps = np.rint(masks @ right.astype(np.float32)).astype(int)
            fps = np.rint(masks @ wrong.astype(np.float32)).astype(int)
            used = {(kind, index) for kind, index, _ in body if kind in ("=", "label")}
            allowed = (tps > 0) & (tps + fps < tp + fp)
            if used:
                allowed &= np.array([(kind, index) not in used for kind, index, _ in meaning])
            if not allowed.any():
                break
            reached = np.where(allowed, values(self.measure, tps, fps, positive, negative), -1.0)
            chosen = int(np.lexsort((-tps, -reached))[0])
            body = [*body, meaning[chosen]]
            tp, fp = int(tps[chosen]), int(fps[chosen])
            covered = masks[chosen] > 0
            right, wrong = right & covered, wrong & covered
            best = max(best, (float(reached[chosen]), tp, label, value, body), key=lambda rule: rule[:2])
        return best

    def candidates(self, label):
        """Conditions on features, and on labels that earlier heads have set."""
        masks, meaning = [], []
        for other in sorted(self.in_heads - {label}):
            for value in (0, 1):
                masks.append(self.assigned[:, other] == value)
                meaning.append(("label", other, value))
        if not masks:
            return self.conditions.masks, self.conditions.meaning
        return np.vstack([self.conditions.masks, np.array(masks, dtype=np.float32)]), self.conditions.meaning + meaning

    def commit(self, rule):
        """Add a rule, set its label on the examples it covers, and drop those that are done."""
        _, _, label, value, body = rule
        covered = self.working.copy()
        for condition in body:
            covered &= holds(condition, self.values, self.assigned)
        self.assigned[covered & (self.assigned[:, label] == -1), label] = value
        self.in_heads.add(label)
        still_open = covered & (self.assigned == -1).any(axis=1)
        stop = bool(still_open.sum() <= 0.01 * covered.sum())
        if stop:
            self.working &= ~covered
        self.rules.append((label, value, body, stop))

    def predict(self, table):
        """Apply the list; labels nobody set are absent."""
        given = np.asarray(table)
        assigned, active = np.full((len(given), self.truth.shape[1]), -1), np.ones(len(given), dtype=bool)
        for label, value, body, stop in self.rules:
            fires = active.copy()
            for condition in body:
                fires &= holds(condition, given, assigned)
            new = fires & (assigned[:, label] == -1)
            assigned[new, label] = value
            if stop:
                active &= ~new
        return (assigned == 1).astype(np.uint8)


def main(names):
    """Print the imitation's results beside the published ones."""
    performance = {(row["data"], row["learner"]): row for row in read_published(PUBLISHED / "performance.csv")}
    models = {(row["data"], row["learner"]): row for row in read_published(PUBLISHED / "models.csv")}
    for name in names:
        train, test = datasets.load(name, part="train"), datasets.load(name, part="test")
        for measure in MEASURES:
            model = OriginalSingle(measure).fit(train.X, train.Y)
            scores = score(test.Y, model.predict(test.X), empty_label=1)
            published = performance[name, f"single {measure}"]
            cells = [f"rules {len(model.rules)} ({models[name, f'single {measure}']['rules']})"]
            cells += [f"{shown} {100 * scores[shown]:.2f} ({published[shown]})" for shown in SHOWN]
            print(f"{name} single {measure}: imitated (published): {', '.join(cells)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:] or ["flags"])
