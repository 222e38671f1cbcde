"""What the estimators learn by default: which models are kept, how one is learned, and its hash.

Without a teacher a model depends on no library and no machine. With one it depends on the last digits of linear
algebra, which were lost in rounding with the BLAS of two kinds of processors (OPENBLAS_CORETYPE). A hash of such a
model is checked only on that machine.
"""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

from tests.golden.lists import digest as list_digest

from polyrule import RuleEnsembleClassifier, RuleList, RuleListClassifier, datasets

FILE = Path(__file__).with_name("models.json")
KINDS = ("list", "list without teacher", "ensemble", "ensemble without teacher")
NUMBERS = ("flags", "emotions", "birds", "scene", "yeast", "CAL500")
TEXT = ("genbase", "medical", "enron")

Case = tuple[str, str]
#: What `make test` checks; the embedded songs need no benchmark data.
EMBEDDED: list[Case] = [("emotions", kind) for kind in KINDS] + [("emotions", "scorecard")]
QUICK: list[Case] = [("flags", kind) for kind in KINDS] + [("medical", kind) for kind in KINDS[:2]] + [
    ("genbase", "ensemble"),
    ("birds", "list"),
]  # fmt: skip


def cases() -> list[Case]:
    """Every case: data set and kind of model; those that are learned quickly first."""
    return list(dict.fromkeys([*EMBEDDED, *QUICK, *((name, kind) for name in (*NUMBERS, *TEXT) for kind in KINDS)]))


def key(case: Case) -> str:
    """How a case is called in the file."""
    return ", ".join(case)


def learn(case: Case, threads: int = 1) -> Any:
    """Learn the model of a case from the training part."""
    name, kind = case
    data = datasets.load(name, "train")
    options: dict[str, Any] = {"teacher": None} if kind.endswith("without teacher") else {}
    if kind.startswith("list"):
        return RuleListClassifier(n_jobs=threads, **options).fit(data).model_
    points = 5 if kind == "scorecard" else False
    return RuleEnsembleClassifier(points=points, n_jobs=threads, **options).fit(data).model_


def digest(model: Any) -> str:
    """Hash everything that a model says."""
    if isinstance(model, RuleList):
        more = repr((model.default_chances, model.info["pruning"]))
        return f"{list_digest(model)} {hashlib.sha256(more.encode()).hexdigest()[:8]}"
    told: list[Any] = [[repr(rule.body), repr(rule.head), rule.coverage] for rule in model.rules]
    decision = model.decision
    told += [list(model.intercepts), model.unit, decision.kind, list(decision.cuts), list(decision.bonuses)]
    told.append([list(labels) for labels in decision.label_sets])
    return f"{len(model)} rules {hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]}"


def made_with(case: Case) -> str:
    """What the model of a case depends on beside its definition, as it is here."""
    return "" if case[1].endswith("without teacher") else platform.machine()


def known() -> dict[str, dict[str, str]]:
    """Hash and what it was made with, by case."""
    return dict(json.loads(FILE.read_text("utf-8"))) if FILE.exists() else {}
