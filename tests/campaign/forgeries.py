"""``python -m tests.campaign.forgeries``: model files that were changed and sealed again, held against `verify`.

Every member of a file is changed: numbers, names, categories, orders, flags, options; entries are added and removed. A
forgery escapes if `verify` finds nothing, leaves nothing more unchecked than for the honest model, and yet a prediction
or a printed line is another one. An error that is not one of polyrule's is a failure, too.
"""

from __future__ import annotations

import argparse
import copy
import json
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from polyrule import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, RuleListClassifier, SeCoClassifier
from polyrule.data import Dataset, Feature, Table
from polyrule.errors import PolyruleError
from polyrule.model import files

ATTEMPTS = 3  # at a file that loads; what is refused at once tells little
SECONDS = 60  # after which a verification does not end
ROWS = 48
WORDS = [
    "numeric",
    "nominal",
    "ordinal",
    "date",
    "<=",
    ">",
    "=",
    "in",
    "is",
    "learned",
    "hand",
    "edited",
    "complete",
    "a",
    "b",
    "c",
    "low",
    "mid",
    "high",
    "missing",
    "known",
    "threshold",
    "per-label",
    "subset",
    "expected-f1",
]
LABELS = ("calm", "happy", "sad")
DIGITS = (None, 1, 3)


class TooLongError(BaseException):
    """A verification does not end."""


def examples(seed: int, *, weighted: bool = False, more: int = 0) -> Dataset:
    """Small data with columns of every kind, gaps, and labels that depend on them and on each other."""
    rng = np.random.default_rng(seed)
    rows = ROWS + more
    size, flag = rng.integers(0, 9, rows) / 2, rng.integers(0, 2, rows).astype(float)
    hue, plan = rng.integers(0, 3, rows).astype(float), rng.integers(0, 3, rows).astype(float)
    day, rest = rng.integers(19000, 19060, rows).astype(float), rng.normal(size=rows).round(2)
    size[rng.random(rows) < 0.1] = np.nan
    calm = (size > 2) ^ (rng.random(rows) < 0.1)
    happy = (((hue == 1) | (flag == 1)) & ~calm) ^ (rng.random(rows) < 0.05)
    sad = (plan > 0) & (day < 19040)
    features = (
        *(Feature("size"), Feature("flag"), Feature("hue", "nominal", ("a", "b", "c"))),
        *(Feature("plan", "ordinal", ("low", "mid", "high")), Feature("day", "date"), Feature("rest")),
    )
    table = Table.from_array(np.column_stack([size, flag, hue, plan, day, rest]), features)
    weights = rng.choice([0.0, 0.5, 1.0, 2.25], rows) if weighted else None
    return Dataset(table, np.column_stack([calm, happy, sad]).astype(np.uint8), LABELS, weights=weights)


def elsewhere(learner: Any, data: Dataset) -> Any:
    """Return an ensemble that was learned from some of the examples and refitted on all."""
    return learner.fit(data[:40]).model_.refit(data)


def edited(learned: Any, data: Dataset) -> Any:
    """Return a list with a rule by hand, one moved, counted again."""
    return learned.insert(1, "sad <- rest > 0.5").move(0, 2).recount(data)


QUICK = {"max_rules": 4, "cv": 2}
KINDS: dict[str, Callable[[Dataset], Any]] = {
    "default list": lambda data: RuleListClassifier().fit(data).model_,
    "paper list": lambda data: SeCoClassifier(max_rules=5).fit(data).model_,
    "binary relevance": lambda data: BinaryRelevanceRuleClassifier().fit(data).model_,
    "ensemble": lambda data: RuleEnsembleClassifier(**QUICK).fit(data).model_,
    "scorecard": lambda data: RuleEnsembleClassifier(**QUICK, teacher=None, points=True).fit(data).model_,
    "refitted": lambda data: RuleEnsembleClassifier(**QUICK, teacher=None).fit(data).model_.refit(data),
    "refitted elsewhere": lambda data: elsewhere(RuleEnsembleClassifier(**QUICK, teacher=None), data),
    "edited": lambda data: edited(RuleListClassifier().fit(data).model_, data),
    "edited paper list": lambda data: edited(SeCoClassifier(max_rules=4).fit(data).model_, data),
    "moved": lambda data: RuleListClassifier().fit(data).model_.move(0, 2),
}

# Beginnings of places in a file that nothing in the data can tell, once a model was changed by hand or refitted; a `*`
# is any position. `verify` says so: the first line of its answer is "NOT CHECKED: that learning finds this model".
FREE = {
    "refitted elsewhere": (
        "decision",
        "info",
        "rules/*/body",
        "rules/*/body/*/value",
        "rules/*/head/*/weight",
        "rules",
    ),
    "edited paper list": ("info", "rules/*/origin", "rules/*/head", "rules/*/body", "rules/*/stop", "rules"),
    "moved": ("rules",),
    "edited": ("info", "rules/*/origin", "rules/*/head", "rules/*/body", "rules/*/stop", "rules"),
}
#: Of the places above, those that the data tells nevertheless.
TOLD = ("tp", "fp", "alone", "between", "weighted", "examples")


@dataclass(frozen=True)
class Honest:
    """A learned model, its data, and everything that must not change unseen."""

    document: dict[str, Any]
    data: Dataset
    probes: Table
    view: tuple[Any, ...]
    unchecked: frozenset[str]


@cache
def honest(kind: str, seed: int) -> Honest:
    """Learn the model of a kind from data of a seed."""
    data = examples(seed, weighted=seed % 3 == 2)
    model = KINDS[kind](data)
    checked = model.verify(data)
    assert checked.ok, (kind, seed, str(checked))
    probes = examples(seed + 1000, more=16).X
    document = json.loads(files.dumps(model))
    return Honest(document, data, probes, view(model, probes), frozenset(checked.unchecked))


def view(model: Any, probes: Table) -> tuple[Any, ...]:
    """Return what a model predicts and prints."""
    labels, chances = model.predict(probes), model.predict_proba(probes).round(5)
    texts = [model.format(digits=digits) for digits in DIGITS]
    told = [str(model.explain(probes, row)) for row in (0, 1)]
    return labels.tobytes(), chances.tobytes(), *texts, *told, model._repr_html_()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in a document."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


#: Members that a file may have and this one lacks, by a member of the object that shows what it is about.
ADDED: dict[str, list[tuple[str, Any]]] = {
    "head": [("bound", "1/1"), ("unfinished", True), ("certificate", {"kind": "singles"}), ("coverage", 3)],
    "tp": [("chance", 0.9), ("alone", [30, 1])],
    "value": [("between", [0.0, 9.0]), ("between", [None, None])],
    "members": [("name", "harmless")],
    "kind": [("flag", True), ("categories", ["x", "y"]), ("bonuses", [0.5])],
    "labels": [("default_chances", [0.5, 0.5, 0.5])],
    "learner": [
        ("edited", True), ("recounted", "data"), ("weighted", True), ("start", 2), ("tuned", {"decision": "auto"}),
        ("weights", {"targets": "labels", "ridge": 1.0}), ("monotone", {"size": "up"}), ("grown", {"kept": 0}),
        ("pruning", {"kept": 1}), ("calibration", [2.0, 1.0]), ("measure_proof", {"by": "z3"}), ("notes", {"a": 1}),
    ],
}  # fmt: skip


def forge(document: dict[str, Any], rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """Change one value of a document, or two; return where, and the document."""
    forged = copy.deepcopy(document)
    where = [_change(forged, rng) for _ in range(1 + (rng.random() < 0.15))]
    return " + ".join(where), forged


def _change(document: dict[str, Any], rng: np.random.Generator) -> str:
    ways = [way for way in places(document) if way and way[0] not in ("checksum", "format")]
    rare = [way for way in ways if way[0] == "info"]  # of the many options most decide little
    way = _one([way for way in ways if way[0] != "info"] if rng.random() < 0.75 else rare, rng)
    owner = document
    for key in way[:-1]:
        owner = owner[key]
    owner[way[-1]] = _other(owner[way[-1]], document, way, rng)
    if owner[way[-1]] is _GONE:
        del owner[way[-1]]
    return "/".join(map(str, way))


_GONE = object()


def _one(choices: Any, rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _other(value: Any, document: dict[str, Any], way: tuple[Any, ...], rng: np.random.Generator) -> Any:
    """Return another value in the place of one."""
    dice = rng.random()
    if dice < 0.04:
        return _one([_GONE, None, [], {}, "", 0, -1, 1e300, 2**70, "no", [[]], True], rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        whole = isinstance(value, int)
        near = [value + 1, value - 1, value * 2, -value, 0, 1, 3] if whole else []
        real = [value * 1.01, value + 0.5, value - 0.25, -value, 0.0, 1.0, value * 2, value / 3]
        return _one(near or real, rng)
    if isinstance(value, str):
        return _one([value + "x", value.upper(), *_words(document), "1/2", _GONE], rng)
    if isinstance(value, list) and value:
        return _of_list(value, rng)
    if isinstance(value, dict) and value:
        added = [pair for key, pairs in ADDED.items() if key in value for pair in pairs]
        if added and dice < 0.7:
            name, extra = _one(added, rng)
            return value | {name: extra}
        key = _one(list(value), rng)
        return {name: inner for name, inner in value.items() if name != key} if dice < 0.9 else _GONE
    return _one([True, 1, 0.5, "1/2", "subset", [1], {"a": 1}, 2, "size"], rng)


def _of_list(value: list[Any], rng: np.random.Generator) -> list[Any]:
    place, other = (int(rng.integers(len(value))) for _ in range(2))
    changed = list(value)
    dice = rng.random()
    if dice < 0.3:
        del changed[place]
    elif dice < 0.5:
        changed.insert(other, copy.deepcopy(value[place]))
    elif dice < 0.8:
        changed[place], changed[other] = changed[other], changed[place]
    elif dice < 0.9:
        changed.reverse()
    else:
        changed.append("new" if isinstance(value[0], str) else copy.deepcopy(value[0]))
    return changed


def _words(document: dict[str, Any]) -> list[str]:
    """Return names that mean something in a file."""
    names = [feature.get("name") for feature in document["features"] if isinstance(feature, dict)]
    known = [
        "numeric",
        "nominal",
        "ordinal",
        "date",
        "<=",
        ">",
        "=",
        "in",
        "is",
        "learned",
        "hand",
        "edited",
        "complete",
    ]
    more = ["a", "b", "c", "low", "mid", "high", "missing", "known", "threshold", "per-label", "subset", "expected-f1"]
    return [name for name in (*names, *LABELS, *known, *more) if isinstance(name, str)]


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """End what takes longer."""

    def end(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(kind: str, seed: int, number: int) -> tuple[str, str, str]:
    """Return what became of a forgery ("refused", "found", "left", "harmless" or a failure), where, and details."""
    model, rng = honest(kind, seed), np.random.default_rng([seed, number])
    where, document = forge(model.document, rng)
    for _ in range(ATTEMPTS):
        if _loads(document):
            break
        where, document = forge(model.document, rng)
    try:
        with within(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _judged(model, kind, document), where, ""
    except PolyruleError as error:
        return "refused", where, str(error)
    except TooLongError:
        return "TAKES TOO LONG", where, ""
    except Exception:
        return "ENDS IN AN ERROR", where, traceback.format_exc()


def _loads(document: dict[str, Any]) -> bool:
    """Return True if a forgery is a model at all, or loading it ends in an error that is not polyrule's."""
    try:
        files.loads(json.dumps(document), check=False)
    except PolyruleError:
        return False
    except Exception:
        return True
    return True


def _judged(model: Honest, kind: str, document: dict[str, Any]) -> str:
    document.pop("checksum", None)
    forged = files.loads(json.dumps(document | {"checksum": files._checksum(document)}))
    checked = forged.verify(model.data)
    str(checked), checked.to_dict()
    if not checked.ok:
        return "found"
    if frozenset(checked.unchecked) - model.unchecked:
        return "left"
    try:
        same = view(forged, model.probes) == model.view
    except PolyruleError:
        same = False
    if same:
        return "harmless"
    return "free" if _is_free(kind, model.document, document) else "ESCAPES"


def _is_free(kind: str, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether all that differs is what no data can tell once a model was changed by hand."""
    return all(_begins_free(kind, way) for way in _differing(before, after))


def _differing(one: Any, other: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys() - {"checksum"}:
            yield from _differing(one.get(key, _GONE), other.get(key, _GONE), (*way, key))
    elif isinstance(one, list) and isinstance(other, list) and sorted(map(str, one)) == sorted(map(str, other)):
        if one != other:
            yield way
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _differing(mine, theirs, (*way, number))
    elif one is _GONE or other is _GONE or type(one) is not type(other) or one != other:
        yield way


def _begins_free(kind: str, way: tuple[Any, ...]) -> bool:
    text = "/".join("*" if isinstance(key, int) else key for key in way)
    if text == "checksum":
        return True
    if any(key in TOLD for key in way):
        return False
    return any(text == start or (start != "rules" and text.startswith(start + "/")) for start in FREE.get(kind, ()))


def campaign(kinds: list[str], count: int, seed: int, report: Callable[[str], object]) -> Counter[str]:
    """Forge `count` models of each kind; tell what became of them."""
    total: Counter[str] = Counter()
    for kind in kinds:
        tally: Counter[str] = Counter()
        for number in range(count):
            what, where, details = outcome(kind, seed + number % 5, number)
            tally[what] += 1
            if what.isupper():
                report(f"{kind}, seed {seed + number % 5}, number {number}: {where} {what}\n{details}")
        report(f"{kind}: {', '.join(f'{amount} {what}' for what, amount in sorted(tally.items()))}")
        total += tally
    return total


def main() -> int:
    """Run the campaign; 1 if a forgery escapes or ends in an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-kind", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    args = parser.parse_args()

    def report(line: str) -> None:
        sys.stdout.write(line.rstrip() + "\n")
        sys.stdout.flush()

    total = campaign(args.kind or list(KINDS), args.per_kind, args.seed, report)
    return int(any(what.isupper() for what in total))


if __name__ == "__main__":
    sys.exit(main())
