"""Relations hold in every export: the labels of models with relations, in each language, on hostile rows and names."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.export import test_languages as languages
from tests.export.cases import random_model, random_rows
from tests.relations.test_plan import random_relations
from tests.report.worlds import random_data, random_ensemble

from polyrule.conditions.body import without_labels
from polyrule.data import Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.model.decisions import KINDS
from polyrule.relations.data import broken


@cache
def related_lists(models: int = 40, rows: int = 120) -> tuple[tuple[Any, Table, np.ndarray], ...]:
    made = []
    for seed in range(models):
        model = random_model(seed)
        if len(model.label_names) < 2:
            continue
        model = model.with_relations(random_relations(seed, len(model.label_names)))
        table = random_rows(model, rows, seed)
        made.append((model, table, model.predict(table)))
    return tuple(made)


@cache
def related_ensembles() -> tuple[tuple[Any, Table, np.ndarray], ...]:
    made = []
    for seed in range(30):
        rules, rng = random_model(seed), np.random.default_rng(seed)
        width = len(rules.label_names)
        if width < 2:
            continue
        weighted = tuple(
            WeightedRule(tuple(Entry(one.label, float(rng.normal())) for one in rule.head), without_labels(rule.body))
            for rule in rules
        )
        decision = Decision("per-label", tuple(rng.normal(size=width).tolist()))
        starts, unit = tuple(rng.normal(size=width).tolist()), tuple(rng.random(width).tolist())
        model = RuleEnsemble(weighted, rules.features, rules.label_names, starts, decision, unit)
        model = model.with_relations(random_relations(seed, width))
        table = random_rows(rules, 120, seed)
        made.append((model, table, model.predict(table)))
    return tuple(made)


CASES = {"lists": related_lists, "ensembles": related_ensembles}


@pytest.fixture(params=CASES)
def related(request, monkeypatch) -> Any:
    """Let the tests of languages run on models with relations."""
    monkeypatch.setattr(languages, "cases", CASES[request.param])
    return CASES[request.param]()


def test_the_cases_are_worth_testing(related) -> None:
    changed = sum(int((labels != model.with_relations(None).predict(table)).any(axis=1).sum())
                  for model, table, labels in related)  # fmt: skip
    assert changed > 200
    for model, _, labels in related:
        for relation in model.relations:
            assert broken(relation, labels)[0] == 0


def test_python(related) -> None:
    languages.test_python()


@pytest.mark.skipif(languages.shutil.which("node") is None, reason="node is not installed")
def test_javascript(related, tmp_path) -> None:
    languages.test_javascript(tmp_path)


@pytest.mark.skipif(languages.shutil.which("gcc") is None, reason="gcc is not installed")
def test_c(related, tmp_path) -> None:
    languages.test_c(tmp_path)


def test_sqlite(related) -> None:
    languages.test_sqlite()


def test_duckdb(related) -> None:
    languages.test_duckdb()


def test_onnx(related) -> None:
    onnx = pytest.importorskip("tests.export.test_onnx")
    for model, table, labels in related:
        assert np.array_equal(onnx.run_onnx(model, table)["labels"], labels)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in ("subset", "expected-f1")])
def test_ensembles_that_choose_label_sets_have_only_allowed_ones(kind) -> None:
    model = random_ensemble(1, kind)
    first = next(one for one in model.decision.label_sets if len(one) > 1)
    names = [model.label_names[label] for label in first[:2]]
    related = model.with_relations(f"{names[0]}, {names[1]}: at most one")
    assert len(related.decision.label_sets) < len(model.decision.label_sets)
    table = random_data(model, 200, 0).X
    assert (related.predict(table)[:, list(first[:2])].sum(axis=1) < 2).all()
    space: dict[str, Any] = {}
    exec(related.export("python"), space)
    rows = languages.as_records(table)
    found = [[space["predict"](row)[name] for name in model.label_names] for row in rows]
    assert np.array_equal(found, related.predict(table))
