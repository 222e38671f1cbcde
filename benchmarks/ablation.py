"""What each part of a learner contributes: variants with one thing changed, on equal splits of training parts.

    make ablation                                          every variant, three splits, then the table
    make ablation SPLITS=10 LEARNERS=list VARIANTS="base 'no exchange'"
    python benchmarks/ablation.py --table                  the table of the stored rows; nothing is fitted
    python benchmarks/ablation.py --again list             the stored rows of a learner anew, after it changed

A variant names what it changes: options of the estimator, and constants as "module:attribute" or
"module:Class.attribute", where a field of a dataclass means its default. The splits are frozen in
`ablation_splits.csv`; test parts are never read. Rows are written as they come, and rows that are there are not
measured again. Every difference is to the base on the same split; its standard error is that of the mean over data
sets.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import inspect
import math
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from unittest import mock

import numpy as np

from polyrule import RuleEnsembleClassifier, RuleListClassifier, datasets
from polyrule.data.labels import dense_labels
from polyrule.ensemble.decision import macro_f1, micro_f1
from polyrule.ensemble.logistic import Calibration
from polyrule.evaluation.model_size import model_size
from polyrule.measures import get

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
SPLITS = HERE / "ablation_splits.csv"
# Quick ones first, so that an interrupted run has most sets. corel5k and mediamill choose nothing, see peers.py.
SETS = (
    "flags",
    "emotions",
    "birds",
    "yeast",
    "scene",
    "CAL500",
    "genbase",
    "medical",
    "tmc2007-500",
    "enron",
    "bibtex",
)
MAX_ROWS = 1000  # to learn from, and as many to score
N_SPLITS = 10
COLUMNS = ("learner", "variant", "data", "split", "micro_f1", "macro_f1", "log_loss", "rules", "conditions", "labels")
COLUMNS += ("cpu_s",)


@dataclass(frozen=True)
class Variant:
    """Options of the estimator, and constants by their place, that a variant changes."""

    options: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)


def _constants(changed: dict[str, Any]) -> Variant:
    """Return a variant of constants."""
    return Variant(constants={f"polyrule.{place}": value for place, value in changed.items()})


_FIT_OPTIONS = "ensemble.options:FitOptions"
_GROWTH = "ensemble.growth:GrowthOptions"
ENSEMBLE: dict[str, Variant] = {
    "base": Variant(),
    "no teacher": Variant({"teacher": None}),
    "no synthetic examples": _constants({"ensemble.fold_model:_ROUNDS": 0}),
    "final model: no more synthetic examples": _constants({"ensemble.fold_model:_DRAWS": 1}),
    "teacher's share .7 (.5)": _constants({f"{_FIT_OPTIONS}.trust": 0.7}),
    "one build": _constants({f"{_FIT_OPTIONS}.builds": 1}),
    "three builds, pooled": _constants({f"{_FIT_OPTIONS}.builds": 3}),
    "no groups": Variant({"max_alternatives": 0}),
    "label_cost=0 (.3, less above 30 rules)": Variant({"label_cost": 0.0}),
    "label_cost=.1": Variant({"label_cost": 0.1}),
    "label_cost=.3": Variant({"label_cost": 0.3}),
    "label_cost=.05, labels_per_head=None": Variant({"label_cost": 0.05, "labels_per_head": None}),
    "labels_per_head=8 (4)": Variant({"labels_per_head": 8}),
    "labels_per_head=None": Variant({"labels_per_head": None}),
    "search cost 0 (.5)": _constants({"estimators.ensemble:_SEARCH_COST": 0.0}),
    "no share of the gain (3 %)": _constants({f"{_GROWTH}.min_improvement": 0.0}),
    "charge .1 (.3)": _constants({f"{_GROWTH}.chance": 0.1}),
    "31 judges of members (6)": _constants({f"{_GROWTH}.judges": 31}),
    "members from all features": _constants({"ensemble.growth:_MIN_FEATURES": 10**9}),
    "text as numbers": _constants({"ensemble.options:word_columns": lambda table: (None, False)}),
    "no calibration": _constants({"ensemble.logistic:Calibration.fit": staticmethod(lambda *_: Calibration())}),
    "32 bins (64)": Variant({"max_bins": 32}),
}
_SOFT, _SELECT, _POOL, _PROBLEM = "soft_targets.targets", "selection.select", "selection.pool", "selection.problem"
LIST: dict[str, Variant] = {
    "base": Variant(),
    "no teacher": Variant({"teacher": None}),
    "no synthetic examples": _constants({f"{_SOFT}:_MAX_EXAMPLES": 0}),
    "one synthetic example for each (3)": _constants({f"{_SOFT}:_PER_EXAMPLE": 1}),
    "teacher's share .7 (.5)": _constants({f"{_SOFT}:_WEIGHT": 0.7}),
    "60 trees (15 to 30)": _constants({f"{_SOFT}:_TREES": (60, 60)}),
    "all labels in rules (those with evidence)": _constants({f"{_PROBLEM}:_MIN_ASSOCIATION": -math.inf}),
    "no share of a label's own value": _constants({"selection.objective:_LABEL_SHARE": 0.0}),
    "bodies from the measure alone (and F1)": _constants({"selection.grow:get": lambda name: get("f0.5")}),
    "no words and categories": _constants({f"{_POOL}:presence_bodies": lambda *_: iter(())}),
    "no groups": Variant({"max_alternatives": 0}),
    "no exchange": _constants({f"{_SELECT}:RuleSelection.exchange": lambda self: False}),
    "no moving of labels": _constants({f"{_SELECT}:RuleSelection.move_labels": lambda self, max_rules: False}),
    "no pruning": _constants({"selection.refine:prune": lambda problem, rules, levels: tuple(rules)}),
    "simplicity=.5 (1)": Variant({"simplicity": 0.5}),
    "simplicity=2": Variant({"simplicity": 2.0}),
    "min_coverage=0 (five examples)": Variant({"min_coverage": 0}),
    "four conditions (3)": Variant({"max_conditions": 4}),
}
LEARNERS: dict[str, tuple[type, dict[str, Any], dict[str, Variant]]] = {
    "list": (RuleListClassifier, {}, LIST),
    "ensemble": (RuleEnsembleClassifier, {"max_rules": 30}, ENSEMBLE),
    "ensemble-100": (RuleEnsembleClassifier, {"max_rules": 100}, ENSEMBLE),
    "ensemble-300": (RuleEnsembleClassifier, {"max_rules": 300}, ENSEMBLE),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=["list", "ensemble"])
    parser.add_argument("--variants", nargs="+", metavar="NAME", help="by default all")
    parser.add_argument("--data", nargs="+", default=list(SETS))
    parser.add_argument("--splits", type=int, default=3, help=f"at most {N_SPLITS}")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no fit after so long")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the rows, a file for each learner")
    parser.add_argument("--again", nargs="+", choices=LEARNERS, default=[], help="measure stored rows of these anew")
    parser.add_argument("--table", action="store_true", help="print the table and fit nothing")
    parser.add_argument("--freeze", action="store_true", help="write the file of splits; refused if there is one")
    given = parser.parse_args()
    if given.freeze:
        freeze()
        return
    if not given.table:
        warnings.simplefilter("ignore")
        measure_all(given)
    for learner in LEARNERS:
        if rows := read(file_of(given.out, learner)):
            print(f"\n{learner}\n\n{table(rows, learner)}", end="")


def measure_all(given: argparse.Namespace) -> None:
    """Measure what is missing, a split of all variants at a time, so that differences are paired at any time."""
    began = time.monotonic()
    rows = {learner: read(file_of(given.out, learner)) for learner in given.learners}
    for learner, variant, name, number in missing([row for some in rows.values() for row in some], given):
        if time.monotonic() - began > 60 * given.minutes:
            return
        row = measure(learner, variant, name, number)
        rows[learner] = [r for r in rows[learner] if key(r) != key(row)] + [row]
        write(file_of(given.out, learner), rows[learner])
        print("  ".join(row.values()), flush=True)


def file_of(folder: Path, learner: str) -> Path:
    """Return the file of a learner's rows."""
    return folder / f"ablation_{learner.replace('-', '_')}.csv"


def missing(rows: list[dict[str, str]], given: argparse.Namespace) -> list[tuple[str, str, str, int]]:
    """Return what is to be measured."""
    stored = {key(row) for row in rows}
    result = []
    for number in range(min(given.splits, N_SPLITS)):
        for name in given.data:
            for learner in given.learners:
                for variant in given.variants or LEARNERS[learner][2]:
                    is_stored = (learner, variant, name, str(number)) in stored
                    if variant in LEARNERS[learner][2] and is_stored == (learner in given.again):
                        result.append((learner, variant, name, number))
    return result


def key(row: dict[str, str]) -> tuple[str, str, str, str]:
    """Return what a row is about."""
    return row["learner"], row["variant"], row["data"], row["split"]


def measure(learner: str, name: str, data: str, number: int) -> dict[str, str]:
    """Fit and score one variant on one split."""
    estimator, options, variants = LEARNERS[learner]
    variant, (train, held_out) = variants[name], load_split(data, number)
    with in_effect(variant.constants):
        began = time.process_time()
        model = estimator(**(options | variant.options)).fit(train)
        seconds = time.process_time() - began
        predicted, probabilities = dense(model.predict(held_out.X)), np.asarray(model.predict_proba(held_out.X))
    truth, weights, size = dense_labels(held_out.Y), np.ones(len(predicted)), model_size(model)
    inside = np.clip(np.where(truth == 1, probabilities, 1 - probabilities), 1e-4, 1)
    rules = size.rules or 0
    numbers = (
        f"{micro_f1(truth, predicted, weights):.5f}",
        f"{macro_f1(truth, predicted, weights):.5f}",
        f"{-np.log(inside).mean():.5f}",
        str(rules),
        str(size.conditions),
        f"{(size.head_literals or 0) / max(1, rules):.3f}",
        f"{seconds:.2f}",
    )
    return dict(zip(COLUMNS, (learner, name, data, str(number), *numbers), strict=True))


@contextmanager
def in_effect(constants: dict[str, Any]) -> Iterator[None]:
    """Change constants for a while."""
    with ExitStack() as stack:
        for place, value in constants.items():
            owner, attribute = owner_of(place)
            names = [f.name for f in dataclasses.fields(owner) if f.init] if dataclasses.is_dataclass(owner) else []
            if attribute not in names:
                stack.enter_context(mock.patch.object(owner, attribute, value))
                continue
            parameters = [p for p in inspect.signature(owner).parameters.values() if p.default is not p.empty]
            defaults = tuple(value if p.name == attribute else p.default for p in parameters)
            stack.enter_context(mock.patch.object(owner.__init__, "__defaults__", defaults))
        yield


def owner_of(place: str) -> tuple[Any, str]:
    """Return the module or class of a constant, and its name.

    >>> owner_of("polyrule.ensemble.growth:GrowthOptions.judges")
    (<class 'polyrule.ensemble.growth.GrowthOptions'>, 'judges')
    """
    module, _, names = place.partition(":")
    owner: Any = import_module(module)
    *classes, attribute = names.split(".")
    for name in classes:
        owner = getattr(owner, name)
    return owner, attribute


def load_split(data: str, number: int) -> tuple[Any, Any]:
    """Return the examples to learn from and those to score, both of the training part."""
    train = datasets.load(data, part="train")
    stored = next(row for row in read(SPLITS) if (row["data"], row["split"]) == (data, str(number)))
    fitted, scored = split_rows(len(train), int(stored["seed"]))
    if digest(fitted, scored) != stored["digest"]:
        raise SystemExit(f"{data}, split {number}: the rows are not those of {SPLITS.name}")
    return train[fitted], train[scored]


def split_rows(count: int, seed: int) -> tuple[Any, Any]:
    """Return two thirds of the rows and the rest, at most `MAX_ROWS` of each, ascending."""
    order = np.random.RandomState(seed).permutation(count)  # frozen: equal in all versions of NumPy
    border = count * 2 // 3
    return np.sort(order[: min(border, MAX_ROWS)]), np.sort(order[border : border + MAX_ROWS])


def digest(*parts: Any) -> str:
    """Return a hash of row numbers."""
    return sha256(b"|".join(np.asarray(part, dtype="<i8").tobytes() for part in parts)).hexdigest()[:12]


def freeze() -> None:
    """Write the splits once."""
    with SPLITS.open("x", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("data", "split", "seed", "digest"))
        for place, name in enumerate(SETS):
            count = len(datasets.load(name, part="train"))
            for number in range(N_SPLITS):
                seed = 1000 * (place + 1) + number
                writer.writerow((name, number, seed, digest(*split_rows(count, seed))))


def table(rows: list[dict[str, str]], learner: str) -> str:
    """Return the Markdown table of one learner: the base, then differences."""
    by_variant: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for row in rows:
        if row["learner"] == learner:
            by_variant.setdefault(row["variant"], {})[row["data"], row["split"]] = row
    base = by_variant.pop("base")
    lines = ["| | micro-F1 | macro-F1 | log loss | rules | conditions | labels a head | CPU s | sets better | fits |"]
    lines.append("| --- |" + " ---: |" * 9)
    means = {column: fmean(_by_set(base, column).values()) for column in COLUMNS[4:]}
    texts = [share(means[column]) for column in COLUMNS[4:7]] + [f"{means[column]:.1f}" for column in COLUMNS[7:]]
    lines.append("| as it is | " + " | ".join([*texts, "", str(len(base))]) + " |")
    order = [name for name in LEARNERS[learner][2] if name in by_variant]
    for name in order:
        lines.append(_difference(name, by_variant[name], base))
    return "\n".join(lines) + "\n"


def _difference(name: str, changed: dict[tuple[str, str], dict[str, str]], base: dict[tuple[str, str], Any]) -> str:
    both = [place for place in changed if place in base]
    mine, other = ({place: some[place] for place in both} for some in (changed, base))
    texts = []
    for column in ("micro_f1", "macro_f1"):
        new, old = _by_set(mine, column), _by_set(other, column)
        by_set = [new[data] - old[data] for data in new]
        error = stdev(by_set) / math.sqrt(len(by_set)) if len(by_set) > 1 else math.nan
        texts.append(f"{share(fmean(by_set), signed=True)} ± {share(error)}")
        if column == "micro_f1":
            better = f"{sum(d > 0 for d in by_set)} of {len(by_set)}"
    for column in ("log_loss", "rules", "conditions"):
        new, old = _by_set(mine, column), _by_set(other, column)
        ratio = math.exp(fmean(math.log(max(new[d], 1e-9) / max(old[d], 1e-9)) for d in new))
        texts.append(f"{100 * (ratio - 1):+.1f} %")
    texts.append(f"{fmean(_by_set(mine, 'labels').values()):.1f}")
    spent, before = (fmean(_by_set(some, "cpu_s").values()) for some in (mine, other))
    texts.append(f"{100 * (spent / before - 1):+.0f} %")
    return f"| {name} | " + " | ".join([*texts, better, str(len(both))]) + " |"


def _by_set(rows: dict[tuple[str, str], dict[str, str]], column: str) -> dict[str, float]:
    """Return the mean over splits of each data set."""
    values: dict[str, list[float]] = {}
    for (data, _), row in rows.items():
        values.setdefault(data, []).append(float(row[column]))
    return {data: fmean(numbers) for data, numbers in values.items()}


def share(value: float, signed: bool = False) -> str:
    """Return a number with four decimals and without the zero before them.

    >>> share(0.12345), share(-0.00312, signed=True), share(0.002, signed=True)
    ('.1235', '−.0031', '+.0020')
    """
    text = f"{abs(value):.4f}".removeprefix("0")
    return ("−" if round(value, 4) < 0 else "+" if signed else "") + text


def dense(labels: Any) -> Any:
    """Return predictions as an array."""
    return np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels).astype(np.uint8)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file, if there is one."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, rows: list[dict[str, str]]) -> None:
    """Write all rows, whole or not at all."""
    partial = path.with_suffix(".part")
    with partial.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(path)


if __name__ == "__main__":
    main()
